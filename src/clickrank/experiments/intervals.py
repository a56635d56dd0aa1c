"""Confidence intervals of means, of their ratios, and of shares."""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy.special import betaincinv, stdtrit

from clickrank._core.arrays import Floats


class Estimate(NamedTuple):
    """A mean with its confidence interval."""

    mean: float
    low: float
    high: float


def mean_interval(values: Floats, level: float) -> Estimate:
    """Return a mean with Student's confidence interval.

    >>> import numpy as np
    >>> mean_interval(np.array([1.0, 2.0, 3.0]), 0.95)
    Estimate(mean=2.0, low=-0.48..., high=4.48...)
    """
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    half = float(stdtrit(values.size - 1, 0.5 + level / 2)) * error
    return Estimate(mean, mean - half, mean + half)


def ratio_interval(a: Floats, b: Floats, level: float) -> Estimate:
    """Return the ratio of two means, both above 0, of paired values.

    By the delta method: the logarithm of the ratio varies as the mean of a/ā − b/b̄ does.

    >>> import numpy as np
    >>> ratio_interval(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]), 0.95)
    Estimate(mean=0.5, low=0.5, high=0.5)
    """
    ratio = float(a.mean() / b.mean())
    spread = mean_interval(a / a.mean() - b / b.mean(), level)
    half = spread.high - spread.mean
    return Estimate(ratio, ratio * math.exp(-half), ratio * math.exp(half))


def share_interval(count: int, n: int, level: float) -> Estimate:
    """Return a share with Clopper and Pearson's confidence interval, exact for binomial counts.

    >>> share_interval(0, 100, 0.95)
    Estimate(mean=0.0, low=0.0, high=0.036...)
    """
    if n == 0:
        return Estimate(math.nan, 0.0, 1.0)
    rest = (1.0 - level) / 2
    low = float(betaincinv(count, n - count + 1, rest)) if count > 0 else 0.0
    high = float(betaincinv(count + 1, n - count, 1.0 - rest)) if count < n else 1.0
    return Estimate(count / n, low, high)
