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
    total = 0.0
    for a, b in ((p, q), (1.0 - p, 1.0 - q)):
        if a > 0.0:
            if b <= 0.0:
                return math.inf
            total += a * math.log(a / b)
    return float(total)


def pbm_lower_bound(model: PBM) -> float:
    """Return the constant C such that no uniformly efficient policy beats C·log T in the PBM.

    Σ_{k>L} min_l Δ_{v(k,l)} / d(κ_l θ_k, κ_l θ_L), where v(k, l) puts item k at position l and
    moves the optimal items below one place down (001, Theorem 6, eq. 6; there L is the number of
    positions).

    The theorem orders items and positions by decreasing parameters; here they may come in any
    order. An item exactly as attractive as the last optimal one costs nothing to confuse with it
    and adds 0; positions with the examination probability 0 reveal nothing and are passed over.

    >>> model = PBM([0.45, 0.35, 0.25, 0.15, 0.05], [0.9, 0.6, 0.3])
    >>> round(pbm_lower_bound(model), 3)
    5.592
    """
    if not isinstance(model, PBM):
        raise invalid("pbm_lower_bound", "model must be a PBM", model)
    theta = np.sort(model.attraction)[::-1]
    kappa = np.sort(model.examination)[::-1]
    n = model.n_positions
    last = theta[n - 1]
    best = float(kappa @ theta[:n])
    total = 0.0
    for k in range(n, model.n_items):
        if theta[k] == last:
            continue
        ratios = []
        for position in range(n):
            if kappa[position] > 0.0:
                shown = np.insert(np.delete(theta[:n], n - 1), position, theta[k])
                gap = best - float(kappa @ shown)
                kl = bernoulli_kl(kappa[position] * theta[k], kappa[position] * last)
                ratios.append(gap / kl)
        total += min(ratios, default=0.0)
    return float(total)
