"""PBM-KL-UCB, fast: solves eq. 7 only for items that may belong in the list.

These are the items just shown, and the few others whose tangent bound reaches the list (U is
concave in δ); the others take one comparison each.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import inline_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.fast._shared.kl_index_cache import (
    NEVER,
    KLIndices,
    bound,
    forget,
    index_over_positions,
    no_indices,
)
from clickrank.numerics.kl_bounds import SLACK
from clickrank.policies.contract import Request
from clickrank.policies.pbm_kl_ucb import PBMKLUCB, Params, State
from clickrank.policies.registration import register_fast
from clickrank.rankings.selection import kth_largest, place, prominence, renew_top_k


class Cache(NamedTuple):
    """The known indices, and the last list."""

    indices: KLIndices  # (n_items,), U_k when last computed
    score: Floats  # (n_items,), U_k now, or a bound of it that is below the indices of the list
    best: Ints  # (n_positions,), items by decreasing score
    order: Ints  # (n_positions,), positions by decreasing examination
    largest_buffer: Floats  # (n_positions,), for kth_largest


def build(params: Params, state: State) -> Cache:
    """Return a cache without any index."""
    n_items, n_positions = state.clicks.shape
    return Cache(
        indices=no_indices(n_items),
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
    """Sort by the index, or by a bound of it where the index cannot matter."""
    delta = params.exploration * math.log(state.rounds[0] + 1.0)
    indices, n_items = cache.indices, cache.score.shape[0]
    for item in range(n_items):
        if indices.delta[item] == NEVER:
            _index(params, state, cache, item, delta)
    # Indices only grow with δ: old ones are lower bounds, except for rounding errors.
    needed = kth_largest(indices.value, cache.largest_buffer) - SLACK
    for item in range(n_items):
        cache.score[item] = bound(indices, item, delta)
        if cache.score[item] >= needed:
            cache.score[item] = _index(params, state, cache, item, delta)
    renew_top_k(cache.score, rng, cache.best)
    place(cache.best, cache.order, ranking)


@inline_kernel
def _index(params: Params, state: State, cache: Cache, item: int, delta: float) -> float:
    counts = state.clicks, state.misses
    return index_over_positions(cache.indices, *counts, params.examination, item, delta)


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count, and forget the indices of the items shown."""
    state.rounds[0] += 1
    for position in range(ranking.shape[0]):
        item = ranking[position]
        state.clicks[item, position] += clicks[position]
        state.misses[item, position] += 1 - clicks[position]
        forget(cache.indices, item)


register_fast(PBMKLUCB, State, Cache, build, rank, update, lean=True)
