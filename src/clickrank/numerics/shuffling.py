"""Fisher-Yates shuffles of arrays, and draws without replacement."""

from __future__ import annotations

import numpy as np

from clickrank._compile.jit import array_kernel, inline_kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints


@inline_kernel
def swap_at_random(
    rng: np.random.Generator, values: Ints | Floats, place: int, begin: int, end: int
) -> None:
    """Exchange the value at a place with a random one of ``values[begin:end]``, possibly itself."""
    other = begin + int(rng.random() * (end - begin))
    value = values[place]
    values[place] = values[other]
    values[other] = value


@lean_kernel
def shuffle(rng: np.random.Generator, values: Ints | Floats, begin: int, end: int) -> None:
    """Put ``values[begin:end]`` into random order."""
    for place in range(end - 1, begin, -1):
        swap_at_random(rng, values, place, begin, place + 1)


@array_kernel
def draw_distinct(rng: np.random.Generator, n: int, drawn: Ints) -> None:
    """Fill an array with distinct random numbers from 0 to n - 1."""
    deck = np.arange(n)
    for place in range(drawn.shape[0]):
        swap_at_random(rng, deck, place, place, n)
        drawn[place] = deck[place]
