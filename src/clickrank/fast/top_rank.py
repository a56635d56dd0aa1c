"""TopRank, fast: compares two items only when a click may have decided which one beats the other.

A click can only make its own item beat another, and not before a number of clicks on it that is
computed from the wins. The pairs of an item are therefore rarely compared, and a click usually
takes O(1). A round takes O(n_items) to store the partition. The first list after items are added or
retired takes O(n_items²) more; in the service, while items are retired, so does each first list
after feedback.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from clickrank._compile.jit import inline_kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.fast._shared.ordered_partition import draw_compatible
from clickrank.fast._shared.packed_pairs import PackedState
from clickrank.policies._shared.top_rank_items import cut, peeled
from clickrank.policies.contract import Request
from clickrank.policies.registration import register
from clickrank.policies.top_rank import Params, TopRank, count_restarts

FAR = 2**40  # clicks that no item will get


class Cache(NamedTuple):
    """The partition as a sorted list, and the clicks after which pairs must be compared."""

    scale: Floats  # (1,), c/δ
    restarts: Ints  # (1,), number of restarts
    inferiors: Ints  # (n_items,), how many items i beats
    superiors: Ints  # (n_items,), how many items beat j
    block: Ints  # (n_items,), d with i in P_d, from 0
    order: Ints  # (n_items,), the items by block
    starts: Ints  # (n_items + 1,), start of each block in the order; n_items beyond the last
    due: Ints  # (n_items,), clicks on i before which it cannot beat an item of its block
    depth_buffer: Ints  # (n_items,), the next partition
    item_buffer: Ints  # (n_items,)
    clicked_buffer: Ints  # (n_items,), 0 between calls


def build(params: Params, state: PackedState) -> Cache:
    """Divide the items; how soon they may beat others is unknown."""
    block = peeled(state.beats)
    return cache_of(params, state, block, state.beats.sum(axis=1), state.beats.sum(axis=0))


def cache_of(params: Params, state: Any, block: Ints, inferiors: Ints, superiors: Ints) -> Cache:
    """Return a cache for a state, given how many items each item beats, and is beaten by."""
    n_items = block.size
    order, starts = cut(block)
    restarts = count_restarts(params.guess, int(state.rounds[0]))
    return Cache(
        scale=np.full(1, params.scale * 2.0**restarts),
        restarts=np.full(1, restarts),
        inferiors=inferiors,
        superiors=superiors,
        block=block,
        order=order,
        starts=starts,
        due=np.zeros(n_items, dtype=np.int64),
        depth_buffer=np.zeros(n_items, dtype=np.int64),
        item_buffer=np.zeros(n_items, dtype=np.int64),
        clicked_buffer=np.zeros(n_items, dtype=np.int64),
    )


def rank(
    params: Params,
    state: PackedState,
    cache: Cache,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Draw a list that respects the partition, and write the partition to the memo."""
    draw_compatible(cache.order, cache.starts, rng, cache.item_buffer, ranking)
    n_items = cache.block.shape[0]
    for item in range(n_items):
        memo[item] = cache.block[item]
    if params.guess > 0:
        memo[n_items] = cache.restarts[0]


