"""A Metropolis-Hastings step after which another position may be the most examined one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clickrank._compile.jit import inline_kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.truncated_normal import log_mass_ratio, sample_truncated_normal


@lean_kernel
def cross(
    params: Any,
    k: int,
    clicks: Ints,
    misses: Ints,
    theta: Floats,
    kappa: Floats,
    deviation: float,
    rng: np.random.Generator,
) -> None:
    """Move κ_k, where the largest κ is 1 and the prior is uniform in θ and the other κ.

    The likelihood depends on the products θ_i κ_l only, and those at the other positions do not
    change. Let m be the largest κ of the others, x = κ_k / m, which may exceed 1, and θ'_i = θ_i m.
    Then κ_k is x if x ≤ 1. Otherwise κ_k is 1, all θ' are multiplied by x, and the other κ / m are
    divided by x: n_items coordinates are multiplied by x, n_positions - 2 are divided by it, and
    the last one is 1/x itself. Therefore x > 1 has the density x^(n_items - (n_positions - 2)) in
    1/x. The step is a truncated Gaussian one from z to z' in (0, 2), where z = x up to 1 and
    z = 2 - 1/x beyond.

    ``clicks`` and ``misses`` count those of each item at position k; ``params`` has the prior's.
    """
    second, value, other, place, other_place = propose_crossing(k, kappa, deviation, rng)
    luck = math.log(1.0 - rng.random())
    before, after = max(value, 1.0), max(other, 1.0)
    total, power = 0, float(theta.shape[0] - kappa.shape[0] + 2)
    now, then, prior_now, prior_then = 0.0, 0.0, 0.0, 0.0
    for i in range(theta.shape[0]):
        miss = 1.0 - theta[i] * second * other
        largest = 1.0 - theta[i] * second * after
        if miss <= 0.0 or largest <= 0.0:
            return  # an attraction would exceed 1
        total += clicks[i]
        power += params.prior_clicks[i]
        now += misses[i] * math.log(1.0 - theta[i] * kappa[k])
        then += misses[i] * math.log(miss)
        prior_now += params.prior_misses[i] * math.log(1.0 - theta[i])
        prior_then += params.prior_misses[i] * math.log(largest)
    correction = log_mass_ratio(0.5 * place, 0.5 * other_place, 0.5 * deviation)
    growth = power * (math.log(after) - math.log(before))
    gain = total * (math.log(other) - math.log(value)) + growth + (prior_then - prior_now)
    if luck < gain + (then - now) + correction:
        cross_to(k, second, value, other, theta, kappa)


@inline_kernel
def propose_crossing(
    k: int, kappa: Floats, deviation: float, rng: np.random.Generator
) -> tuple[float, float, float, float, float]:
    """Return m, x, a candidate x', z and z'."""
    second = 0.0  # m
    for j in range(kappa.shape[0]):
        if j != k:
            second = max(second, kappa[j])
    value = kappa[k] / second
    place = value if value <= 1.0 else 2.0 - second
    other_place = 2.0 * sample_truncated_normal(0.5 * place, 0.5 * deviation, rng)
    other = other_place if other_place <= 1.0 else 1.0 / (2.0 - other_place)
    return second, value, other, place, other_place


@inline_kernel
def cross_to(
    k: int, second: float, value: float, other: float, theta: Floats, kappa: Floats
) -> None:
    """Replace x by x'. If either is above 1, θ and the other κ change too."""
    kappa[k] = min(other, 1.0)
    if value > 1.0 or other > 1.0:
        after = max(other, 1.0)
        for j in range(kappa.shape[0]):
            if j != k:
                kappa[j] = kappa[j] / second / after
        for i in range(theta.shape[0]):
            theta[i] = theta[i] * second * after
