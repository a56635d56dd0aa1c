"""Counts of arms with a lazily computed KL index: shared by the policies that use eq. 7 of 001.

An arm's index depends on its counts and on δ, which grows slowly for all arms at once. So an
index is kept when computed, and `upper` bounds what it has become since, exactly.

These kernels take any state that has the fields of `KLCounts`.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from clickrank._jit import kernel
from clickrank.numerics.kl_index import SLACK, divergence_constant, kl_index
from clickrank.types import Floats, Ints


class KLCounts(Protocol):
    """The fields that a state must have."""

    @property
    def clicks(self) -> Ints:
        """Statistic (n_arms, n_positions), S_kl."""

    @property
    def misses(self) -> Ints:
        """Statistic (n_arms, n_positions), N_kl - S_kl."""

    @property
    def constant(self) -> Floats:
        """Statistic (n_arms, n_positions), see `clickrank.numerics.kl_index`."""

    @property
    def stale(self) -> Ints:
        """Scratch (n_arms,), 1 where counts have changed since the index was computed."""

    @property
    def value(self) -> Floats:
        """Scratch (n_arms,), the index when last computed; infinite without a view."""

    @property
    def rate(self) -> Floats:
        """Scratch (n_arms,), how fast the index grows with δ at most."""

    @property
    def until(self) -> Floats:
        """Scratch (n_arms,), the δ up to which the index is `value`."""


def no_counts(n_arms: int, n_positions: int) -> dict[str, Any]:
    """Return the fields of `KLCounts` before the first click."""
    return {
        "clicks": np.zeros((n_arms, n_positions), dtype=np.int64),
        "misses": np.zeros((n_arms, n_positions), dtype=np.int64),
        "constant": np.zeros((n_arms, n_positions)),
        "stale": np.ones(n_arms, dtype=np.int64),
        "value": np.zeros(n_arms),
        "rate": np.zeros(n_arms),
        "until": np.zeros(n_arms),
    }


@kernel
def count(counts: KLCounts, examination: Floats, arm: int, position: int, click: int) -> None:
    """Count one view of an arm at a position."""
    counts.clicks[arm, position] += click
    counts.misses[arm, position] += 1 - click
    counts.constant[arm, position] = divergence_constant(
        counts.clicks[arm, position], counts.misses[arm, position], examination[position]
    )
    counts.stale[arm] = 1


@kernel
def refresh(counts: KLCounts, examination: Floats, arm: int, delta: float) -> float:
    """Return the arm's index at ``delta``, computed unless it is known."""
    if counts.stale[arm] == 0 and counts.until[arm] >= delta:
        return float(counts.value[arm])
    constant = 0.0
    clicks = 0
    seen = 0.0
    for position in range(examination.shape[0]):
        constant += counts.constant[arm, position]
        clicks += counts.clicks[arm, position]
        views = counts.clicks[arm, position] + counts.misses[arm, position]
        seen += examination[position] * views
    value = math.inf
    rate = 0.0
    until = math.inf
    if seen > 0.0:
        value, rate, until = kl_index(
            clicks, counts.misses[arm], examination, constant, seen, delta
        )
    counts.stale[arm] = 0
    counts.value[arm] = value
    counts.rate[arm] = rate
    counts.until[arm] = until
    return value


@kernel
def upper(counts: KLCounts, arm: int, delta: float) -> float:
    """Return a bound on the index at ``delta`` of an arm that is not stale: its tangent in δ."""
    if counts.until[arm] >= delta:
        return float(counts.value[arm])
    return float(counts.value[arm] + counts.rate[arm] * (delta - counts.until[arm]) + SLACK)
