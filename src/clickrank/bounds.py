"""Regret bounds of the papers, as functions of a click model or of a prior."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from clickrank.beta import Beta
from clickrank.clickmodels import PBM
from clickrank.errors import invalid
from clickrank.types import Floats, bounded_vector, number, probabilities, shape, whole


def bernoulli_kl(p: float, q: float) -> float:
    """Return d(p, q), the Kullback–Leibler divergence between Bernoulli distributions.

    >>> bernoulli_kl(0.5, 0.5)
    0.0
    >>> bernoulli_kl(0.5, 1.0)
    inf
    """
    if (p > 0.0 and q <= 0.0) or (p < 1.0 and q >= 1.0):
        return math.inf
    if p in (0.0, 1.0):
        return -math.log1p(-q) if p == 0.0 else -math.log(q)
    # log(p/q) = x + (log(1 + x) - x) with x = (p - q)/q, and the linear terms add up to a square:
    # no cancellation, however close p and q.
    x, y = (p - q) / q, (q - p) / (1.0 - q)
    return (p - q) ** 2 / (q * (1.0 - q)) + p * _log1p_minus(x) + (1.0 - p) * _log1p_minus(y)


def _log1p_minus(x: float) -> float:
    """Return log(1 + x) - x without cancellation."""
    if abs(x) < 1e-3:
        return x * x * (-1 / 2 + x * (1 / 3 + x * (-1 / 4 + x * (1 / 5 - x / 6))))
    return math.log1p(x) - x


def pbm_lower_bound(model: PBM) -> float:
    """Return the constant C such that no uniformly efficient policy beats C·log T in the PBM.

    Σ_{k>L} min_l Δ_{v(k,l)} / d(κ_l θ_k, κ_l θ_L), where v(k, l) puts item k at position l and
    moves the optimal items below one place down (lagree2016, Theorem 6, eq. 6; there L is the
    number of positions).

    The theorem orders items and positions by decreasing parameters; here they may come in any
    order. An item exactly as attractive as the last optimal one costs nothing to confuse with it
    and adds 0. Positions that nobody examines are as good as not there.

    >>> model = PBM([0.45, 0.35, 0.25, 0.15, 0.05], [0.9, 0.6, 0.3])
    >>> round(pbm_lower_bound(model), 3)
    5.592
    """
    if not isinstance(model, PBM):
        raise invalid("pbm_lower_bound", "model must be a PBM", model)
    theta = np.sort(model.attraction)[::-1].tolist()
    kappa = [k for k in np.sort(model.examination)[::-1].tolist() if k > 0.0]
    n = len(kappa)
    total = 0.0
    for worse in theta[n:]:
        if n == 0 or worse == theta[n - 1]:
            continue
        ratios = []
        for position, k in enumerate(kappa):
            # The item takes the position, and those from there on move down: the last drops out.
            shown = [worse, *theta[position : n - 1]]
            before = theta[position:n]
            losses = zip(kappa[position:], before, shown, strict=True)
            gap = math.fsum(weight * (old - new) for weight, old, new in losses)
            ratios.append(gap / bernoulli_kl(k * worse, k * theta[n - 1]))
        total += min(ratios)
    return total


def mnl_lower_bound(position_bias: ArrayLike, n_items: int, horizon: int) -> float:
    """Return a regret that some attractions force on any policy, multinomial logit model.

    max_ε (ε T/7) (1 − S²/(n S₂) − ε λ_max S √T / (2 S₂ √(2n)))

    for T rounds, S = Σ λ_k, S₂ = Σ λ_k², n = J − K + 1 for J items and K positions, and ε of at
    most 1/2 and S₂ (1 − 1/S)/λ_max: √(J T) S₂/S, but for constants.

    Parameters
    ----------
    position_bias
        λ_k of each position, above 0 and at most 1, in any order; they must add up to more than 1.
    n_items, horizon
        J and T.

    Returns
    -------
    float
        0 if there are too few items for the argument: S² ≥ n S₂.

    Notes
    -----
    grant2020, Proposition 9 has no constants; `mnl_lower_rate` is its order of growth. This is its
    proof with constants. The attractions are 1/S, and ε λ_k/S₂ more for the items of one list,
    which may be any. Two steps differ. The divergence of one round that shows item j, moved from
    1/S to 1/S + ε λ_m/S₂, at position k is at most d²/(2 w (1 + W)) ≤ ε² λ_m² λ_k S/(4 S₂²), where
    d = ε λ_m λ_k/S₂, w = λ_k/S and W ≥ 1 is the weight of the list: less than in Lemma 17, and in
    the direction whose expectations are of one law for all j, so that they add up to S T. And no
    constant C > K/S₂ is needed, which would make S₂/S a constant, too. It has S₂/S where the print
    has its root, and holds for fewer than 4K items also.

    Examples
    --------
    >>> round(mnl_lower_bound([1.0, 0.9, 0.7, 0.3, 0.5, 0.7], n_items=30, horizon=8000), 1)
    21.3
    """
    owner = "mnl_lower_bound"
    bias, items, rounds = _mnl_page(owner, position_bias, n_items, horizon)
    total, squares = float(bias.sum()), float(bias @ bias)
    if total <= 1.0:
        raise invalid(owner, "position_bias must add up to more than 1", total)
    others = items - bias.size + 1
    largest = float(bias.max())
    gain = 1.0 - total * total / (others * squares)
    if gain <= 0.0:
        return 0.0
    loss = largest * total * math.sqrt(rounds) / (2.0 * squares * math.sqrt(2.0 * others))
    epsilon = min(gain / (2.0 * loss), 0.5, squares * (1.0 - 1.0 / total) / largest)
    return epsilon * rounds / 7.0 * (gain - epsilon * loss)


def mnl_lower_rate(position_bias: ArrayLike, n_items: int, horizon: int) -> float:
    """Return √(J T S₂/S), to which regret is at least proportional, multinomial logit model.

    The order of growth of grant2020, Proposition 9, for J items, T rounds, S = Σ λ_k and
    S₂ = Σ λ_k². The paper proves it for S₂ > 1 and J ≥ 4K; the factor is not known, so that this is
    no bound by itself. See `mnl_lower_bound` for one.

    >>> round(mnl_lower_rate([1.0, 0.9, 0.7, 0.3, 0.5, 0.7], n_items=30, horizon=8000), 1)
    428.0
    """
    bias, items, rounds = _mnl_page("mnl_lower_rate", position_bias, n_items, horizon)
    return math.sqrt(items * rounds * float(bias @ bias) / float(bias.sum()))


def _mnl_page(
    owner: str, position_bias: ArrayLike, n_items: int, horizon: int
) -> tuple[Floats, int, int]:
    bias = bounded_vector(owner, "position_bias", position_bias, 0.0, 1.0, open_low=True)
    items, _ = shape(owner, n_items, bias.size)
    return bias, items, whole(owner, "horizon", horizon, 1)


def dctr_bayes_bound(
    prior: Beta, n_items: int, n_positions: int, horizon: int, failure: float | None = None
) -> float:
    """Return the bound on the Bayes regret of BayesUCB and Thompson sampling, document-based model.

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

    Notes
    -----
    As printed. The paper says that it holds "with probability 1 − δ", but the regret it bounds is
    already an expectation over everything random, and what may fail is paid by the last term. That
    term counts one lost click for a round in which an interval fails, where the proof for this
    model would need up to K of them.

    Examples
    --------
    >>> round(dctr_bayes_bound(Beta(10, 100), n_items=30, n_positions=3, horizon=500), 1)
    1038.8
    """
    items, positions = shape("dctr_bayes_bound", n_items, n_positions)
    return _bayes_bound("dctr_bayes_bound", prior, items, positions, horizon, failure)


def cascade_bayes_bound(
    prior: Beta, n_items: int, n_positions: int, horizon: int, failure: float | None = None
) -> float:
    """Return the bound on the Bayes regret of BayesUCB and Thompson sampling, cascade model.

    The same number as `dctr_bayes_bound` (kveton2022, Theorem 2): less is observed, but a list is
    worth at most 1 instead of K.
    """
    items, positions = shape("cascade_bayes_bound", n_items, n_positions)
    return _bayes_bound("cascade_bayes_bound", prior, items, positions, horizon, failure)


def dcm_bayes_bound(
    prior: Beta,
    n_items: int,
    satisfaction: ArrayLike,
    horizon: int,
    failure: float | None = None,
) -> float:
    """Return the bound on the Bayes regret of BayesUCB and Thompson sampling, dependent clicks.

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
    As printed: θ_UCB takes log n where the rest takes log(1/δ), and the last L pays for the rounds
    lost if some attraction exceeds it (which happens with probability L/n at most; the paper's
    proof says that it holds with that probability).

    Examples
    --------
    >>> prior = Beta(100, 1000)
    >>> round(dcm_bayes_bound(prior, n_items=30, satisfaction=[0.5] * 3, horizon=500), 1)
    424.3
    """
    owner = "dcm_bayes_bound"
    satisfied = probabilities(owner, "satisfaction", satisfaction)
    items, positions = shape(owner, n_items, satisfied.size)
    steps = satisfied - np.append(satisfied[1:], 0.0)
    if (steps < 0.0).any():
        where = int(np.argmax(steps < 0.0)) + 1
        rule = f"satisfaction must not increase, but satisfaction[{where}] does"
        raise invalid(owner, rule, satisfied.tolist())
    rounds = whole(owner, "horizon", horizon, 1)
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
    owner: str, prior: Beta, items: int, positions: int, horizon: int, failure: float | None
) -> float:
    rounds = whole(owner, "horizon", horizon, 1)
    delta = _failure(owner, failure, rounds)
    spread = _spread(owner, prior, items, rounds, delta)
    return math.sqrt(positions) * spread + 2.0 * items * delta * rounds


def _failure(owner: str, failure: float | None, rounds: int) -> float:
    """Return δ, above 0 and at most 1."""
    if failure is None:
        return 1.0 / rounds
    delta = number(owner, "failure", failure, 0.0, 1.0)
    if delta == 0.0:
        raise invalid(owner, "failure must be above 0", failure)
    return delta


def _spread(owner: str, prior: Beta, items: int, rounds: int, delta: float) -> float:
    """√(2 L n log(1/δ)) · √log(1 + (n/L) Σ_i 1/(α_i + β_i)): the bound's main term for K = 1."""
    if not isinstance(prior, Beta):
        raise invalid(owner, "prior must be a Beta", prior)
    alpha, beta = prior.for_items(items)
    widths = math.fsum((1.0 / (alpha + beta)).tolist())
    explored = math.log1p(rounds / items * widths)
    return math.sqrt(2.0 * items * rounds * -math.log(delta)) * math.sqrt(explored)
