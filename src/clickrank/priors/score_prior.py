"""Priors from the scores of offline models, which count as soft votes."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from clickrank._core.arrays import Floats, numbers
from clickrank._core.validate import check_float
from clickrank.errors import invalid
from clickrank.stats.beta_prior import Beta

#: The smallest distance of the mean of a prior from 0 and 1. If all votes are 0, or all are 1, no
#: Beta distribution has their mean.
SMALLEST_MEAN = 1e-4


def from_scores(scores: ArrayLike, temper: float | Literal["auto"] = 1.0) -> Beta:
    """Return the prior that counts each score of m models as one soft vote.

    The prior of an item with scores s_1, …, s_m is Beta(Σ s, Σ (1 − s)) (kveton2022, section 7.4).
    Its mean is the mean score, and it weighs as much as m views. Models trained on nearly the same
    data make the same errors, so that m votes say less than m views; ``temper`` reduces their
    weight.

    Parameters
    ----------
    scores
        One row per model, one column per item; between 0 and 1.
    temper
        The weight of one vote, above 0 and at most 1; the prior weighs as much as ``temper`` · m
        views. With "auto", ``temper`` · m is `effective_votes`.

    Notes
    -----
    Means are clipped to the interval from 0.0001 to 0.9999; the weight does not change.

    Examples
    --------
    >>> from_scores([[0.25, 0.5], [0.5, 1.0]])
    Beta(alpha=(0.75, 1.5), beta=(1.25, 0.5))
    >>> from_scores([[0.25, 0.5], [0.5, 1.0]], temper=0.5)
    Beta(alpha=(0.375, 0.75), beta=(0.625, 0.25))
    """
    votes = scores_of("from_scores", scores)
    weight = vote_weight("from_scores", votes, temper)
    return prior_from_votes(votes, weight)


def effective_votes(scores: ArrayLike) -> float:
    """Return the number of independent models that say as much as these m, between 1 and m.

    This is m / (1 + (m − 1) ρ), the design effect of m equally correlated votes. ρ is the mean
    covariance of two models over their mean variance across the items (0 if negative). The result
    is cautious: models also agree where all of them are right, and only judgements could
    distinguish that from shared errors. If the models have no variance, or there is only one item,
    the result is 1; it is better to use the items of all queries.

    Examples
    --------
    >>> effective_votes([[0.1, 0.4, 0.7], [0.1, 0.4, 0.7]])
    1.0
    >>> effective_votes([[0.1, 0.4, 0.7, 0.4], [0.4, 0.7, 0.4, 0.1]])
    2.0
    """
    votes = scores_of("effective_votes", scores)
    m, n_items = votes.shape
    if n_items < 2:
        return 1.0  # the agreement of the models is unknown
    centred = votes - votes.mean(axis=1, keepdims=True)
    variance = float(np.sum(centred**2))  # m times the mean variance, up to a factor
    # The sum over the m (m − 1) ordered pairs of models, up to the same factor.
    covariance = float(np.sum(centred.sum(axis=0) ** 2)) - variance
    if m == 1 or variance == 0.0:
        return 1.0
    # (m − 1) ρ = covariance / variance.
    return float(m / (1.0 + max(covariance / variance, 0.0)))


def scores_of(owner: str, scores: ArrayLike) -> Floats:
    """Check a matrix of scores with one row per model and one column per item."""
    votes = numbers(owner, "scores", scores)
    if votes.ndim != 2 or votes.size == 0:
        rule = "scores must be a matrix with one row per model and one column per item"
        raise invalid(owner, rule, f"shape {votes.shape}")
    good = (votes >= 0.0) & (votes <= 1.0)  # false for NaN
    if not good.all():
        model, item = np.unravel_index(int(np.argmin(good)), good.shape)
        rule = f"the score of model {model} for item {item} must be between 0 and 1"
        raise invalid(owner, rule, float(votes[model, item]))
    return votes


def vote_weight(owner: str, votes: Floats, temper: float | Literal["auto"]) -> float:
    """Return the weight of the prior from these votes, in views."""
    if isinstance(temper, str):
        if temper != "auto":
            raise invalid(owner, 'temper must be a number or "auto"', temper)
        return effective_votes(votes)
    factor = check_float(owner, "temper", temper, 0.0, 1.0)
    if factor == 0.0:
        raise invalid(owner, "temper must be above 0", temper)
    return float(factor * votes.shape[0])


def prior_from_votes(votes: Floats, weight: float) -> Beta:
    """Return the prior of this weight whose means are the mean votes, clipped away from 0 and 1."""
    means = np.clip(votes.mean(axis=0), SMALLEST_MEAN, 1.0 - SMALLEST_MEAN)
    return Beta((weight * means).tolist(), (weight * (1.0 - means)).tolist())
