"""Largest value, and smallest gap between numbers that are given by their logarithms."""

from __future__ import annotations

import math

from clickrank._compile.jit import lean_kernel
from clickrank._core.arrays import Floats


@lean_kernel
def largest(values: Floats) -> float:
    """Return the largest value."""
    found = -math.inf
    for value in values:
        found = max(found, value)
    return found


@lean_kernel
def smallest_gap(logarithms: Floats, scale: float) -> float:
    """Return the smallest difference between two of the numbers exp(logarithm + scale)."""
    smallest = math.inf
    for i in range(logarithms.shape[0]):
        below = -math.inf  # the next smaller one
        for j in range(logarithms.shape[0]):
            if logarithms[j] < logarithms[i] or (logarithms[j] == logarithms[i] and j < i):
                below = max(below, logarithms[j])
        if below > -math.inf:
            gap = math.exp(logarithms[i] + scale) - math.exp(below + scale)
            smallest = min(smallest, gap)
    return smallest
