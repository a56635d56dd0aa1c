"""PMED, fast: each fit starts at the last estimates, from which two or three Newton steps are left.

Estimates are rounded, so that they do not depend on where the fit starts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clickrank._jit import lean_kernel
from clickrank.numerics.pbm_likelihood import PBMEstimates, fit_likelihood
from clickrank.policies.contract import Request, register_fast
from clickrank.policies.pmed import (
    PMED,
    Pairs,
    Params,
    State,
    count,
    deal,
    empty_queue,
    fill_queue,
    make_plan,
    new_pairs,
)
from clickrank.types import Floats, IntParticle, Ints


class Cache(NamedTuple):
    """The queue, and the last estimates."""

    size: IntParticle  # (1,), lists left in the queue
    queue: IntParticle  # (lists, n_positions), L_C
    log_theta: Floats  # (n_items,), x rounded
    log_kappa: Floats  # (n_positions,), y rounded
    fitted: Ints  # (1,), 1 if x and y hold an estimate to start from
    x: Floats  # (n_items,), log θ̂
    y: Floats  # (n_positions,), log κ̂
    curvature_buffer: Floats  # (n_items, n_positions); this and the next: see `fit_likelihood`
    schur_buffer: Floats  # (n_positions, n_positions)
    pairs_buffer: Pairs  # for `fill_queue`


def build(params: Params, state: State) -> Cache:
    """Return a cache without lists and estimates."""
    n_items, n_positions = state.clicks.shape
    return Cache(
        **empty_queue(params, state)._asdict(),
        fitted=np.zeros(1, dtype=np.int64),
        x=np.zeros(n_items),
        y=np.zeros(n_positions),
        curvature_buffer=np.zeros((n_items, n_positions)),
        schur_buffer=np.zeros((n_positions, n_positions)),
        pairs_buffer=new_pairs(n_items, n_positions),
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
    """Show any list of the queue; when it is empty, fill it first."""
    if cache.size[0] == 0:
        _estimate(state, cache)
        estimates = PBMEstimates(cache.x, cache.y, cache.log_theta, cache.log_kappa)
        cache.size[0] = fill_queue(params, state, estimates, cache.pairs_buffer, rng, cache.queue)
    deal(cache.size, cache.queue, rng, ranking)


@lean_kernel
def _estimate(state: State, cache: Cache) -> None:
    fit_likelihood(
        state.clicks,
        state.misses,
        cache.fitted,
        cache.x,
        cache.y,
        cache.log_theta,
        cache.log_kappa,
        cache.curvature_buffer,
        cache.schur_buffer,
    )


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks and misses, and make another plan if it is time."""
    if count(state, ranking, clicks):
        _estimate(state, cache)
        make_plan(params, state, cache.log_theta, cache.log_kappa)


register_fast(PMED, State, Cache, build, rank, update)
