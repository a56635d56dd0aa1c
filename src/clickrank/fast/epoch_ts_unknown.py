"""Epoch-TS for unknown biases, fast: the search for the mode starts from the last one."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import inline_kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.mnl_curvature import draw_log_biases
from clickrank.numerics.mnl_objective import Tables, fit_tables, load_tables, no_tables
from clickrank.policies._shared.beta_prime import draw_beta_prime
from clickrank.policies._shared.epochs import goes_on
from clickrank.policies.contract import Request
from clickrank.policies.epoch_ts_unknown import EpochTSUnknown, Params, State
from clickrank.policies.epoch_ts_unknown import update as count
from clickrank.policies.registration import register_fast
from clickrank.rankings.selection import place, renew_top_k

_count = inline_kernel(count)


class Cache(NamedTuple):
    """The mode of the posterior, and the last draws."""

    stale: Ints  # (1,), 1 if the mode does not match the counts
    log_attraction: Floats  # (n_items,), log α at the mode, where the next search starts
    log_bias: Floats  # (n_positions,), log λ at the mode, where the next search starts
    drawn_log_bias_buffer: Floats  # (n_positions,), one draw of log λ
    draws_buffer: Floats  # (n_items,), one draw of each attraction given the biases
    best: Ints  # (n_positions,), items by decreasing draw
    order: Ints  # (n_positions,), positions by decreasing drawn bias
    tables: Tables  # the counts as floats, and buffers


def build(params: Params, state: State) -> Cache:
    """Return a cache without the mode: `rank` searches for it when it needs it."""
    n_items, n_positions = state.clicks.shape
    return Cache(
        stale=np.ones(1, dtype=np.int64),
        log_attraction=np.zeros(n_items),
        log_bias=np.zeros(n_positions),
        drawn_log_bias_buffer=np.zeros(n_positions),
        draws_buffer=np.zeros(n_items),
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
    """Show the epoch's list, or begin an epoch with the largest draws at the largest biases."""
    if goes_on(state.epoch, state.begun, state.current, ranking, memo):
        return
    if cache.stale[0] == 1:
        _find_mode(params, state, cache)
        cache.stale[0] = 0
    mode = cache.log_attraction, cache.log_bias
    draw_log_biases(
        cache.tables, params.objective, mode[0], mode[1], rng, cache.drawn_log_bias_buffer
    )
    for item in range(state.clicks.shape[0]):
        clicks = exposure = squares = 1.0
        for position in range(ranking.shape[0]):
            clicks += state.clicks[item, position]
            if state.epochs[item, position] > 0:
                bias = math.exp(cache.drawn_log_bias_buffer[position])
                exposure += state.epochs[item, position] * bias
                squares += state.epochs[item, position] * bias * bias
        ratio = draw_beta_prime(clicks, exposure * exposure / squares, rng)
        cache.draws_buffer[item] = ratio * (exposure / squares)
    renew_top_k(cache.draws_buffer, rng, cache.best)
    renew_top_k(cache.drawn_log_bias_buffer, rng, cache.order)
    place(cache.best, cache.order, ranking)


@lean_kernel
def _find_mode(params: Params, state: State, cache: Cache) -> None:
    load_tables(state.clicks, state.epochs, False, cache.tables)
    fit_tables(cache.tables, params.objective, cache.log_attraction, cache.log_bias)


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count, and mark the mode as stale."""
    _count(params, state, None, ranking, memo, clicks)
    cache.stale[0] = 1


register_fast(EpochTSUnknown, State, Cache, build, rank, update, lean=True)
