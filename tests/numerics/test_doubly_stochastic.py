"""Birkhoff's decomposition of a doubly stochastic matrix into permutations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from clickrank.numerics.doubly_stochastic import birkhoff


@pytest.mark.parametrize("n", [1, 2, 3, 5, 9])
def test_birkhoff_rebuilds_the_matrix(n: int) -> None:
    rng = np.random.default_rng(n)
    for used in (1, 2, n, n * n):
        target = np.zeros((n, n))
        for _ in range(used):
            target[rng.permutation(n), np.arange(n)] += rng.random() ** 4 * 100
        rest = target.copy()
        lists, weights = np.zeros((n * n, n), dtype=np.int64), np.zeros(n * n)
        count = birkhoff(rest, lists, weights, np.zeros((4, n), dtype=np.int64))
        again = np.zeros((n, n))
        for rows, weight in zip(lists[:count], weights[:count], strict=True):
            assert sorted(rows.tolist()) == list(range(n))
            assert weight > 0
            again[rows, np.arange(n)] += weight
        assert again == pytest.approx(target, abs=1e-7 * target.max())
        assert (rest >= 0).all()


def test_birkhoff_takes_large_weights_first() -> None:
    """The first permutation is within a factor 2 of the largest that fits."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        target = np.zeros((4, 4))
        for _ in range(5):
            target[rng.permutation(4), np.arange(4)] += rng.random()
        best = max(
            min(target[row, k] for k, row in enumerate(rows))
            for rows in itertools.permutations(range(4))
        )
        lists, weights = np.zeros((16, 4), dtype=np.int64), np.zeros(16)
        birkhoff(target, lists, weights, np.zeros((4, 4), dtype=np.int64))
        assert best / 2 <= weights[0] <= best * (1 + 1e-12)
