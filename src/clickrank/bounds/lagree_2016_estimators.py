"""Variances of attraction estimates in the position-based model (lagree2016, section 2).

Clicks on an item are Bernoulli draws with probability κ_l θ at position l, and the item was shown
N_l times there. The functions take θ, the examination κ and the numbers of views N of one item.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from clickrank._core.arrays import Floats, bounded_vector
from clickrank._core.validate import check_float
from clickrank.errors import invalid


def pbm_information(attraction: float, examination: ArrayLike, views: ArrayLike) -> float:
    """Return the Fisher information Σ_l N_l κ_l / (θ (1 − κ_l θ)) of an item's attraction.

    Its inverse is the smallest variance of an unbiased estimator (Cramér and Rao), and the
    asymptotic variance of the maximum likelihood estimate.

    >>> round(pbm_information(0.5, [1.0, 0.5], [100, 100]), 3)
    533.333
    """
    theta, kappa, n = _checked("pbm_information", attraction, examination, views)
    return float(np.sum(n * kappa / (theta * (1.0 - kappa * theta))))


def pooled_variance(attraction: float, examination: ArrayLike, views: ArrayLike) -> float:
    """Return the variance of the pooled estimator, all clicks divided by Σ_l N_l κ_l (eq. 2).

    Σ_l N_l κ_l θ (1 − κ_l θ) / (Σ_l N_l κ_l)². The estimator is unbiased; `pbm-ucb` and `pbm-pie`
    use it.

    >>> round(pooled_variance(0.5, [1.0, 0.5], [100, 100]), 6)
    0.001944
    """
    theta, kappa, n = _checked("pooled_variance", attraction, examination, views)
    clicks = kappa * theta
    return float(np.sum(n * clicks * (1.0 - clicks)) / np.sum(n * kappa) ** 2)


def debiased_variance(attraction: float, examination: ArrayLike, views: ArrayLike) -> float:
    """Return the variance of the position-debiased estimator, (Σ_l S_l/κ_l)/N for S_l clicks.

    Σ_l N_l θ (1 − κ_l θ)/κ_l / N² for N = Σ_l N_l views. It is never below `pooled_variance`, as
    views at a rarely examined position count as much as all others. The paper divides by N_{k,l},
    but only N_k makes the estimator unbiased.

    >>> round(debiased_variance(0.5, [1.0, 0.5], [100, 100]), 6)
    0.0025
    """
    theta, kappa, n = _checked("debiased_variance", attraction, examination, views)
    return float(np.sum(n * theta * (1.0 - kappa * theta) / kappa) / np.sum(n) ** 2)


def pooled_efficiency(attraction: float, examination: ArrayLike, views: ArrayLike) -> float:
    """Return the efficiency of the pooled estimator, between 1 − θ and 1.

    The Cramér–Rao bound divided by the variance, 1/(I(θ) v(θ)): the weighted harmonic mean of
    1 − κ_l θ divided by the arithmetic one. It is below one half only for attractions above one
    half, and is 1 if the item was shown at one position only.

    >>> round(pooled_efficiency(0.5, [1.0, 0.5], [100, 100]), 4)
    0.9643
    >>> round(pooled_efficiency(0.99, [1.0, 0.1], [100, 1000]), 4)
    0.0434
    """
    information = pbm_information(attraction, examination, views)
    return 1.0 / (information * pooled_variance(attraction, examination, views))


def _checked(
    owner: str, attraction: float, examination: ArrayLike, views: ArrayLike
) -> tuple[float, Floats, Floats]:
    theta = check_float(owner, "attraction", attraction, 0.0, 1.0)
    if theta in (0.0, 1.0):
        raise invalid(owner, "attraction must be above 0 and below 1", attraction)
    kappa = bounded_vector(owner, "examination", examination, 0.0, 1.0, open_low=True)
    shown = bounded_vector(owner, "views", views, 0.0, np.inf)
    if shown.size != kappa.size:
        rule = f"views must have one entry per position ({kappa.size})"
        raise invalid(owner, rule, shown.size)
    if not shown.sum() > 0.0:
        raise invalid(owner, "views must contain at least one view", shown.tolist())
    return theta, kappa, shown
