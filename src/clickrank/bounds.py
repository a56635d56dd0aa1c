"""Regret bounds of the papers, as functions of a click model."""

from __future__ import annotations

import math

import numpy as np

from clickrank.clickmodels import PBM
from clickrank.errors import invalid


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
    moves the optimal items below one place down (001, Theorem 6, eq. 6; there L is the number of
    positions).

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
