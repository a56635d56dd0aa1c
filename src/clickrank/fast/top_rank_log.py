"""TopRank with a log of clicks: for many items, whose pairs are not written to matrices.

`clickrank.fast._shared.logged_pairs` describes the log: one number per click, and a table of
n_items²/16 once fewer than a quarter of the items are in the first block; n_items²/4 in all at
most. The rest is reserved, but not written to. When the log ends, or the catalogue has changed, all
pairs are in the matrices, and it continues as `clickrank.fast.top_rank` does.
"""

from __future__ import annotations

import math

import numpy as np

from clickrank._compile.jit import inline_kernel, lean_kernel
from clickrank._core.arrays import Ints
from clickrank.fast._shared.logged_pairs import (
    FIRST,
    ITEM,
    LATEST,
    LEFT,
    PLACE,
    LoggedState,
    blocks_in,
    forget_log,
    pack,
    table_entry,
    table_side,
    unpack,
    write_pairs,
)
from clickrank.fast.top_rank import (
    FAR,
    Cache,
    cache_of,
    clicks_needed,
    divide,
    forget_pairs,
    is_present,
    learn,
    rank,
    restart,
    sort_items,
)
from clickrank.policies._shared.packed_states import register_packing
from clickrank.policies._shared.top_rank_items import peeled
from clickrank.policies.registration import register
from clickrank.policies.top_rank import Params, TopRank, count_restarts


def build(params: Params, state: LoggedState) -> Cache:
    """Sort the items by block; the matrices are not read while there is a log."""
    if state.crowd[0] > 0:
        inferiors, superiors = np.zeros((2, state.clicks.size), dtype=np.int64)
        return cache_of(params, state, blocks_in(state), inferiors, superiors)
    block = peeled(state.beats)
    return cache_of(params, state, block, state.beats.sum(axis=1), state.beats.sum(axis=0))


