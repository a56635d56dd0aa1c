"""Priors from history maximise the beta-binomial likelihood."""

import itertools
import math
import time
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import betaln, digamma, expit, gammaln

from clickrank._core.arrays import Floats
from clickrank.errors import InvalidValue
from clickrank.priors import from_history
from clickrank.priors.history_prior import Tally


def likelihood(alpha: Any, beta: Any, clicks: NDArray[Any], views: NDArray[Any]) -> float:
    """Return the beta-binomial log-likelihood, without terms that depend only on the counts."""
    found = betaln(alpha + clicks, beta + views - clicks) - betaln(alpha, beta)
    return float(found.sum())


def history(alpha: float, beta: float, n: int, largest: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    views = rng.integers(0, largest, n)
    return rng.binomial(views, rng.beta(alpha, beta, n)), views


PRIORS = [(1.0, 10.0), (0.3, 0.5), (40.0, 400.0), (8.0, 1.5)]


@pytest.mark.parametrize(("alpha", "beta"), PRIORS)
def test_history_recovers_its_prior(alpha: float, beta: float) -> None:
    clicks, views = history(alpha, beta, 1_000_000, 300)
    start = time.process_time()
    prior = from_history(clicks, views)
    assert time.process_time() - start < 3.0
    assert prior.mean == pytest.approx(alpha / (alpha + beta), rel=0.01)
    assert prior.weight == pytest.approx(alpha + beta, rel=0.03)


@pytest.mark.parametrize(
    ("alpha", "beta", "largest"),
    # Three views each do not show how narrow Beta(40, 400) is.
    [(*p, n) for p in PRIORS for n in (4, 50, 100_000) if (*p, n) != (40.0, 400.0, 4)],
)
def test_history_is_at_the_maximum(alpha: float, beta: float, largest: int) -> None:
    clicks, views = history(alpha, beta, 400, largest, seed=1)
    prior = from_history(clicks, views)
    assert prior.weight < 0.9 * views.sum()  # the maximum is not at the end of the range
    a, b = prior.mean * prior.weight, (1.0 - prior.mean) * prior.weight
    here = likelihood(a, b, clicks, views)
    for da, db in itertools.product((0.999, 1.0, 1.001), repeat=2):
        assert likelihood(a * da, b * db, clicks, views) <= here + 1e-12 * abs(here)

    def loss(logs: Floats) -> float:
        return -likelihood(math.exp(logs[0]), math.exp(logs[1]), clicks, views)

    direct = minimize(loss, [math.log(alpha), math.log(beta)], method="Nelder-Mead", tol=1e-9)
    # The likelihood is flat at its maximum: half of its digits are left for the parameters.
    np.testing.assert_allclose([a, b], np.exp(direct.x), rtol=1e-4)
    # Its derivatives are 0 there.
    up = (digamma(a + clicks) - digamma(a)).sum()
    down = (digamma(b + views - clicks) - digamma(b)).sum()
    both = (digamma(a + b + views) - digamma(a + b)).sum()
    np.testing.assert_allclose([up, down], both, rtol=1e-9)


@pytest.mark.parametrize(
    ("clicks", "views"),
    [  # each has a maximum in the middle, and rises again towards an infinite weight
        ([2, 0, 6], [61, 16, 3035]),
        ([11, 266], [25, 1333]),
        ([3, 54, 0, 1], [5, 336, 1, 1]),
        ([245, 0, 5], [320, 5, 5]),
        ([9, 365, 1, 2, 2, 834], [9, 486, 1, 2, 8, 1109]),
    ],
)
@pytest.mark.parametrize("cap", [None, 1e6])
def test_history_takes_the_highest_maximum(
    clicks: list[int], views: list[int], cap: float | None
) -> None:
    prior = from_history(clicks, views, cap)
    mean, weight = float(prior.mean), float(prior.weight)
    won, seen = np.array(clicks), np.array(views)
    here = likelihood(mean * weight, (1 - mean) * weight, won, seen)
    means = expit(np.linspace(-8, 8, 801))[:, None, None]
    weights = np.geomspace(0.01, sum(views) if cap is None else cap, 300)[:, None]
    a, b = means * weights, (1 - means) * weights
    tried = (betaln(a + won, b + seen - won) - betaln(a, b)).sum(axis=2)
    assert here >= tried.max() - 1e-8
    assert here <= tried.max() + 0.01  # no better than the grid can see


def test_near_counts_are_taken_together() -> None:
    clicks, views = history(1.0, 10.0, 30_000, 10**9)
    tally = Tally.of(views)
    assert tally.counts.size < 15_000
    assert tally.times.sum() == (views > 0).sum()
    assert np.dot(tally.counts, tally.times) == pytest.approx(views.sum(), rel=1e-12)
    exact = Tally(views[views > 0].astype(np.float64), np.ones(int((views > 0).sum())))
    for x in (0.5, 10.0, 1e4, 1e8):
        assert tally.rise(x) == pytest.approx(exact.rise(x), rel=1e-6)
    start = time.process_time()
    prior = from_history(clicks, views)
    assert time.process_time() - start < 10.0
    assert prior.weight == pytest.approx(11.0, rel=0.03)
    small = np.arange(1, 30_000)
    np.testing.assert_array_equal(Tally.of(small).counts[:1999], small[:1999])


def test_history_of_equal_rates_is_worth_the_cap() -> None:
    clicks, views = [10] * 50, [100] * 50
    assert from_history(clicks, views).weight == pytest.approx(5000.0, rel=1e-12)
    for cap in (3.0, 200.0, 1e6, 1e12):
        assert from_history(clicks, views, cap).weight == pytest.approx(cap, rel=1e-12)
    assert from_history(clicks, views, 1e12).mean == pytest.approx(0.1, rel=1e-9)
    # A cap below the maximum binds, and the mean is the best one for it.
    clicks, views = history(2.0, 20.0, 500, 100)
    capped = from_history(clicks, views, largest_weight=5.0)
    assert capped.weight == pytest.approx(5.0, rel=1e-12)
    mean = float(capped.mean)
    here = likelihood(5 * mean, 5 - 5 * mean, clicks, views)
    for other in (mean * 0.999, mean * 1.001):
        assert likelihood(5 * other, 5 - 5 * other, clicks, views) < here


def test_history_of_all_or_nothing_is_worth_little() -> None:
    assert from_history([0, 5, 0], [3, 5, 2]).weight == pytest.approx(0.01, rel=1e-12)


def test_rise_is_accurate_however_large() -> None:
    # As a sum of reciprocals, which is exact to rounding.
    for x in (0.01, 3.7, 99.0, 101.0, 1e4, 1e8, 1e12):
        for count in (1, 2, 50, 1000):
            exact = math.fsum(1.0 / (x + j) for j in range(count))
            found = Tally(np.array([float(count)]), np.array([1.0])).rise(x)
            # SciPy's digamma loses what the difference cancels; the series must not.
            assert found == pytest.approx(exact, rel=1e-12 if x < 100 else 1e-14)
            logs = math.fsum(math.log1p(j / x) for j in range(count))
            grown = Tally(np.array([float(count)]), np.array([1.0])).log_rise(x)
            parts = gammaln(x + count) + gammaln(x) if x < 100 else 0.0  # which cancel
            assert grown == pytest.approx(logs, rel=1e-11, abs=1e-15 * (parts + 5 * count))


def test_history_by_query_is_pooled() -> None:
    flat = from_history([1, 2, 3, 0], [4, 9, 5, 7])
    assert from_history([[1, 2], [3, 0]], [[4, 9], [5, 7]]) == flat
    assert from_history([[1], [2, 3, 0]], [[4], [9, 5, 7]]) == flat
    assert from_history([np.array([1]), np.array([2, 3, 0])], [[4], [9, 5, 7]]) == flat
    assert from_history(np.array([[1, 2], [3, 0]]), np.array([[4, 9], [5, 7]])) == flat
    named = from_history({"a": [1, 2], "b": [3, 0]}, {"b": [5, 7], "a": [4, 9]})
    assert named == flat
    assert from_history([1, 2, 3, 0, 0], [4, 9, 5, 7, 0]) == flat  # no view says nothing
    assert isinstance(flat.alpha, float)


@pytest.mark.parametrize(
    ("clicks", "views", "message"),
    [
        ([1, 6, 7], [2, 5, 6], r"clicks\[1\] must be at most views\[1\] \(5\), got 6"),
        ([[1], [6, 7]], [[2], [5, 9]], r"clicks\[1\]\[0\] must be at most views\[1\]\[0\] \(5\)"),
        ({"q": [3]}, {"q": [2]}, r"clicks\['q'\]\[0\] must be at most views\['q'\]\[0\] \(2\)"),
        ([1, -1], [2, 2], r"clicks\[1\] must be a whole number of at least 0, got -1.0"),
        ([1, 1], [2, 2.5], r"views\[1\] must be a whole number of at least 0, got 2.5"),
        ([1, np.nan], [2, 2], r"clicks\[1\] must be a whole number .*, got nan"),
        ([1], [2, 2], r"clicks and views must have the same length, got \(1, 2\)"),
        ([[1]], [[2], [2]], r"clicks and views must have the same number of queries, got \(1, 2\)"),
        ({"a": [1]}, {"b": [2]}, "clicks and views must have the same names, got '[ab]'"),
        ({"a": [1]}, [2], "clicks and views must both be mappings, or neither"),
        ({}, {}, "clicks and views must not be empty"),
        ([], [], "there must be at least one view to learn from"),
        ([0, 0], [0, 0], "there must be at least one view to learn from"),
        ([0, 0], [3, 4], "there must be at least one click to learn from, got '7 views'"),
        ([3, 4], [3, 4], "there must be at least one view without a click"),
        ([0, 1, 1], [1, 1, 1], "at least one item must have been viewed twice"),
    ],
)
def test_wrong_history(clicks: Any, views: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        from_history(clicks, views)


def test_wrong_cap() -> None:
    with pytest.raises(InvalidValue, match=r"largest_weight must be a number between 0\.01 and"):
        from_history([1, 2], [4, 9], largest_weight=0.0)
