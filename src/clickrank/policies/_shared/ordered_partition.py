"""Ordered partitions of items into subsets, each better than the next, and compatible lists.

A partition is written as one number per item: its subset, counted from 1, or 0 for no subset.
"""

from __future__ import annotations

import numpy as np

from clickrank._compile.jit import kernel, lean_kernel
from clickrank._core.arrays import Ints
from clickrank.numerics.count_table import HASH_BITS, pair_hash
from clickrank.numerics.shuffling import swap_at_random


@kernel
def peel(beats: Ints, needed: int, subset: Ints) -> int:
    """Write the subset of each item: first those that no item beats, then those of the rest, ...

    ``beats[i, j]`` is 1 where i beats j. The function ends once ``needed`` items have a subset; the
    others get 0. If all remaining items are beaten, as in a cycle, they form the last subset.
    Returns the number of subsets.
    """
    subset[:] = 0
    number = 0
    beaten = beats.sum(axis=0)  # how many items without a subset beat each item
    while np.count_nonzero(subset) < needed:
        number += 1
        left = subset == 0
        free = left & (beaten == 0)
        chosen = free if free.any() else left
        subset[chosen] = number
        beaten -= beats[chosen].sum(axis=0)
    return number


@kernel
def draw_compatible(order: Ints, subset: Ints, rng: np.random.Generator, ranking: Ints) -> None:
    """Write a list drawn uniformly from those that are compatible with an ordered partition.

    ``order`` has the items by subset. Each subset fills the first free positions; if one does not
    fit, a random part of it is shown. One random number is drawn per item shown, except for the
    last one of a subset.
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


@kernel
def count_wins(wins: Ints, subset: Ints, ranking: Ints, clicks: Ints) -> None:
    """Count each click as a win of its item over all items of its subset that were not clicked."""
    clicked = np.zeros(subset.shape[0], dtype=np.int64)
    clicked[ranking] = clicks
    for i in ranking:
        for j in range(subset.shape[0]):
            if clicked[i] == 1 and clicked[j] == 0 and subset[i] == subset[j]:
                wins[i, j] += 1


@lean_kernel
def hash_of_partition(subset: Ints, labels: Ints) -> int:
    """Return the key under which the rounds that a partition has led are counted.

    Items are identified by their labels. Items without a subset do not matter.
    """
    total = 0
    for item in range(subset.shape[0]):
        if subset[item] > 0:
            total = (total + pair_hash(int(labels[item]), subset[item])) & HASH_BITS
    return total
