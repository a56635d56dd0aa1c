"""CascadeKL-UCB, fast: computes an index only if bounds do not determine the order.

A round solves the equation for the examined items, and for the few others that bounds cannot
separate from an item of the list; otherwise it takes O(n_items) comparisons.
"""

from __future__ import annotations

import numpy as np

from clickrank._core.arrays import Ints
from clickrank.fast._shared.kl_index_cache import forget
from clickrank.fast._shared.kl_ranking import KLRanking, no_ranking, rank_by_index
from clickrank.numerics.kl_bounds import exploration_budget
from clickrank.policies._shared.observation import FIRST_CLICK, positions_seen
from clickrank.policies.cascade_kl_ucb import CascadeKLUCB, Params, State
from clickrank.policies.contract import Request
from clickrank.policies.registration import register_fast


def build(params: Params, state: State) -> KLRanking:
    """Return a cache without any index."""
    return no_ranking(state.clicks.size, params.n_positions)


def rank(
    params: Params,
    state: State,
    cache: KLRanking,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Sort by the index."""
    delta = exploration_budget(state.rounds[0] + 1.0)
    counts = state.clicks, state.misses
    rank_by_index(cache, request.candidates, *counts, delta, rng, ranking)


def update(
    params: Params, state: State, cache: KLRanking, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count the examined items, and forget their indices."""
    state.rounds[0] += 1
    for position in range(positions_seen(FIRST_CLICK, clicks)):
        item, click = ranking[position], clicks[position]
        state.clicks[item] += click
        state.misses[item] += 1 - click
        forget(cache.indices, item)


register_fast(CascadeKLUCB, State, KLRanking, build, rank, update, lean=True, candidates=True)
