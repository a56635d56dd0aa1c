"""A step of a walk after which another position may be the one looked at most."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clickrank._jit import inline_kernel
from clickrank.numerics.truncated_normal import log_mass_ratio, sample_truncated_normal
from clickrank.policies.proposals import needed


@inline_kernel
def cross(k: int, deviation: float, params: Any, state: Any, rng: np.random.Generator) -> None:
    """Move κ_k, where the largest κ is 1 and the posterior is uniform in θ and the other κ.

    What the data say depends on the products θ_i κ_l alone, and those at the other positions stay.
    With m the largest κ of the others, let x = κ_k / m, which may exceed 1, and θ'_i = θ_i m. Then
    κ_k is x if x ≤ 1. Otherwise κ_k is 1, all θ' have to be multiplied by x and the other κ / m
    divided by it: as many coordinates as there are items grow, and all positions but k and the
    largest of the others, which is 1/x itself, shrink. So x > 1 has the density
    x^(n_items - (n_positions - 2)) in 1/x. The step is a truncated Gaussian one from z to z' in
    (0, 2), where z = x up to 1 and z = 2 - 1/x beyond.
    """
    theta, kappa = state.attraction, state.examination
    misses, logs = state.misses, state.miss_logs
    n_items, n_positions = logs.shape
    second = 0.0  # m
    for j in range(n_positions):
        if j != k:
            second = max(second, kappa[j])
    value = kappa[k] / second
    place = value if value <= 1.0 else 2.0 - second
    other_place = 2.0 * sample_truncated_normal(0.5 * place, 0.5 * deviation, rng)
    other = other_place if other_place <= 1.0 else 1.0 / (2.0 - other_place)
    before, after = max(value, 1.0), max(other, 1.0)

    now, missed, weighted = 0.0, 0, 0.0
    power = float(n_items - n_positions + 2)
    prior_now = 0.0
    for i in range(n_items):
        now += misses[i, k] * logs[i, k]
        missed += misses[i, k]
        weighted += misses[i, k] * theta[i] * second
        power += params.prior_clicks[i]
        if params.prior_misses[i] > 0:
            prior_now += params.prior_misses[i] * math.log(1.0 - theta[i])
    growth = power * (math.log(after) - math.log(before))
    total = state.position_clicks[k]
    # The ratio of the truncated masses is at most 2.
    most = growth - prior_now + math.log(2.0)
    least = needed(value, other, total, now, missed, weighted, most, rng)
    if least > 0.0:
        return
    then, prior_then = 0.0, 0.0
    for i in range(n_items):
        miss = 1.0 - theta[i] * second * other
        largest = 1.0 - theta[i] * second * after
        if miss <= 0.0 or largest <= 0.0:
            return
        then += misses[i, k] * math.log(miss)
        if params.prior_misses[i] > 0:
            prior_then += params.prior_misses[i] * math.log(largest)
    correction = log_mass_ratio(0.5 * place, 0.5 * other_place, 0.5 * deviation)
    gain = total * (math.log(other) - math.log(value)) + growth + (prior_then - prior_now)
    if least >= gain + (then - now) + correction:
        return
    kappa[k] = min(other, 1.0)
    first, last = k, k + 1  # the positions whose logarithms change
    if before > 1.0 or after > 1.0:
        first, last = 0, n_positions
        for j in range(n_positions):
            if j != k:
                kappa[j] = kappa[j] / second / after
        for i in range(n_items):
            theta[i] = theta[i] * second * after
    for i in range(n_items):
        for j in range(first, last):
            logs[i, j] = math.log(1.0 - theta[i] * kappa[j])
