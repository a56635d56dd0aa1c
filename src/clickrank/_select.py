"""Selection of the best items with explicit random ties: the only sort that kernels use."""

from __future__ import annotations

import numpy as np

from clickrank._jit import kernel
from clickrank.types import Floats, Ints


@kernel
def top_k(values: Floats, rng: np.random.Generator, out: Ints) -> None:
    """Write the items with the largest values into ``out``, best first, ties at random.

    Every order of tied items is equally likely. Random numbers are drawn only where values tie.
    Values must not be NaN.
    """
    k = out.shape[0]
    size = 0
    # Items seen that tie with the last place but did not get it: a further tied item must
    # compete with them as well.
    left_out = 0
    for item in range(values.shape[0]):
        value = values[item]
        full = size == k
        if full and not value >= values[out[k - 1]]:
            continue
        end = size
        while end > 0 and values[out[end - 1]] < value:
            end -= 1
        begin = end
        while begin > 0 and values[out[begin - 1]] == value:
            begin -= 1
        place = end
        ties = end - begin
        if full and end == k:
            ties += left_out
        if ties > 0:
            place = begin + int(rng.random() * (ties + 1))
            if place >= k:
                left_out += 1
                continue
        if full:
            pushed = values[out[k - 1]]
            for i in range(k - 1, place, -1):
                out[i] = out[i - 1]
            out[place] = item
            left_out = left_out + 1 if values[out[k - 1]] == pushed else 0
        else:
            for i in range(size, place, -1):
                out[i] = out[i - 1]
            out[place] = item
            size += 1


def prominence(weights: Floats) -> Ints:
    """Return the positions by decreasing weight, ties in order of position.

    >>> prominence(np.array([0.5, 1.0, 0.5]))
    array([1, 0, 2])
    """
    return np.argsort(-weights, kind="stable").astype(np.int64)


@kernel
def place(best: Ints, positions: Ints, ranking: Ints) -> None:
    """Write the j-th best item to the j-th of the positions."""
    for j in range(best.shape[0]):
        ranking[positions[j]] = best[j]


@kernel
def match_by_rank(gains: Floats, weights: Floats, out: Ints) -> None:
    """Assign items to positions so that Σ weight · gain is largest: best item, heaviest position.

    Weights need not decrease. Ties go to the smaller index: this is for computing optima, where any
    optimal answer will do, and must not depend on a random stream.
    """
    n_items = gains.shape[0]
    n_positions = weights.shape[0]
    item_used = np.zeros(n_items, dtype=np.bool_)
    position_used = np.zeros(n_positions, dtype=np.bool_)
    for _ in range(n_positions):
        item = -1
        for i in range(n_items):
            if not item_used[i] and (item < 0 or gains[i] > gains[item]):
                item = i
        position = -1
        for j in range(n_positions):
            if not position_used[j] and (position < 0 or weights[j] > weights[position]):
                position = j
        item_used[item] = True
        position_used[position] = True
        out[position] = item
