"""Start of a particle: at a draw from the prior, or at the maximum of the likelihood.

A particle that starts in the middle of learning, in a new process, would take thousands of rounds
from a random place. It starts at the maximum of the likelihood Π_ik (θ_i κ_k)^{S_ik} (1 - θ_i
κ_k)^{F_ik}, in which each item has `PRIOR` further clicks and misses at each position, so that
there is a maximum. For an item that was never shown the likelihood is flat, and its θ is drawn.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clickrank._compile.jit import array_kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.gamma_draws import sample_beta
from clickrank.numerics.pbm_likelihood import load_cells, new_table_cells
from clickrank.numerics.pbm_maximum import (
    PRIOR,
    maximise_likelihood,
    new_newton_buffers,
    start_likelihood,
)
from clickrank.policies._shared.particle import Particle

#: How close to 0 and 1 a particle may start.
EDGE = 1e-9


@array_kernel
def start_metropolis(params: Any, state: Any, particle: Particle, rng: np.random.Generator) -> None:
    """Start the particle of PB-MHB, in which the largest κ, or else the first, is 1."""
    theta, kappa = particle.attraction, particle.examination
    if params.random_start == 0 and state.rounds[0] > 0:
        _maximise_posterior(params, state, theta, kappa, rng)
    else:
        for i in range(theta.shape[0]):
            theta[i] = _draw_prior(params, i, rng)
        # Uniform draws divided by their maximum: each may be the largest, the others are uniform.
        kappa[0] = 1.0 if params.largest == 0 else _open_uniform(rng)
        for k in range(1, kappa.shape[0]):
            kappa[k] = _open_uniform(rng)
        if params.largest == 1:
            kappa[:] /= kappa.max()
    particle.started[0] = 1


@lean_kernel
def _draw_prior(params: Any, item: int, rng: np.random.Generator) -> float:
    """Draw θ_i from its prior, or uniformly if the walk starts at random in each round."""
    wins, losses = params.prior_clicks[item], params.prior_misses[item]
    if params.random_start == 1 or wins + losses == 0:
        return _open_uniform(rng)
    x = 0.0
    while not 0.0 < x < 1.0:
        x = sample_beta(1.0 + wins, 1.0 + losses, rng)
    return x


@array_kernel
def _maximise_posterior(
    params: Any, state: Any, theta: Floats, kappa: Floats, rng: np.random.Generator
) -> None:
    """Write the θ and κ with the largest likelihood.

    An item with a prior gets the θ of its largest posterior density given κ.
    """
    _maximise_likelihood(state.clicks, state.misses, theta, kappa)
    if params.largest == 0:
        first = kappa[0]
        kappa[0] = 1.0
        for k in range(1, kappa.shape[0]):
            kappa[k] = min(kappa[k] / first, 1.0 - EDGE)
        for i in range(theta.shape[0]):
            theta[i] = max(theta[i] * first, EDGE)
    for i in range(theta.shape[0]):
        if params.prior_clicks[i] + params.prior_misses[i] > 0:
            theta[i] = _mode(params, state, i, kappa)
        elif state.clicks[i].sum() + state.misses[i].sum() == 0:
            theta[i] = _open_uniform(rng)


@lean_kernel
def _mode(params: Any, state: Any, item: int, kappa: Floats) -> float:
    """Return the mode of the posterior of θ_i given κ, by bisection on the sign of its slope."""
    n_positions = kappa.shape[0]
    clicks = params.prior_clicks[item] + state.clicks[item].sum() + n_positions * PRIOR
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
    return _inside(low)


@array_kernel
def start_langevin(state: Any, particle: Particle, rng: np.random.Generator) -> None:
    """Start the particle of PB-LB, whose κ are all free: uniform before the first round."""
    theta, kappa = particle.attraction, particle.examination
    if state.rounds[0] == 0:
        for i in range(theta.shape[0]):
            theta[i] = _inside(rng.random())
        for k in range(kappa.shape[0]):
            kappa[k] = _inside(rng.random())
    else:
        _share_maximum(state, theta, kappa, rng)
    particle.started[0] = 1


@array_kernel
def _share_maximum(state: Any, theta: Floats, kappa: Floats, rng: np.random.Generator) -> None:
    """Write the maximum in which θ and κ have the same largest value."""
    n_items, n_positions = state.misses.shape
    clicks = np.empty((n_items, n_positions))  # any matrix with these sums
    total = max(1, state.position_clicks.sum())
    for i in range(n_items):
        for k in range(n_positions):
            clicks[i, k] = state.item_clicks[i] * (state.position_clicks[k] / total)
    _maximise_likelihood(clicks, state.misses, theta, kappa)
    largest = 0.0
    for i in range(n_items):
        if state.item_clicks[i] + state.misses[i].sum() > 0:
            largest = max(largest, theta[i])
    scale = math.sqrt(largest)  # the largest κ is 1
    for i in range(n_items):
        shown = state.item_clicks[i] + state.misses[i].sum() > 0
        theta[i] = _inside(theta[i] / scale if shown else rng.random())
    for k in range(n_positions):
        kappa[k] = _inside(kappa[k] * scale)


@array_kernel
def _maximise_likelihood(clicks: Ints | Floats, misses: Ints, theta: Floats, kappa: Floats) -> None:
    """Write the θ and κ with the largest likelihood, scaled to a largest κ of 1."""
    n_items, n_positions = misses.shape
    cells = new_table_cells(n_items, n_positions)
    load_cells(clicks, misses, PRIOR, cells)
    start_likelihood(cells, theta, kappa)
    buffers = new_newton_buffers(n_items, n_positions, n_items * n_positions)
    maximise_likelihood(cells, 0.0, 0.0, theta, kappa, buffers)
    largest = kappa[0]
    for k in range(1, n_positions):
        largest = max(largest, kappa[k])
    for i in range(n_items):
        theta[i] = _inside(math.exp(theta[i] + largest))
    for k in range(n_positions):
        kappa[k] = math.exp(kappa[k] - largest)


@lean_kernel
def _open_uniform(rng: np.random.Generator) -> float:
    """Draw a uniform number above 0 and below 1."""
    while True:
        x = rng.random()
        if x > 0.0:
            return x


@lean_kernel
def _inside(x: float) -> float:
    """Return the nearest number between 0 and 1 that keeps a distance from both."""
    return min(max(x, EDGE), 1.0 - EDGE)
