"""Ordered partitions: items in subsets, each better than the next, and lists that respect them.

A partition is written as the number of each item's subset, from 1; 0 for items of none.
"""

from __future__ import annotations

import numpy as np

from clickrank._compile.jit import kernel
from clickrank.numerics.shuffling import swap_at_random
from clickrank.types import Ints


@kernel
def peel(beats: Ints, needed: int, subset: Ints) -> int:
    """Write the subset of each item: those that none beats, those that none beats of the rest, ...

    ``beats[i, j]`` is 1 where i beats j. Ends once ``needed`` items have a subset; the others have
    0. Where all items left are beaten, as in a circle, they are the last subset. Returns the number
    of subsets.
    """
    n_items = beats.shape[0]
    subset[:] = 0
    number = 0
    placed = 0
    while placed < needed:
        number += 1
        left = subset == 0
        free = left.copy()
        for item in range(n_items):
            for other in range(n_items):
                if left[other] and beats[other, item] == 1:
                    free[item] = False
        if not free.any():
            free = left
        for item in range(n_items):
            if free[item]:
                subset[item] = number
                placed += 1
    return number


@kernel
def by_subset(subset: Ints) -> Ints:
    """Return the items by subset, and by number within; those of no subset last."""
    n_items = subset.shape[0]
    order = np.empty(n_items, dtype=np.int64)
    size = 0
    for number in range(1, n_items + 2):
        wanted = number if number <= n_items else 0
        for item in range(n_items):
            if subset[item] == wanted:
                order[size] = item
                size += 1
    return order


@kernel
def draw_compatible(order: Ints, subset: Ints, rng: np.random.Generator, ranking: Ints) -> None:
    """Write a list that is uniform among those compatible with an ordered partition.

    ``order`` has the items by subset. Each subset fills the first positions that earlier ones
    leave; of one that does not fit, a random part is shown. One random number is drawn for each
    item shown, except for the last one of a subset.
    """
    pool = order.copy()
    end = 0
    for position in range(ranking.shape[0]):
        if position == end:
            while end < pool.shape[0] and subset[pool[end]] == subset[pool[position]]:
                end += 1
        if end - position > 1:
            swap_at_random(rng, pool, position, position, end)
        ranking[position] = pool[position]


def cut(block: Ints) -> tuple[Ints, Ints]:
    """Return the items by block, from 0, and by number within, and where each block begins.

    There are as many beginnings as items and one more: all beyond the last block are its end.

    >>> [array.tolist() for array in cut(np.array([1, 0, 1]))]
    [[1, 0, 2], [0, 1, 3, 3]]
    """
    sizes = np.bincount(block, minlength=block.size)
    return np.argsort(block, kind="stable"), np.append(0, np.cumsum(sizes))
