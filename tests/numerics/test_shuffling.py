"""Shuffles: every order is equally likely, and nothing else moves."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
from scipy import stats

from clickrank.numerics.shuffling import shuffle, swap_at_random

FALSE_ALARM = 1e-6
DRAWS = 6_000


def test_every_order_of_a_part_is_equally_likely() -> None:
    rng = np.random.default_rng(0)
    counts: Counter[tuple[int, ...]] = Counter()
    for _ in range(DRAWS):
        values = np.arange(6)
        shuffle(rng, values, 1, 5)
        assert values[0] == 0
        assert values[5] == 5
        counts[tuple(values[1:5].tolist())] += 1
    assert set(counts) == set(itertools.permutations(range(1, 5)))
    assert stats.chisquare(list(counts.values())).pvalue >= FALSE_ALARM


def test_nothing_is_drawn_for_one_value() -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    shuffle(rng, np.arange(4), 2, 3)
    assert rng.bit_generator.state == before


def test_a_swap_brings_one_of_a_part_to_a_place() -> None:
    rng = np.random.default_rng(1)
    counts = [0, 0, 0]
    for _ in range(DRAWS):
        values = np.arange(6)
        swap_at_random(rng, values, 0, 2, 5)
        other = int(values[0])
        counts[other - 2] += 1
        assert values[other] == 0
        assert sorted(values.tolist()) == list(range(6))
    assert stats.chisquare(counts).pvalue >= FALSE_ALARM
