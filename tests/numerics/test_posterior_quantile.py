"""Quantiles of the posterior of an attraction, against integration and the Beta quantile."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, special

from clickrank._core.arrays import Floats
from clickrank.numerics.posterior_quantile import BUFFER_SIZE, posterior_upper_quantile


def log_density(
    t: Floats | float, alpha: float, beta: float, misses: Floats, kappa: Floats
) -> Floats:
    x = special.expit(t)
    total = alpha * special.log_expit(t) + beta * special.log_expit(-np.asarray(t))
    for count, k in zip(misses, kappa, strict=True):
        total = total + count * np.log1p(-k * x)
    return np.asarray(total)


def test_posterior_quantile_agrees_with_integration() -> None:
    """P(X > x) = δ by adaptive integration, to a relative 1e-9 of x, of posteriors of all kinds."""
    rng = np.random.default_rng(5)
    room = np.zeros(BUFFER_SIZE)
    for _ in range(40):
        n = int(rng.integers(1, 6))
        alpha, beta = 10 ** rng.uniform(-1, 3), 10 ** rng.uniform(-1, 2.5)
        misses, kappa = np.floor(10 ** rng.uniform(-0.5, 3, n)), rng.uniform(0.02, 0.99, n)
        delta = float(rng.choice([1e-6, 1 / 5000, 0.01, 0.5]))
        found = posterior_upper_quantile(
            alpha, np.append(misses, beta), np.append(kappa, 1.0), math.log(delta), room
        )
        grid = np.linspace(-60, 40, 20_001)
        heights = log_density(grid, alpha, beta, misses, kappa)
        top = heights.max()
        inside = grid[heights > top - 45]

        def height(t: float) -> float:
            return math.exp(float(log_density(t, alpha, beta, misses, kappa)) - top)  # noqa: B023

        cut = math.log(found / (1.0 - found)) if found < 1.0 else 36.0
        ends = np.unique([*np.linspace(inside[0], inside[-1], 12), cut])
        masses = np.array(
            [integrate.quad(height, a, b, epsrel=1e-12)[0] for a, b in itertools.pairwise(ends)]
        )
        left, right = height(ends[0]) / alpha, height(ends[-1]) / beta  # what is beyond
        total = masses.sum() + left + right
        excess = masses[ends[:-1] >= cut].sum() + right - delta * total
        error = excess / height(cut) * (1.0 - special.expit(cut))  # of x, relative
        assert abs(error) < 1e-9, (alpha, beta, misses, kappa, delta)


def test_posterior_quantile_without_doubt_is_the_beta_quantile() -> None:
    room = np.zeros(BUFFER_SIZE)
    for alpha, beta in ((0.05, 3.0), (1.0, 1.0), (7.3, 0.2), (400.0, 90.0)):
        found = posterior_upper_quantile(
            alpha, np.array([0.0, beta]), np.array([0.5, 1.0]), math.log(0.001), room
        )
        assert found == pytest.approx(special.betainccinv(alpha, beta, 0.001), rel=1e-10)
