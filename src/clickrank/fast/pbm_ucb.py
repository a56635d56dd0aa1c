"""PBM-UCB, fast: the two terms of an index that depend on the item change only with its counts."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import inline_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.policies.contract import Request
from clickrank.policies.pbm_ucb import PBMUCB, Params, State
from clickrank.policies.pbm_ucb import update as count
from clickrank.policies.registration import register_fast
from clickrank.rankings.selection import place, prominence, renew_top_k

_count = inline_kernel(count)


class Cache(NamedTuple):
    """The terms of each index."""

    mean: Floats  # (n_items,), S_k / Ñ_k; infinite before the first view
    width: Floats  # (n_items,), sqrt(N_k / 2) / Ñ_k
    bound_buffer: Floats  # (n_items,), U_k
    best: Ints  # (n_positions,), items by decreasing index
    order: Ints  # (n_positions,), positions by decreasing examination


def build(params: Params, state: State) -> Cache:
    """Compute the terms from the counts."""
    seen, n_positions = state.views > 0, params.examination.size
    mean, width = np.full(seen.size, math.inf), np.zeros(seen.size)
    mean[seen] = state.clicks[seen] / state.seen[seen]
    width[seen] = np.sqrt(0.5 * state.views[seen]) / state.seen[seen]
    order = prominence(params.examination)
    return Cache(mean, width, np.zeros(seen.size), np.arange(n_positions), order)


def rank(
    params: Params,
    state: State,
    cache: Cache,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Sort by the index: one logarithm and one root for all items together."""
    bonus = math.sqrt(params.exploration * math.log(state.rounds[0] + 1.0))
    for item in range(cache.bound_buffer.shape[0]):
        cache.bound_buffer[item] = cache.mean[item] + cache.width[item] * bonus
    renew_top_k(cache.bound_buffer, rng, cache.best)
    place(cache.best, cache.order, ranking)


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count, and update the terms of the items shown."""
    _count(params, state, None, ranking, memo, clicks)
    for item in ranking:
        cache.mean[item] = state.clicks[item] / state.seen[item]
        cache.width[item] = math.sqrt(0.5 * state.views[item]) / state.seen[item]


register_fast(PBMUCB, State, Cache, build, rank, update)
