"""Parts of GRAB and S-GRAB: click rates, turns of the leader, and the best of several lists."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clickrank._compile.jit import kernel, lean_kernel
from clickrank._core.arrays import Floats, IntParticle, Ints
from clickrank.numerics.assignment import TIE
from clickrank.numerics.count_table import HASH_BITS, count_once_more, pair_hash


class Bookkeeping(NamedTuple):
    """Values on which rankings depend, although they cannot be computed from the feedback."""

    lists_since_feedback: IntParticle  # (1,), lists made since the last feedback
    labels: IntParticle  # (n_items,), identities of items in hashes of leaders: see `leader_items`


def build(params: Any, state: Any) -> Bookkeeping:
    """Return the values for no list in flight and unchanged item numbers."""
    return Bookkeeping(np.zeros(1, dtype=np.int64), np.arange(state.clicks.shape[0]))


@lean_kernel
def hash_of_list(leader: Ints, labels: Ints) -> int:
    """Return the key under which the rounds that a list has led are counted."""
    total = 0
    for position in range(leader.shape[0]):
        total = (total + pair_hash(position, int(labels[leader[position]]))) & HASH_BITS
    return total


@lean_kernel
def is_due(lists_since_feedback: Ints, rounds_led: int, period: int) -> bool:
    """Return whether it is the leader's turn to be shown, and count one more list made.

    Lists made since the last feedback count too. Otherwise, with feedback in batches, the number of
    settled rounds might be a multiple of the period for a whole batch, or never.
    """
    due = bool((rounds_led + lists_since_feedback[0]) % period == 0)
    lists_since_feedback[0] += 1
    return due


@kernel
def click_rates(clicks: Ints, misses: Ints) -> Floats:
    """Return ρ̂_ik: clicks per view of each item at each position; without views it is 0."""
    rates: Floats = clicks / np.maximum(clicks + misses, 1)
    return rates


@kernel
def play_best(lists: Ints, indices: Floats, rng: np.random.Generator, ranking: Ints) -> None:
    """Write the list (a row of ``lists``) with the largest sum of indices, ties at random."""
    sums = np.zeros(lists.shape[0])
    for n in range(lists.shape[0]):
        for position in range(lists.shape[1]):
            sums[n] += indices[lists[n, position], position]
    tied = np.flatnonzero(sums >= sums.max() - TIE)
    chosen = int(rng.random() * tied.size) if tied.size > 1 else 0
    ranking[:] = lists[tied[chosen]]


@lean_kernel
def count_list(state: Any, cache: Any, ranking: Ints, leader: Ints, clicks: Ints) -> None:
    """Count the clicks, and one more round for the list that led when the ranking was made."""
    cache.lists_since_feedback[0] = 0
    count_once_more(state.keys, state.times, hash_of_list(leader, cache.labels))
    for position in range(ranking.shape[0]):
        item = ranking[position]
        state.clicks[item, position] += clicks[position]
        state.misses[item, position] += 1 - clicks[position]
