"""Confidence bounds of one click probability: the upper and the lower KL index.

After S clicks and F misses the bounds are the largest and the smallest p with
(S + F) · d(S/(S + F), p) ≤ δ, where d is the divergence of Bernoulli distributions. δ is usually
`exploration_budget` of a number of rounds.
"""

from __future__ import annotations

import math

import numpy as np

from clickrank._compile.jit import kernel
from clickrank._core.arrays import Floats, Ints

# Far above the rounding of an index (up to about 1e-11, for tiny examination), far below any
# difference that matters.
SLACK = 1e-9
# A derivative so large that its tangent never bounds anything, yet 0 · STEEP is 0.
STEEP = 1e300


@kernel
def exploration_budget(rounds: float) -> float:
    """Return δ = log t + 3 log log t; the second term only where it is positive (t > e)."""
    if rounds <= 1.0:
        return 0.0
    first = math.log(rounds)
    return first + 3.0 * math.log(first) if first > 1.0 else first


@kernel
def kl_upper(clicks: int, misses: int, delta: float, guess: float = -1.0) -> float:
    """Return the largest p within δ of S clicks and F misses; 1 without a view.

    A good guess saves time and changes the result by rounding only.
    """
    if misses == 0:
        return 1.0
    if clicks == 0:
        return -math.expm1(-delta / misses)
    return _bound(clicks, misses, delta, 1.0, guess)


@kernel
def kl_upper_table(clicks: Ints, misses: Ints, delta: float) -> Floats:
    """Return the largest p within δ of each cell of a table of clicks and misses."""
    upper = np.empty(clicks.shape)
    for row in range(clicks.shape[0]):
        for column in range(clicks.shape[1]):
            upper[row, column] = kl_upper(clicks[row, column], misses[row, column], delta)
    return upper


@kernel
def kl_lower(clicks: int, misses: int, delta: float) -> float:
    """Return the smallest p within δ of S clicks and F misses; 0 without a view."""
    if clicks == 0:
        return 0.0
    if misses == 0:
        return math.exp(-delta / clicks)
    return _bound(clicks, misses, delta, -1.0, -1.0)


@kernel
def kl_upper_rate(clicks: int, misses: int, upper: float) -> float:
    """Return dU/dδ at an upper bound U: U is concave in δ, so its tangent bounds it for every δ."""
    if misses == 0 or upper >= 1.0:  # it is 1, or rounded to it, and no bound needs to be larger
        return 0.0
    slope = misses / (1.0 - upper) - (clicks / upper if clicks > 0 else 0.0)
    return 1.0 / slope if slope > 0.0 else STEEP


@kernel
def _between(low: float, high: float, side: float) -> float:
    """Return a point between two, in the middle of their distances to 1 or to 0 on a log scale."""
    if side > 0.0:
        return 1.0 - math.sqrt((1.0 - low) * (1.0 - high))
    return math.sqrt(low * high)


@kernel
def _bound(clicks: int, misses: int, delta: float, side: float, guess: float) -> float:
    """Solve Φ(p) = S log(m/p) + F log((1-m)/(1-p)) = δ on one side of the mean m, 0 < m < 1."""
    views = clicks + misses
    mean = clicks / views
    if delta <= 0.0:
        return mean
    rest = misses / views
    low, high = (mean, 1.0) if side > 0.0 else (0.0, mean)
    # The root of Φ's cubic approximation at the mean, unless the guess is near it.
    away = side * math.sqrt(2.0 * delta * mean * rest / views) + (rest - mean) * delta / (
        1.5 * views
    )
    p = mean + away
    if abs(guess - p) < 0.3 * abs(away):
        p = guess
    far_end = False
    for _ in range(100):
        if not low < p < high:
            p = _between(low, high, side)
            if not far_end:  # Φ without the term that vanishes there
                far_end = True
                if side > 0.0:
                    p = 1.0 - rest * math.exp((clicks * math.log(mean) - delta) / misses)
                else:
                    p = mean * math.exp((misses * math.log(rest) - delta) / clicks)
            if not low < p < high:
                break
        value = clicks * math.log(mean / p) + misses * math.log(rest / (1.0 - p))
        slope = misses / (1.0 - p) - clicks / p
        if (value > delta) == (side > 0.0):
            high = p
        else:
            low = p
        if value <= 0.0 or slope * side <= 0.0:  # rounding at the mean
            p = low if side < 0.0 else high  # outside: the far end comes next, or the middle
            continue
        # Halley's step for sqrt(Φ) - sqrt(δ), which is nearly linear as Φ is nearly quadratic.
        curvature = misses / ((1.0 - p) * (1.0 - p)) + clicks / (p * p)
        short = 1.0 - math.sqrt(delta / value)
        bend = 2.0 * value * curvature / (slope * slope) - 1.0
        step = 2.0 * value * short / (slope * (1.0 - 0.5 * short * bend))
        p -= step
        # Convergence is cubic: a further step would be below rounding.
        if abs(step) <= 1e-5 * min(p, 1.0 - p) and low <= p <= high:
            break
    return p
