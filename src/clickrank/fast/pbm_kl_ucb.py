"""PBM-KL-UCB, fast: solves eq. 7 only for items that may belong into the list.

These are the items just shown, and the few others whose tangent bound reaches the list (U is
concave in δ); the others take one comparison each.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._select import kth_largest, place, prominence, renew_top_k
from clickrank.fast._shared.kl_counts import FRESH, KLCounts, count, no_indices, refresh, upper
from clickrank.numerics.kl_index import SLACK
from clickrank.policies.contract import Request, register_fast
from clickrank.policies.pbm_kl_ucb import PBMKLUCB, Params, State
from clickrank.types import Floats, Ints


class Cache(NamedTuple):
    """What is known of the indices, and the last list."""

    known: KLCounts  # of each item
    score: Floats  # (n_items,), U_k now, or a bound on it below the list's indices
    best: Ints  # (n_positions,), items by decreasing score
    order: Ints  # (n_positions,), positions by decreasing examination
    largest_buffer: Floats  # (n_positions,), for kth_largest


def build(params: Params, state: State) -> Cache:
    """Return a cache without any index."""
    n_items, n_positions = state.clicks.shape
    return Cache(
        known=no_indices(state.clicks, state.misses),
        score=np.zeros(n_items),
        best=np.zeros(n_positions, dtype=np.int64),
        order=prominence(params.examination),
        largest_buffer=np.zeros(n_positions),
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
    """Sort by the index, or by a bound on it where it cannot matter."""
    delta = params.exploration * math.log(state.rounds[0] + 1.0)
    known, n_items = cache.known, cache.score.shape[0]
    for item in range(n_items):
        if known.stale[item] != FRESH:
            refresh(known, state.clicks, state.misses, params.examination, item, delta)
    # Indices only grow with δ: old ones are lower bounds, but for rounding.
    needed = kth_largest(known.value, cache.largest_buffer) - SLACK
    for item in range(n_items):
        bound = upper(known, item, delta)
        if bound >= needed:
            bound = refresh(known, state.clicks, state.misses, params.examination, item, delta)
        cache.score[item] = bound
    renew_top_k(cache.score, rng, cache.best)
    place(cache.best, cache.order, ranking)


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count, and mark the indices of the items shown as stale."""
    state.rounds[0] += 1
    counts = state.clicks, state.misses
    for position in range(ranking.shape[0]):
        item, click = ranking[position], clicks[position]
        count(cache.known, *counts, params.examination, item, position, click)


register_fast(PBMKLUCB, State, Cache, build, rank, update)
