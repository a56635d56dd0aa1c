"""Positive definite systems by their Cholesky factors."""

from __future__ import annotations

import numpy as np
import pytest

from clickrank.numerics.cholesky import solve_positive


def test_solve_positive() -> None:
    rng = np.random.default_rng(0)
    for n in range(1, 8):
        root = rng.normal(size=(n, n))
        matrix = root @ root.T + 0.1 * np.eye(n)
        right = rng.normal(size=(n,))
        want = np.linalg.solve(matrix, right)
        got = right.copy()
        assert solve_positive(np.tril(matrix), got)
        assert got == pytest.approx(want, rel=1e-6, abs=1e-9)
    right = np.ones(2)
    assert not solve_positive(np.ones((2, 2)), right)
    assert np.isfinite(right).all()