def update(
    params: Params, state: PackedState, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count the clicks, and divide the items again if one beats another."""
    if params.guess > 0 and memo[cache.block.shape[0]] != cache.restarts[0]:
        return
    clicked = 0
    for position in range(clicks.shape[0]):
        clicked += clicks[position]
    if clicked > 0 and learn(state, cache, ranking, memo, clicks, is_present(cache.block, memo)):
        divide(state, cache)
    state.rounds[0] += 1
    if params.guess > 0 and count_restarts(params.guess, state.rounds[0]) > cache.restarts[0]:
        forget_pairs(state)
        restart(state, cache)


@inline_kernel
def is_present(block: Ints, memo: Ints) -> bool:
    """Return whether a list was made for the present partition."""
    moved = 0
    for item in range(block.shape[0]):
        moved |= memo[item] ^ block[item]
    return moved == 0


@inline_kernel
def learn(state: Any, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints, present: bool) -> bool:
    """Count the clicks on a list, and return whether the items must be divided again."""
    if not present:
        return _count_late(state, cache, ranking, memo, clicks)
    _count(state.clicks, cache.block, state.wins, ranking, clicks)
    changed = False
    for position in range(ranking.shape[0]):
        item = ranking[position]
        if clicks[position] == 1 and state.clicks[item] >= cache.due[item]:
            changed |= _compare(state, cache, item)
    return changed


@lean_kernel
def _count(counts: Ints, block: Ints, wins: Ints, ranking: Ints, clicks: Ints) -> None:
    """Count the clicks on a list of the present partition."""
    for position in range(ranking.shape[0]):
        if clicks[position] == 0:
            continue
        item = ranking[position]
        counts[item] += 1
        for above in range(position):
            other = ranking[above]
            # Neither wins, whereas counting the clicks makes both win.
            if clicks[above] == 1 and block[other] == block[item]:
                wins[item, other] -= 1
                wins[other, item] -= 1


@lean_kernel
def _compare(state: Any, cache: Cache, item: int) -> bool:
    """Find the items of its block that an item now beats, and how soon it may beat another one."""
    own = state.clicks[item]
    scale = cache.scale[0]
    least_log = 2.0 * math.log(scale)
    nearest = clicks_needed(own, own, FAR, scale, least_log)
    if nearest > 0:  # even if it had won with all of its clicks, and never lost
        cache.due[item] = own + nearest
        return False
    nearest = FAR
    nearest_s, nearest_n = -FAR, FAR
    found = False
    block = cache.block[item]
    for place in range(cache.starts[block], cache.starts[block + 1]):
        other = cache.order[place]
        won = own + state.wins[item, other]
        lost = state.clicks[other] + state.wins[other, item]
        s = won - lost
        n = won + lost
        if other == item or (s <= nearest_s and n >= nearest_n):
            continue  # it needs at least as many clicks as the nearest
        need = clicks_needed(s, n, nearest, scale, least_log)
        if need == 0:
            if state.beats[item, other] == 0:
                _add_edge(state, cache, item, other)
                found = True
        elif need < nearest:
            nearest, nearest_s, nearest_n = need, s, n
    cache.due[item] = own + nearest
    return found


@inline_kernel
def clicks_needed(s: int, n: int, nearest: int, scale: float, least_log: float) -> int:
    """Return a number of clicks on an item before which it cannot beat another; 0 if it does now.

    The number need not be exact if it is at least ``nearest``.
    """
    # Even with as many more clicks as the nearest needs? The width is at least √(n least_log).
    reach = float(s + nearest)
    if reach <= 0.0 or reach * reach <= n * least_log:
        return nearest
    if n > 0 and s >= width(scale, n):
        return 0
    # A click adds 1 to both S and N, and the width grows with N: approached from below, none of
    # these numbers of clicks is enough.
    need = 1
    for _ in range(6):
        more = math.ceil(width(scale, n + need) * (1.0 - 1e-12) - s)
        if more <= need:
            break
        need = more
    return need


@lean_kernel
def width(scale: float, n: int) -> float:
    """Return √(2 n log(c √n / δ))."""
    return math.sqrt(2.0 * n * math.log(scale * math.sqrt(n)))


@lean_kernel
def _add_edge(state: Any, cache: Cache, item: int, other: int) -> None:
    """Store that an item beats another one."""
    state.beats[item, other] = 1
    cache.inferiors[item] += 1
    cache.superiors[other] += 1


@lean_kernel
def _count_late(state: Any, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints) -> bool:
    """Count the clicks on a list of another partition by pairs; return whether to divide again.

    A click is counted for its item too: the matrix of wins follows from W and all clicks.
    """
    changed = False
    for position in range(ranking.shape[0]):
        cache.clicked_buffer[ranking[position]] = clicks[position]
    for position in range(ranking.shape[0]):
        if clicks[position] == 0:
            continue
        item = ranking[position]
        state.clicks[item] += 1
        for other in range(cache.block.shape[0]):
            if other == item:
                continue
            together = cache.block[item] == cache.block[other]
            counts = memo[other] == memo[item] and cache.clicked_buffer[other] == 0
            if together != counts:  # else the wins stay: the click is counted, or does not matter
                state.wins[item, other] += 1 if counts else -1
            if not counts:
                continue
            won = state.wins[item, other]
            lost = state.wins[other, item]
            if together:
                won += state.clicks[item]
                lost += state.clicks[other]
            if state.beats[item, other] == 0 and won - lost >= width(cache.scale[0], won + lost):
                _add_edge(state, cache, item, other)
                changed |= cache.block[other] <= cache.block[item]
    for item in ranking:
        cache.clicked_buffer[item] = 0
    return changed


@inline_kernel
def divide(state: Any, cache: Cache) -> None:
    """Compute the partition from the matrix of which item beats which."""
    _peel(state, cache)
    sort_items(cache)


@lean_kernel
def _peel(state: Any, cache: Cache) -> None:
    """Remove, again and again, the items that none of the remaining items beats."""
    n_items = cache.block.shape[0]
    missing = cache.clicked_buffer  # superiors not yet placed; reused, and all 0 in the end
    queue = cache.item_buffer
    size = 0
    for item in range(n_items):
        missing[item] = cache.superiors[item]
        cache.depth_buffer[item] = -1
        if missing[item] == 0:
            cache.depth_buffer[item] = 0
            queue[size] = item
            size += 1
    done = 0
    last = 0
    while done < size:
        item = queue[done]
        done += 1
        last = cache.depth_buffer[item]
        if cache.inferiors[item] == 0:
            continue
        for other in range(n_items):
            if state.beats[item, other] == 1:
                missing[other] -= 1
                if missing[other] == 0:
                    cache.depth_buffer[other] = last + 1
                    queue[size] = other
                    size += 1
    if size < n_items:  # a cycle
        rest = last + 1 if size > 0 else 0
        for item in range(n_items):
            missing[item] = 0
            if cache.depth_buffer[item] < 0:
                cache.depth_buffer[item] = rest
    for item in range(n_items):
        if cache.depth_buffer[item] != cache.block[item]:
            _move(state, cache, item)


@lean_kernel
def _move(state: Any, cache: Cache, item: int) -> None:
    """Move an item to its new block; W of its pairs does not change."""
    old = cache.block[item]
    new = cache.depth_buffer[item]
    for other in range(cache.block.shape[0]):
        if other == item:
            continue
        if cache.block[other] == old:
            state.wins[item, other] += state.clicks[item]
            state.wins[other, item] += state.clicks[other]
        elif cache.block[other] == new:
            state.wins[item, other] -= state.clicks[item]
            state.wins[other, item] -= state.clicks[other]
            cache.due[other] = 0
    cache.block[item] = new
    cache.due[item] = 0


@lean_kernel
def sort_items(cache: Cache) -> None:
    """Sort the items by block, and by number within."""
    n_items = cache.block.shape[0]
    cache.starts[:] = 0
    for item in range(n_items):
        cache.starts[cache.block[item] + 1] += 1
    for number in range(n_items):
        cache.starts[number + 1] += cache.starts[number]
        cache.item_buffer[number] = cache.starts[number]
    for item in range(n_items):
        cache.order[cache.item_buffer[cache.block[item]]] = item
        cache.item_buffer[cache.block[item]] += 1


@lean_kernel
def forget_pairs(state: Any) -> None:
    """Clear the matrices."""
    state.wins[:, :] = 0
    state.beats[:, :] = 0


@lean_kernel
def restart(state: Any, cache: Cache) -> None:
    """Forget everything else."""
    state.clicks[:] = 0
    cache.restarts[0] += 1
    cache.scale[0] *= 2.0
    cache.inferiors[:] = 0
    cache.superiors[:] = 0
    cache.block[:] = 0
    for item in range(cache.order.shape[0]):
        cache.order[item] = item
    cache.starts[1:] = cache.order.shape[0]
    cache.due[:] = 0


register(TopRank, PackedState, rank, update, cache=Cache, build=build, lean=True)
