"""Bounds of li2019: attraction linear in features, clicks by examination times attraction."""

from __future__ import annotations

import math

from clickrank._core.validate import check_float, check_int, check_shape
from clickrank.errors import invalid


def linear_upper_bound(
    n_items: int, n_positions: int, n_features: int, horizon: int, failure: float | None = None
) -> float:
    """Return an upper bound on the regret of RecurRank, by the proof of li2019, Theorem 1.

    δ K T + 12 K min_m [ Σ_{ℓ ≤ m} Δ_ℓ (d (d + 1)/2 + d log(L/δ_ℓ) / (2 Δ_ℓ²)) + T 2^-m ]

    for K positions, L items, d features and T rounds, where Δ_ℓ = 2^-ℓ and δ_ℓ = δ/(2 K 2^ℓ).

    Parameters
    ----------
    n_items, n_positions, n_features, horizon
        L, K, d and T.
    failure
        δ; 1/√T by default, as in the theorem.

    Notes
    -----
    The theorem says C K √(d T log(L T)), for a universal constant C that is not given:
    `linear_upper_rate` is this without C. The constants here are those of its proof (12 is 8 of
    Lemma 4 and 4 of Lemma 5), with three corrections. A phase takes as many rounds as eq. 6 says,
    where the proof has 2 d log(1/δ_ℓ)/Δ_ℓ². Lemma 4 is read as 8 M Δ_ℓ, as its proof has it. And
    δ_ℓ, which is not printed, is what Appendix A needs and `RecurRank` uses. The design is
    assumed to be exactly G-optimal; that of RecurRank is so to 0.1 %.

    The bound is informative only where it is below the largest regret of T rounds. With the 10
    positions, 5 features and 10,000 items of the paper's experiments it is below K T from some
    70,000 rounds on, and below 2.93 T, the clicks on the best position-based page, from some
    900,000 on.

    Examples
    --------
    >>> bound = linear_upper_bound(n_items=10_000, n_positions=10, n_features=5, horizon=5_000_000)
    >>> round(bound)
    6161129
    """
    owner = "linear_upper_bound"
    items, positions, d, rounds = _sizes(owner, n_items, n_positions, n_features, horizon)
    delta = 1.0 / math.sqrt(rounds)
    if failure is not None:
        delta = check_float(owner, "failure", failure, 0.0, 1.0)
        if delta == 0.0:
            raise invalid(owner, "failure must be above 0", failure)
    found = float(rounds)  # all rounds come after phase 0
    measured = 0.0
    for phase in range(1, 60):
        log = math.log(items * 2.0 * positions * 2.0**phase / delta)
        measured += 0.5 * d * (d + 1) * 2.0**-phase + 0.5 * d * log * 2.0**phase
        found = min(found, measured + rounds * 2.0**-phase)
    return delta * positions * rounds + 12.0 * positions * found


def linear_upper_rate(n_items: int, n_positions: int, n_features: int, horizon: int) -> float:
    """Return K √(d T log(L T)), the order of growth of RecurRank's upper bound.

    This is li2019, Theorem 1, without its constant. It depends on the number of items L only
    through a logarithm. For d = L, where the features have no information, it is √K times less than
    TopRank's, √(K³ L T log T), up to logarithms (Table 1).

    >>> few, many = (linear_upper_rate(n, 10, 5, horizon=200_000) for n in (1_000, 100_000))
    >>> round(many / few, 2)
    1.11
    """
    owner = "linear_upper_rate"
    items, positions, d, rounds = _sizes(owner, n_items, n_positions, n_features, horizon)
    return positions * math.sqrt(d * rounds * math.log(items * rounds))


def linear_lower_bound(n_positions: int, n_features: int, horizon: int) -> float:
    """Return a regret that every policy has on some click model that is linear in d features.

    (ε/2) K T (1 − 1/N − 2 ε √(T/(3N))) for N = ⌊d/K⌋, with the best ε of at most 1/4: where T is
    large, (√3/16) (1 − 1/N)² √(N K · K T), proportional to √(d K T).

    Parameters
    ----------
    n_positions, n_features, horizon
        K, d and T; for features without information, d is the number of items.

    Returns
    -------
    float
        0 if there are fewer than 2 features per position, which the argument needs.

    Notes
    -----
    li2019, section 6 says that Ω(√(d T K)) can be shown by standard techniques, and Ω(√(T K L)) for
    d = L in lattimore2018; it gives no constant. This is such an argument. Clicks are
    document-based, and all positions are examined. The features are K groups of N unit vectors
    (further items have attraction 0); in each group a random item has attraction 1/2 + ε, and the
    others 1/2. For each of the K better items that a list does not show it loses ε, so that the
    regret is ε times the number of times that another item is shown. Let Y be the number of times
    that a group's better item is among the first T items shown of its group. If fewer than T items
    of the group were shown, T − Y is the number of times that its better item was not shown;
    otherwise it is at most the number of times that its other items were shown. As both sums over
    groups are equal, the regret is at least (ε/2) Σ (T − E Y). Without a better item
    in a group, each of its N items is among the first T shown T/N times on average. So by
    Pinsker's inequality, with kl(1/2, 1/2 + ε) ≤ 8ε²/3 and Jensen's, E Y is at most
    T/N + T √(4 ε² T/(3N)) on average over which item is better.

    Examples
    --------
    >>> round(linear_lower_bound(n_positions=10, n_features=100, horizon=1_000_000), 1)
    2772.8
    """
    owner = "linear_lower_bound"
    positions, d = (
        check_int(owner, "n_positions", n_positions, 1),
        check_int(owner, "n_features", n_features, 1),
    )
    rounds = check_int(owner, "horizon", horizon, 1)
    group = d // positions
    if group < 2:
        return 0.0
    gain, loss = 1.0 - 1.0 / group, 2.0 * math.sqrt(rounds / (3.0 * group))
    epsilon = min(0.25, gain / (2.0 * loss))
    return 0.5 * epsilon * positions * rounds * (gain - epsilon * loss)


def _sizes(
    owner: str, n_items: int, n_positions: int, n_features: int, horizon: int
) -> tuple[int, int, int, int]:
    items, positions = check_shape(owner, n_items, n_positions)
    d = check_int(owner, "n_features", n_features, 1)
    return items, positions, d, check_int(owner, "horizon", horizon, 1)
