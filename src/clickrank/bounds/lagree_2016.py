"""Bounds of lagree2016: the position-based model with known examination."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from clickrank._core.arrays import Ints, probabilities
from clickrank._core.validate import check_float, check_shape
from clickrank.bounds.divergence import bernoulli_kl
from clickrank.clickmodels import DCTR, PBM
from clickrank.errors import invalid


def pbm_lower_bound(model: PBM | DCTR) -> float:
    """Return the constant C such that no uniformly efficient policy beats C·log T in the PBM.

    Σ_{k>L} min_l Δ_{v(k,l)} / d(κ_l θ_k, κ_l θ_L), where v(k, l) puts item k at position l and
    moves the optimal items below one place down (lagree2016, Theorem 6, eq. 6; there L is the
    number of positions).

    The theorem orders items and positions by decreasing parameters; here they may come in any
    order. An item exactly as attractive as the last optimal one can be confused with it at no cost
    and adds 0. Positions that nobody examines are ignored.

    The document-based model is the PBM whose positions are all examined, so the theorem covers it
    as well: there every position is equally good for exploring, and the bound is that of
    `multiple_play_lower_bound`, eq. 3.

    >>> model = PBM([0.45, 0.35, 0.25, 0.15, 0.05], [0.9, 0.6, 0.3])
    >>> round(pbm_lower_bound(model), 3)
    5.592
    >>> round(pbm_lower_bound(DCTR([0.45, 0.35, 0.25, 0.15, 0.05], 3)), 3)
    4.748
    """
    page = _page("pbm_lower_bound", model)
    return sum(min(costs) for costs in _exploration_costs(page).values())


def pbm_exploring_positions(model: PBM | DCTR) -> Ints:
    """Return the position at which exploring each item costs least (lagree2016, Theorem 6).

    This is the position that reaches the minimum of eq. 6, as an index of the page. At a higher
    position an item costs more clicks and is more informative. If the optimal items are nearly
    alike, the most examined position is best. For an item nearly as good as the last optimal one,
    the least examined position is best, at which PBM-PIE always explores.

    Returns
    -------
    Ints
        One entry per item; -1 for the items of the best list, and for items that are as attractive
        as its last one.

    Examples
    --------
    >>> pbm_exploring_positions(PBM([0.45, 0.35, 0.25, 0.15, 0.05], [0.9, 0.6, 0.3]))
    array([-1, -1, -1,  2,  2])
    >>> pbm_exploring_positions(PBM([0.4, 0.4, 0.4, 0.1], [0.9, 0.6, 0.3]))
    array([-1, -1, -1,  0])
    """
    page = _page("pbm_exploring_positions", model)
    found = np.full(len(page.theta), -1, dtype=np.int64)
    for rank, costs in _exploration_costs(page).items():
        found[page.items[rank]] = page.positions[int(np.argmin(costs))]
    return found


def multiple_play_lower_bound(
    attraction: ArrayLike, n_positions: int, weight: float = 1.0
) -> float:
    """Return C such that no uniformly efficient policy beats C·log T if examination is observed.

    w_L Σ_{k>L} (θ_L − θ_k) / d(θ_k, θ_L) for L positions: with ``weight`` w_L = 1 the bound of
    multiple-play bandits, lagree2016, eq. 3 (anantharam1987); otherwise that of the weighted
    cascade, whose last position's click is worth w_L (combes2015).

    By Remark 7 it is also the bound of the position-based model whose examinations are observed,
    whatever their probabilities: a position examined half as often costs half as much and is half
    as informative.

    >>> round(multiple_play_lower_bound([0.45, 0.35, 0.25, 0.15, 0.05], n_positions=3), 3)
    4.748
    """
    owner = "multiple_play_lower_bound"
    theta = np.sort(probabilities(owner, "attraction", attraction))[::-1].tolist()
    _, n = check_shape(owner, len(theta), n_positions)
    last = theta[n - 1]
    scale = check_float(owner, "weight", weight, 0.0)
    gaps = [(last - k) / bernoulli_kl(k, last) for k in theta[n:] if k < last]
    return scale * math.fsum(gaps)


def pbm_ucb_constant(model: PBM | DCTR, epsilon: float) -> float:
    """Return the constant of log T in the upper bound on PBM-UCB's regret.

    16 (1 + ε) C(κ) (L/Δ + Σ_{k>L} 1/(κ_L (θ_L − θ_k))) with
    C(κ) = min_l [(Σ_j κ_j)²/l + (Σ_{j≤l} κ_j)²]/κ_L², where Δ is the smallest loss of the best
    items in another order (lagree2016, Theorem 9).

    Parameters
    ----------
    model
        The click model; items and positions in any order.
    epsilon
        ε > 0 of the policy's exploration (1 + ε) log t.

    Returns
    -------
    float
        Infinity if another order of the best items costs nothing, because two of them, or two
        positions, are equal; or if another item is exactly as attractive as the last of them.

    Notes
    -----
    The term L/Δ is due to the analysis, as the paper says. The constant is large: 103,200 (1 + ε)
    on the problem of Figure 1b, where the lower bound is 5.6.

    Examples
    --------
    >>> round(pbm_ucb_constant(PBM([0.45, 0.35, 0.25, 0.15, 0.05], [0.9, 0.6, 0.3]), 1e-9))
    103200
    """
    owner = "pbm_ucb_constant"
    page = _page(owner, model)
    more = 1.0 + _positive(owner, epsilon)
    n, kappa = len(page.kappa), page.kappa
    if n == 0:
        return 0.0
    total, least = math.fsum(kappa), kappa[-1]
    tops = itertools.accumulate(kappa)
    factor = min(total**2 / place + top**2 for place, top in enumerate(tops, 1)) / least**2
    best = page.theta[:n]
    # The other order that costs least exchanges two neighbours.
    swaps = [
        (kappa[i] - kappa[i + 1]) * (best[i] - best[i + 1]) for i in range(n - 1)
    ]  # fmt: skip
    gaps = [least * (best[-1] - k) for k in page.theta[n:]]
    if 0.0 in swaps or 0.0 in gaps:
        return math.inf
    order = n / min(swaps) if swaps else 0.0
    return 16.0 * more * factor * (order + math.fsum(1.0 / gap for gap in gaps))


def pbm_pie_constant(model: PBM | DCTR, epsilon: float, margin: float = 0.0) -> float:
    """Return the constant of log T in the upper bound on PBM-PIE's regret.

    (1 + ε)² Σ_{k>L} κ_L (θ_L − θ_k) / d(κ_L θ_k, κ_L (θ_L − η)) (lagree2016, Theorem 11). As ε and
    η go to 0 it becomes the lower bound, `pbm_lower_bound`, if exploring costs least at the last
    position for every item (`pbm_exploring_positions`), and is larger otherwise.

    Parameters
    ----------
    model
        The click model; items and positions in any order.
    epsilon
        ε > 0 of the policy's exploration (1 + ε) log t.
    margin
        η, below half the smallest difference of two attractions. The other constants of the
        theorem, which the paper does not give, grow as it falls; with 0 this is the limit.

    Notes
    -----
    The text says that κ_L Σ_{k>L} (θ_L − θ_k)/d(κ_L θ_k, κ_L θ_L), which this is with ε = η = 0,
    is at most the lower bound of eq. 6. It is at *least* that: position L is one of those over
    which eq. 6 takes the minimum, and there the two terms are equal.

    Examples
    --------
    >>> model = PBM([0.45, 0.35, 0.25, 0.15, 0.05], [0.9, 0.6, 0.3])
    >>> round(pbm_pie_constant(model, epsilon=1e-9), 3) == round(pbm_lower_bound(model), 3)
    True
    """
    owner = "pbm_pie_constant"
    page = _page(owner, model)
    more = 1.0 + _positive(owner, epsilon)
    n = len(page.kappa)
    if n == 0 or n == len(page.theta):
        return 0.0
    gaps = [above - below for above, below in itertools.pairwise(page.theta)]
    limit = min(gaps) / 2
    eta = check_float(owner, "margin", margin, 0.0)
    if eta > 0.0 and eta >= limit:
        rule = f"margin must be below half the smallest difference of attractions ({limit:g})"
        raise invalid(owner, rule, margin)
    least, last = page.kappa[-1], page.theta[n - 1]
    terms = [
        least * (last - k) / bernoulli_kl(least * k, least * (last - eta))
        for k in page.theta[n:]
        if k < last
    ]
    return more**2 * math.fsum(terms)


class _Page(NamedTuple):
    """Items by decreasing attraction, positions by decreasing examination, and their numbers."""

    theta: list[float]
    kappa: list[float]  # without positions that nobody examines
    items: list[int]
    positions: list[int]


def _page(owner: str, model: PBM | DCTR) -> _Page:
    if not isinstance(model, PBM | DCTR):
        raise invalid(owner, "model must be a PBM or a DCTR", model)
    items = np.argsort(-model.attraction, kind="stable")
    positions = [
        int(place)
        for place in np.argsort(-model.examination, kind="stable")
        if model.examination[place] > 0.0
    ]
    kappa = [float(model.examination[place]) for place in positions]
    return _Page(model.attraction[items].tolist(), kappa, items.tolist(), positions)


def _exploration_costs(page: _Page) -> dict[int, list[float]]:
    """Return, by the rank of each item worse than the best list, its term of eq. 6 by position."""
    theta, kappa, n = page.theta, page.kappa, len(page.kappa)
    found: dict[int, list[float]] = {}
    for rank in range(n, len(theta) if n else 0):
        worse = theta[rank]
        if worse == theta[n - 1]:
            continue
        found[rank] = []
        for position, k in enumerate(kappa):
            # The item takes the position, and those from there on move down: the last drops out.
            shown = [worse, *theta[position : n - 1]]
            before = theta[position:n]
            losses = zip(kappa[position:], before, shown, strict=True)
            gap = math.fsum(weight * (old - new) for weight, old, new in losses)
            found[rank].append(gap / bernoulli_kl(k * worse, k * theta[n - 1]))
    return found


def _positive(owner: str, epsilon: float) -> float:
    found = check_float(owner, "epsilon", epsilon, 0.0)
    if found == 0.0:
        raise invalid(owner, "epsilon must be above 0, as in the theorem", epsilon)
    return found
