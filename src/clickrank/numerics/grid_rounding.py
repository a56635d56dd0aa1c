"""Rounding to a grid, so that estimates depend on the counts and not on the iterations."""

from __future__ import annotations

import math

from clickrank._compile.jit import lean_kernel

#: The distance between two points of the grid.
GRID = 1e-6


@lean_kernel
def rounded(value: float) -> float:
    """Return the multiple of `GRID` next to a value."""
    return math.floor(value / GRID + 0.5) * GRID
