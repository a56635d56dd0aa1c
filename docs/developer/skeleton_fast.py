"""Skeleton, fast: the click rates change only for the items of random lists."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from skeleton_policy import Params, Skeleton, State

from clickrank.kernels import Floats, Ints, top_k
from clickrank.policies import Request, register_fast


class Cache(NamedTuple):
    """Values that need not be computed in every round."""

    rate: Floats  # (n_items,), S_k / N_k; infinite before the first view
    luck_buffer: Floats  # (n_items,), random numbers by which a random list is sorted


def build(params: Params, state: State) -> Cache:
    """Compute the cache from the statistics."""
    rate = np.full(state.views.size, math.inf)
    seen = state.views > 0
    rate[seen] = state.clicks[seen] / state.views[seen]
    return Cache(rate, np.zeros(rate.size))


def rank(
    params: Params,
    state: State,
    cache: Cache,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Show a random list, or the items with the largest click rates."""
    memo[0] = 1 if rng.random() < params.epsilon else 0
    if memo[0] == 1:
        for item in range(cache.luck_buffer.size):
            cache.luck_buffer[item] = rng.random()
        top_k(cache.luck_buffer, rng, ranking)
    else:
        top_k(cache.rate, rng, ranking)


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Learn from random lists only, and update the rates of their items."""
    if memo[0] == 1:
        for position in range(ranking.shape[0]):
            item = ranking[position]
            state.clicks[item] += clicks[position]
            state.views[item] += 1
            cache.rate[item] = state.clicks[item] / state.views[item]


register_fast(Skeleton, State, Cache, build, rank, update)
