"""KL indices that are kept once computed, and bounded by their tangents until computed again.

The index of an arm is the largest click probability within δ of its counts. It grows with δ and is
concave in it. So once it is known at one δ, it is at least that at every larger δ, and at most its
tangent at every other: in most rounds few indices need to be computed again.

An arm is what the arrays are indexed by: an item, or a pair of an item and a position.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np

from clickrank._compile.jit import inline_kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.kl_bounds import SLACK, STEEP, kl_upper, kl_upper_rate
from clickrank.numerics.kl_indices import kl_ucb_and_bound

# The δ of an index that must be computed: below all others.
NEVER = -1.0

Arm: TypeAlias = int | tuple[int, int]


class KLIndices(NamedTuple):
    """The index of each arm when it was last computed."""

    value: Floats  # the index
    rate: Floats  # its derivative by δ; infinite if counts have changed since
    delta: Floats  # the δ that it was computed for, or up to which it stays; else `NEVER`


def no_indices(shape: int | tuple[int, ...]) -> KLIndices:
    """Return kept indices of which none has been computed."""
    return KLIndices(
        value=np.ones(shape), rate=np.full(shape, math.inf), delta=np.full(shape, NEVER)
    )


@inline_kernel
def keep(kept: KLIndices, arm: Arm, value: float, rate: float, delta: float) -> None:
    """Keep an index that was computed."""
    kept.value[arm] = value
    kept.rate[arm] = rate
    kept.delta[arm] = delta


@inline_kernel
def forget(kept: KLIndices, arm: Arm) -> None:
    """Forget the index of an arm whose counts have changed; its value is left as a guess."""
    kept.rate[arm] = math.inf
    kept.delta[arm] = NEVER


@inline_kernel
def tangent(kept: KLIndices, arm: Arm, delta: float) -> float:
    """Return an upper bound of an index at a larger ``delta``; infinite if it was forgotten."""
    return float(kept.value[arm] + kept.rate[arm] * (delta - kept.delta[arm]) + SLACK)


@inline_kernel
def bound(kept: KLIndices, arm: Arm, delta: float) -> float:
    """Return an upper bound of an index at any ``delta``: itself if known, 1 if forgotten."""
    moved = delta - kept.delta[arm]
    if moved == 0.0:
        return float(kept.value[arm])
    rate = kept.rate[arm]
    # Where there is no tangent, the index still grows with δ. A rate of 0 is that of an index which
    # can be no larger.
    if rate == 0.0 or (moved < 0.0 and rate >= STEEP):
        return float(kept.value[arm])
    return min(1.0, tangent(kept, arm, delta))


@inline_kernel
def index(kept: KLIndices, clicks: Ints, misses: Ints, arm: Arm, delta: float) -> float:
    """Return the index of an arm's clicks and misses, computed unless it is known.

    The search begins at the last index, which changes the result by rounding only.
    """
    if kept.delta[arm] != delta:
        value = kl_upper(clicks[arm], misses[arm], delta, kept.value[arm])
        keep(kept, arm, value, kl_upper_rate(clicks[arm], misses[arm], value), delta)
    return float(kept.value[arm])


@lean_kernel
def index_over_positions(
    kept: KLIndices, clicks: Ints, misses: Ints, examination: Floats, arm: int, delta: float
) -> float:
    """Return the index of an arm with counts by position, computed unless it is known.

    It is infinite without a view. ``delta`` must not fall from call to call.
    """
    if kept.delta[arm] < delta:
        value, rate, until = kl_ucb_and_bound(clicks[arm], misses[arm], examination, delta)
        keep(kept, arm, value, rate, until)
    return float(kept.value[arm])
