"""PBM-PIE, fast: eq. 7 is rarely solved.

Only the comparison of an index with a threshold is needed, and its tangent in δ decides this unless
they are close. A round takes O(n_items) comparisons, and little more.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Floats, Ints
from clickrank.fast._shared.kl_index_cache import (
    NEVER,
    KLIndices,
    bound,
    forget,
    index_over_positions,
    no_indices,
)
from clickrank.numerics.kl_bounds import SLACK
from clickrank.policies._shared.rotation import rotate
from clickrank.policies.contract import Request
from clickrank.policies.pbm_pie import PBMPIE, Params, State
from clickrank.policies.registration import register_fast
from clickrank.rankings.selection import place, renew_top_k


class Cache(NamedTuple):
    """Estimates, the leaders, and the known indices."""

    indices: KLIndices  # (n_items,), U_k when last computed
    unstarted: Ints  # (1,), items never shown at the first position: rotations left to show
    total: Ints  # (n_items,), S_k
    mean: Floats  # (n_items,), S_k / Ñ_k
    best: Ints  # (n_positions,), the leaders
    is_leader: Ints  # (n_items,), 1 for the leaders, else 0
    promising_buffer: Ints  # (n_items,), the set B, in its first places


def build(params: Params, state: State) -> Cache:
    """Compute the estimates from the counts, and no index."""
    n_items, n_positions = state.clicks.shape
    total, seen = state.clicks.sum(axis=1), state.seen > 0.0
    mean = np.zeros(n_items)
    mean[seen] = total[seen] / state.seen[seen]
    unstarted = np.count_nonzero(state.clicks[:, 0] + state.misses[:, 0] == 0)
    return Cache(
        indices=no_indices(n_items),
        unstarted=np.full(1, unstarted, dtype=np.int64),
        total=total,
        mean=mean,
        best=np.zeros(n_positions, dtype=np.int64),
        is_leader=np.zeros(n_items, dtype=np.int64),
        promising_buffer=np.zeros(n_items, dtype=np.int64),
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
    """Show the leaders, and find B by bounds where they are sufficient."""
    if cache.unstarted[0] > 0:
        rotate(state.clicks, state.misses, cache.unstarted[0], rng, ranking)
        return
    for item in cache.best:
        cache.is_leader[item] = 0
    renew_top_k(cache.mean, rng, cache.best)
    for item in cache.best:
        cache.is_leader[item] = 1
    place(cache.best, params.prominence, ranking)

    # If more rounds are played than `rounds`, δ grows with t again.
    log_t = math.log(state.rounds[0] + 1.0)
    delta = params.exploration * max(log_t, params.log_rounds)
    indices, examination = cache.indices, params.examination
    needed = cache.mean[cache.best[-1]]
    size = 0
    for item in range(cache.mean.shape[0]):
        if cache.is_leader[item] == 1:
            continue
        if bound(indices, item, delta) < needed:
            continue
        # The index grows with δ: if the old one was large enough, so is the new one.
        enough = indices.delta[item] != NEVER and indices.value[item] - SLACK >= needed
        if enough or needed <= index_over_positions(
            indices, state.clicks, state.misses, examination, item, delta
        ):
            cache.promising_buffer[size] = item
            size += 1
    if size > 0 and rng.random() < 0.5:
        ranking[params.prominence[-1]] = cache.promising_buffer[int(rng.random() * size)]


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count, update the estimates of the items shown, and forget their indices."""
    state.rounds[0] += 1
    first = ranking[0]
    if state.clicks[first, 0] + state.misses[first, 0] == 0:
        cache.unstarted[0] -= 1
    for position in range(ranking.shape[0]):
        item, click = ranking[position], clicks[position]
        state.clicks[item, position] += click
        state.misses[item, position] += 1 - click
        forget(cache.indices, item)
        state.seen[item] += params.examination[position]
        cache.total[item] += click
        cache.mean[item] = cache.total[item] / state.seen[item]


register_fast(PBMPIE, State, Cache, build, rank, update, lean=True)
