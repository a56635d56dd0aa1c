"""The maximum of the position-based model's likelihood, for tables of counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize

from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.grid_rounding import GRID, rounded
from clickrank.numerics.pbm_likelihood import PBMCells, load_cells, table_cells
from clickrank.numerics.pbm_maximum import (
    PRIOR,
    maximise_likelihood,
    newton_buffers,
    start_likelihood,
)


def counts(rng: np.random.Generator, kind: str) -> tuple[Ints, Ints]:
    n, m = int(rng.integers(1, 8)), int(rng.integers(1, 6))
    views = rng.integers(0, 10 ** rng.integers(1, 6), size=(n, m))
    if kind == "gaps":
        views *= rng.random((n, m)) < 0.4
    theta, kappa = rng.random(n), rng.random(m)
    clicks = rng.binomial(views, np.outer(theta, kappa))
    if kind == "none":
        clicks[:] = 0
    if kind == "all":
        clicks = views.copy()
    if kind == "extreme":
        clicks = np.where(rng.random((n, 1)) < 0.5, views, 0)
    return clicks, views - clicks


def fit(clicks: Ints, misses: Ints, x: Floats, y: Floats) -> bool:
    n, m = clicks.shape
    return maximise_likelihood(
        cells_of(clicks, misses), 0.0, 0.0, x, y, newton_buffers(n, m, n * m)
    )


def cells_of(clicks: Ints, misses: Ints) -> PBMCells:
    cells = table_cells(*clicks.shape)
    load_cells(clicks, misses, PRIOR, cells)
    return cells


def negative_log_likelihood(clicks: Ints, misses: Ints, x: Floats, y: Floats) -> float:
    z = x[:, None] + y[None, :]
    if (z >= 0).any():
        return math.inf
    return float(-((clicks + PRIOR) * z + (misses + PRIOR) * np.log(-np.expm1(z))).sum())


@pytest.mark.parametrize("kind", ["plain", "gaps", "none", "all", "extreme"])
def test_likelihood_against_scipy(kind: str) -> None:
    """Scipy, from several starts, gets no further, and ends at the same probabilities."""
    rng = np.random.default_rng(7)
    for _ in range(5):
        clicks, misses = counts(rng, kind)
        n, m = clicks.shape
        x, y = np.zeros(n), np.zeros(m)
        start_likelihood(cells_of(clicks, misses), x, y)
        assert fit(clicks, misses, x, y)
        assert y[0] == 0.0
        best = negative_log_likelihood(clicks, misses, x, y)
        for _ in range(2):
            # θ = logistic(a), κ = logistic(b): no constraints, not convex, another way.
            start: Floats = rng.normal(size=n + m)
            found = optimize.minimize(
                logistic_loss, start, (clicks, misses), "L-BFGS-B", jac=True, tol=1e-15
            )
            assert best <= found.fun + 1e-9 * abs(best)
            if kind in ("plain", "gaps"):
                assert found.fun == pytest.approx(best, rel=1e-3)  # it does get there
                if found.fun < best + 1e-7:
                    z = -np.logaddexp(0.0, -found.x)
                    p = np.exp(z[:n, None] + z[n:])
                    assert np.exp(x[:, None] + y) == pytest.approx(p, abs=1e-2)


def logistic_loss(v: Floats, clicks: Ints, misses: Ints) -> tuple[float, Floats]:
    n = clicks.shape[0]
    logs = -np.logaddexp(0.0, -v)
    z = np.minimum(logs[:n, None] + logs[n:], -1e-13)
    s, f = clicks + PRIOR, misses + PRIOR
    slope = f / np.expm1(-z) - s
    by_log = np.concatenate([slope.sum(axis=1), slope.sum(axis=0)])
    return float(-(s * z + f * np.log(-np.expm1(z))).sum()), by_log * np.exp(-np.logaddexp(0.0, v))


def test_likelihood_is_stationary_and_does_not_depend_on_the_start() -> None:
    rng = np.random.default_rng(8)
    for kind in ("plain", "gaps", "none", "all", "extreme"):
        for _ in range(20):
            clicks, misses = counts(rng, kind)
            n, m = clicks.shape
            x, y = np.zeros(n), np.zeros(m)
            start_likelihood(cells_of(clicks, misses), x, y)
            assert fit(clicks, misses, x, y)
            p = np.exp(x[:, None] + y)
            slope = (clicks + PRIOR) - (misses + PRIOR) * p / (1 - p)
            scale = (clicks + misses).sum() + 1.0
            assert abs(slope.sum(axis=0)).max() < 1e-7 * scale
            assert abs(slope.sum(axis=1)).max() < 1e-7 * scale
            other_x = rng.uniform(-5.1, -0.1, size=(n,))
            other_y = rng.uniform(-2.0, 0.0, size=(m,))
            other_y[0] = 0.0
            assert fit(clicks, misses, other_x, other_y)
            assert [rounded(v) for v in other_x] == pytest.approx([rounded(v) for v in x], abs=GRID)
            assert other_x == pytest.approx(x, abs=1e-9)
            assert other_y == pytest.approx(y, abs=1e-9)


def test_the_fit_settles_where_the_first_position_is_examined_least() -> None:
    """There x + y cancels: with 10⁷ views no step is small compared with the distance from 1."""
    clicks = np.full((4, 3), 10**7)
    clicks[:, 0] //= 2
    misses = 10**7 - clicks
    x, y = np.full(4, math.log(0.5)), np.array([0.0, 0.6, 0.6])
    assert fit(clicks, misses, x, y)
    assert np.exp(x[:, None] + y) == pytest.approx(clicks / 10**7, abs=1e-6)
