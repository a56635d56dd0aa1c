"""Rounding of estimates to a grid, so that numbers that are equal in theory compare equal."""

from __future__ import annotations

import math

from clickrank._compile.jit import lean_kernel

#: Estimates are rounded to multiples of this, which makes ties and gaps of a given size exact.
GRID = 2.0**-30


@lean_kernel
def on_grid(value: float) -> float:
    """Return the multiple of `GRID` that is nearest to a value."""
    return math.floor(value / GRID + 0.5) * GRID
