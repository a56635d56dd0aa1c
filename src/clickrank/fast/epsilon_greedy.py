"""ε_n-greedy, fast: stores the click rates, and starts each fit from that of the last round.

The leading vector of the rates changes little from round to round, so that few multiplications find
it from the last one. Rounded, it does not depend on the start: see
`clickrank.numerics.singular_vector`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import inline_kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.shuffling import swap_at_random
from clickrank.numerics.singular_vector import leading_vector
from clickrank.policies.contract import Request
from clickrank.policies.epsilon_greedy import EpsilonGreedy, Params, State
from clickrank.policies.epsilon_greedy import update as count
from clickrank.policies.registration import register_fast
from clickrank.rankings.selection import place, renew_top_k

_count = inline_kernel(count)


class Cache(NamedTuple):
    """Click rates, and the last rank-one fit of them."""

    rates: Floats  # (n_items, n_positions), clicks / views; without views it is 0
    start: Floats  # (n_positions,), where the search for the leading vector begins
    attraction: Floats  # (n_items,), θ̂ up to a factor
    examination: Floats  # (n_positions,), κ̂ up to a factor
    best: Ints  # (n_positions,), items by decreasing θ̂
    order: Ints  # (n_positions,), positions by decreasing κ̂
    gram_buffer: Floats  # (n_positions, n_positions), product of the rates with themselves
    powers_buffer: Floats  # (2, n_positions, n_positions), see `leading_vector`
    replaced_buffer: Ints  # (n_positions,), 1 where a random item is shown, else 0
    pool_buffer: Ints  # (n_items,), in its first places the items that may be drawn
    unchanged_buffer: Ints  # (n_items,), 1 for items that stay in the list; 0 between rounds


def build(params: Params, state: State) -> Cache:
    """Compute the rates from the counts; the fit is computed by `rank`."""
    n_items, n_positions = state.views.shape
    rates = np.zeros((n_items, n_positions))
    seen = state.views > 0
    rates[seen] = state.clicks[seen] / state.views[seen]
    return Cache(
        rates=rates,
        start=np.full(n_positions, n_positions**-0.5),
        attraction=np.zeros(n_items),
        examination=np.zeros(n_positions),
        best=np.zeros(n_positions, dtype=np.int64),
        order=np.zeros(n_positions, dtype=np.int64),
        gram_buffer=np.zeros((n_positions, n_positions)),
        powers_buffer=np.zeros((2, n_positions, n_positions)),
        replaced_buffer=np.zeros(n_positions, dtype=np.int64),
        pool_buffer=np.zeros(n_items, dtype=np.int64),
        unchanged_buffer=np.zeros(n_items, dtype=np.int64),
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
    """Fit the rates unless all positions are replaced, and replace items if necessary."""
    n_positions = ranking.shape[0]
    epsilon = params.exploration / (state.rounds[0] + 1.0)
    changes = 0
    for position in range(n_positions):
        cache.replaced_buffer[position] = 1 if rng.random() < epsilon else 0
        changes += cache.replaced_buffer[position]
    if changes < n_positions:
        _fit(cache)
        renew_top_k(cache.attraction, rng, cache.best)
        renew_top_k(cache.examination, rng, cache.order)
        place(cache.best, cache.order, ranking)
    if changes > 0:
        _replace(cache, rng, ranking)


@lean_kernel
def _fit(cache: Cache) -> None:
    """Estimate θ and κ, each up to a factor."""
    rates, gram = cache.rates, cache.gram_buffer
    n_items, n_positions = rates.shape
    for k in range(n_positions):
        for j in range(k + 1):
            total = 0.0
            for i in range(n_items):
                total += rates[i, k] * rates[i, j]
            gram[k, j] = total
            gram[j, k] = total
    leading_vector(gram, cache.start, cache.powers_buffer, cache.examination)
    for i in range(n_items):
        total = 0.0
        for k in range(n_positions):
            total += rates[i, k] * cache.examination[k]
        cache.attraction[i] = total


@lean_kernel
def _replace(cache: Cache, rng: np.random.Generator, ranking: Ints) -> None:
    """Fill the positions to be replaced with items that are not in the rest of the list."""
    kept, pool, replaced = cache.unchanged_buffer, cache.pool_buffer, cache.replaced_buffer
    for position in range(ranking.shape[0]):
        if replaced[position] == 0:
            kept[ranking[position]] = 1
    size = 0
    for item in range(kept.shape[0]):
        if kept[item] == 0:
            pool[size] = item
            size += 1
        kept[item] = 0
    for position in range(ranking.shape[0]):
        if replaced[position] == 1:
            size -= 1
            swap_at_random(rng, pool, size, 0, size + 1)
            ranking[position] = pool[size]


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count, and update the rates of the items shown."""
    _count(params, state, None, ranking, memo, clicks)
    for position in range(ranking.shape[0]):
        item = ranking[position]
        rate = state.clicks[item, position] / state.views[item, position]
        cache.rates[item, position] = rate


register_fast(EpsilonGreedy, State, Cache, build, rank, update, lean=True)
