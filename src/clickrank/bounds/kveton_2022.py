"""Bounds of kveton2022: Bayes regret with a Beta prior for each item."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from clickrank._core.arrays import probabilities
from clickrank._core.validate import check_float, check_int, check_shape
from clickrank.errors import invalid
from clickrank.stats.beta_prior import Beta


def dctr_bayes_bound(
    prior: Beta,
    n_items: int,
    n_positions: int,
    horizon: int,
    failure: float | None = None,
    *,
    shown_once: bool = False,
) -> float:
    """Return the Bayes regret bound of BayesUCB and Thompson sampling in the document-based model.

    √(2 K L n log(1/δ)) · √log(1 + (n/L) Σ_i 1/(α_i + β_i)) + 2 L δ n

    for K positions, L items and n rounds (kveton2022, Theorem 1).

    Parameters
    ----------
    prior
        Beta(α_i, β_i), which the items' attractions are drawn from and the policy knows.
    n_items, n_positions, horizon
        L, K and n.
    failure
        δ; 1/n by default, as in the paper's figures.
    shown_once
        Whether every item is shown once before the policy starts. The bound grows without limit as
        all α_i and β_i go to 0; with each item observed once it stays finite, at the cost of the
        lists that show them: ⌈L/K⌉ lists of at most K clicks each (section 4.2).

    Notes
    -----
    The bound is as printed. The paper says that it holds "with probability 1 − δ", but the regret
    that it bounds is already an expectation over everything random, and the last term covers
    failures. That term counts one lost click for a round in which an interval fails, but the proof
    for this model would need up to K.

    Examples
    --------
    >>> round(dctr_bayes_bound(Beta(10, 100), n_items=30, n_positions=3, horizon=500), 1)
    1038.8
    """
    items, positions = check_shape("dctr_bayes_bound", n_items, n_positions)
    started = positions * -(-items // positions) if shown_once else 0
    return _bayes_bound("dctr_bayes_bound", prior, items, positions, horizon, failure, started)


def cascade_bayes_bound(
    prior: Beta,
    n_items: int,
    n_positions: int,
    horizon: int,
    failure: float | None = None,
    *,
    shown_once: bool = False,
) -> float:
    """Return the Bayes regret bound of BayesUCB and Thompson sampling in the cascade model.

    This is the number that `dctr_bayes_bound` returns (kveton2022, Theorem 2): less is observed,
    but a list is worth at most 1 instead of K. With ``shown_once`` every item is shown once at the
    top of a list, where it is certainly observed: L lists of at most one click.
    """
    items, positions = check_shape("cascade_bayes_bound", n_items, n_positions)
    started = items if shown_once else 0
    return _bayes_bound("cascade_bayes_bound", prior, items, positions, horizon, failure, started)


def dcm_bayes_bound(
    prior: Beta,
    n_items: int,
    satisfaction: ArrayLike,
    horizon: int,
    failure: float | None = None,
) -> float:
    """Return the Bayes regret bound of BayesUCB and Thompson sampling for dependent clicks.

    [Σ_k (v_k − v_{k+1}) √(2 k L n log(1/δ)) · √log(1 + (n/L) Σ_i 1/(α_i + β_i)) + 2 L δ n] / η + L

    with v_{K+1} = 0, η = (1 − θ_UCB)^{K−1} and
    θ_UCB = max_i α_i/(α_i + β_i) + √(log n / (2 (α_i + β_i + 1))), which must be below 1
    (kveton2022, Corollary 3).

    Parameters
    ----------
    prior, n_items, horizon, failure
        As in `dctr_bayes_bound`.
    satisfaction
        v_k of each position; it must not increase.

    Returns
    -------
    float
        Infinity if θ_UCB is 1 or more and there is more than one position: nothing is guaranteed
        then. For a single position, η is 1 whatever θ_UCB.

    Notes
    -----
    It bounds the regret of policies that learn down to the first click, ``observe="first-click"``:
    these observe what a cascade shows, to which the proof reduces dependent clicks. The paper
    states it for its own rule, down to the *last* click, for which it does not hold: under that
    rule, whether an item is observed depends on clicks further down, the posterior is wrong, and
    regret grows linearly (see `clickrank.policies.ThompsonSampling`), faster than any such bound.

    The bound is as printed: θ_UCB has log n where the rest has log(1/δ), and the last L covers the
    rounds lost if some attraction exceeds θ_UCB (which happens with probability L/n at most; the
    paper's proof says that it holds with that probability).

    Examples
    --------
    >>> prior = Beta(100, 1000)
    >>> round(dcm_bayes_bound(prior, n_items=30, satisfaction=[0.5] * 3, horizon=500), 1)
    424.3
    """
    owner = "dcm_bayes_bound"
    satisfied = probabilities(owner, "satisfaction", satisfaction)
    items, positions = check_shape(owner, n_items, satisfied.size)
    steps = satisfied - np.append(satisfied[1:], 0.0)
    if (steps < 0.0).any():
        where = int(np.argmax(steps < 0.0)) + 1
        rule = f"satisfaction must not increase, but satisfaction[{where}] does"
        raise invalid(owner, rule, satisfied.tolist())
    rounds = check_int(owner, "horizon", horizon, 1)
    delta = _failure(owner, failure, rounds)
    spread = _spread(owner, prior, items, rounds, delta)
    regret = sum(
        step * math.sqrt(k) * spread for k, step in enumerate(steps.tolist(), 1)
    ) + 2.0 * items * delta * rounds  # fmt: skip
    weights = np.atleast_1d(prior.weight)
    reach = np.sqrt(math.log(rounds) / (2.0 * (weights + 1.0)))
    highest = float(np.max(prior.mean + reach))
    if positions > 1 and highest >= 1.0:
        return math.inf
    return float(regret / (1.0 - highest) ** (positions - 1) + items)


def _bayes_bound(
    owner: str,
    prior: Beta,
    items: int,
    positions: int,
    horizon: int,
    failure: float | None,
    started: int,
) -> float:
    """Return the bound; ``started`` clicks are lost to see every item once, if above 0."""
    rounds = check_int(owner, "horizon", horizon, 1)
    delta = _failure(owner, failure, rounds)
    spread = _spread(owner, prior, items, rounds, delta, observed=1 if started else 0)
    return math.sqrt(positions) * spread + 2.0 * items * delta * rounds + started


def _failure(owner: str, failure: float | None, rounds: int) -> float:
    """Return δ, above 0 and at most 1."""
    if failure is None:
        return 1.0 / rounds
    delta = check_float(owner, "failure", failure, 0.0, 1.0)
    if delta == 0.0:
        raise invalid(owner, "failure must be above 0", failure)
    return delta


def _spread(
    owner: str, prior: Beta, items: int, rounds: int, delta: float, observed: int = 0
) -> float:
    """√(2 L n log(1/δ)) · √log(1 + (n/L) Σ_i 1/(α_i + β_i)): the bound's main term for K = 1.

    Each item that was observed before adds 1 to its α_i + β_i.
    """
    if not isinstance(prior, Beta):
        raise invalid(owner, "prior must be a Beta", prior)
    alpha, beta = prior.for_items(items)
    widths = math.fsum((1.0 / (alpha + beta + observed)).tolist())
    explored = math.log1p(rounds / items * widths)
    return math.sqrt(2.0 * items * rounds * -math.log(delta)) * math.sqrt(explored)
