"""KL-CombUCB, fast: upper bounds replace most of the indices.

The list that is best by the bounds is best by the indices once its own indices are computed. A
round therefore computes few more indices than those of the last list, and the result is exactly
that of computing all indices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import inline_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.fast._shared.kl_index_cache import NEVER, KLIndices, bound, forget, index, no_indices
from clickrank.numerics.assignment import TIE, assignment_buffers, break_ties, optimise
from clickrank.numerics.kl_bounds import exploration_budget
from clickrank.policies._shared.rotation import rotate
from clickrank.policies.contract import Request
from clickrank.policies.kl_comb_ucb import KLCombUCB, Params, State
from clickrank.policies.registration import register_fast
from clickrank.rankings.selection import copy

# Leads below this may be caused by the difference between bounds and indices.
CLOSE = 1e-7


class Cache(NamedTuple):
    """The known indices, and the best list of the last round."""

    unstarted: Ints  # (1,), items never shown at the first position: rotations left to show
    indices: KLIndices  # (n_items, n_positions), b_ik(t) when last computed
    best: Ints  # (n_positions,), the list that was best in the last round
    bounds_buffer: Floats  # (n_items, n_positions), b_ik(t) or a number above it
    float_buffer: Floats  # (5, n_items); this and the next two: see `assign`
    int_buffer: Ints  # (4, n_items)
    graph_buffer: Floats  # (n_positions + 1, n_positions + 1)


def build(params: Params, state: State) -> Cache:
    """Count the rotations left to show; indices are computed when they are needed."""
    n_items, n_positions = state.clicks.shape
    unstarted = np.count_nonzero(state.clicks[:, 0] + state.misses[:, 0] == 0)
    work = assignment_buffers(n_items, n_positions)
    return Cache(
        unstarted=np.full(1, unstarted, dtype=np.int64),
        indices=no_indices((n_items, n_positions)),
        best=work["best"],
        bounds_buffer=np.zeros((n_items, n_positions)),
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
    """Show each rotation once, then the best list, all of whose indices are computed."""
    if cache.unstarted[0] > 0:
        rotate(state.clicks, state.misses, cache.unstarted[0], rng, ranking)
        return
    delta = exploration_budget(state.rounds[0] + 1.0)
    indices, bounds = cache.indices, cache.bounds_buffer
    n_items, n_positions = bounds.shape
    for item in range(n_items):
        for position in range(n_positions):
            if indices.delta[item, position] == NEVER:
                index(indices, state.clicks, state.misses, (item, position), delta)
            bounds[item, position] = bound(indices, (item, position), delta)
    lead = 0.0
    computed = True
    while computed:
        lead = optimise(
            bounds, cache.best, cache.float_buffer, cache.int_buffer, cache.graph_buffer
        )
        computed = False
        if lead > CLOSE:
            for position in range(n_positions):
                computed |= _compute(state, cache, cache.best[position], position, delta)
        else:  # several lists are best or nearly so: bounds would try them one after the other
            for item in range(n_items):
                for position in range(n_positions):
                    computed |= _compute(state, cache, item, position, delta)
    if lead <= TIE:
        break_ties(bounds, rng, cache.best, cache.float_buffer, cache.int_buffer)
    copy(cache.best, ranking)


@inline_kernel
def _compute(state: State, cache: Cache, item: int, position: int, delta: float) -> bool:
    """Replace the bound of a cell by its index; return whether it was unknown before."""
    arm = item, position
    known = cache.indices.delta[arm] == delta
    cache.bounds_buffer[arm] = index(cache.indices, state.clicks, state.misses, arm, delta)
    return not known


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks and misses, and forget the indices of the cells shown."""
    state.rounds[0] += 1
    first = ranking[0]
    cache.unstarted[0] -= state.clicks[first, 0] + state.misses[first, 0] == 0
    for position in range(ranking.shape[0]):
        item = ranking[position]
        state.clicks[item, position] += clicks[position]
        state.misses[item, position] += 1 - clicks[position]
        forget(cache.indices, (item, position))


register_fast(KLCombUCB, State, Cache, build, rank, update, lean=True)
