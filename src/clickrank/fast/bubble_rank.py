"""BubbleRank, fast: neighbours are compared only after a pair has become certain.

Between other neighbours nothing changes that could cause an exchange. A round takes O(n_positions),
and O(n_items) when a pair becomes certain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import lean_kernel
from clickrank._core.arrays import IntParticle, Ints
from clickrank.numerics.shuffling import draw_distinct
from clickrank.policies._shared.bubble_rank_items import count_candidates
from clickrank.policies._shared.bubble_sort import begin_with, confidently_better
from clickrank.policies.bubble_rank import BubbleRank, Params, State
from clickrank.policies.contract import Request
from clickrank.policies.registration import register_fast


class Cache(NamedTuple):
    """How many items may move onto the page, and whether the base list may change."""

    lists_since_feedback: IntParticle  # (1,), as in the plain kernels
    candidates: Ints  # (1,), items below the page that may be better than its last one
    unsettled: Ints  # (1,), whether the last pass exchanged items, so that the next one may too
    worse_buffer: Ints  # (n_items,), items below the page that are worse with confidence


def build(params: Params, state: State) -> Cache:
    """Count the candidates; whether the last pass exchanged items is unknown."""
    return Cache(
        lists_since_feedback=np.zeros(1, dtype=np.int64),
        candidates=np.full(1, count_candidates(params, state), dtype=np.int64),
        unsettled=np.ones(1, dtype=np.int64),
        worse_buffer=np.zeros(state.base.size, dtype=np.int64),
    )


def rank(
    params: Params,
    state: State,
    cache: Cache,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Show every other pair of neighbours in random order, unless the upper item is better."""
    n_positions = ranking.shape[0]
    for position in range(n_positions):
        memo[position] = 0
        ranking[position] = state.base[position]
    if not (params.given or state.rounds[0] > 0):
        draw_distinct(rng, state.base.shape[0], ranking)
        return
    offset = (state.rounds[0] + cache.lists_since_feedback[0] + 1) % 2  # h = t mod 2
    cache.lists_since_feedback[0] += 1
    for position in range(offset, n_positions - 1, 2):
        item = ranking[position]
        other = ranking[position + 1]
        if not confidently_better(state.wins, params.width, item, other):
            memo[position] = 1
            if rng.random() < 0.5:
                ranking[position] = other
                ranking[position + 1] = item
    last = n_positions - 1
    if cache.candidates[0] > 0 and (last - offset) % 2 == 0:
        other = state.base[n_positions + int(rng.random() * cache.candidates[0])]
        if rng.random() < 0.5:
            memo[last] = 1 + ranking[last]
            ranking[last] = other
        else:
            memo[last] = 1 + other


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count randomised pairs, and exchange neighbours if that may have become certain."""
    started = params.given or state.rounds[0] > 0
    state.rounds[0] += 1
    cache.lists_since_feedback[0] = 0
    if not started:
        begin_with(ranking, state.base)
        return
    last = ranking.shape[0] - 1
    certain = False
    for position in range(last):
        if memo[position] != 0 and clicks[position] != clicks[position + 1]:
            winner = position + clicks[position + 1]
            loser = position + clicks[position]
            certain |= _count(state.wins, params.width, ranking[winner], ranking[loser])
    if memo[last] != 0 and clicks[last] == 1:
        certain |= _count(state.wins, params.width, ranking[last], memo[last] - 1)
    # Nothing else can cause an exchange: between other neighbours nothing has changed.
    if certain or cache.unsettled[0] == 1:
        _bubble(state.base, state.wins, params.width, cache, ranking.shape[0])


@lean_kernel
def _count(wins: Ints, width: float, winner: int, loser: int) -> bool:
    """Count a pair; return whether it is certain which item is better, now or already before."""
    before = confidently_better(wins, width, loser, winner)
    wins[winner, loser] += 1
    return bool(before or confidently_better(wins, width, winner, loser))


@lean_kernel
def _bubble(base: Ints, wins: Ints, width: float, cache: Cache, n_positions: int) -> None:
    """Exchange neighbours if the lower one is better, in one pass; then exchange the last item."""
    n_items = base.shape[0]
    cache.unsettled[0] = 0
    for upper in range(n_positions - 1):
        item = base[upper]
        if confidently_better(wins, width, base[upper + 1], item):
            base[upper] = base[upper + 1]
            base[upper + 1] = item
            cache.unsettled[0] = 1
    last = base[n_positions - 1]
    better = -1
    lead = 0
    for place in range(n_positions, n_items):
        item = base[place]
        by = wins[item, last] - wins[last, item]
        if by > lead and confidently_better(wins, width, item, last):
            better = place
            lead = by
    if better >= 0:
        base[n_positions - 1] = base[better]
        base[better] = last
        last = base[n_positions - 1]
        cache.unsettled[0] = 1
    # Below the page, items that may be better than the last one come first, in order.
    to = n_positions
    size = 0
    for place in range(n_positions, n_items):
        item = base[place]
        if confidently_better(wins, width, last, item):
            cache.worse_buffer[size] = item
            size += 1
        else:
            base[to] = item
            to += 1
    cache.candidates[0] = to - n_positions
    for i in range(size):
        base[to + i] = cache.worse_buffer[i]


register_fast(BubbleRank, State, Cache, build, rank, update, lean=True)
