"""BatchRank, fast: stores the batch of each item, and how many items of a batch have enough views.

A round takes O(n_positions), and the end of a stage O(n_items · n_positions).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import lean_kernel
from clickrank._core.arrays import Floats, IntParticle, Ints
from clickrank.numerics.kl_bounds import kl_lower, kl_upper
from clickrank.numerics.shuffling import shuffle
from clickrank.policies._shared.deck import begin_deck, deal
from clickrank.policies.batch_rank import BatchRank, Params, State
from clickrank.policies.batch_rank import build as new_deck
from clickrank.policies.contract import Request
from clickrank.policies.registration import register_fast


class Cache(NamedTuple):
    """The places of items in the order, the ends of batches, and the progress of stages."""

    dealing: IntParticle  # (1,); this and the next two: as in the plain kernels
    deck: IntParticle  # (n_items,)
    to_deal: IntParticle  # (1,)
    alive: Ints  # (1,), number of items that are not eliminated
    place: Ints  # (n_items,), place of each item in the order
    end: Ints  # (n_positions,), end of the positions of its batch, I_b(2) + 1
    done: Ints  # (n_positions,), at the first position of a batch: items that have n_ℓ views
    upper_buffer: Floats  # (n_items,), U by place
    lower_buffer: Floats  # (n_items,), L by place
    best_buffer: Ints  # (n_positions,), places of the largest L, in its first ones
    order_buffer: Ints  # (n_items,)


# Helpers that run in every round take the arrays that they need, not the state: passing the state
# to a function that is not inlined counts references to each of its arrays.


def build(params: Params, state: State) -> Cache:
    """Compute places, and which items have enough views; no deck is being dealt."""
    n_items, n_positions = state.order.size, state.number.size
    alive = int((state.order >= 0).sum())
    place = np.full(n_items, n_items, dtype=np.int64)
    place[state.order[:alive]] = np.arange(alive)
    ends, done = np.zeros((2, n_positions), dtype=np.int64)
    begin = 0
    while begin < n_positions:
        end = begin + int((state.number == state.number[begin]).sum())
        items = state.order[begin : alive if end == n_positions else end]
        ends[begin:end] = end
        done[begin] = (state.views[items] == params.needed[state.stage[begin]]).sum()
        begin = end
    return Cache(
        **new_deck(params, state)._asdict(),
        alive=np.full(1, alive),
        place=place,
        end=ends,
        done=done,
        upper_buffer=np.zeros(n_items),
        lower_buffer=np.zeros(n_items),
        best_buffer=np.zeros(n_positions, dtype=np.int64),
        order_buffer=np.zeros(n_items, dtype=np.int64),
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
    """Show the items of each batch in random order; in the lowest, those whose turn it is."""
    n_positions = ranking.shape[0]
    first = 0
    while first < n_positions:
        end = cache.end[first]
        number = state.number[first]
        places = end if end < n_positions else cache.alive[0]
        if places > end:
            if cache.dealing[0] != number:
                cache.dealing[0] = number
                begin_deck(state.order[first:places], state.views, cache.deck, cache.to_deal)
            deck = cache.deck[: places - first]
            deal(deck, cache.to_deal, rng, ranking, memo, first, number)
        else:
            counts = number if places - first > 1 else 0
            for position in range(first, end):
                ranking[position] = state.order[position]
                memo[position] = counts
            shuffle(rng, ranking, first, end)
        first = end


@lean_kernel
def _end_of_batch(ends: Ints, alive: Ints, first: int) -> int:
    """Return the end of the places of the batch that begins at a position."""
    end = ends[first]
    return int(alive[0]) if end == ends.shape[0] else int(end)


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
        current = place < cache.alive[0] and memo[position] == state.number[own]
        if current and state.views[item] < needed:
            state.clicks[item] += clicks[position]
            state.views[item] += 1
            if state.views[item] == needed:
                first = own
                while first > 0 and cache.end[first - 1] == cache.end[own]:
                    first -= 1
                cache.done[first] += 1
                end_of_stage |= (
                    cache.done[first] == _end_of_batch(cache.end, cache.alive, first) - first
                )
    if end_of_stage:
        _end_stages(state, cache, params.delta)


@lean_kernel
def _end_stages(state: State, cache: Cache, delta: float) -> None:
    """End the stages that are complete."""
    first = 0
    while first < cache.end.shape[0]:
        end = cache.end[first]
        if cache.done[first] == _end_of_batch(cache.end, cache.alive, first) - first:
            _end_stage(state, cache, delta, first, end)
        first = end


@lean_kernel
def _end_stage(state: State, cache: Cache, delta: float, first: int, end: int) -> None:
    """Split a batch, or eliminate items from it; either way new stages begin."""
    places = _end_of_batch(cache.end, cache.alive, first)
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
        _eliminate(state, cache, first, places, needed)
        _begin_stage(state, cache, first, end, state.stage[first] + 1)
        return
    # The items that are split off come first, the others keep their order.
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
    """Write the places of the largest L, best first, ties by place: their order does not matter."""
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
def _eliminate(state: State, cache: Cache, first: int, places: int, needed: float) -> None:
    """Eliminate items whose U is below ``needed``, which happens in the lowest batch only."""
    to = 0
    for place in range(first, places):
        if cache.upper_buffer[place] >= needed:
            cache.order_buffer[to] = state.order[place]
            to += 1
        else:
            cache.place[state.order[place]] = state.order.shape[0]
            cache.alive[0] -= 1
    for place in range(first + to, places):
        state.order[place] = -1
    _write_order(state, cache, first, to)


@lean_kernel
def _write_order(state: State, cache: Cache, first: int, size: int) -> None:
    for i in range(size):
        state.order[first + i] = cache.order_buffer[i]
        cache.place[cache.order_buffer[i]] = first + i


@lean_kernel
def _begin_stage(state: State, cache: Cache, first: int, end: int, stage: int) -> None:
    number = 0
    for other in state.number:
        number = max(number, other + 1)
    cache.done[first] = 0
    for position in range(first, end):
        cache.end[position] = end
        state.stage[position] = stage
        state.number[position] = number


register_fast(BatchRank, State, Cache, build, rank, update, lean=True)
