"""Confidence intervals of means over impressions: the bootstrap and empirical Bernstein."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, ndtr, ndtri

from clickrank._core.arrays import Floats

#: Impressions are resampled in as many groups, put together at random: exact below, fast above.
MOST_GROUPS = 2048
#: With fewer impressions that have a click that counts, draws of them know too little to decide.
FEW = 10


class Interval(NamedTuple):
    """Where a value is believed to be."""

    low: float
    high: float


def bootstrap(
    columns: Floats,
    statistic: Callable[[Floats], Floats],
    level: float = 0.95,
    repeats: int = 1000,
    seed: int = 0,
) -> Interval:
    """Return the BCa bootstrap interval of a statistic of means.

    Impressions are drawn again with replacement, ``repeats`` times; the quantiles of the statistic
    are corrected for its bias and, by the jackknife, for its skewness. More impressions than
    `MOST_GROUPS` are first put into that many groups at random, and groups are drawn: the variance
    is the same, and a million impressions take no longer than a few thousand.

    **Source**: efron1987.

    Parameters
    ----------
    columns
        A row an impression.
    statistic
        A function of the columns' means, which may have any number of dimensions before the last.
    level
        How often the interval is to hold the true value.
    repeats, seed
        How often to draw, and what decides the draws.

    Examples
    --------
    >>> values = np.arange(100.0)[:, None]
    >>> low, high = bootstrap(values, lambda means: means[..., 0])
    >>> round(low), round(high)
    (44, 55)
    """
    found = bootstrap_many(columns, lambda means: statistic(means)[..., None], level, repeats, seed)
    return found[0]


def bootstrap_many(
    columns: Floats,
    statistic: Callable[[Floats], Floats],
    level: float = 0.95,
    repeats: int = 1000,
    seed: int = 0,
) -> list[Interval]:
    """Return the intervals of several statistics of the same draws: those of the last dimension."""
    rng = np.random.default_rng(seed)
    n = len(columns)
    groups = min(n, MOST_GROUPS)
    sums, sizes = columns, np.ones(n)
    if groups < n:
        order = rng.permutation(n)
        starts = np.linspace(0, n, groups, endpoint=False).astype(np.int64)
        sums = np.add.reduceat(columns[order], starts, axis=0)
        sizes = np.diff(np.append(starts, n)).astype(np.float64)
    total, size = sums.sum(axis=0), sizes.sum()
    values = statistic(total / size)
    # In slices: a matrix of all draws would be of gigabytes for a wide statistic.
    drawn = np.empty((repeats, values.size))
    for start in range(0, repeats, 250):
        end = min(start + 250, repeats)
        rows = rng.integers(0, groups, (end - start, groups))
        rows += groups * np.arange(end - start)[:, None]
        counts = np.bincount(rows.ravel(), minlength=rows.size).reshape(rows.shape)
        times = counts.astype(np.float64)
        drawn[start:end] = statistic((times @ sums) / (times @ sizes)[:, None])
    without = values[None]
    if groups > 1:
        without = statistic((total - sums) / (size - sizes)[:, None])
    return [
        _corrected(float(value), drawn[:, s], without[:, s], level)
        for s, value in enumerate(values)
    ]


def _corrected(value: float, drawn: Floats, without: Floats, level: float) -> Interval:
    """Return the quantiles of draws, corrected by the values without each group in turn."""
    drawn = np.sort(drawn)
    if drawn[0] == drawn[-1]:
        return Interval(value, value)
    below = (drawn < value).mean() + 0.5 * (drawn == value).mean()
    edge = 0.5 / drawn.size
    bias = float(ndtri(np.clip(below, edge, 1.0 - edge)))
    away = without.mean() - without
    spread = float((away**2).sum())
    skew = float((away**3).sum()) / (6.0 * spread**1.5) if spread > 0.0 else 0.0
    ends = []
    for z in (ndtri((1.0 - level) / 2), ndtri((1.0 + level) / 2)):
        moved = bias + z
        # Beyond 1 / skewness the correction has no meaning; the end of the draws is all there is.
        scale = 1.0 - skew * moved
        quantile = float(ndtr(bias + moved / scale)) if scale > 0.0 else float(moved > 0)
        ends.append(float(np.quantile(drawn, quantile)))
    return Interval(ends[0], ends[1])


def with_trials(
    interval: Interval, value: float, clicks: int, size: float, most: float, level: float
) -> Interval:
    """Return an interval, wide enough for few clicks, or for values that are all the same.

    Of lists without a click the bootstrap draws logs without a click, and an interval without
    width. The ends are then at least those of a share of trials: as if each of ``size`` lists had
    earned ``most`` or nothing. With an effective size, for lists of different weights, they hold
    approximately.

    **Source**: clopper1934.

    Examples
    --------
    >>> low, high = with_trials(Interval(0.0, 0.0), 0.0, 0, 40, 1.0, 0.95)
    >>> low, round(high, 3)
    (0.0, 0.088)
    """
    if clicks >= FEW and interval.low < interval.high:
        return interval
    successes = min(max(value / most, 0.0), 1.0) * size
    failures = size - successes
    tail = (1.0 - level) / 2
    low = float(betaincinv(successes, failures + 1.0, tail)) if successes > 0.0 else 0.0
    high = float(betaincinv(successes + 1.0, failures, 1.0 - tail)) if failures > 0.0 else 1.0
    return Interval(min(interval.low, low * most), max(interval.high, high * most))


def few_notes(with_clicks: int) -> list[str]:
    """Say that there are too few clicks to decide anything, if so."""
    if with_clicks >= FEW:
        return []
    return [
        f"Only {with_clicks} impressions have a click that counts: the interval is as wide as that "
        "allows, and nothing is decided by it."
    ]


def above(value: float, interval: Interval, others: Floats, level: float) -> Interval:
    """Return the interval of a value minus the mean of others, as if independent of them."""
    mean = float(others.mean())
    half = float(ndtri((1.0 + level) / 2)) * float(others.std()) / math.sqrt(others.size)
    gain = value - mean
    return Interval(
        gain - math.hypot(value - interval.low, half),
        gain + math.hypot(interval.high - value, half),
    )


def empirical_bernstein(values: Floats, low: float, high: float, level: float = 0.95) -> Interval:
    """Return an interval that holds for any number of values between two bounds.

    mean ± ( √(2 V log(4/δ) / n) + 7 R log(4/δ) / (3 (n - 1)) ), δ = 1 - level, V the sample
    variance and R the range. It holds at least as often as it says, whatever the distribution, if
    no value can be beyond the bounds.

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


def effective_size(weights: Floats) -> float:
    """Return how many impressions of equal weight tell as much: (Σ w)² / Σ w².

    >>> effective_size(np.array([1.0, 1.0, 0.0, 0.0]))
    2.0
    """
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0.0 else 0.0
