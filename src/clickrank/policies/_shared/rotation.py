"""Rotations: the first rounds of policies that must show every item at every position."""

from __future__ import annotations

import numpy as np

from clickrank._compile.jit import lean_kernel
from clickrank._core.arrays import Ints
from clickrank.rankings.distributions import Mixture


def rotations(clicks: Ints, misses: Ints, n_positions: int) -> Mixture | None:
    """Return the lists that `rotate` draws from; None if all rotations were shown."""
    left = np.flatnonzero(clicks[:, 0] + misses[:, 0] == 0)
    if left.size == 0:
        return None
    n_items = clicks.shape[0]
    return Mixture.unchecked((left[:, None] + np.arange(n_positions)) % n_items, n_items)


@lean_kernel
def rotations_left(clicks: Ints, misses: Ints) -> int:
    """Return how many rotations are left: items that were never shown at the first position."""
    left = 0
    for item in range(clicks.shape[0]):
        left += clicks[item, 0] + misses[item, 0] == 0
    return left


@lean_kernel
def rotate(
    clicks: Ints, misses: Ints, unstarted: int, rng: np.random.Generator, ranking: Ints
) -> None:
    """Show a random rotation of the catalogue among those whose first item never came first.

    ``clicks`` and ``misses`` are counts by item and position; ``unstarted`` is the number of items
    without a view at the first position. In whatever order feedback comes, n_items rotations with
    feedback are all different, and show every item at every position.
    """
    left = int(rng.random() * unstarted)
    n_items = clicks.shape[0]
    first = 0
    for item in range(n_items):
        if clicks[item, 0] + misses[item, 0] == 0:
            if left == 0:
                first = item
                break
            left -= 1
    for position in range(ranking.shape[0]):
        ranking[position] = (first + position) % n_items
