"""Random items without repetition, by the shuffle of Fisher and Yates."""

from __future__ import annotations

import numpy as np

from clickrank._compile.jit import array_kernel, lean_kernel
from clickrank._core.arrays import Ints


@array_kernel
def fill_at_random(n_items: int, rng: np.random.Generator, measured: int, ranking: Ints) -> None:
    """Fill the positions below the first, which has the measured item, with random items.

    The deck holds all items by number, with the measured one in front. Only those of its places are
    stored that hold another item, so that the time does not depend on the number of items.
    """
    n_positions = ranking.shape[0]
    places, items = np.zeros(n_positions, dtype=np.int64), np.zeros(n_positions, dtype=np.int64)
    places[0], items[0] = measured, 0
    for position in range(1, n_positions):
        drawn = position + int(rng.random() * (n_items - position))
        ranking[position] = _card(places[:position], items, drawn)
        places[position], items[position] = drawn, _card(places[:position], items, position)


@lean_kernel
def _card(places: Ints, items: Ints, place: int) -> int:
    """Return the item at a place of the deck: the last one put there, or the original one."""
    for i in range(places.shape[0] - 1, -1, -1):
        if places[i] == place:
            return int(items[i])
    return place
