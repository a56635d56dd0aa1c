"""Numerical kernels that more than one policy uses."""
