"""Variant of RecurRank: what the authors' public program does differently from their paper."""

from __future__ import annotations

import math

import numpy as np

from clickrank._compile.jit import array_kernel
from clickrank._core.arrays import Ints
from clickrank._core.validate import LARGEST


@array_kernel
def program_views(
    failure: float, n_positions: int, d: int, phase: int, n_items: int, n_measured: int
) -> Ints:
    """Return how often each item is measured: equally often, in d log(|𝒜| / δ_ℓ) / Δ_ℓ² rounds.

    The remaining rounds go to the first items.
    """
    delta = failure / (2.0 * n_positions * (phase * (phase + 1.0)))  # δ_ℓ
    rounds = int(min(float(LARGEST), 4.0**phase * d * math.log(n_items / delta)))
    views = np.zeros(n_measured, dtype=np.int64)
    for slot in range(n_measured):
        views[slot] = (rounds + n_measured - 1 - slot) // n_measured
    return views


@array_kernel
def add_past(past: Ints, measured: Ints, views: Ints, clicks: Ints) -> tuple[Ints, Ints]:
    """Return the views and clicks of this phase and of all before it, and store them as past."""
    for slot in range(measured.shape[0]):
        past[0, measured[slot]] += views[slot]
        past[1, measured[slot]] += clicks[slot]
    return past[0][measured], past[1][measured]
