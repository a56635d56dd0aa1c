"""What GRAB and S-GRAB share: click rates, when to play the leader, and the best of some lists."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clickrank._compile.jit import kernel, lean_kernel
from clickrank.numerics.assignment import TIE
from clickrank.types import Floats, IntParticle, Ints


class Particle(NamedTuple):
    """What is neither a statistic nor can be computed from them."""

    ahead: IntParticle  # (1,), lists made since feedback last came back
    labels: IntParticle  # (n_items,), what hashes of leaders call the items: see `name_leaders`


def new_particle(params: Any, state: Any) -> Particle:
    """Return the particle when no list waits for feedback, and items have their own numbers."""
    return Particle(ahead=np.zeros(1, dtype=np.int64), labels=np.arange(state.clicks.shape[0]))


@lean_kernel
def is_due(ahead: Ints, led: int, period: int) -> bool:
    """Return whether to play a leader that has led ``led`` rounds, and count one more list made.

    Lists made since the last feedback count too: with feedback in batches, the number of rounds
    that have come back might be a multiple of the period for the whole batch, or never.
    """
    due = bool((led + ahead[0]) % period == 0)
    ahead[0] += 1
    return due


@kernel
def click_rates(clicks: Ints, misses: Ints) -> Floats:
    """Return ρ̂_ik: clicks per view of each item at each position, 0 without a view."""
    rates = np.zeros(clicks.shape)
    for item in range(clicks.shape[0]):
        for position in range(clicks.shape[1]):
            views = clicks[item, position] + misses[item, position]
            if views > 0:
                rates[item, position] = clicks[item, position] / views
    return rates


@kernel
def play_best(lists: Ints, indices: Floats, rng: np.random.Generator, ranking: Ints) -> None:
    """Write the list, one per row, whose items have the largest sum of indices, ties at random."""
    sums = np.zeros(lists.shape[0])
    for n in range(lists.shape[0]):
        for position in range(lists.shape[1]):
            sums[n] += indices[lists[n, position], position]
    tied = np.flatnonzero(sums >= sums.max() - TIE)
    chosen = int(rng.random() * tied.size) if tied.size > 1 else 0
    ranking[:] = lists[tied[chosen]]
