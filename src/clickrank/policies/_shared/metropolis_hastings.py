"""Metropolis-Hastings moves of a θ or κ with density Π_j (x w_j)^{S_j} (1 - x w_j)^{F_j} in x.

Each proposal draws a candidate x' from a distribution q(· | x), and returns it with
log(q(x | x') / q(x' | x)). A candidate of 0 is refused. ``prior`` has clicks and misses with w = 1.
"""

from __future__ import annotations

import math

import numpy as np

from clickrank._compile.jit import lean_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.gamma_draws import sample_beta
from clickrank.numerics.truncated_normal import log_mass_ratio, sample_truncated_normal

PROPOSALS = (
    "truncated-gaussian",
    "logit-gaussian",
    "pseudo-view",
    "max-pos",
    "logit-gaussian-printed",
)
TRUNCATED, LOGIT, PSEUDO_VIEW, MAX_POS, LOGIT_PRINTED = range(5)


@lean_kernel
def move(
    proposal: int,
    x: float,
    clicks: Ints,
    misses: Ints,
    weights: Floats,
    prior: tuple[int, int],
    deviation: float,
    rng: np.random.Generator,
) -> float:
    """Return a candidate x' with probability min(1, π(x') q(x | x') / (π(x) q(x' | x))), else x.

    The posterior density π is Π_j (x w_j)^{S_j} (1 - x w_j)^{F_j} in x. For a θ_i the j are the
    positions and w is κ; for a κ_l the j are the items and w is θ. ``prior`` holds clicks and
    misses with w = 1.
    """
    other, correction = propose(proposal, x, clicks, misses, weights, prior, deviation, rng)
    if other <= 0.0:
        return x
    luck = math.log(1.0 - rng.random())
    total = prior[0]
    now, then = prior[1] * math.log(1.0 - x), prior[1] * math.log(1.0 - other)
    for j in range(weights.shape[0]):
        total += clicks[j]
        now += misses[j] * math.log(1.0 - x * weights[j])
        then += misses[j] * math.log(1.0 - other * weights[j])
    gain = total * (math.log(other) - math.log(x)) + (then - now)
    return other if luck < gain + correction else x


@lean_kernel
def propose(
    proposal: int,
    value: float,
    clicks: Ints,
    misses: Ints,
    weights: Floats,
    prior: tuple[int, int],
    deviation: float,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Draw a candidate with the proposal of an index in `PROPOSALS`; return its correction too."""
    if proposal == TRUNCATED:
        other = sample_truncated_normal(value, deviation, rng)
        return other, log_mass_ratio(value, other, deviation)
    if proposal == LOGIT:
        return logit_walk(value, deviation, rng)
    if proposal == PSEUDO_VIEW:
        return pseudo_view(value, clicks, misses, weights, prior, rng)
    if proposal == MAX_POS:
        return max_pos(value, clicks, misses, weights, prior, rng)
    return logit_walk(value, deviation, rng)[0], 0.0  # as printed, with the ratio taken as 1


@lean_kernel
def logit_walk(value: float, deviation: float, rng: np.random.Generator) -> tuple[float, float]:
    """Step from logit(value); the correction is the ratio of the derivatives of the logit."""
    x = math.log(value / (1.0 - value)) + deviation * rng.standard_normal()
    other = 1.0 / (1.0 + math.exp(-x)) if x > -700.0 else 0.0  # exp would overflow
    if not 0.0 < other < 1.0:
        return 0.0, 0.0
    return other, math.log(other * (1.0 - other)) - math.log(value * (1.0 - value))


@lean_kernel
def pseudo_view(
    value: float,
    clicks: Ints,
    misses: Ints,
    weights: Floats,
    prior: tuple[int, int],
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Draw from the Beta distribution that counts Σ_j N_j w_j views, and all of the prior."""
    total = prior[0]
    seen = float(prior[0] + prior[1])
    for j in range(weights.shape[0]):
        total += clicks[j]
        seen += weights[j] * (clicks[j] + misses[j])
    unclicked = max(seen - total, 0.0)
    other = sample_beta(1.0 + total, 1.0 + unclicked, rng)
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
    prior: tuple[int, int],
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Draw from the posterior of x w_j, where j has the most views, and divide by w_j.

    A prior counts as one more position, with weight 1.
    """
    most = -1  # the prior
    ties = 1
    views = prior[0] + prior[1]
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
    s, f, weight = prior[0], prior[1], 1.0
    if most >= 0:
        s, f, weight = clicks[most], misses[most], weights[most]
    other = sample_beta(1.0 + s, 1.0 + f, rng) / weight
    if not 0.0 < other < 1.0:
        return 0.0, 0.0
    gain = s * (math.log(value) - math.log(other))
    return other, gain + f * (math.log(1.0 - value * weight) - math.log(1.0 - other * weight))
