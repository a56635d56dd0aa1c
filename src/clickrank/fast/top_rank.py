"""TopRank, fast: who beats whom is looked at only when a click may have decided it.

A click may only make its own item beat another, and not before a number of clicks on it that is
computed from S and N; so the pairs of an item are rarely looked at, and a click usually takes O(1).
A round takes O(n_items) to remember the partition. The first list after items are added or retired
takes O(n_items²) more; in the service, while items are retired, so does each first list after
feedback.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from clickrank._compile.jit import inline_kernel, lean_kernel
from clickrank.fast._shared.ordered_partition import draw_compatible
from clickrank.policies._shared.ordered_partition import cut
from clickrank.policies.contract import Request, register_fast
from clickrank.policies.top_rank import Params, State, TopRank
from clickrank.types import Floats, Ints

FAR = 2**40  # clicks that no item will get


class Cache(NamedTuple):
    """The partition as a sorted list, and which clicks need a closer look."""

    scale: Floats  # (1,), c/δ
    wins: Ints  # (n_items,), items that i beats
    superiors: Ints  # (n_items,), items that beat j
    order: Ints  # (n_items,), the items by block
    starts: Ints  # (n_items + 1,), where each block begins in it; n_items beyond the last
    due: Ints  # (n_items,), clicks on i before which it cannot beat another one
    depth_buffer: Ints  # (n_items,), the next partition
    item_buffer: Ints  # (n_items,)
    clicked_buffer: Ints  # (n_items,), 0 between calls


def build(params: Params, state: State) -> Cache:
    """Sort the items by block; how soon they may beat others is not known."""
    return cache_of(params, state, state.beats.sum(axis=1), state.beats.sum(axis=0))


def cache_of(params: Params, state: Any, wins: Ints, superiors: Ints) -> Cache:
    """Return a cache of a state in which each item beats, and is beaten by, that many others."""
    n_items = state.block.size
    order, starts = cut(state.block)
    return Cache(
        scale=np.full(1, params.scale * 2.0 ** int(state.epoch[0])),
        wins=wins,
        superiors=superiors,
        order=order,
        starts=starts,
        due=np.zeros(n_items, dtype=np.int64),
        depth_buffer=np.zeros(n_items, dtype=np.int64),
        item_buffer=np.zeros(n_items, dtype=np.int64),
        clicked_buffer=np.zeros(n_items, dtype=np.int64),
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
    """Draw a list that respects the partition, which the memo has."""
    draw_compatible(cache.order, cache.starts, rng, cache.item_buffer, ranking)
    n_items = state.block.shape[0]
    for item in range(n_items):
        memo[item] = state.block[item]
    if params.guess > 0:
        memo[n_items] = state.epoch[0]


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count the clicks, and divide the items again if one beats another."""
    n_items = state.block.shape[0]
    if params.guess > 0 and memo[n_items] != state.epoch[0]:
        return
    clicked = 0
    for position in range(clicks.shape[0]):
        clicked += clicks[position]
    if clicked > 0 and learn(state, cache, ranking, memo, clicks, is_present(state.block, memo)):
        divide(state, cache)
    state.rounds[0] += 1
    if params.guess > 0 and state.rounds[0] == params.guess << state.epoch[0]:
        forget_pairs(state)
        begin_epoch(state, cache)


@inline_kernel
def is_present(block: Ints, memo: Ints) -> bool:
    """Say whether a list is of the present partition."""
    moved = 0
    for item in range(block.shape[0]):
        moved |= memo[item] ^ block[item]
    return moved == 0


@inline_kernel
def learn(state: Any, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints, present: bool) -> bool:
    """Count the clicks on a list, and say whether to divide the items again."""
    if not present:
        return _count_late(state, cache, ranking, memo, clicks)
    _count(state.clicks, state.block, state.disagreement, ranking, clicks)
    changed = False
    for position in range(ranking.shape[0]):
        item = ranking[position]
        if clicks[position] == 1 and state.clicks[item] >= cache.due[item]:
            changed |= _compare(state, cache, item)
    return changed


@inline_kernel
def divide(state: Any, cache: Cache) -> None:
    """Compute the partition from who beats whom."""
    _peel(state, cache)
    sort_items(state.block, cache)


@lean_kernel
def _count(counts: Ints, block: Ints, disagreement: Ints, ranking: Ints, clicks: Ints) -> None:
    """Count the clicks on a list of the present partition."""
    for position in range(ranking.shape[0]):
        if clicks[position] == 0:
            continue
        item = ranking[position]
        counts[item] += 1
        for above in range(position):
            other = ranking[above]
            # |U| = 0, where counting both clicks makes 2.
            if clicks[above] == 1 and block[other] == block[item]:
                disagreement[item, other] -= 2
                disagreement[other, item] -= 2


