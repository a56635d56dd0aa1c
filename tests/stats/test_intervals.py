"""Confidence intervals contain the true value as often as they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clickrank.stats.intervals import (
    empirical_bernstein,
    mean_interval,
    mean_intervals,
    ratio_interval,
    share_interval,
    standard_error,
    weighted_mean_interval,
)


def test_mean_intervals_cover_as_often_as_they_say() -> None:
    """2,000 intervals at 95 %: 60 misses more or less than 100 have a chance below 1e-8."""
    rng = np.random.default_rng(1)
    misses = 0
    for _ in range(2000):
        x = mean_interval(rng.standard_normal(8), 0.95)
        misses += not x.low <= 0.0 <= x.high
    assert 40 < misses < 160


def test_share_intervals_match_tabulated_ones() -> None:
    """Clopper and Pearson's limits for 10 of 100 at 95 %, as in any table."""
    x = share_interval(10, 100, 0.95)
    assert (x.mean, round(x.low, 4), round(x.high, 4)) == (0.1, 0.0490, 0.1762)
    assert share_interval(5, 5, 0.95).high == 1.0
    assert share_interval(0, 5, 0.95).low == 0.0


def test_ratio_intervals_cover_as_often_as_they_say() -> None:
    """2,000 intervals at 95 %: 60 misses more or less than 100 have a chance below 1e-8."""
    rng = np.random.default_rng(2)
    misses = 0
    for _ in range(2000):
        shared = rng.standard_normal(40)
        a = 10 + shared + 0.5 * rng.standard_normal(40)
        b = 20 + shared + 0.5 * rng.standard_normal(40)
        x = ratio_interval(a, b, 0.95)
        misses += not x.low <= 0.5 <= x.high
    assert 40 < misses < 160


def test_bernstein_of_one_value_knows_nothing() -> None:
    assert empirical_bernstein(np.array([0.3]), 0.0, 2.0) == (0.0, 2.0)


def test_columns_have_the_intervals_of_vectors() -> None:
    rows = np.random.default_rng(3).standard_normal((7, 3))
    found = mean_intervals(rows, 0.9)
    for k in range(3):
        assert mean_interval(rows[:, k], 0.9) == pytest.approx([x[k] for x in found], abs=1e-15)
    assert np.array_equal(standard_error(rows.T, axis=1), standard_error(rows))


def test_a_single_value_has_no_interval() -> None:
    mean, low, high = mean_interval(np.array([2.0]))
    assert mean == 2.0
    assert math.isnan(low)
    assert math.isnan(high)


def test_weights_count_how_often_a_value_occurred() -> None:
    """The normal interval is as that of the values written out, with the normal's quantile."""
    values, times = np.array([0.0, 1.0, 4.0]), np.array([3, 2, 5])
    every = np.repeat(values, times)
    mean, low, high = weighted_mean_interval(values, times)
    assert mean == pytest.approx(every.mean())
    assert high - mean == pytest.approx(1.959964 * standard_error(every))
    assert mean - low == pytest.approx(high - mean)
    assert weighted_mean_interval(values, times, comparisons=3).high > high
    assert weighted_mean_interval(values, np.array([0, 1, 0])).high == math.inf


def test_the_interval_of_a_share_takes_fractions() -> None:
    between = share_interval(2.5, 10.0)
    assert share_interval(2, 10).low < between.low < share_interval(3, 10).low
    assert share_interval(0, 0)[1:] == (0.0, 1.0)
