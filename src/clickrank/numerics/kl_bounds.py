"""Confidence bounds of a probability by the Kullback-Leibler divergence: KL indices.

After S successes and F failures the bounds are the largest and the smallest p with
(S + F) · d(S/(S + F), p) ≤ δ, where d is the divergence of Bernoulli distributions. δ is usually
`exploration_budget` of a number of rounds.
"""

from __future__ import annotations

import math

import numpy as np

from clickrank._compile.jit import kernel
from clickrank._core.arrays import Floats, Ints

# Far above the rounding error of an index (up to about 1e-11, for tiny examination), and far below
# any difference that matters.
SLACK = 1e-9
# A derivative whose tangent never bounds anything; unlike infinity, 0 · STEEP is 0.
STEEP = 1e300


@kernel
def exploration_budget(rounds: float) -> float:
    """Return δ = log t + 3 log log t; the second term only if it is positive (t > e)."""
    if rounds <= 1.0:
        return 0.0
    first = math.log(rounds)
    return first + 3.0 * math.log(first) if first > 1.0 else first


@kernel
def kl_upper(successes: int, failures: int, delta: float, guess: float = -1.0) -> float:
    """Return the largest p within δ of S successes and F failures; 1 if there are none.

    A good guess saves time and changes the result by rounding only.
    """
    if failures == 0:
        return 1.0
    if successes == 0:
        return -math.expm1(-delta / failures)
    return _bound(successes, failures, delta, 1.0, guess)


@kernel
def kl_upper_table(successes: Ints, failures: Ints, delta: float) -> Floats:
    """Return `kl_upper` for each cell of a table of successes and failures."""
    upper = np.empty(successes.shape)
    for row in range(successes.shape[0]):
        for column in range(successes.shape[1]):
            upper[row, column] = kl_upper(successes[row, column], failures[row, column], delta)
    return upper


@kernel
def kl_lower(successes: int, failures: int, delta: float) -> float:
    """Return the smallest p within δ of S successes and F failures; 0 if there are none."""
    if successes == 0:
        return 0.0
    if failures == 0:
        return math.exp(-delta / successes)
    return _bound(successes, failures, delta, -1.0, -1.0)


@kernel
def kl_upper_rate(successes: int, failures: int, upper: float) -> float:
    """Return dU/dδ at an upper bound U: U is concave in δ, so its tangent bounds it for every δ."""
    if failures == 0 or upper >= 1.0:  # it is 1, exactly or rounded, and cannot grow
        return 0.0
    slope = failures / (1.0 - upper) - (successes / upper if successes > 0 else 0.0)
    return 1.0 / slope if slope > 0.0 else STEEP


@kernel
def _between(low: float, high: float, side: float) -> float:
    """Return the point whose distance to 1, or to 0, is the geometric mean of two distances."""
    if side > 0.0:
        return 1.0 - math.sqrt((1.0 - low) * (1.0 - high))
    return math.sqrt(low * high)


@kernel
def _bound(successes: int, failures: int, delta: float, side: float, guess: float) -> float:
    """Solve Φ(p) = S log(m/p) + F log((1-m)/(1-p)) = δ on one side of the mean m, 0 < m < 1."""
    trials = successes + failures
    mean = successes / trials
    if delta <= 0.0:
        return mean
    rest = failures / trials
    low, high = (mean, 1.0) if side > 0.0 else (0.0, mean)
    # The root of Φ's cubic approximation at the mean, unless the guess is near it.
    away = side * math.sqrt(2.0 * delta * mean * rest / trials) + (rest - mean) * delta / (
        1.5 * trials
    )
    p = mean + away
    if abs(guess - p) < 0.3 * abs(away):
        p = guess
    far_end = False
    for _ in range(100):
        if not low < p < high:
            p = _between(low, high, side)
            if not far_end:  # the root of Φ without the term that vanishes there
                far_end = True
                if side > 0.0:
                    p = 1.0 - rest * math.exp((successes * math.log(mean) - delta) / failures)
                else:
                    p = mean * math.exp((failures * math.log(rest) - delta) / successes)
            if not low < p < high:
                break
        value = successes * math.log(mean / p) + failures * math.log(rest / (1.0 - p))
        slope = failures / (1.0 - p) - successes / p
        if (value > delta) == (side > 0.0):
            high = p
        else:
            low = p
        if value <= 0.0 or slope * side <= 0.0:  # rounding at the mean
            p = low if side < 0.0 else high  # outside, so that the far end or the middle comes next
            continue
        # Halley's step for sqrt(Φ) - sqrt(δ), which is nearly linear as Φ is nearly quadratic.
        curvature = failures / ((1.0 - p) * (1.0 - p)) + successes / (p * p)
        short = 1.0 - math.sqrt(delta / value)
        bend = 2.0 * value * curvature / (slope * slope) - 1.0
        step = 2.0 * value * short / (slope * (1.0 - 0.5 * short * bend))
        p -= step
        # Convergence is cubic: a further step would be below rounding errors.
        if abs(step) <= 1e-5 * min(p, 1.0 - p) and low <= p <= high:
            break
    return p