@lean_kernel
def _compare(state: Any, cache: Cache, item: int) -> bool:
    """Find the items of its block that an item now beats, and how soon it may beat another one."""
    own = state.clicks[item]
    scale = cache.scale[0]
    least_log = 2.0 * math.log(scale)
    nearest = FAR
    nearest_s, nearest_n = -FAR, FAR
    found = False
    block = state.block[item]
    for place in range(cache.starts[block], cache.starts[block + 1]):
        other = cache.order[place]
        s = own - state.clicks[other] + state.difference[item, other]
        n = own + state.clicks[other] + state.disagreement[item, other]
        if other == item or (s <= nearest_s and n >= nearest_n):
            continue  # it needs no fewer clicks than the nearest
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

    Any number of at least ``nearest`` stands for all of them.
    """
    # Even with as many more clicks as the nearest needs? The width is at least √(n least_log).
    reach = float(s + nearest)
    if reach <= 0.0 or reach * reach <= n * least_log:
        return nearest
    if n > 0 and s >= width(scale, n):
        return 0
    # A click adds 1 to both S and N, and the width grows with N: from below, each of these is
    # not enough clicks.
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
    """Note that an item beats another one."""
    state.beats[item, other] = 1
    cache.wins[item] += 1
    cache.superiors[other] += 1


@lean_kernel
def _count_late(state: Any, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints) -> bool:
    """Count the clicks on a list of another partition, pair by pair; say whether to divide again.

    A click is counted for its item too: what the fields hold follows from S, N and all clicks.
    """
    changed = False
    for position in range(ranking.shape[0]):
        cache.clicked_buffer[ranking[position]] = clicks[position]
    for position in range(ranking.shape[0]):
        if clicks[position] == 0:
            continue
        item = ranking[position]
        state.clicks[item] += 1
        for other in range(state.block.shape[0]):
            if other == item:
                continue
            together = state.block[item] == state.block[other]
            counts = memo[other] == memo[item] and cache.clicked_buffer[other] == 0
            if together != counts:  # else the matrices stay: the click tells, or it tells nothing
                by = 1 if counts else -1
                state.difference[item, other] += by
                state.difference[other, item] -= by
                state.disagreement[item, other] += by
                state.disagreement[other, item] += by
            if not counts:
                continue
            s = state.difference[item, other]
            n = state.disagreement[item, other]
            if together:
                s += state.clicks[item] - state.clicks[other]
                n += state.clicks[item] + state.clicks[other]
            if state.beats[item, other] == 0 and s >= width(cache.scale[0], n):
                _add_edge(state, cache, item, other)
                changed |= state.block[other] <= state.block[item]
    for item in ranking:
        cache.clicked_buffer[item] = 0
    return changed


@lean_kernel
def sort_items(block: Ints, cache: Cache) -> None:
    """Sort the items by block, and by number within."""
    n_items = block.shape[0]
    cache.starts[:] = 0
    for item in range(n_items):
        cache.starts[block[item] + 1] += 1
    for number in range(n_items):
        cache.starts[number + 1] += cache.starts[number]
        cache.item_buffer[number] = cache.starts[number]
    for item in range(n_items):
        cache.order[cache.item_buffer[block[item]]] = item
        cache.item_buffer[block[item]] += 1


@lean_kernel
def _peel(state: Any, cache: Cache) -> None:
    """Take off, again and again, the items that none beats of those left."""
    n_items = state.block.shape[0]
    missing = cache.clicked_buffer  # superiors not yet placed; borrowed, and all 0 in the end
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
        if cache.wins[item] == 0:
            continue
        for other in range(n_items):
            if state.beats[item, other] == 1:
                missing[other] -= 1
                if missing[other] == 0:
                    cache.depth_buffer[other] = last + 1
                    queue[size] = other
                    size += 1
    if size < n_items:  # a circle
        rest = last + 1 if size > 0 else 0
        for item in range(n_items):
            missing[item] = 0
            if cache.depth_buffer[item] < 0:
                cache.depth_buffer[item] = rest
    for item in range(n_items):
        if cache.depth_buffer[item] != state.block[item]:
            _move(state, cache, item)


@lean_kernel
def _move(state: Any, cache: Cache, item: int) -> None:
    """Move an item to its new block; S and N of its pairs stay what they are."""
    old = state.block[item]
    new = cache.depth_buffer[item]
    own = state.clicks[item]
    for other in range(state.block.shape[0]):
        if other == item:
            continue
        if state.block[other] == old:
            sign = 1
        elif state.block[other] == new:
            sign = -1
            cache.due[other] = 0
        else:
            continue
        difference = sign * (own - state.clicks[other])
        both = sign * (own + state.clicks[other])
        state.difference[item, other] += difference
        state.difference[other, item] -= difference
        state.disagreement[item, other] += both
        state.disagreement[other, item] += both
    state.block[item] = new
    cache.due[item] = 0


@lean_kernel
def forget_pairs(state: Any) -> None:
    """Clear the matrices."""
    state.difference[:, :] = 0
    state.disagreement[:, :] = 0
    state.beats[:, :] = 0


@lean_kernel
def begin_epoch(state: Any, cache: Cache) -> None:
    """Begin the next epoch: twice as long, half the δ, and nothing known; pairs are cleared."""
    n_items = state.block.shape[0]
    state.epoch[0] += 1
    state.rounds[0] = 0
    cache.scale[0] *= 2.0
    state.clicks[:] = 0
    cache.wins[:] = 0
    cache.superiors[:] = 0
    state.block[:] = 0
    for item in range(n_items):
        cache.order[item] = item
    cache.starts[1:] = n_items
    cache.due[:] = 0


register_fast(TopRank, State, Cache, build, rank, update, lean=True)
