"""Bubble sort of a list by pairwise comparisons, one pass at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from clickrank._compile.jit import array_kernel, lean_kernel
from clickrank._core.arrays import Ints


@lean_kernel
def confidently_better(wins: Ints, width: float, item: Any, other: Any) -> Any:
    """Return whether s(i,j) > 2 √(n(i,j) log(1/δ)), for two items or in Python for arrays of them.

    s(i,j) = wins[i,j] - wins[j,i], n(i,j) = wins[i,j] + wins[j,i], and ``width`` is 4 log(1/δ).
    """
    lead = wins[item, other] - wins[other, item]
    return (lead > 0) & (lead * lead > width * (wins[item, other] + wins[other, item]))


@array_kernel
def begin_with(ranking: Ints, base: Ints) -> None:
    """Write the initial list, followed by the other items in the order of their numbers."""
    below = np.ones(base.shape[0], dtype=np.bool_)
    below[ranking] = False
    base[:] = np.append(ranking, np.flatnonzero(below))


@array_kernel
def bubble(base: Ints, wins: Ints, width: float, n_positions: int) -> None:
    """Exchange neighbours if the lower one is better with confidence, in one pass from the top.

    Then an item below the page that is better than the last item on the page, with confidence,
    takes its place. If there are several, the one with the largest lead does.
    """
    for upper in range(n_positions - 1):
        if confidently_better(wins, width, base[upper + 1], base[upper]):
            base[upper], base[upper + 1] = base[upper + 1], base[upper]
    last = base[n_positions - 1]
    better, lead = -1, 0
    for place in range(n_positions, base.shape[0]):
        by = wins[base[place], last] - wins[last, base[place]]
        if by > lead and confidently_better(wins, width, base[place], last):
            better, lead = place, by
    if better >= 0:
        base[n_positions - 1], base[better] = base[better], last
    # Below the page, items that may be better than the last one come first, in unchanged order.
    below = base[n_positions:]
    worse = np.zeros(below.shape[0], dtype=np.bool_)
    for i in range(below.shape[0]):
        worse[i] = confidently_better(wins, width, base[n_positions - 1], below[i])
    below[:] = np.append(below[~worse], below[worse])
