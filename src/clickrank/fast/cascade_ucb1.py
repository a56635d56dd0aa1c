"""CascadeUCB1, fast: sorts only the items that may enter the list.

The two terms of a bound that depend on the item change only with its counts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Floats, Ints
from clickrank.policies._shared.observation import FIRST_CLICK, positions_seen
from clickrank.policies.cascade_ucb1 import CascadeUCB1, Params, State
from clickrank.policies.contract import Request
from clickrank.policies.registration import register_fast
from clickrank.rankings.selection import contenders, draw_entered, enter


class Cache(NamedTuple):
    """The terms of each bound, and the last list."""

    mean: Floats  # (n_items,), ŵ(e); infinite before the first view
    width: Floats  # (n_items,), 1/√T(e); 0 before the first view
    bound_buffer: Floats  # (n_items,), U_t(e)
    best: Ints  # (n_positions,), items by decreasing bound, ties by number
    items_buffer: Ints  # (2, n_items); this and the next: see `contenders`
    ceilings_buffer: Floats  # (n_positions,)


def build(params: Params, state: State) -> Cache:
    """Compute the terms from the counts."""
    n_items, seen = state.views.size, state.views > 0
    share = 1.0 / state.views[seen]
    mean, width = np.full(n_items, math.inf), np.zeros(n_items)
    mean[seen], width[seen] = state.clicks[seen] * share, np.sqrt(share)
    return Cache(
        mean=mean,
        width=width,
        bound_buffer=np.zeros(n_items),
        best=np.arange(params.n_positions),
        items_buffer=np.zeros((2, n_items), dtype=np.int64),
        ceilings_buffer=np.zeros(params.n_positions),
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
    """Sort by the bound, starting from the last list."""
    scale = math.sqrt(params.exploration * math.log(max(1, state.rounds[0])))
    for item in range(cache.bound_buffer.shape[0]):
        cache.bound_buffer[item] = cache.mean[item] + scale * cache.width[item]
    buffer = cache.items_buffer
    found = contenders(
        cache.bound_buffer, cache.bound_buffer, cache.best, buffer, cache.ceilings_buffer
    )
    enter(cache.bound_buffer, cache.best, buffer, found)
    draw_entered(cache.bound_buffer, rng, cache.best, buffer, found, ranking)


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count down to the first click, and update the terms of the examined items."""
    state.rounds[0] += 1
    for position in range(positions_seen(FIRST_CLICK, clicks)):
        item = ranking[position]
        state.clicks[item] += clicks[position]
        state.views[item] += 1
        share = 1.0 / state.views[item]
        cache.mean[item] = state.clicks[item] * share
        cache.width[item] = math.sqrt(share)


register_fast(CascadeUCB1, State, Cache, build, rank, update, lean=True)
