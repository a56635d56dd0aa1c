"""The version of clickrank."""

__version__ = "0.1.0"
