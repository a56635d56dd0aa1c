"""Epoch-UCB for unknown biases, fast: a fit starts from the last one, and takes a few steps.

Indices and biases are computed once for all lists between two updates. They are rounded, so that
they do not depend on the start of the fit. `EpochUCBStar` runs the same kernels.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import inline_kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.grid_rounding import rounded
from clickrank.numerics.mnl_curvature import click_effects
from clickrank.numerics.mnl_objective import Tables, fit_tables, load_tables, no_tables
from clickrank.policies._shared.epochs import goes_on
from clickrank.policies.contract import Request
from clickrank.policies.epoch_ucb_unknown import EpochUCBUnknown, Params, State
from clickrank.policies.epoch_ucb_unknown import update as count
from clickrank.policies.registration import register_fast
from clickrank.rankings.selection import place, top_k

_count = inline_kernel(count)


class Cache(NamedTuple):
    """The estimates, and the values by which lists are sorted."""

    stale: Ints  # (1,), 1 if the estimates do not match the counts
    log_attraction: Floats  # (n_items,), log α, where the next fit starts
    log_bias: Floats  # (n_positions,), log λ, where the next fit starts
    squares: Floats  # (n_items,), β²
    bound: Floats  # (n_items,), the index
    rounded_log_bias: Floats  # (n_positions,), log λ, equal where biases count as equal
    best: Ints  # (n_positions,), items by decreasing index
    order: Ints  # (n_positions,), positions by decreasing λ
    tables: Tables  # the counts as floats, and buffers


def build(params: Params, state: State) -> Cache:
    """Return a cache without estimates: `rank` computes them when it needs them."""
    n_items, n_positions = state.clicks.shape
    return Cache(
        stale=np.ones(1, dtype=np.int64),
        log_attraction=np.zeros(n_items),
        log_bias=np.zeros(n_positions),
        squares=np.zeros(n_items),
        bound=np.zeros(n_items),
        rounded_log_bias=np.zeros(n_positions),
        best=np.arange(n_positions),
        order=np.arange(n_positions),
        tables=no_tables(n_items, n_positions),
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
    if cache.stale[0] == 1:
        _estimate(params, state, cache)
        cache.stale[0] = 0
    top_k(cache.bound, rng, cache.best)
    top_k(cache.rounded_log_bias, rng, cache.order)
    place(cache.best, cache.order, ranking)


@lean_kernel
def _estimate(params: Params, state: State, cache: Cache) -> None:
    """Write the indices of the items and the rounded biases of the positions."""
    n_items, n_positions = state.clicks.shape
    tables, x, y = cache.tables, cache.log_attraction, cache.log_bias
    load_tables(state.clicks, state.epochs, True, tables)
    fit_tables(tables, params.objective, x, y)
    click_effects(tables, params.objective, x, y, cache.squares)
    for k in range(n_positions):
        cache.rounded_log_bias[k] = rounded(y[k])
    number = state.epoch[0] + 1.0
    level = math.log(n_items * number * (number if params.squared == 1 else 1.0))
    for j in range(n_items):
        shown = 0
        for k in range(n_positions):
            shown += state.epochs[j, k]
        index = math.inf
        if shown > 0:
            width = params.width * math.sqrt(level * cache.squares[j])
            index = rounded(min(math.exp(x[j]) + width, params.largest_index))
        cache.bound[j] = index


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count, and mark the estimates as stale."""
    _count(params, state, None, ranking, memo, clicks)
    cache.stale[0] = 1


register_fast(EpochUCBUnknown, State, Cache, build, rank, update, lean=True)
