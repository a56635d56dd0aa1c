"""Lists that respect an ordered partition, without copying blocks much longer than the list."""

from __future__ import annotations

import numpy as np

from clickrank._compile.jit import lean_kernel
from clickrank._core.arrays import Ints
from clickrank.numerics.shuffling import swap_at_random


@lean_kernel
def draw_compatible(
    order: Ints, starts: Ints, rng: np.random.Generator, buffer: Ints, ranking: Ints
) -> None:
    """Write a list drawn uniformly from those that are compatible with an ordered partition.

    Block b holds the items ``order[starts[b]:starts[b + 1]]``, and fills the first free positions;
    if a block does not fit, a random part of it is shown. Blocks that reach the list must not be
    empty. One random number is drawn per item shown, except for the last one of a block. ``buffer``
    is as long as ``order``.
    """
    n_positions = ranking.shape[0]
    block = 0
    position = 0
    while position < n_positions:
        begin = starts[block]
        end = starts[block + 1]
        block += 1
        if end - begin == 1:
            ranking[position] = order[begin]
            position += 1
            continue
        last = min(end, n_positions)  # each item of the blocks before this one fills one position
        if end - begin > 4 * n_positions:
            _draw_few(order, end, rng, buffer, ranking, position)
            return
        for place in range(begin, end):
            buffer[place] = order[place]
        while position < last:
            if end - position > 1:
                swap_at_random(rng, buffer, position, position, end)
            ranking[position] = buffer[position]
            position += 1


@lean_kernel
def _draw_few(
    order: Ints, end: int, rng: np.random.Generator, buffer: Ints, ranking: Ints, position: int
) -> None:
    """Fill the list from a block of many more items, as if they were copied and shuffled.

    Only the differences of the copy are stored: pairs of a place and the item that is there now.
    """
    moved = 0
    for at in range(position, ranking.shape[0]):
        other = at + int(rng.random() * (end - at))
        item = order[other]
        own = order[at]
        entry = moved
        for i in range(moved):
            if buffer[2 * i] == other:
                item = buffer[2 * i + 1]
                entry = i
            if buffer[2 * i] == at:
                own = buffer[2 * i + 1]
        ranking[at] = item
        buffer[2 * entry] = other
        buffer[2 * entry + 1] = own
        moved += entry == moved
