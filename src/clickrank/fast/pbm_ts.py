"""PBM-TS, fast: builds only the hats of items just shown, as a hat changes with the counts only.

Building one takes O(n_positions); half of the draws from it need no logarithm of the density. A
round takes about O(n_items + n_positions²).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import inline_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.posterior_draws import HAT_SIZE, build_hat, sample_posterior
from clickrank.policies.contract import Request
from clickrank.policies.pbm_ts import PBMTS, Params, State
from clickrank.policies.pbm_ts import update as count
from clickrank.policies.registration import register_fast
from clickrank.rankings.selection import place, prominence, renew_top_k

_count = inline_kernel(count)


class Cache(NamedTuple):
    """The samplers of the posteriors."""

    stale: Ints  # (n_items,), 1 where the hat does not match the counts
    hats: Floats  # (n_items, HAT_SIZE), see numerics.posterior_draws
    draws_buffer: Floats  # (n_items,), one draw from each posterior
    best: Ints  # (n_positions,), items by decreasing draw
    order: Ints  # (n_positions,), positions by decreasing examination


def build(params: Params, state: State) -> Cache:
    """Return a cache without any hat."""
    n_items = state.clicks.size
    order = prominence(params.examination)
    return Cache(
        stale=np.ones(n_items, dtype=np.int64),
        hats=np.zeros((n_items, HAT_SIZE)),
        draws_buffer=np.zeros(n_items),
        best=np.zeros_like(order),
        order=order,
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
    """Draw from each posterior, and sort by the draws."""
    examination = params.examination
    for item in range(cache.draws_buffer.shape[0]):
        clicks = state.clicks[item]
        misses = state.misses[item]
        hat = cache.hats[item]
        if cache.stale[item] == 1:
            estimate = clicks / state.seen[item] if clicks > 0 else 0.0
            build_hat(clicks, misses, examination, estimate, hat)
            cache.stale[item] = 0
        cache.draws_buffer[item] = sample_posterior(clicks, misses, examination, hat, rng)
    renew_top_k(cache.draws_buffer, rng, cache.best)
    place(cache.best, cache.order, ranking)


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count, and mark the hats of the items shown as stale."""
    _count(params, state, None, ranking, memo, clicks)
    for item in ranking:
        cache.stale[item] = 1


register_fast(PBMTS, State, Cache, build, rank, update)
