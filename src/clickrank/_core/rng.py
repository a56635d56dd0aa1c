"""Random streams: everything random in a run follows from the seed and the run's number.

A run of `simulate_many` has the number of its query before its own.
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
    """Make the generators of one run; they do not depend on other runs or on threads."""
    return Streams(*(generator(seed, *run, part) for part in range(3)))


def generator(seed: int, *key: int) -> np.random.Generator:
    """Make the generator named by a seed and a path of whole numbers."""
    sequence = np.random.SeedSequence(seed, spawn_key=key)
    return np.random.Generator(np.random.SFC64(sequence))
