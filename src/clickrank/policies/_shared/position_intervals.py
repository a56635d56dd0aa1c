"""RecurRank's intervals of positions, each with the items that may be shown there.

An interval is identified by its first position, where ``phase`` is above 0, and ends where the next
one begins. Its items begin at the same index of ``order``. All intervals but the last have as many
items as positions. After the items of the last one, ``order`` is -1.
"""

from __future__ import annotations

import numpy as np

from clickrank._compile.jit import array_kernel
from clickrank._core.arrays import Ints


@array_kernel
def begins(phase: Ints) -> Ints:
    """Return the first positions of all intervals."""
    return np.flatnonzero(phase)


@array_kernel
def interval(order: Ints, phase: Ints, first: int) -> tuple[Ints, int]:
    """Return the items of the interval that begins at a position, and its end."""
    n_positions = phase.shape[0]
    end = first + 1
    while end < n_positions and phase[end] == 0:
        end += 1
    items = order[first:] if end == n_positions else order[first:end]
    return items[items >= 0], end


@array_kernel
def write_items(places: Ints, best: Ints, others: Ints) -> None:
    """Write the items of an interval to its part of ``order``, which may be too long by now."""
    for i in range(places.shape[0]):
        if i < best.shape[0]:
            places[i] = best[i]
        elif i - best.shape[0] < others.shape[0]:
            places[i] = others[i - best.shape[0]]
        else:
            places[i] = -1
