"""KL indices of arms with counts by position (lagree2016, eq. 7), each kept once computed.

An arm's index depends on its counts and on δ, which grows slowly for all arms at once. So an
index is kept when computed, and `upper` bounds what it has become since, exactly.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import kernel, tell_apart
from clickrank.numerics.kl_index import SLACK, divergence_constant, kl_index
from clickrank.types import Floats, Ints

# What has to be computed for an arm: nothing, its index, or the constants of its positions too.
FRESH, STALE, UNKNOWN = 0, 1, 2


class KLCounts(NamedTuple):
    """What is known of the index of each arm."""

    constant: Floats  # (n_arms, n_positions), see `clickrank.numerics.kl_index`
    stale: Ints  # (n_arms,), `FRESH`; `STALE` if counts have changed since; or `UNKNOWN`
    value: Floats  # (n_arms,), the index when last computed; infinite without a view
    rate: Floats  # (n_arms,), how fast the index grows with δ at most
    until: Floats  # (n_arms,), the δ up to which the index is `value`


tell_apart(KLCounts)


def no_indices(clicks: Ints, misses: Ints) -> KLCounts:
    """Return what is known before any index is computed: that arms without a view have none."""
    n_arms = clicks.shape[0]
    seen = (clicks + misses).any(axis=1)
    return KLCounts(
        constant=np.zeros(clicks.shape),
        stale=np.where(seen, UNKNOWN, STALE),
        value=np.zeros(n_arms),
        rate=np.zeros(n_arms),
        until=np.zeros(n_arms),
    )


@kernel
def count(
    known: KLCounts,
    clicks: Ints,
    misses: Ints,
    examination: Floats,
    arm: int,
    position: int,
    click: int,
) -> None:
    """Count one view of an arm at a position."""
    clicks[arm, position] += click
    misses[arm, position] += 1 - click
    known.constant[arm, position] = divergence_constant(
        clicks[arm, position], misses[arm, position], examination[position]
    )
    known.stale[arm] = max(known.stale[arm], STALE)


@kernel
def refresh(
    known: KLCounts, clicks: Ints, misses: Ints, examination: Floats, arm: int, delta: float
) -> float:
    """Return the arm's index at ``delta``, computed unless it is known."""
    if known.stale[arm] == FRESH and known.until[arm] >= delta:
        return float(known.value[arm])
    if known.stale[arm] == UNKNOWN:
        for position in range(examination.shape[0]):
            known.constant[arm, position] = divergence_constant(
                clicks[arm, position], misses[arm, position], examination[position]
            )
    constant = 0.0
    total = 0
    seen = 0.0
    for position in range(examination.shape[0]):
        constant += known.constant[arm, position]
        total += clicks[arm, position]
        seen += examination[position] * (clicks[arm, position] + misses[arm, position])
    value = math.inf
    rate = 0.0
    until = math.inf
    if seen > 0.0:
        value, rate, until = kl_index(total, misses[arm], examination, constant, seen, delta)
    known.stale[arm] = FRESH
    known.value[arm] = value
    known.rate[arm] = rate
    known.until[arm] = until
    return value


@kernel
def upper(known: KLCounts, arm: int, delta: float) -> float:
    """Return a bound on the index at ``delta`` of an arm that is not stale: its tangent in δ."""
    if known.until[arm] >= delta:
        return float(known.value[arm])
    return float(known.value[arm] + known.rate[arm] * (delta - known.until[arm]) + SLACK)
