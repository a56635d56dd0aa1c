"""Confidence intervals of means, of ratios of means, and of shares."""

from __future__ import annotations

import math
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

from clickrank._core.arrays import Floats, Ints

Number = TypeVar("Number", float, Floats)

#: Standard errors on either side of a 95 % interval by the normal distribution, rounded as usual.
NORMAL_95 = 1.96


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


class MeanInterval(NamedTuple, Generic[Number]):
    """A mean with its confidence interval: three numbers, or three arrays of one shape."""

    mean: Number
    low: Number
    high: Number


def symmetric(mean: Number, half: Number) -> MeanInterval[Number]:
    """Return the interval that reaches ``half`` to either side of a mean."""
    return MeanInterval(mean, mean - half, mean + half)


def standard_error(values: Floats, axis: int = 0) -> Floats:
    """Return the standard error of the mean of independent values."""
    found: Floats = values.std(axis=axis, ddof=1) / math.sqrt(values.shape[axis])
    return found


def student_quantile(n: int, level: float) -> float:
    """Return how many standard errors an interval reaches to either side, for n values."""
    return float(stdtrit(n - 1, 0.5 + level / 2))


def normal_quantile(level: float, comparisons: int = 1) -> float:
    """Return how many standard errors an interval reaches to either side, if these are known.

    With several ``comparisons``, all intervals hold together with probability ``level``
    (Bonferroni).

    >>> round(normal_quantile(0.95), 3)
    1.96
    """
    return float(ndtri(1.0 - (1.0 - level) / 2 / max(comparisons, 1)))


def mean_interval(values: Floats, level: float = 0.95) -> MeanInterval[float]:
    """Return the mean of a vector with Student's confidence interval, NaN for a single value.

    >>> mean_interval(np.array([1.0, 2.0, 3.0]))
    MeanInterval(mean=2.0, low=-0.48..., high=4.48...)
    """
    mean, low, high = mean_intervals(values, level)
    return MeanInterval(float(mean), float(low), float(high))


def mean_intervals(rows: Floats, level: float = 0.95) -> MeanInterval[Floats]:
    """Return the mean of each column with Student's confidence interval over the rows."""
    mean = rows.mean(axis=0)
    n = rows.shape[0]
    if n == 1:
        return symmetric(mean, np.full_like(mean, np.nan))
    return symmetric(mean, student_quantile(n, level) * standard_error(rows))


def weighted_mean_interval(
    values: Floats, times: Ints, level: float = 0.95, comparisons: int = 1
) -> MeanInterval[float]:
    """Return the mean of values that each occurred several times, with its normal interval.

    With several ``comparisons``, all intervals hold together with probability ``level``.

    >>> weighted_mean_interval(np.array([0.0, 1.0]), np.array([50, 50]))
    MeanInterval(mean=0.5, low=0.40..., high=0.59...)
    """
    n = int(times.sum())
    if n < 2:
        return MeanInterval(float(values.sum()) if n else math.nan, -math.inf, math.inf)
    mean = float(values @ times / n)
    error = math.sqrt(float((values - mean) ** 2 @ times) / (n - 1) / n)
    return symmetric(mean, normal_quantile(level, comparisons) * error)


def pooled_interval(mean: float, errors: Floats) -> MeanInterval[float]:
    """Return the mean of independent estimates with its 95 % interval, from their errors.

    >>> pooled_interval(2.0, np.array([3.0, 4.0]))
    MeanInterval(mean=2.0, low=-2.9..., high=6.9...)
    """
    return symmetric(mean, NORMAL_95 * float(np.sqrt((errors**2).sum())) / errors.size)


def ratio_interval(a: Floats, b: Floats, level: float = 0.95) -> MeanInterval[float]:
    """Return the ratio of two means, both above 0, of paired values.

    By the delta method: the logarithm of the ratio varies as the mean of a/ā − b/b̄ does.

    >>> ratio_interval(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]))
    MeanInterval(mean=0.5, low=0.5, high=0.5)
    """
    ratio = float(a.mean() / b.mean())
    spread = mean_interval(a / a.mean() - b / b.mean(), level)
    half = spread.high - spread.mean
    return MeanInterval(ratio, ratio * math.exp(-half), ratio * math.exp(half))


def share_interval(count: float, n: float, level: float = 0.95) -> MeanInterval[float]:
    """Return a share with Clopper and Pearson's confidence interval, exact for binomial counts.

    Counts may be fractions, as an effective sample size is; the interval is then approximate.

    **Source**: clopper1934.

    >>> share_interval(0, 100)
    MeanInterval(mean=0.0, low=0.0, high=0.036...)
    """
    if n == 0:
        return MeanInterval(math.nan, 0.0, 1.0)
    tail = (1.0 - level) / 2
    low = float(betaincinv(count, n - count + 1, tail)) if count > 0 else 0.0
    high = float(betaincinv(count + 1, n - count, 1.0 - tail)) if count < n else 1.0
    return MeanInterval(count / n, low, high)


def difference_interval(
    value: float, interval: Interval, others: Floats, level: float = 0.95
) -> Interval:
    """Return the interval of a value minus the mean of others that are independent of it.

    >>> difference_interval(2.0, Interval(-1.0, 5.0), np.ones(4))
    Interval(low=-2.0, high=4.0)
    """
    mean = float(others.mean())
    half = normal_quantile(level) * float(others.std()) / math.sqrt(others.size)
    gap = value - mean
    return Interval(
        gap - math.hypot(value - interval.low, half),
        gap + math.hypot(interval.high - value, half),
    )


def empirical_bernstein(values: Floats, low: float, high: float, level: float = 0.95) -> Interval:
    """Return an interval of the mean that holds for any number of values between two bounds.

    mean ± ( √(2 V log(4/δ) / n) + 7 R log(4/δ) / (3 (n - 1)) ), where δ = 1 - level, V is the
    sample variance and R = high - low. The interval holds with probability ``level`` or more for
    every distribution whose values lie between ``low`` and ``high``.

    **Source**: maurer2009, Theorem 4, once for each side.

    Examples
    --------
    >>> low, high = empirical_bernstein(np.array([0.0, 1.0] * 500), 0.0, 1.0)
    >>> round(low, 3), round(high, 3)
    (0.443, 0.557)
    """
    n = values.size
    if n < 2:
        return Interval(low, high)
    log = math.log(4.0 / (1.0 - level))
    mean, variance = float(values.mean()), float(values.var(ddof=1))
    half = math.sqrt(2.0 * variance * log / n) + 7.0 * (high - low) * log / (3.0 * (n - 1))
    return Interval(max(mean - half, low), min(mean + half, high))
