"""The phases of RecurRank: how many views each begins with, and what its end changes."""

from __future__ import annotations

import math
from typing import Any

from clickrank._jit import lean_kernel
from clickrank.numerics.g_optimal import find_design
from clickrank.policies.linear_estimates import chain_end, estimate_items, sort_best

#: How far the leverage of a design may exceed that of the best one, as a part of it.
DESIGN = 1e-3
#: More phases than there will be: the 27th alone takes more rounds than can be counted.
PHASES = 32
#: Views that are as good as infinitely many.
MOST_VIEWS = 2.0**53


def plan_phase(
    params: Any,
    state: Any,
    first: int,
    end: int,
    phase: int,
    size: int,
    rank: int,
    leverage: float,
) -> None:
    """Begin a phase of an interval with the design found last; its size is 0 for a single item."""
    n_positions = state.end.shape[0]
    n_items = (state.alive[0] if end == n_positions else end) - first
    state.end[first] = end
    state.phase[first] = phase
    state.number[first] = state.epoch[0] * PHASES + phase
    state.support[first] = size
    state.rank[first] = rank
    state.missing[first] = 0
    for c in range(rank):
        state.coordinates[first, c] = state.marks[1, c]
    parts = phase * (phase + 1.0) if params.program else 2.0**phase
    failure = params.failure / (2.0 * n_positions * parts)
    dimension = max(leverage, float(params.features.shape[1]))
    views = 0.5 * dimension * 4.0**phase * math.log(n_items / failure)
    if params.program:
        views = 4.0**phase * params.features.shape[1] * math.log(n_items / failure)
    for slot in range(size):
        item = state.marks[0, slot]
        state.chosen[first, slot] = item
        state.views[first, slot] = 0
        state.clicks[first, slot] = 0
        if params.program:
            state.views[first, slot] = state.past[0, item]
            state.clicks[first, slot] = state.past[1, item]
            # Whole rounds, the remaining ones for the first items.
            more = int((min(MOST_VIEWS, math.floor(views)) + size - 1 - slot) // size)
        else:
            more = int(min(MOST_VIEWS, math.ceil(views * state.scores[0, slot])))
        state.needed[first, slot] = state.views[first, slot] + more
        state.missing[first] += more


_plan_kernel = lean_kernel(plan_phase)


@lean_kernel
def end_phase(params: Any, state: Any, first: int, salt: int) -> None:
    """Estimate the items of an interval, drop and sort them, split it, and begin new phases."""
    n_positions = state.end.shape[0]
    end = state.end[first]
    positions = end - first
    places = state.alive[0] if end == n_positions else end
    gap = 2.0 * 2.0 ** -float(state.phase[first])
    support = state.support[first]
    if params.program:
        for slot in range(support):
            state.past[0, state.chosen[first, slot]] = state.views[first, slot]
            state.past[1, state.chosen[first, slot]] = state.clicks[first, slot]
    estimate_items(
        params.features,
        state.chosen[first, :support],
        state.views[first],
        state.clicks[first],
        state.coordinates[first, : state.rank[first]],
        state.order[first:places],
        state.weights,
        state.squares,
        state.estimate[first:places],
    )
    sort_best(state.estimate, state.order, first, places, salt, state.best[:positions])
    for i in range(positions):
        state.top[i] = state.estimate[state.best[i]]
        state.deck[i] = state.order[state.best[i]]
    kept = positions
    if places > end:
        floor = state.top[positions - 1]
        if params.printed:
            floor = chain_end(state.estimate, first, places, floor, gap)
        floor -= gap
        for i in range(positions):
            state.estimate[state.best[i]] = -math.inf
        for place in range(first, places):
            if state.estimate[place] > floor:
                state.deck[kept] = state.order[place]
                kept += 1
    for i in range(kept):
        state.order[first + i] = state.deck[i]
    if end == n_positions:
        state.alive[0] = first + kept
    phase = state.phase[first] + 1
    begin = first
    for i in range(1, positions + 1):
        if i < positions and (params.program or state.top[i - 1] - state.top[i] < gap):
            continue
        end = first + i
        items = state.order[begin : state.alive[0] if end == n_positions else end]
        size, rank, leverage = items.shape[0] - 1, 0, 0.0
        if size > 0:
            size, rank, leverage = find_design(
                params.features, items, DESIGN,
                state.squares, state.points, state.scores, state.marks, state.table,
            )  # fmt: skip
        _plan_kernel(params, state, begin, end, phase, size, rank, leverage)
        begin = end
