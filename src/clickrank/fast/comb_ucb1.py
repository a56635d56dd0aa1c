"""CombUCB1, fast: means and widths change only with the counts of an item, and the list rarely.

A round checks that no exchange of items improves the last list, O(n_positions³); only if one does,
it solves the assignment problem, O(n_positions² · n_items).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import inline_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.assignment import assign, assignment_buffers
from clickrank.policies._shared.rotation import rotate
from clickrank.policies.comb_ucb1 import UNSEEN, CombUCB1, Params, State
from clickrank.policies.comb_ucb1 import update as count
from clickrank.policies.contract import Request
from clickrank.policies.registration import register_fast
from clickrank.rankings.selection import copy

_count = inline_kernel(count)


class Cache(NamedTuple):
    """The terms of each bound, and the best list of the last round."""

    unstarted: Ints  # (1,), items never shown at the first position: rotations left to show
    mean: Floats  # (n_items, n_positions), ρ̂_ik
    width: Floats  # (n_items, n_positions), 1/√T_ik
    best: Ints  # (n_positions,), the list that was best in the last round
    bound_buffer: Floats  # (n_items, n_positions), U_t(i, k)
    float_buffer: Floats  # (5, n_items); this and the next two: see `assign`
    int_buffer: Ints  # (4, n_items)
    graph_buffer: Floats  # (n_positions + 1, n_positions + 1)


def build(params: Params, state: State) -> Cache:
    """Compute the terms from the counts."""
    views = state.clicks + state.misses
    some = np.maximum(views, 1)
    work = assignment_buffers(*views.shape)
    return Cache(
        unstarted=np.full(1, np.count_nonzero(views[:, 0] == 0), dtype=np.int64),
        mean=state.clicks / some,
        width=np.where(views > 0, 1.0 / np.sqrt(some), UNSEEN),
        best=work["best"],
        bound_buffer=np.zeros(views.shape),
        float_buffer=work["float_buffer"],
        int_buffer=work["int_buffer"],
        graph_buffer=work["graph_buffer"],
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
    """Show each rotation once, then the best list, for which the last one is tried first."""
    if cache.unstarted[0] > 0:
        rotate(state.clicks, state.misses, cache.unstarted[0], rng, ranking)
        return
    scale = math.sqrt(params.exploration * math.log(state.rounds[0]))
    bound = cache.bound_buffer
    for item in range(bound.shape[0]):
        for position in range(bound.shape[1]):
            bound[item, position] = cache.mean[item, position] + scale * cache.width[item, position]
    assign(bound, rng, cache.best, cache.float_buffer, cache.int_buffer, cache.graph_buffer)
    copy(cache.best, ranking)


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks and misses, and update the terms of the cells shown."""
    first = ranking[0]
    cache.unstarted[0] -= state.clicks[first, 0] + state.misses[first, 0] == 0
    _count(params, state, None, ranking, memo, clicks)
    for position in range(ranking.shape[0]):
        item = ranking[position]
        views = state.clicks[item, position] + state.misses[item, position]
        cache.mean[item, position] = state.clicks[item, position] / views
        cache.width[item, position] = 1.0 / math.sqrt(views)


register_fast(CombUCB1, State, Cache, build, rank, update, lean=True)
