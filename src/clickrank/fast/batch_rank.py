"""BatchRank, fast: each item knows its batch, and each batch how many items have enough views.

A round takes O(n_positions), and the end of a stage O(n_items · n_positions).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import lean_kernel
from clickrank.numerics.kl_bounds import kl_lower, kl_upper
from clickrank.policies.batch_rank import BatchRank, Params, State, end_of_batch, rank
from clickrank.policies.contract import register_fast
from clickrank.types import Floats, IntParticle, Ints


class Cache(NamedTuple):
    """Where items are in the order and positions in their batches, and what stages wait for."""

    dealing: IntParticle  # (1,), this and the next two: as of the plain kernels
    deck: IntParticle  # (n_items,)
    left: IntParticle  # (1,)
    place: Ints  # (n_items,), place of each item in the order
    first: Ints  # (n_positions,), first position of the position's batch, I_b(1)
    done: Ints  # (n_positions,), at a batch's first position: items that have n_ℓ views
    numbers: Ints  # (1,), numbers given so far
    upper_buffer: Floats  # (n_items,), U by place
    lower_buffer: Floats  # (n_items,), L by place
    best_buffer: Ints  # (n_positions,), places of the largest L, in its first ones
    order_buffer: Ints  # (n_items,)


# Helpers on the way of every round take the arrays they need, not the state: passing it to a
# function that is not inlined counts references to each of its arrays.


def build(params: Params, state: State) -> Cache:
    """Compute places, and which items have enough views; no deck is being dealt."""
    n_items, n_positions = state.order.size, state.last.size
    place = np.empty(n_items, dtype=np.int64)
    place[state.order] = np.arange(n_items)
    first, done = np.zeros((2, n_positions), dtype=np.int64)
    begin = 0
    while begin < n_positions:
        end = int(state.last[begin]) + 1
        items = state.order[begin : int(state.alive[0]) if end == n_positions else end]
        first[begin:end] = begin
        done[begin] = (state.views[items] == params.needed[state.stage[begin]]).sum()
        begin = end
    return Cache(
        dealing=np.zeros(1, dtype=np.int64),
        deck=np.zeros(n_items, dtype=np.int64),
        left=np.zeros(1, dtype=np.int64),
        place=place,
        first=first,
        done=done,
        numbers=np.full(1, state.number.max()),
        upper_buffer=np.zeros(n_items),
        lower_buffer=np.zeros(n_items),
        best_buffer=np.zeros(n_positions, dtype=np.int64),
        order_buffer=np.zeros(n_items, dtype=np.int64),
    )


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks and views, and end the stages of batches whose items all have enough views."""
    n_positions = ranking.shape[0]
    end_of_stage = False
    for position in range(n_positions):
        if memo[position] == 0:
            continue
        item = ranking[position]
        place = cache.place[item]
        own = min(place, n_positions - 1)  # a position of the item's batch
        needed = params.needed[state.stage[own]]
        current = place < state.alive[0] and memo[position] == state.number[own]
        if current and state.views[item] < needed:
            state.clicks[item] += clicks[position]
            state.views[item] += 1
            if state.views[item] == needed:
                first = cache.first[own]
                cache.done[first] += 1
                end_of_stage |= (
                    cache.done[first] == end_of_batch(state.last, state.alive, first) - first
                )
    if end_of_stage:
        _end_stages(state, cache, params.delta)


@lean_kernel
def _end_stages(state: State, cache: Cache, delta: float) -> None:
    """End the stages that are done."""
    first = 0
    while first < state.last.shape[0]:
        end = state.last[first] + 1
        if cache.done[first] == end_of_batch(state.last, state.alive, first) - first:
            _end_stage(state, cache, delta, first, end)
        first = end


@lean_kernel
def _end_stage(state: State, cache: Cache, delta: float, first: int, end: int) -> None:
    """Split a batch, or eliminate items from it; either way new stages begin."""
    places = end_of_batch(state.last, state.alive, first)
    for place in range(first, places):
        item = state.order[place]
        misses = state.views[item] - state.clicks[item]
        cache.upper_buffer[place] = kl_upper(state.clicks[item], misses, delta)
        cache.lower_buffer[place] = kl_lower(state.clicks[item], misses, delta)
        state.clicks[item] = 0
        state.views[item] = 0
    size = end - first
    _sort_best(cache.lower_buffer, first, places, cache.best_buffer[:size])
    split = _split(cache, first, places, size)
    if split == 0:
        needed = cache.lower_buffer[cache.best_buffer[size - 1]]
        alive = _partition(state, cache, first, places, needed)
        if end == state.last.shape[0]:
            state.alive[0] = alive
        _begin_stage(state, cache, first, end, state.stage[first] + 1)
        return
    # The first items come to the front, the others keep their order.
    for i in range(split):
        cache.order_buffer[i] = state.order[cache.best_buffer[i]]
        cache.upper_buffer[cache.best_buffer[i]] = -1.0
    to = split
    for place in range(first, places):
        if cache.upper_buffer[place] >= 0.0:
            cache.order_buffer[to] = state.order[place]
            to += 1
    _write_order(state, cache, first, to)
    _begin_stage(state, cache, first, first + split, 0)
    _begin_stage(state, cache, first + split, end, 0)


@lean_kernel
def _sort_best(lower: Floats, first: int, places: int, best: Ints) -> None:
    """Write the places of the largest L, best first, ties by place: they do not matter below."""
    size = 0
    for place in range(first, places):
        if size < best.shape[0]:
            size += 1
        elif not lower[place] > lower[best[size - 1]]:
            continue
        i = size - 1
        while i > 0 and lower[best[i - 1]] < lower[place]:
            best[i] = best[i - 1]
            i -= 1
        best[i] = place


@lean_kernel
def _split(cache: Cache, first: int, places: int, size: int) -> int:
    """Return the largest s < size such that L(d_s) > U(d) for all d after d_s; 0 if none."""
    cache.order_buffer[first:places] = 0
    for i in range(size):
        cache.order_buffer[cache.best_buffer[i]] = 1
    highest = -1.0  # U of the items after d_s
    for place in range(first, places):
        if cache.order_buffer[place] == 0:
            highest = max(highest, cache.upper_buffer[place])
    for s in range(size - 1, 0, -1):
        highest = max(highest, cache.upper_buffer[cache.best_buffer[s]])
        if cache.lower_buffer[cache.best_buffer[s - 1]] > highest:
            return s
    return 0


@lean_kernel
def _partition(state: State, cache: Cache, first: int, places: int, needed: float) -> int:
    """Move items of a U below what is needed behind the others; return the end of these."""
    to = 0
    for place in range(first, places):
        if cache.upper_buffer[place] >= needed:
            cache.order_buffer[to] = state.order[place]
            to += 1
    end = first + to
    for place in range(first, places):
        if not cache.upper_buffer[place] >= needed:
            cache.order_buffer[to] = state.order[place]
            to += 1
    _write_order(state, cache, first, to)
    return end


@lean_kernel
def _write_order(state: State, cache: Cache, first: int, size: int) -> None:
    for i in range(size):
        state.order[first + i] = cache.order_buffer[i]
        cache.place[cache.order_buffer[i]] = first + i


@lean_kernel
def _begin_stage(state: State, cache: Cache, first: int, end: int, stage: int) -> None:
    cache.numbers[0] += 1
    cache.done[first] = 0
    for position in range(first, end):
        cache.first[position] = first
        state.last[position] = end - 1
        state.stage[position] = stage
        state.number[position] = cache.numbers[0]


register_fast(BatchRank, State, Cache, build, rank, update, lean=True)
