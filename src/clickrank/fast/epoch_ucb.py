"""Epoch-UCB, fast: the terms of an index change only with the counts of its item.

A new epoch takes one logarithm and two roots for all items together, and compares the last list
with the items that may enter it instead of sorting all. `EpochUCBW` runs the same kernels.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import inline_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.policies._shared.epochs import ends_epoch, goes_on
from clickrank.policies.contract import Request
from clickrank.policies.epoch_ucb import EpochUCB, Params, State
from clickrank.policies.registration import register_fast
from clickrank.rankings.selection import contenders, draw_entered, enter


class Cache(NamedTuple):
    """The terms of each index, and the last list."""

    mean: Floats  # (n_items,), ᾱ_j; infinite before the first complete epoch
    share: Floats  # (n_items,), 1/Λ_j; 0 before it
    width: Floats  # (n_items,), √(min(1, 2ᾱ_j)/Λ_j); 0 before it
    bound_buffer: Floats  # (n_items,), the index
    best: Ints  # (n_positions,), items by decreasing index, ties by number
    item_buffer: Ints  # (2, n_items); this and the next: see `contenders`
    position_buffer: Floats  # (n_positions,)


def build(params: Params, state: State) -> Cache:
    """Compute the terms from the counts."""
    n_items, n_positions = state.clicks.size, params.position_bias.size
    seen = state.exposure > 0.0
    mean, share, width = np.full(n_items, math.inf), np.zeros(n_items), np.zeros(n_items)
    share[seen] = 1.0 / state.exposure[seen]
    mean[seen] = state.clicks[seen] * share[seen]
    width[seen] = np.sqrt(np.minimum(1.0, 2.0 * mean[seen]) * share[seen])
    return Cache(
        mean,
        share,
        width,
        bound_buffer=np.zeros(n_items),
        best=np.arange(n_positions),
        item_buffer=np.zeros((2, n_items), dtype=np.int64),
        position_buffer=np.zeros(n_positions),
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
    """Show the epoch's list, or begin an epoch with the items that have the largest indices."""
    if goes_on(state.epoch, state.begun, state.current, ranking, memo):
        return
    number = state.epoch[0] + 1.0
    inside = params.half * number
    if params.squared == 1:
        inside *= number
    level = params.exploration * max(0.0, math.log(inside))
    root = math.sqrt(level)
    for item in range(cache.bound_buffer.shape[0]):
        cache.bound_buffer[item] = (
            cache.mean[item] + root * cache.width[item] + level * cache.share[item]
        )
    buffer = cache.item_buffer
    found = contenders(
        cache.bound_buffer, cache.bound_buffer, cache.best, buffer, cache.position_buffer
    )
    enter(cache.bound_buffer, cache.best, buffer, found)
    draw_entered(cache.bound_buffer, rng, cache.best, buffer, found, ranking)
    for place in range(ranking.shape[0]):
        buffer[0, place] = ranking[place]
    for place in range(ranking.shape[0]):
        ranking[params.prominence[place]] = buffer[0, place]


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count, and update the terms of the items counted."""
    ended = ends_epoch(state.epoch, state.begun, state.current, ranking, memo, clicks)
    for position in range(ranking.shape[0]):
        item = ranking[position]
        if ended:
            state.exposure[item] += params.position_bias[position]
            cache.share[item] = 1.0 / state.exposure[item]
            _estimate(state, cache, item)
        elif clicks[position] == 1:
            state.clicks[item] += 1
            if state.exposure[item] > 0.0:
                _estimate(state, cache, item)


@inline_kernel
def _estimate(state: State, cache: Cache, item: int) -> None:
    cache.mean[item] = state.clicks[item] * cache.share[item]
    cache.width[item] = math.sqrt(min(1.0, 2.0 * cache.mean[item]) * cache.share[item])


register_fast(EpochUCB, State, Cache, build, rank, update, lean=True)
