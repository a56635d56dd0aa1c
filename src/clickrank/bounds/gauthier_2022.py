"""Bounds of gauthier2022: clicks by item and position, with unknown parameters.

All but `pb_lower_bound` return the constant C of an upper bound C·log T + O(log log T). The last
term is not known, so that at short horizons regret may be above C·log T.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from clickrank._compile.jit import kernel_for
from clickrank._core.arrays import Floats, Ints
from clickrank.clickmodels import PBM, Cascade
from clickrank.errors import invalid
from clickrank.numerics.exploration_program import solve_program
from clickrank.numerics.exploration_rivals import Workspace, workspace
from clickrank.rankings.enumeration import all_rankings

#: More lists than this are not enumerated: twenty items at five positions are below it.
MOST_LISTS = 2_000_000


def grab_upper_bound(model: PBM | ArrayLike) -> float:
    """Return the constant C of GRAB's upper bound C·log T + O(log log T).

    Σ_a 8/Δ_a over the L - 1 lists a next to the best one in GRAB's graph: two positions that follow
    each other in the order of their click probabilities swap their items, or the last one in that
    order gets an item that is not shown (Theorem 1, eq. 3.6). Δ_a is what list a loses in a round.

    In the position-based model with θ and κ decreasing this is section 3.3.1's formula,

        Σ_{k<K} 8/((κ_k - κ_{k+1}) (θ_k - θ_{k+1})) + Σ_{i>K} 8/(κ_K (θ_K - θ_i)).

    Parameters
    ----------
    model
        A position-based model, or the click probabilities ρ, with one row per item and one column
        per position. The theorem needs its Assumption 1, which every position-based model meets.

    Returns
    -------
    float
        Infinity if the best list has a neighbour that is as good: the theorem asks for one best
        list only.

    Notes
    -----
    The constant is as printed. A list that replaces one item differs from the best one at one
    position, for which Theorem 2 gives 2/Δ_a: the printed term is four times as large as needed.

    Examples
    --------
    >>> round(grab_upper_bound(PBM([0.9, 0.6, 0.3], [1.0, 0.5])), 1)
    106.7
    """
    rho = _click_probabilities("grab_upper_bound", model)
    best = _best_list(rho)
    gaps = [_value(rho, best) - _value(rho, other) for other in _neighbours(rho, best)]
    return math.fsum(_ratio(8.0, gap) for gap in gaps)


def kl_comb_ucb_upper_bound(model: PBM | ArrayLike, lists: ArrayLike | None = None) -> float:
    """Return the constant C of KL-CombUCB's upper bound C·log T + O(log log T).

    Σ_a 2 K_a²/Δ_a over all lists a that are not the best, where K_a is the number of positions at
    which a differs from the closest best list (Theorem 2).

    Parameters
    ----------
    model
        As for `grab_upper_bound`; here it may be any matrix.
    lists
        The lists that the policy chooses from, one row each; by default all.

    Examples
    --------
    >>> round(kl_comb_ucb_upper_bound(PBM([0.9, 0.6, 0.3], [1.0, 0.5])), 1)
    105.6
    """
    owner = "kl_comb_ucb_upper_bound"
    rho = _click_probabilities(owner, model)
    choices = _all_lists(owner, rho) if lists is None else _given_lists(owner, rho, lists)
    values = rho[choices, np.arange(rho.shape[1])].sum(axis=1)
    gaps = values.max() - values
    # Sums of the same numbers in another order differ by rounding.
    optimal = gaps <= 4.0 * np.finfo(np.float64).eps * rho.shape[1] * values.max()
    differences: Ints = np.full(gaps.size, rho.shape[1], dtype=np.int64)
    for best in choices[optimal]:
        np.minimum(differences, (choices != best).sum(axis=1), out=differences)
    return math.fsum((2.0 * differences[~optimal] ** 2 / gaps[~optimal]).tolist())


def unirank_upper_bound(model: PBM | Cascade) -> float:
    """Return the constant C of UniRank's upper bound C·log T + O(log log T).

    Σ_{k≥2} 8 Δ_k/(δ_k s_k²) (Theorem 3), where item k is compared with item l = min(k - 1, K):
    swapping them costs Δ_k, exactly one of them is clicked with probability δ_k when they share a
    block next to the best partition, and s_k = (θ_l - θ_k)/(θ_l + θ_k) is the least by which l is
    then more likely to be the one.

    In the cascade model only items outside the list add to it (Corollary 1):

        Σ_{i>K} 16 (θ_K + θ_i)/(θ_K - θ_i),

    to which the position-based model adds (Corollary 4)

        Σ_{1<k≤K} 8 (κ_{k-1} - κ_k) (θ_{k-1} + θ_k)²/(δ_k (θ_{k-1} - θ_k)),
        δ_k = (θ_{k-1} + θ_k) (κ_{k-1} + κ_k)/2 - 2 θ_{k-1} θ_k κ_{k-1} κ_k.

    Parameters
    ----------
    model
        A cascade, or a position-based model whose examination does not increase.

    Returns
    -------
    float
        Infinity where the theorem's assumptions do not hold: equally attractive items in the list
        or at its end, or a position that nobody examines.

    Notes
    -----
    s_k is the corollaries' lower bound of what the theorem calls Δ̃_k, so that this constant is
    at least the theorem's own.

    Examples
    --------
    >>> round(unirank_upper_bound(PBM([0.9, 0.6, 0.3], [1.0, 0.5])), 1)
    99.3
    """
    owner = "unirank_upper_bound"
    if not isinstance(model, PBM | Cascade):
        raise invalid(owner, "model must be a PBM or a Cascade", model)
    theta = np.sort(model.attraction)[::-1].tolist()
    last = model.n_positions
    if any(b == a for a, b in itertools.pairwise(theta[:last])):
        return math.inf
    within = 0.0
    if isinstance(model, PBM):
        kappa = model.examination.tolist()
        if any(b > a for a, b in itertools.pairwise(kappa)):
            raise invalid(owner, "examination must not increase", kappa)
        if kappa[-1] == 0.0:
            return math.inf
        for k in range(1, last):
            sums = theta[k - 1] + theta[k]
            products = theta[k - 1] * theta[k] * kappa[k - 1] * kappa[k]
            delta = sums * (kappa[k - 1] + kappa[k]) / 2.0 - 2.0 * products
            loss = 8.0 * (kappa[k - 1] - kappa[k]) * sums * sums
            within += _ratio(loss, delta * (theta[k - 1] - theta[k]))
    better = theta[last - 1]
    outside = [_ratio(16.0 * (better + worse), better - worse) for worse in theta[last:]]
    return within + math.fsum(outside)


def pb_lower_bound(model: PBM) -> float:
    """Return the constant c*(θ, κ) such that no uniformly efficient policy beats c*·log T.

    Neither attraction nor examination is known, nor which position is examined most: c* is the
    value of the program whose amounts PMED follows (komiyama2017; gauthier2022, section 2.1.1, for
    whom it has no closed form). Where examination is known, `pbm_lower_bound` is smaller.

    Parameters
    ----------
    model
        A position-based model in any order, with attractions above 0, of which those in the list
        and the first outside differ, and examinations that differ. Positions that nobody examines
        are ignored.

    Returns
    -------
    float
        A lower bound of the program's value that is at most one part in 10⁴ below it.

    Notes
    -----
    komiyama2017 assumes that the order in which positions are examined is known. That leaves fewer
    parameters to rule out, and may make the constant smaller.

    Examples
    --------
    >>> model = PBM([0.45, 0.35, 0.25, 0.15, 0.05], [0.9, 0.6, 0.3])
    >>> round(pb_lower_bound(model), 1)
    8.4
    """
    owner = "pb_lower_bound"
    if not isinstance(model, PBM):
        raise invalid(owner, "model must be a PBM", model)
    theta = np.sort(model.attraction)[::-1]
    kappa = np.sort(model.examination)[::-1]
    kappa = kappa[kappa > 0.0]
    if kappa.size == 0:
        return 0.0
    if theta[-1] <= 0.0:
        raise invalid(owner, "attraction must be above 0 for every item", float(theta[-1]))
    in_list = theta[: kappa.size + 1]
    if (np.diff(in_list) == 0.0).any():
        rule = "the best items and the first outside the list must differ in attraction"
        raise invalid(owner, rule, in_list.tolist())
    if (np.diff(kappa) == 0.0).any():
        raise invalid(owner, "positions must differ in examination", kappa.tolist())
    work = workspace(theta.size, kappa.size)
    lower, upper = kernel_for(_solve, "")(work, np.log(theta), np.log(kappa))
    if not upper <= lower * (1.0 + 2e-4):
        rule = "items and positions must differ by more for the program to be solved to 1 in 10⁴"
        raise invalid(owner, rule, f"a value between {lower:g} and {upper:g}")
    return float(lower)


def _solve(work: Workspace, x: Floats, y: Floats) -> tuple[float, float]:
    return solve_program(work, x, y, 1e-4, 5_000)


def _ratio(numerator: float, gap: float) -> float:
    """Divide by a gap; infinity where there is none, unless nothing is lost either."""
    if numerator == 0.0:
        return 0.0
    return numerator / gap if gap > 0.0 else math.inf


def _click_probabilities(owner: str, model: PBM | ArrayLike) -> Floats:
    """Return ρ, with one row per item and one column per position."""
    if isinstance(model, PBM):
        rho: Floats = np.outer(model.attraction, model.examination)
        return rho
    try:
        rho = np.array(model, dtype=np.float64)
    except (TypeError, ValueError):
        rho = np.zeros(0)
    rows_and_columns = rho.ndim == 2 and rho.shape[0] >= rho.shape[1] >= 1
    if not rows_and_columns or not ((rho >= 0.0) & (rho <= 1.0)).all():
        rule = "model must be a PBM, or probabilities with one row per item and one column"
        raise invalid(owner, f"{rule} per position, and no more columns than rows", model)
    return rho


def _best_list(rho: Floats) -> list[int]:
    items, positions = linear_sum_assignment(rho, maximize=True)
    best = [0] * rho.shape[1]
    for item, position in zip(items.tolist(), positions.tolist(), strict=True):
        best[position] = item
    return best


def _value(rho: Floats, ranking: list[int]) -> float:
    return math.fsum(float(rho[item, position]) for position, item in enumerate(ranking))


def _neighbours(rho: Floats, best: list[int]) -> list[list[int]]:
    """Return the lists next to the best one in GRAB's graph."""
    order = sorted(range(len(best)), key=lambda position: -rho[best[position], position])
    found = []
    for first, second in itertools.pairwise(order):
        swapped = best.copy()
        swapped[first], swapped[second] = best[second], best[first]
        found.append(swapped)
    for item in set(range(rho.shape[0])) - set(best):
        replaced = best.copy()
        replaced[order[-1]] = item
        found.append(replaced)
    return found


def _all_lists(owner: str, rho: Floats) -> Ints:
    """Return every list, or raise if there are too many."""
    n_items, n_positions = rho.shape
    count = math.perm(n_items, n_positions)
    if count > MOST_LISTS:
        rule = f"model must have at most {MOST_LISTS:,} lists; give the ones to choose from"
        raise invalid(owner, rule, f"{count:,}")
    return all_rankings(n_items, n_positions)


def _given_lists(owner: str, rho: Floats, lists: ArrayLike) -> Ints:
    choices = np.array(lists)
    whole = choices.ndim == 2 and choices.dtype.kind in "iu" and choices.shape[1] == rho.shape[1]
    if not whole or choices.size == 0 or choices.min() < 0 or choices.max() >= rho.shape[0]:
        rule = f"lists must have one row per list, with {rho.shape[1]} items below {rho.shape[0]}"
        raise invalid(owner, rule, lists)
    return choices.astype(np.int64)
