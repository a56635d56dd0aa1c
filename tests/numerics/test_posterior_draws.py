"""Draws from the posterior of an attraction, against integration and another sampler."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from clickrank._compile.jit import kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.posterior_draws import (
    HAT_SIZE,
    build_hat,
    log_density,
    near_mode,
    sample_posterior,
)
from tests.numerics.strategies import COUNTS


@kernel
def _many(
    clicks: int,
    misses: Ints,
    kappa: Floats,
    hat: Floats,
    rng: np.random.Generator,
    out: Floats,
) -> None:
    for i in range(out.shape[0]):
        out[i] = sample_posterior(clicks, misses, kappa, hat, rng)


POSTERIORS = [
    (0, [0], [1.0]),  # the prior
    (1, [0], [1.0]),
    (0, [1], [1.0]),
    (0, [7, 3], [0.3, 0.9]),  # mode at 0
    (3, [0, 0], [0.5, 0.2]),  # no miss: mode at 1
    (100, [2, 3, 5], [0.3, 0.2, 0.1]),  # misses, but mode at 1
    (1, [1], [1.0]),
    (2, [5, 7], [0.9, 0.3]),
    (1, [500, 100], [1.0, 0.5]),
    (30, [1, 2], [0.99, 0.5]),  # mode near 1
    (9, [1], [0.9]),  # mode at 1 but for rounding
    (12, [1, 12], [0.8, 0.4]),
    (10, [1, 10], [0.9, 0.1]),
    (1, [10**7], [1e-9]),
    (10**7, [1], [1.0]),
    (100, [100, 200, 0], [0.9, 0.6, 0.3]),
    (50_000, [3, 10**7], [1.0, 0.01]),
    (10**6, [10**6, 3 * 10**6, 5], [1.0, 0.6, 0.3]),
]


@pytest.mark.parametrize(("clicks", "misses", "kappa"), POSTERIORS)
def test_posterior_sampler(clicks: int, misses: list[int], kappa: list[float]) -> None:
    """Kolmogorov–Smirnov against numerical integration, each with a false alarm of 1e-6."""
    failed, examined = np.array(misses), np.array(kappa)
    hat = np.zeros(HAT_SIZE)
    build_hat(clicks, failed, examined, 0.3, hat)
    draws = np.zeros(50_000)
    _many(clicks, failed, examined, hat, np.random.default_rng(1), draws)
    assert draws.min() >= 0.0
    assert draws.max() <= 1.0
    cdf = _cdf(clicks, failed, examined)
    assert stats.kstest(draws, cdf).pvalue > 1e-6


@settings(max_examples=300, deadline=None, derandomize=True)
@given(COUNTS, st.floats(0.0, 1.0))
def test_hat_is_above_and_chord_below(rows: list[tuple[int, int, float]], start: float) -> None:
    """What makes rejection exact, at the places where the hat's pieces meet and between them."""
    clicks = sum(r[0] for r in rows)
    misses, kappa = np.array([r[1] for r in rows]), np.array([r[2] for r in rows])
    hat = np.zeros(HAT_SIZE)
    build_hat(clicks, misses, kappa, start, hat)
    mode, top, dip, left, right, left_chord, right_chord, left_rate, right_rate, a, b = hat[:11]
    assert 0.0 <= a <= b <= 1.0
    rounding = 1e-9 * (1 + abs(top))
    points = {0.0, a, b, 1.0, left, right, mode, *np.linspace(a, b, 7), *np.linspace(0, 1, 23)}
    for x in points:
        height = log_density(clicks, misses, kappa, x) - top
        envelope = left_rate * (x - a) if x < a else -right_rate * (x - b) if x > b else 0.0
        assert height <= envelope + rounding
        if left <= x <= right:
            chord = left_chord if x < mode else right_chord
            assert dip + chord * abs(x - mode) <= height + rounding


def _cdf(clicks: int, misses: Ints, kappa: Floats):  # type: ignore[no-untyped-def]
    mode = near_mode(clicks, misses, kappa, 0.5)
    top = log_density(clicks, misses, kappa, mode)
    n = clicks + int(misses.sum()) + 1
    spreads = (1.0, 40.0 / math.sqrt(n), 100.0 / n)  # few counts; a mode inside; one at the end
    grids = [np.linspace(mode - spread, mode + spread, 50_001) for spread in spreads]
    x = np.unique(np.clip(np.concatenate(grids), 0.0, 1.0))
    density = np.exp([log_density(clicks, misses, kappa, v) - top for v in x])
    area = integrate.cumulative_trapezoid(density, x=x, initial=0)
    return lambda values: np.interp(values, x, area / area[-1])


@pytest.mark.parametrize(("clicks", "misses"), [(0, 0), (4, 0), (0, 9), (3, 5), (400, 1000)])
def test_posterior_of_one_certain_position_is_beta(clicks: int, misses: int) -> None:
    hat = np.zeros(HAT_SIZE)
    failed, examined = np.array([misses]), np.ones(1)
    build_hat(clicks, failed, examined, 0.3, hat)
    draws = np.zeros(50_000)
    _many(clicks, failed, examined, hat, np.random.default_rng(2), draws)
    assert stats.kstest(draws, stats.beta(clicks + 1, misses + 1).cdf).pvalue > 1e-6


def test_posterior_agrees_with_the_papers_proposal() -> None:
    """Rejection from the Beta distribution of the most used position, as in lagree2016."""
    clicks, views = np.array([3, 2, 0]), np.array([12, 5, 4])
    kappa = np.array([0.9, 0.6, 0.3])
    misses = views - clicks
    rng = np.random.default_rng(3)
    # Proposal: x = Beta(1 + S_0, 1 + F_0)/κ_0 cut to [0, 1]; the rest of the likelihood decides.
    x = rng.beta(1 + clicks[0], 1 + misses[0], size=2_000_000) / kappa[0]
    x = x[x <= 1]
    log_rest = clicks[1:].sum() * np.log(x) + sum(
        f * np.log1p(-k * x) for f, k in zip(misses[1:], kappa[1:], strict=True)
    )
    theirs = x[np.log(rng.random(x.size)) < log_rest - log_rest.max()]
    ours = np.zeros(theirs.size)
    hat = np.zeros(HAT_SIZE)
    build_hat(5, misses, kappa, 0.3, hat)
    _many(5, misses, kappa, hat, rng, ours)
    assert theirs.size > 50_000
    assert stats.ks_2samp(ours, theirs).pvalue > 1e-6
