"""MNL-bandit, fast: the terms of an index change only with the counts of its cell.

A new epoch first checks that no exchange of items improves the last list, O(n_positions³), and
solves the assignment problem only if one does.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import inline_kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.assignment import assign, assignment_buffers
from clickrank.policies._shared.epochs import ends_epoch, goes_on
from clickrank.policies.contract import Request
from clickrank.policies.mnl_bandit import MNLBandit, Params, State
from clickrank.policies.registration import register_fast
from clickrank.rankings.selection import copy


class Cache(NamedTuple):
    """The terms of each index, and the last list."""

    mean: Floats  # (n_items, n_positions), γ̄_jk; infinite before the first complete epoch
    share: Floats  # (n_items, n_positions), 1/Ñ_jk; 0 before it
    width: Floats  # (n_items, n_positions), √(min(1, 2γ̄_jk)/Ñ_jk); 0 before it
    bound_buffer: Floats  # (n_items, n_positions), the index, scaled
    best: Ints  # (n_positions,), the list
    float_buffer: Floats  # (5, n_items); this and the next two: see `assign`
    int_buffer: Ints  # (4, n_items)
    graph_buffer: Floats  # (n_positions + 1, n_positions + 1)


def build(params: Params, state: State) -> Cache:
    """Compute the terms from the counts."""
    cells, seen = state.clicks.shape, state.epochs > 0
    mean, share, width = np.full(cells, math.inf), np.zeros(cells), np.zeros(cells)
    share[seen] = 1.0 / state.epochs[seen]
    mean[seen] = state.clicks[seen] * share[seen]
    width[seen] = np.sqrt(np.minimum(1.0, 2.0 * mean[seen]) * share[seen])
    work = assignment_buffers(*cells)
    buffers = work["float_buffer"], work["int_buffer"], work["graph_buffer"]
    return Cache(mean, share, width, np.zeros(cells), work["best"], *buffers)


def rank(
    params: Params,
    state: State,
    cache: Cache,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Show the epoch's list, or begin an epoch with the list of the largest sum of indices."""
    if not goes_on(state.epoch, state.begun, state.current, ranking, memo):
        _begin_epoch(params, state, cache, rng, ranking)


@lean_kernel
def _begin_epoch(
    params: Params, state: State, cache: Cache, rng: np.random.Generator, ranking: Ints
) -> None:
    """Write the list with the largest sum of indices."""
    number = state.epoch[0] + 1.0
    level = params.exploration * max(0.0, math.log(params.half * number * number))
    root = math.sqrt(level)
    n_items, n_positions = cache.bound_buffer.shape
    largest = 0.0
    for item in range(n_items):
        for position in range(n_positions):
            value = cache.mean[item, position] + root * cache.width[item, position]
            value += level * cache.share[item, position]
            cache.bound_buffer[item, position] = value
            if value < math.inf:
                largest = max(largest, value)
    scale = 1.0 / (1.0 + n_positions * largest)
    for item in range(n_items):
        for position in range(n_positions):
            cache.bound_buffer[item, position] = min(
                1.0, cache.bound_buffer[item, position] * scale
            )
    buffers = cache.float_buffer, cache.int_buffer, cache.graph_buffer
    assign(cache.bound_buffer, rng, cache.best, buffers[0], buffers[1], buffers[2])
    copy(cache.best, ranking)


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count, and update the terms of the cells counted."""
    ended = ends_epoch(state.epoch, state.begun, state.current, ranking, memo, clicks)
    for position in range(ranking.shape[0]):
        item = ranking[position]
        if ended:
            state.epochs[item, position] += 1
            cache.share[item, position] = 1.0 / state.epochs[item, position]
            _estimate(state, cache, item, position)
        elif clicks[position] == 1:
            state.clicks[item, position] += 1
            if state.epochs[item, position] > 0:
                _estimate(state, cache, item, position)


@inline_kernel
def _estimate(state: State, cache: Cache, item: int, position: int) -> None:
    share = cache.share[item, position]
    mean = state.clicks[item, position] * share
    cache.mean[item, position] = mean
    cache.width[item, position] = math.sqrt(min(1.0, 2.0 * mean) * share)


register_fast(MNLBandit, State, Cache, build, rank, update, lean=True)
