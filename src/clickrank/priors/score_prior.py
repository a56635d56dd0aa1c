"""Priors from the scores of offline models: each score is a soft vote."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from clickrank._core.arrays import Floats, numbers
from clickrank._core.validate import check_float
from clickrank.errors import invalid
from clickrank.stats.beta_prior import Beta

#: How near 0 and 1 the mean of a prior may come. Votes that all say 0, or all 1, leave no room for
#: being wrong, and no Beta distribution has that mean.
SMALLEST_MEAN = 1e-4


def from_scores(scores: ArrayLike, temper: float | Literal["auto"] = 1.0) -> Beta:
    """Return the prior that counts each of m models' scores as one soft vote.

    Beta(Σ s, Σ (1 − s)) for an item with scores s_1, …, s_m (kveton2022, section 7.4): its mean is
    the mean score and it is worth m views. Models trained on nearly the same data err together, and
    then m votes say less than m views would: ``temper`` makes them count for less.

    Parameters
    ----------
    scores
        One row a model, one column an item; between 0 and 1.
    temper
        What one vote counts, above 0 and at most 1, so that the prior is worth ``temper`` · m
        views. "auto" takes `effective_votes` for ``temper`` · m.

    Notes
    -----
    Means are kept between 0.0001 and 0.9999; the weight stays what it is.

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
    """Return how many independent models would say as much as these m do, between 1 and m.

    m / (1 + (m − 1) ρ), the design effect of m equally correlated votes, with ρ the mean covariance
    of two models over their mean variance across the items (0 if negative). This is cautious:
    models also agree where all are right, and nothing but judgements could tell that from shared
    errors. Models without any variance, or a single item, count as one: better take all queries.

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
        return 1.0  # nothing tells how far the models agree
    centred = votes - votes.mean(axis=1, keepdims=True)
    own = float(np.sum(centred**2))  # m times the mean variance, up to a factor
    together = float(np.sum(centred.sum(axis=0) ** 2)) - own  # of the m (m − 1) ordered pairs
    if m == 1 or own == 0.0:
        return 1.0
    # (m − 1) ρ = together / own.
    return float(m / (1.0 + max(together / own, 0.0)))


def scores_of(owner: str, scores: ArrayLike) -> Floats:
    """Check a matrix of scores, one row a model, one column an item."""
    votes = numbers(owner, "scores", scores)
    if votes.ndim != 2 or votes.size == 0:
        rule = "scores must be a matrix, one row a model and one column an item"
        raise invalid(owner, rule, f"shape {votes.shape}")
    good = (votes >= 0.0) & (votes <= 1.0)  # false for NaN
    if not good.all():
        model, item = np.unravel_index(int(np.argmin(good)), good.shape)
        rule = f"the score of model {model} for item {item} must be between 0 and 1"
        raise invalid(owner, rule, float(votes[model, item]))
    return votes


def vote_weight(owner: str, votes: Floats, temper: float | Literal["auto"]) -> float:
    """Return how many views the prior from these votes is worth."""
    if isinstance(temper, str):
        if temper != "auto":
            raise invalid(owner, 'temper must be a number or "auto"', temper)
        return effective_votes(votes)
    factor = check_float(owner, "temper", temper, 0.0, 1.0)
    if factor == 0.0:
        raise invalid(owner, "temper must be above 0", temper)
    return float(factor * votes.shape[0])


def prior_from_votes(votes: Floats, weight: float) -> Beta:
    """Return the prior of this weight whose means are the mean votes, kept off 0 and 1."""
    means = np.clip(votes.mean(axis=0), SMALLEST_MEAN, 1.0 - SMALLEST_MEAN)
    return Beta((weight * means).tolist(), (weight * (1.0 - means)).tolist())
