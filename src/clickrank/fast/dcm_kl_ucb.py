"""dcmKL-UCB, fast: computes an index only if bounds do not determine the order.

A round solves the equation for the examined items, and for the few others that bounds cannot
separate from an item of the list; otherwise it takes O(n_items) comparisons.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Ints
from clickrank.fast._shared.kl_index_cache import forget
from clickrank.fast._shared.kl_ranking import KLRanking, no_ranking, rank_by_index
from clickrank.numerics.kl_bounds import exploration_budget
from clickrank.policies._shared.observation import positions_seen
from clickrank.policies.contract import Request
from clickrank.policies.dcm_kl_ucb import DCMKLUCB, Params, State
from clickrank.policies.registration import register_fast
from clickrank.rankings.selection import place, prominence


class Cache(NamedTuple):
    """The known indices, and the order of positions."""

    last: KLRanking
    order: Ints  # (n_positions,), positions by decreasing satisfaction
    sorted_buffer: Ints  # (n_positions,), the items of the list by decreasing index


def build(params: Params, state: State) -> Cache:
    """Return a cache without any index."""
    order = prominence(params.visibility)
    return Cache(no_ranking(state.clicks.size, order.size), order, np.zeros_like(order))


def rank(
    params: Params,
    state: State,
    cache: Cache,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Sort by the index."""
    delta = exploration_budget(state.rounds[0] + 1.0)
    counts = state.clicks, state.misses
    rank_by_index(cache.last, request.candidates, *counts, delta, rng, cache.sorted_buffer)
    place(cache.sorted_buffer, cache.order, ranking)


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count the examined items, and forget their indices."""
    state.rounds[0] += 1
    for position in range(positions_seen(params.rule, clicks)):
        item, click = ranking[position], clicks[position]
        state.clicks[item] += click
        state.misses[item] += 1 - click
        forget(cache.last.indices, item)


register_fast(DCMKLUCB, State, Cache, build, rank, update, lean=True, candidates=True)
