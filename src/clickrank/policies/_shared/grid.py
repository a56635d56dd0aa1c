"""Rounding that makes equal what is equal in theory."""

from __future__ import annotations

import math

from clickrank._compile.jit import lean_kernel

#: Estimates are rounded to multiples of this: ties, and gaps of a given size, are then exact.
GRID = 2.0**-30


@lean_kernel
def on_grid(value: float) -> float:
    """Return the multiple of `GRID` next to a value."""
    return math.floor(value / GRID + 0.5) * GRID
