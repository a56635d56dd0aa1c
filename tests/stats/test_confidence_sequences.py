"""Confidence sequences cover the true value at every look, not only at one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, t

from clickrank.stats.confidence_sequences import (
    PRECISION,
    equivalent_strata,
    mean_sequence,
    ratio_sequence,
    share_sequence,
    standard_errors,
)
from clickrank.stats.intervals import mean_interval, share_interval

LEVEL = 0.9
SIMULATIONS = 400
LOOKS = 40
#: More misses than these among 400 have a chance below 1e-6 if each has the chance 0.1.
MOST_MISSES = int(binom.isf(1e-6, SIMULATIONS, 1 - LEVEL))


@pytest.mark.parametrize("scale", [1e-3, 1e4])
def test_looking_after_every_value_is_safe(scale: float) -> None:
    """The share of sequences that ever miss the mean is at most that allowed for one look."""
    rng = np.random.default_rng(1)
    sequences, students = 0, 0
    for values in scale * rng.standard_normal((SIMULATIONS, LOOKS)):
        looks = range(2, LOOKS + 1)
        sequences += any(_misses(mean_sequence(values[:n], LEVEL), 0.0) for n in looks)
        students += any(_misses(mean_interval(values[:n], LEVEL), 0.0) for n in looks)
    assert sequences <= MOST_MISSES
    assert students > 2 * MOST_MISSES  # Student's intervals are not made for it


def test_means_of_ten_skewed_values_are_normal_enough() -> None:
    """Exponential values, averaged by tens as passes over queries are."""
    rng = np.random.default_rng(2)
    missed = 0
    for values in rng.exponential(size=(SIMULATIONS, LOOKS, 10)).mean(axis=2):
        missed += any(_misses(mean_sequence(values[:n], LEVEL), 1.0) for n in range(2, LOOKS + 1))
    assert missed <= MOST_MISSES


@pytest.mark.parametrize("largest", [1.0, 30.0])
def test_strata_of_unequal_spread_are_safe(largest: float) -> None:
    """Ten strata; where one of them carries the spread, they count as hardly more than one."""
    rng = np.random.default_rng(5)
    means = np.geomspace(1.0, largest, 10)
    missed, width, plain_width = 0, 0.0, 0.0
    for values in means * (1.0 + 0.3 * rng.standard_normal((SIMULATIONS, LOOKS, 10))):
        looks = [mean_sequence(values[:n], LEVEL) for n in range(2, LOOKS + 1)]
        missed += any(_misses(found, means.mean()) for found in looks)
        strata, plain = (mean_sequence(v, 0.99) for v in (values[:4], values[:4].mean(axis=1)))
        width += strata.high - strata.low
        plain_width += plain.high - plain.low
    assert missed <= MOST_MISSES
    assert width < 0.7 * plain_width  # which is what strata are for


def test_one_stratum_is_as_good_as_none() -> None:
    values = np.random.default_rng(6).exponential(size=30)
    other = values[::-1] + values
    assert mean_sequence(values[:, None]) == mean_sequence(values)
    assert ratio_sequence(values[:, None], other[:, None]) == ratio_sequence(values, other)
    reach = standard_errors(30, 0.95)
    half = reach * values.std(ddof=1) / math.sqrt(30)
    assert mean_sequence(values).high == pytest.approx(values.mean() + half, rel=1e-12)


def test_equivalent_strata_by_spread_and_by_size() -> None:
    """Small values that happen to spread do not hide that one stratum carries the sum."""
    level = np.array([[1.0, 1.0, 1.0, 1000.0], [2.0, 2.0, 2.0, 1001.0]])
    assert equivalent_strata(level) == pytest.approx(1.0, abs=1e-4)
    assert equivalent_strata(level - level.mean(axis=0)) == pytest.approx(4.0)


def test_ratios_and_shares_are_safe_too() -> None:
    """The true ratio is 0.5 and the true share is 0.2."""
    rng = np.random.default_rng(3)
    ratios, shares = 0, 0
    for _ in range(SIMULATIONS):
        b = 4.0 + rng.standard_normal(LOOKS)
        a = 0.5 * b + 0.3 * rng.standard_normal(LOOKS)
        looks = range(4, LOOKS + 1, 4)
        ratios += any(_misses(ratio_sequence(a[:n], b[:n], LEVEL), 0.5) for n in looks)
        hits = np.cumsum(rng.random(LOOKS) < 0.2)
        shares += any(_misses(share_sequence(int(hits[n - 1]), n, LEVEL), 0.2) for n in looks)
    assert ratios <= MOST_MISSES
    assert shares <= MOST_MISSES


@pytest.mark.parametrize("n", [5, 12, 40])
def test_the_wealth_against_a_mean_is_a_mixture_of_likelihood_ratios(n: int) -> None:
    """At the ends of the interval, the ratio of noncentral to central t, mixed, is 1/δ.

    The density of t does not depend on σ, and the mixture over normal μ/σ is integrated here.
    """
    end = standard_errors(n, 0.99)

    def density(effect: float) -> float:
        prior = math.sqrt(PRECISION / (2 * math.pi)) * math.exp(-PRECISION * effect**2 / 2)
        # Given σ, t is a normal with mean √n μ/σ divided by an independent χ/√ν.
        return prior * _noncentral(end, n - 1, math.sqrt(n) * effect)

    mixed, _ = quad(density, -60, 60, limit=400, points=[0.0, end / math.sqrt(n)])
    assert mixed / t.pdf(end, n - 1) == pytest.approx(100.0, rel=1e-6)


def _noncentral(x: float, nu: int, shift: float) -> float:
    """Return the density of a noncentral t by integrating over χ²/ν."""
    constant = math.lgamma(nu / 2)

    def inner(v: float) -> float:
        chi = (nu / 2) * math.log(nu / 2) - constant + (nu / 2 - 1) * math.log(v) - nu * v / 2
        normal = -0.5 * (x * math.sqrt(v) - shift) ** 2 - 0.5 * math.log(2 * math.pi)
        return math.exp(chi + normal + 0.5 * math.log(v))

    found, _ = quad(inner, 0, np.inf, limit=200, epsabs=0, epsrel=1e-10)
    return found


def test_sequences_are_wider_than_fixed_intervals_but_shrink() -> None:
    """The price of looking at any time is a factor of about two, and no more than that."""
    rng = np.random.default_rng(4)
    values = rng.standard_normal(4000)
    for n in (20, 200, 4000):
        fixed, any_time = mean_interval(values[:n], 0.99), mean_sequence(values[:n], 0.99)
        assert 1.2 < (any_time.high - any_time.low) / (fixed.high - fixed.low) < 2.0
        some = int((values[:n] > 1).sum())
        exact, any_time = share_interval(some, n, 0.99), share_sequence(some, n, 0.99)
        assert any_time.low < exact.low < exact.high < any_time.high


def test_ratios_of_values_without_spread_and_of_means_near_zero() -> None:
    """A denominator that may be 0 leaves every ratio possible."""
    a, b = np.arange(1.0, 13.0), np.tile([-1.0, 1.0], 6)
    assert ratio_sequence(a, b, 0.95)[1:] == (-math.inf, math.inf)
    assert ratio_sequence(a, a, 0.95) == (1.0, 1.0, 1.0)
    assert ratio_sequence(a[:2], a[:2] + 1, 0.95)[1:] == (-math.inf, math.inf)


@pytest.mark.parametrize(("count", "n"), [(0, 0), (0, 7), (7, 7), (1, 10_000)])
def test_shares_at_the_edges(count: int, n: int) -> None:
    """The interval stays within 0 and 1, and has an end there if the count does."""
    share = share_sequence(count, n, 0.95)
    assert 0.0 <= share.low < share.high <= 1.0
    assert (share.low == 0.0) == (count == 0)
    assert (share.high == 1.0) == (count == n)


def _misses(found: tuple[float, float, float], truth: float) -> bool:
    return not found[1] <= truth <= found[2]
