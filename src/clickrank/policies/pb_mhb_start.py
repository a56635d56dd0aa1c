"""Where the particle of PB-MHB starts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clickrank._jit import lean_kernel
from clickrank.numerics.pbm_likelihood import PRIOR
from clickrank.policies.proposals import draw_beta
from clickrank.policies.walk import EDGE, inside, maximum


@lean_kernel
def start(params: Any, state: Any, rng: np.random.Generator) -> None:
    """Write a new particle: at the maximum of the posterior, or drawn from the prior."""
    theta, kappa = state.attraction, state.examination
    n_items, n_positions = state.miss_logs.shape
    if params.random_start == 0 and state.rounds[0] > 0:
        buffers = state.room, state.miss_logs, state.system_buffer
        maximum(state.clicks, state.misses, theta, kappa, *buffers)
        if params.largest == 0:
            first = kappa[0]
            kappa[0] = 1.0
            for k in range(1, n_positions):
                kappa[k] = min(kappa[k] / first, 1.0 - EDGE)
            for i in range(n_items):
                theta[i] = max(theta[i] * first, EDGE)
        for i in range(n_items):
            if params.prior_clicks[i] + params.prior_misses[i] > 0:
                theta[i] = _mode(params, state, i)
            elif _views(state, i) == 0:  # everywhere is the maximum
                theta[i] = inside(rng)
    else:
        for i in range(n_items):
            wins, losses = params.prior_clicks[i], params.prior_misses[i]
            x = 0.0
            while params.random_start == 0 and wins + losses > 0 and not 0.0 < x < 1.0:
                x = draw_beta(1.0 + wins, 1.0 + losses, rng)
            theta[i] = x if x > 0.0 else inside(rng)
        # Uniform draws divided by the largest: each is as likely to be it, the others are uniform.
        largest = 1.0
        kappa[0] = 1.0
        if params.largest == 1:
            kappa[0] = largest = inside(rng)
        for k in range(1, n_positions):
            kappa[k] = inside(rng)
            if params.largest == 1:
                largest = max(largest, kappa[k])
        for k in range(n_positions):
            kappa[k] /= largest
    for i in range(n_items):
        for k in range(n_positions):
            state.miss_logs[i, k] = math.log(1.0 - theta[i] * kappa[k])
    state.started[0] = 1


@lean_kernel
def _views(state: Any, item: int) -> int:
    views = 0
    for k in range(state.misses.shape[1]):
        views += state.clicks[item, k] + state.misses[item, k]
    return views


@lean_kernel
def _mode(params: Any, state: Any, item: int) -> float:
    """Return where the posterior of θ_i given κ is largest, by bisection of its slope's sign."""
    kappa = state.examination
    n_positions = kappa.shape[0]
    clicks = params.prior_clicks[item] + state.item_clicks[item] + n_positions * PRIOR
    low, high = 0.0, 1.0
    for _ in range(40):
        x = 0.5 * (low + high)
        slope = clicks / x - params.prior_misses[item] / (1.0 - x)
        for k in range(n_positions):
            slope -= (state.misses[item, k] + PRIOR) * kappa[k] / (1.0 - x * kappa[k])
        if slope > 0.0:
            low = x
        else:
            high = x
    return min(max(low, EDGE), 1.0 - EDGE)
