"""Confidence bounds of one click probability: the upper and the lower KL index.

After S clicks and F misses the bounds are the largest and the smallest p with
(S + F) · d(S/(S + F), p) ≤ δ, where d is the divergence of Bernoulli distributions. δ is usually
`exploration_budget` of a number of rounds.
"""

from __future__ import annotations

import math

from clickrank._jit import kernel


@kernel
def exploration_budget(rounds: float) -> float:
    """Return δ = log t + 3 log log t; the second term only where it is positive (t > e)."""
    if rounds <= 1.0:
        return 0.0
    first = math.log(rounds)
    return first + 3.0 * math.log(first) if first > 1.0 else first


@kernel
def kl_upper(clicks: int, misses: int, delta: float) -> float:
    """Return the largest p within δ of S clicks in S + F views; 1 without a view."""
    if misses == 0:
        return 1.0
    if clicks == 0:
        return -math.expm1(-delta / misses)
    if delta <= 0.0:
        return clicks / (clicks + misses)
    return 1.0 - _lower(misses, clicks, delta)


@kernel
def kl_lower(clicks: int, misses: int, delta: float) -> float:
    """Return the smallest p within δ of S clicks in S + F views; 0 without a view."""
    if clicks == 0:
        return 0.0
    if misses == 0:
        return math.exp(-delta / clicks)
    if delta <= 0.0:
        return clicks / (clicks + misses)
    return _lower(clicks, misses, delta)


@kernel
def _lower(clicks: int, misses: int, delta: float) -> float:
    """Solve for the lower bound where S, F and δ are positive, within rounding.

    Newton's method on the divergence as a function of x = log p, which is convex and falls up to
    the mean: from any point left of the root it climbs to it without passing.
    """
    views = clicks + misses
    mean = clicks / views
    # Φ(p) = S log(mean/p) + F log((1 - mean)/(1 - p)) ≥ S log(mean/p) + F log(1 - mean), so this
    # is left of the root:
    far = mean * math.exp((misses * math.log1p(-mean) - delta) / clicks)
    # and so is this one, as d(mean, p) ≥ (mean - p)²/(2 mean) for p ≤ mean:
    near = mean - math.sqrt(2.0 * mean * delta / views)
    p = max(far, near)
    for _ in range(100):
        excess = clicks * math.log(mean / p) + misses * math.log((1.0 - mean) / (1.0 - p)) - delta
        slope = clicks - misses * p / (1.0 - p)  # -dΦ/dx > 0 left of the mean
        if excess <= 0.0 or slope <= 0.0:
            break
        larger = p * math.exp(excess / slope)
        if not p < larger < mean:
            break
        p = larger
    return p