def update(
    params: Params, state: LoggedState, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count the clicks, in the log if possible, and divide the items if one beats another."""
    if params.guess > 0 and memo[cache.block.shape[0]] != cache.restarts[0]:
        return
    clicked = 0
    for position in range(clicks.shape[0]):
        clicked += clicks[position]
    if clicked > 0:
        present = is_present(cache.block, memo)
        if state.crowd[0] > 0 and not (present and _fits(state, cache.block, ranking, clicks)):
            _end_log(state, cache)
        if state.crowd[0] == 0:
            if learn(state, cache, ranking, memo, clicks, present):
                divide(state, cache)
        elif _learn_from_log(state, cache, ranking, clicks):
            _leave(state, cache)
            sort_items(cache)
    state.rounds[0] += 1
    if params.guess > 0 and count_restarts(params.guess, state.rounds[0]) > cache.restarts[0]:
        if state.crowd[0] == 0:
            forget_pairs(state)
        forget_log(state)
        state.crowd[0] = 1
        restart(state, cache)


@lean_kernel
def _end_log(state: LoggedState, cache: Cache) -> None:
    """Write all pairs to the matrices, and count there which items beat which."""
    write_pairs(state, cache.block, cache.depth_buffer, cache.item_buffer)
    for item in range(cache.block.shape[0]):
        for other in range(cache.block.shape[0]):
            cache.inferiors[item] += state.beats[item, other]
            cache.superiors[other] += state.beats[item, other]


@lean_kernel
def _learn_from_log(state: LoggedState, cache: Cache, ranking: Ints, clicks: Ints) -> bool:
    """Write the clicks on a list to the log, and return whether an item now beats another one."""
    _count(state, ranking, clicks)
    changed = False
    for position in range(ranking.shape[0]):
        item = ranking[position]
        if clicks[position] == 1 and state.clicks[item] >= cache.due[item]:
            changed |= _compare(state, cache, item)
    return changed


@inline_kernel
def _fits(state: LoggedState, block: Ints, ranking: Ints, clicks: Ints) -> bool:
    """Return whether clicks on a list of the present partition can be written to the log."""
    lower = 0
    for position in range(ranking.shape[0]):
        lower += clicks[position] * block[ranking[position]]
    room = table_entry(state, 0, 0) - state.crowd[1]
    fits = room >= ranking.shape[0] + block.shape[0]
    return bool(lower == 0 and fits)


@lean_kernel
def _count(state: LoggedState, ranking: Ints, clicks: Ints) -> None:
    """Count the clicks on a list and write them to the log."""
    together = 0
    for position in range(ranking.shape[0]):
        together += clicks[position]
    first = FIRST
    for position in range(ranking.shape[0]):
        if clicks[position] == 0:
            continue
        item = ranking[position]
        state.clicks[item] += 1
        at = state.crowd[1]
        state.log[at] = item | first
        if state.crowd[0] == 2:
            _count_together(state, at)
        elif together > 1:
            state.log[at] |= state.traces[item, LATEST] << 32
            state.traces[item, LATEST] = at + 1
        state.crowd[1] = at + 1
        first = 0


@inline_kernel
def _count_together(state: LoggedState, at: int) -> None:
    """Add a click of the log to the table, with each one before it in its list."""
    row = state.traces[state.log[at] & ITEM, PLACE]
    before = at
    while state.log[before] & FIRST == 0:
        before -= 1
        other = state.traces[state.log[before] & ITEM, PLACE]
        state.log[table_entry(state, row, other)] += 1
        state.log[table_entry(state, other, row)] += 1


@lean_kernel
def _begin_table(state: LoggedState, block: Ints) -> None:
    """Count all pairs of the first block; other pairs share row and column 0, which is not read."""
    place = 0
    for item in range(block.shape[0]):
        if block[item] == 0:
            place += 1
            state.traces[item, PLACE] = place
    for at in range(state.crowd[1]):
        if state.log[at] >= 0:
            _count_together(state, at)
    state.crowd[0] = 2


@lean_kernel
def _compare(state: LoggedState, cache: Cache, item: int) -> bool:
    """Find the items of the first block that an item now beats, and how soon it may beat others."""
    own = state.clicks[item]
    scale = cache.scale[0]
    least_log = 2.0 * math.log(scale)
    nearest = FAR
    nearest_s, nearest_n = -FAR, FAR
    found = False
    _mark_together(state, cache, item, 1)
    for place in range(cache.starts[1]):
        other = cache.order[place]
        s = own - state.clicks[other]
        n = own + state.clicks[other] - 2 * cache.clicked_buffer[other]
        if other == item or (s <= nearest_s and n >= nearest_n):
            continue  # it needs at least as many clicks as the nearest
        need = clicks_needed(s, n, nearest, scale, least_log)
        if need == 0:
            _note_superior(state, item, other)
            found = True
        elif need < nearest:
            nearest, nearest_s, nearest_n = need, s, n
    _mark_together(state, cache, item, -1)
    cache.due[item] = own + nearest
    return found


@lean_kernel
def _mark_together(state: LoggedState, cache: Cache, item: int, sign: int) -> None:
    """Add, to the buffer of each item, the number of lists with clicks on it and on ``item``."""
    if state.crowd[0] == 2:
        row = state.traces[item, PLACE]
        for place in range(cache.starts[1]):
            other = cache.order[place]
            together = state.log[table_entry(state, row, state.traces[other, PLACE])]
            cache.clicked_buffer[other] += sign * together
        return
    end = state.crowd[1]
    at = state.traces[item, LATEST] - 1
    while at >= 0:
        other = at
        while state.log[other] & FIRST == 0:
            other -= 1
            cache.clicked_buffer[state.log[other] & ITEM] += sign
        other = at + 1
        while other < end and state.log[other] >= 0 and state.log[other] & FIRST == 0:
            cache.clicked_buffer[state.log[other] & ITEM] += sign
            other += 1
        at = (state.log[at] >> 32) - 1


@inline_kernel
def _note_superior(state: LoggedState, item: int, other: int) -> None:
    """Store that an item beats another one of the first block."""
    state.traces[other, state.superiors[other]] = item
    state.superiors[other] += 1


@lean_kernel
def _leave(state: LoggedState, cache: Cache) -> None:
    """Remove beaten items from the first block, and compute the depth of all removed items."""
    n_items = cache.block.shape[0]
    left = n_items - cache.starts[1]
    for place in range(cache.starts[1]):
        item = cache.order[place]
        if state.superiors[item] > 0:
            # Those with fewer clicks first, as no item beats one with more clicks.
            at = left
            while at > 0:
                other = state.traces[at - 1, LEFT]
                if cache.block[other] > 0 or state.clicks[other] <= state.clicks[item]:
                    break
                state.traces[at, LEFT] = other
                at -= 1
            state.traces[at, LEFT] = item
            left += 1
            state.log[state.crowd[1]] = -1 - item
            state.crowd[1] += 1
    for item in range(n_items):
        cache.depth_buffer[item] = 0
    # From the last on, because an item that beats another one leaves after it.
    for at in range(left - 1, -1, -1):
        item = state.traces[at, LEFT]
        deepest = 0
        for i in range(state.superiors[item]):
            deepest = max(deepest, cache.depth_buffer[state.traces[item, i]])
        cache.depth_buffer[item] = deepest + 1
    for item in range(n_items):
        if cache.block[item] != cache.depth_buffer[item]:
            cache.block[item] = cache.depth_buffer[item]
            cache.due[item] = 0
    if state.crowd[0] == 1 and n_items - left < table_side(state):
        _begin_table(state, cache.block)


register(TopRank, LoggedState, rank, update, cache=Cache, build=build, lean=True)
register_packing(TopRank, pack, unpack)
