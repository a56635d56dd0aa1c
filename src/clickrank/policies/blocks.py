"""Ordered partitions of the items into blocks, as policies that compare items within them use."""

from __future__ import annotations

import numpy as np

from clickrank._jit import lean_kernel
from clickrank.types import Ints


@lean_kernel
def draw_compatible(
    order: Ints, starts: Ints, rng: np.random.Generator, work: Ints, ranking: Ints
) -> None:
    """Write a list that is uniform among those compatible with an ordered partition.

    Block b holds the items ``order[starts[b]:starts[b + 1]]``, and fills the first positions that
    earlier blocks leave; of a block that does not fit, a random part is shown. Blocks that reach
    the list may not be empty. One random number is drawn for each item shown, but for the last one
    of a block. ``work`` is room for as many numbers as ``order``.
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
        for place in range(begin, end):
            work[place] = order[place]
        last = min(end, n_positions)  # as blocks before this one fill a position for each item
        while position < last:
            if end - position > 1:
                other = position + int(rng.random() * (end - position))
                item = work[other]
                work[other] = work[position]
                ranking[position] = item
            else:
                ranking[position] = work[position]
            position += 1
