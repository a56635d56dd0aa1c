"""The Kullback–Leibler divergence of Bernoulli distributions, which lower bounds use."""

from __future__ import annotations

import math


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
