"""Bootstrap: intervals of statistics of means, and counts drawn again with replacement."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtr, ndtri

from clickrank._core.arrays import Floats, Ints
from clickrank.stats.intervals import Interval

#: Rows are resampled one by one up to this number. More rows are first put into this many groups.
MOST_GROUPS = 2048


def bootstrap_interval(
    columns: Floats,
    statistic: Callable[[Floats], Floats],
    level: float = 0.95,
    repeats: int = 1000,
    seed: int = 0,
) -> Interval:
    """Return the BCa bootstrap interval of a statistic of means.

    Rows are drawn with replacement, ``repeats`` times. The quantiles of the statistic are corrected
    for its bias and, by the jackknife, for its skewness. More rows than `MOST_GROUPS` are first put
    into that many groups at random, and groups are drawn: the variance is the same, and a million
    rows take no longer than a few thousand.

    **Source**: efron1987.

    Parameters
    ----------
    columns
        One row per observation.
    statistic
        A function of the columns' means, which may have any number of dimensions before the last.
    level
        Probability with which the interval is to contain the true value.
    repeats, seed
        Number of draws, and the seed of the random numbers.

    Examples
    --------
    >>> values = np.arange(100.0)[:, None]
    >>> low, high = bootstrap_interval(values, lambda means: means[..., 0])
    >>> round(low), round(high)
    (44, 55)
    """
    found = bootstrap_intervals(
        columns, lambda means: statistic(means)[..., None], level, repeats, seed
    )
    return found[0]


def bootstrap_intervals(
    columns: Floats,
    statistic: Callable[[Floats], Floats],
    level: float = 0.95,
    repeats: int = 1000,
    seed: int = 0,
) -> list[Interval]:
    """Return the intervals of several statistics, the last dimension, from the same draws."""
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
    # In slices: for a wide statistic, a matrix of all draws would take gigabytes.
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
    """Return the quantiles of the draws, corrected by the values that leave out one group each."""
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
        # Beyond 1 / skewness the correction has no meaning, and the extreme draw is used.
        scale = 1.0 - skew * moved
        quantile = float(ndtr(bias + moved / scale)) if scale > 0.0 else float(moved > 0)
        ends.append(float(np.quantile(drawn, quantile)))
    return Interval(ends[0], ends[1])


def resample_counts(times: Ints, rng: np.random.Generator) -> Ints:
    """Draw as many observations as were counted, with replacement, and count them again.

    >>> int(resample_counts(np.array([3, 0, 5]), np.random.default_rng(0)).sum())
    8
    """
    total = int(times.sum())
    return rng.multinomial(total, times / total)
