"""Cache of KL indices, which tangents bound until they are computed again.

The index of an arm is the largest click probability within δ of its counts. It grows with δ and is
concave in it. If it is known at one δ, it is at least that at every larger δ, and at most its
tangent at every other δ: in most rounds few indices need to be computed again.

An arm is an index of the arrays: an item, or a pair of an item and a position.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np

from clickrank._compile.jit import inline_kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.kl_bounds import SLACK, STEEP, kl_upper, kl_upper_rate
from clickrank.numerics.pbm_kl_index import kl_ucb_and_bound

# The δ of an index that must be computed, which is below all others.
NEVER = -1.0

Arm: TypeAlias = int | tuple[int, int]


class KLIndices(NamedTuple):
    """The index of each arm when it was last computed."""

    value: Floats  # the index
    rate: Floats  # its derivative by δ; infinite if counts have changed since
    delta: Floats  # the δ at which it was computed, or up to which it is valid; else `NEVER`


def no_indices(shape: int | tuple[int, ...]) -> KLIndices:
    """Return a cache in which no index has been computed."""
    return KLIndices(
        value=np.ones(shape), rate=np.full(shape, math.inf), delta=np.full(shape, NEVER)
    )


@inline_kernel
def store_index(indices: KLIndices, arm: Arm, value: float, rate: float, delta: float) -> None:
    """Store an index that was computed."""
    indices.value[arm] = value
    indices.rate[arm] = rate
    indices.delta[arm] = delta


@inline_kernel
def forget(indices: KLIndices, arm: Arm) -> None:
    """Forget the index of an arm whose counts have changed; its value stays as a guess."""
    indices.rate[arm] = math.inf
    indices.delta[arm] = NEVER


@inline_kernel
def tangent(indices: KLIndices, arm: Arm, delta: float) -> float:
    """Return an upper bound of an index at a larger ``delta``; infinite if it was forgotten."""
    return float(indices.value[arm] + indices.rate[arm] * (delta - indices.delta[arm]) + SLACK)


@inline_kernel
def bound(indices: KLIndices, arm: Arm, delta: float) -> float:
    """Return an upper bound of an index at any ``delta``: itself if known, 1 if forgotten."""
    moved = delta - indices.delta[arm]
    if moved == 0.0:
        return float(indices.value[arm])
    rate = indices.rate[arm]
    # Without a tangent, the index still grows with δ. A rate of 0 is that of an index which cannot
    # be larger.
    if rate == 0.0 or (moved < 0.0 and rate >= STEEP):
        return float(indices.value[arm])
    return min(1.0, tangent(indices, arm, delta))


@inline_kernel
def index(indices: KLIndices, clicks: Ints, misses: Ints, arm: Arm, delta: float) -> float:
    """Return the index of an arm's clicks and misses, computed unless it is known.

    The search begins at the last index, which changes the result only by rounding.
    """
    if indices.delta[arm] != delta:
        value = kl_upper(clicks[arm], misses[arm], delta, indices.value[arm])
        store_index(indices, arm, value, kl_upper_rate(clicks[arm], misses[arm], value), delta)
    return float(indices.value[arm])


@lean_kernel
def index_over_positions(
    indices: KLIndices, clicks: Ints, misses: Ints, examination: Floats, arm: int, delta: float
) -> float:
    """Return the index of an arm with counts by position, computed unless it is known.

    It is infinite without a view. ``delta`` must not decrease from call to call.
    """
    if indices.delta[arm] < delta:
        value, rate, until = kl_ucb_and_bound(clicks[arm], misses[arm], examination, delta)
        store_index(indices, arm, value, rate, until)
    return float(indices.value[arm])
