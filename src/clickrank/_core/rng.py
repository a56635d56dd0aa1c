"""Random streams: all random numbers of a run follow from the seed and the number of the run.

In `simulate_many`, the number of the query comes before the number of the run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Streams(NamedTuple):
    """The independent generators of one run."""

    policy: np.random.Generator
    users: np.random.Generator
    items: np.random.Generator


def streams(seed: int, *run: int) -> Streams:
    """Make the generators of one run. They depend neither on other runs nor on threads."""
    return Streams(*(generator(seed, *run, part) for part in range(3)))


def generator(seed: int, *key: int) -> np.random.Generator:
    """Make the generator for a seed and a path of integers."""
    sequence = np.random.SeedSequence(seed, spawn_key=key)
    return np.random.Generator(np.random.SFC64(sequence))
