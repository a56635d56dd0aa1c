"""Bounds of grant2020: the multinomial logit model with position biases."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from clickrank._core.arrays import Floats, bounded_vector
from clickrank._core.validate import check_bool, check_float, check_int, check_shape
from clickrank.errors import invalid


def mnl_lower_bound(position_bias: ArrayLike, n_items: int, horizon: int) -> float:
    """Return a regret that every policy has for some attractions in the multinomial logit model.

    max_ε (ε T/7) (1 − S²/(n S₂) − ε λ_max S √T / (2 S₂ √(2n)))

    for T rounds, S = Σ λ_k, S₂ = Σ λ_k², n = J − K + 1 for J items and K positions, and ε of at
    most 1/2 and S₂ (1 − 1/S)/λ_max. Up to constants this is √(J T) S₂/S.

    Parameters
    ----------
    position_bias
        λ_k of each position, above 0 and at most 1, in any order; they must add up to more than 1.
    n_items, horizon
        J and T.

    Returns
    -------
    float
        The bound; 0 if there are too few items for the argument, S² ≥ n S₂.

    Notes
    -----
    grant2020, Proposition 9, has no constants; `mnl_lower_rate` is its order of growth. This bound
    is its proof with constants. The attractions are 1/S, plus ε λ_k/S₂ for the items of any one
    list. Two steps differ. The divergence of one round that shows item j, moved from
    1/S to 1/S + ε λ_m/S₂, at position k is at most d²/(2 w (1 + W)) ≤ ε² λ_m² λ_k S/(4 S₂²), where
    d = ε λ_m λ_k/S₂, w = λ_k/S and W ≥ 1 is the weight of the list: less than in Lemma 17, and in
    the direction whose expectations are under one law for all j, so that they add up to S T. And
    no constant C > K/S₂ is needed, which would make S₂/S a constant, too. The bound has S₂/S where
    the paper has its root, and also holds for fewer than 4K items.

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
    """Return √(J T S₂/S), the order of a lower bound in the multinomial logit model.

    The order of growth of grant2020, Proposition 9, for J items, T rounds, S = Σ λ_k and
    S₂ = Σ λ_k². The paper proves it for S₂ > 1 and J ≥ 4K. The constant factor is not known, so
    that this is not a bound by itself; `mnl_lower_bound` is one.

    >>> round(mnl_lower_rate([1.0, 0.9, 0.7, 0.3, 0.5, 0.7], n_items=30, horizon=8000), 1)
    428.0
    """
    bias, items, rounds = _mnl_page("mnl_lower_rate", position_bias, n_items, horizon)
    return math.sqrt(items * rounds * float(bias @ bias) / float(bias.sum()))


def mnl_upper_bound(
    position_bias: ArrayLike, n_items: int, horizon: int, *, as_printed: bool = False
) -> float:
    """Return an upper bound on the regret of Epoch-UCB that holds for all attractions.

    J (K + 1) + (9 (K + 1) + 14 J K log(J T²/2)/λ_min) (log T + 1)
    + √(192 J T log(J T²)) λ_max/λ_min

    for J items, K positions and T rounds.

    Parameters
    ----------
    position_bias
        λ_k of each position, above 0 and at most 1, in any order.
    n_items, horizon
        J and T.
    as_printed
        Whether to return the last line of the paper's proof: without the first term, and with
        λ_max/√λ_min.

    Notes
    -----
    grant2020, Proposition 8, has the order of growth √(J T log(J T) λ_max/λ_min); the constants
    are those of its proof (appendix C.1). Two steps differ. The last step of the proof assumes that
    Σ α of all items shown in all epochs is at most T in expectation. That holds if all biases are
    1; otherwise Σ λα is at most T, and Σ α at most T/λ_min. And the sums of the proof begin with
    the second epoch of an item: in its first epoch the index is infinite, and each of at most J
    such epochs has a regret of at most K + 1.

    The bound is informative for long horizons only: see the example.

    Examples
    --------
    >>> mnl_upper_bound([1.0, 0.2, 0.9], n_items=4, horizon=50_000) > 50_000
    True
    >>> mnl_upper_bound([1.0, 1.0], n_items=4, horizon=10**6) / 10**6 < 0.5
    True
    """
    owner = "mnl_upper_bound"
    bias, items, rounds = _mnl_page(owner, position_bias, n_items, horizon)
    printed = check_bool(owner, "as_printed", as_printed)
    positions, least, most = bias.size, float(bias.min()), float(bias.max())
    inside = max(math.log(items * rounds**2 / 2.0), 0.0)
    early = (9 * (positions + 1) + 14 * items * positions * inside / least) * (
        math.log(rounds) + 1.0
    )
    root = math.sqrt(192.0 * items * rounds * math.log(items * rounds**2))
    if printed:
        return early + root * most / math.sqrt(least)
    return items * (positions + 1) + early + root * most / least


def mnl_unknown_rate(n_items: int, n_positions: int, horizon: int) -> float:
    """Return K² √(J T log(J T²)): the order of Epoch-UCB's regret with unknown biases.

    grant2020, Proposition 10, for J items, K positions and T rounds. The constant factor is not
    known, so that this is not a bound by itself.

    >>> round(mnl_unknown_rate(n_items=30, n_positions=6, horizon=8000))
    81539
    """
    items, positions = check_shape("mnl_unknown_rate", n_items, n_positions)
    rounds = check_int("mnl_unknown_rate", "horizon", horizon, 1)
    return positions**2 * math.sqrt(items * rounds * math.log(items * rounds**2))


def mnl_bandit_rate(n_items: int, n_positions: int, horizon: int) -> float:
    """Return √(J K T log(J K T²)) + J K log²(J K T): the order of MNL-bandit's regret.

    grant2020, Corollary 19, for J items, K positions and T rounds, with both of its constants,
    which are not known, set to 1.

    >>> round(mnl_bandit_rate(n_items=30, n_positions=6, horizon=8000))
    41970
    """
    items, positions = check_shape("mnl_bandit_rate", n_items, n_positions)
    rounds = check_int("mnl_bandit_rate", "horizon", horizon, 1)
    cells = items * positions
    return math.sqrt(cells * rounds * math.log(cells * rounds**2)) + (
        cells * math.log(cells * rounds) ** 2
    )


def geometric_deviation(means: ArrayLike, level: float) -> float:
    """Return √(2 Σ σ² log C) + 4 log C, a bound on the deviation of a sum of geometric counts.

    The sum differs from Σ μ by more than this with a probability of at most 2/C, where σ² = μ + μ².
    The counts need not be independent: the mean of each may depend on the counts before it.

    Parameters
    ----------
    means
        μ of each count, at most 1.
    level
        C, above 1.

    Notes
    -----
    grant2020, Theorem 3, eq. 7. The confidence bounds of Epoch-UCB come from it (Lemma 4).

    Examples
    --------
    >>> round(geometric_deviation([0.5] * 100, level=100.0), 2)
    44.7
    """
    mu = bounded_vector("geometric_deviation", "means", means, 0.0, 1.0)
    log = math.log(check_float("geometric_deviation", "level", level, 1.0))
    return math.sqrt(2.0 * float((mu + mu * mu).sum()) * log) + 4.0 * log


def _mnl_page(
    owner: str, position_bias: ArrayLike, n_items: int, horizon: int
) -> tuple[Floats, int, int]:
    bias = bounded_vector(owner, "position_bias", position_bias, 0.0, 1.0, open_low=True)
    items, _ = check_shape(owner, n_items, bias.size)
    return bias, items, check_int(owner, "horizon", horizon, 1)
