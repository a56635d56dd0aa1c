"""Foundations that all other packages use: array types, validation, registry, random streams."""
