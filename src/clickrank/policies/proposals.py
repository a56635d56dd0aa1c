"""Candidates for the next value of a walk, what corrects for them, and what they must exceed."""

from __future__ import annotations

import math

import numpy as np

from clickrank._jit import lean_kernel
from clickrank.numerics.gamma import gamma_constants, sample_gamma
from clickrank.types import Floats, Ints

# Uniform numbers in (0, 1] that have 53 bits: the logarithm of the smallest is -36.74.
_LEAST_LOG = -36.75
# Of two sums of logarithms, more than what rounding can do to them.
_SLACK = 1e-9


@lean_kernel
def logit_walk(value: float, deviation: float, rng: np.random.Generator) -> tuple[float, float]:
    """Step from logit(value); the correction is the ratio of the logit's derivatives."""
    x = math.log(value / (1.0 - value)) + deviation * rng.standard_normal()
    other = 1.0 / (1.0 + math.exp(-x)) if x > -700.0 else 0.0  # where exp would overflow
    if not 0.0 < other < 1.0:
        return 0.0, 0.0
    return other, math.log(other * (1.0 - other)) - math.log(value * (1.0 - value))


@lean_kernel
def pseudo_view(
    value: float,
    clicks: Ints,
    misses: Ints,
    weights: Floats,
    prior_clicks: int,
    prior_misses: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Draw from the Beta distribution that counts Σ_j N_j w_j views, and the prior's in full."""
    total = prior_clicks
    seen = float(prior_clicks + prior_misses)
    for j in range(weights.shape[0]):
        total += clicks[j]
        seen += weights[j] * (clicks[j] + misses[j])
    unclicked = max(seen - total, 0.0)
    other = draw_beta(1.0 + total, 1.0 + unclicked, rng)
    if not 0.0 < other < 1.0:
        return 0.0, 0.0
    gain = total * (math.log(value) - math.log(other))
    return other, gain + unclicked * (math.log(1.0 - value) - math.log(1.0 - other))


@lean_kernel
def max_pos(
    value: float,
    clicks: Ints,
    misses: Ints,
    weights: Floats,
    prior_clicks: int,
    prior_misses: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Draw from the posterior of x w_j, where j has the most views, and divide by w_j.

    A prior counts as one more position, with weight 1.
    """
    most = -1  # the prior
    ties = 1
    views = prior_clicks + prior_misses
    if views == 0:
        views = -1
    for j in range(weights.shape[0]):
        here = clicks[j] + misses[j]
        if here > views:
            views = here
            most = j
            ties = 1
        elif here == views:
            ties += 1
            if rng.random() * ties < 1.0:
                most = j
    s, f, weight = prior_clicks, prior_misses, 1.0
    if most >= 0:
        s, f, weight = clicks[most], misses[most], weights[most]
    other = draw_beta(1.0 + s, 1.0 + f, rng) / weight
    if not 0.0 < other < 1.0:
        return 0.0, 0.0
    gain = s * (math.log(value) - math.log(other))
    return other, gain + f * (math.log(1.0 - value * weight) - math.log(1.0 - other * weight))


@lean_kernel
def draw_beta(a: float, b: float, rng: np.random.Generator) -> float:
    """Draw from Beta(a, b), a and b of at least 1."""
    d, c = gamma_constants(a)
    win = sample_gamma(d, c, rng)
    d, c = gamma_constants(b)
    return win / (win + sample_gamma(d, c, rng))


@lean_kernel
def needed(
    value: float,
    other: float,
    total: int,
    now: float,
    missed: int,
    weighted: float,
    correction: float,
    rng: np.random.Generator,
) -> float:
    """Return what the logarithm of the acceptance ratio must exceed; infinity if it does not.

    A candidate of 0 is refused. ``now`` is Σ_j F_j log(1 - x w_j), ``missed`` is F = Σ_j F_j and
    ``weighted`` is Σ_j F_j w_j. By Jensen's inequality,
    Σ_j F_j log(1 - x' w_j) ≤ F log(1 - x' Σ_j F_j w_j / F).
    """
    if other <= 0.0:
        return math.inf
    luck = 1.0 - rng.random()
    gain = total * math.log(other / value)
    bound = 0.0
    if missed > 0:
        rest = 1.0 - other * (weighted / missed)
        if rest <= 0.0:  # x' w_j ≥ 1 for some j
            return math.inf
        bound = missed * math.log(rest)
    most = gain + (bound - now) + correction
    most += _SLACK * (1.0 + math.fabs(gain) - bound - now)
    if most < _LEAST_LOG:
        return math.inf
    least = math.log(luck)
    return math.inf if most < least else least
