"""PB-LB, fast: the gradient is computed for all items of a position at once.

A round divides once per item and position. The misses are stored by position, as numbers that are
divided without being converted, so that the processor divides for several items at a time. Each sum
has its terms in the order of the plain kernels.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import inline_kernel
from clickrank._core.arrays import FloatParticle, Floats, IntParticle, Ints
from clickrank.policies._shared.particle import Particle, no_particle
from clickrank.policies._shared.particle_start import EDGE, start_langevin
from clickrank.policies.contract import Request
from clickrank.policies.pb_lb import PBLB, Params, State, reflected
from clickrank.policies.registration import register_fast


class Cache(NamedTuple):
    """The particle, and the misses by position."""

    started: IntParticle  # (1,), 1 if there is a particle, else 0
    attraction: FloatParticle  # (n_items,), θ
    examination: FloatParticle  # (n_positions,), κ
    misses: Floats  # (n_positions, n_items), F_ik
    theta_buffer: Floats  # (n_items,), Σ_k F_ik κ_k / (1 - θ_i κ_k)
    kappa_buffer: Floats  # (n_positions,), Σ_i F_ik θ_i / (1 - θ_i κ_k)
    ratio_buffer: Floats  # (n_items,), F_ik θ_i / (1 - θ_i κ_k) of one position


def build(params: Params, state: State) -> Cache:
    """Store the misses by position."""
    n_items, n_positions = state.misses.shape
    return Cache(
        *no_particle(params, state),
        misses=np.ascontiguousarray(state.misses.T).astype(np.float64),
        theta_buffer=np.zeros(n_items),
        kappa_buffer=np.zeros(n_positions),
        ratio_buffer=np.zeros(n_items),
    )


def score(
    params: Params,
    state: State,
    cache: Cache,
    request: Request,
    rng: np.random.Generator,
    items: Floats,
    positions: Floats,
) -> None:
    """Move the particle by m steps, and write θ and κ with the final noise."""
    theta, kappa = cache.attraction, cache.examination
    if cache.started[0] == 0:
        start_langevin(state, Particle(cache.started, theta, kappa), rng)
    t = state.rounds[0] + 1.0
    for _ in range(params.steps):
        _step(params.step_size / t, state, cache, rng)
    noise = 1.0 / math.sqrt(t * params.precision)
    for i in range(items.shape[0]):
        items[i] = theta[i] + noise * rng.standard_normal()
    for k in range(positions.shape[0]):
        positions[k] = kappa[k] + noise * rng.standard_normal()


@inline_kernel
def _step(size: float, state: State, cache: Cache, rng: np.random.Generator) -> None:
    """Move θ and κ down the gradient of U, and add noise."""
    theta, kappa = cache.attraction, cache.examination
    spread = math.sqrt(2.0 * size)
    slopes, ratios = cache.theta_buffer, cache.ratio_buffer
    for i in range(theta.shape[0]):
        slopes[i] = 0.0
    for k in range(kappa.shape[0]):
        y = kappa[k]
        for i in range(theta.shape[0]):
            misses = cache.misses[k, i] / (1.0 - theta[i] * y)
            slopes[i] += misses * y
            ratios[i] = misses * theta[i]
        total = 0.0
        for i in range(theta.shape[0]):
            total += ratios[i]
        cache.kappa_buffer[k] = total
    for i in range(theta.shape[0]):
        slope = state.item_clicks[i] / theta[i] - slopes[i]
        theta[i] = _inside(theta[i] + size * slope + spread * rng.standard_normal())
    for k in range(kappa.shape[0]):
        slope = state.position_clicks[k] / kappa[k] - cache.kappa_buffer[k]
        kappa[k] = _inside(kappa[k] + size * slope + spread * rng.standard_normal())


@inline_kernel
def _inside(x: float) -> float:
    """Return what `reflected` does, which is x itself for most numbers."""
    return x if EDGE <= x <= 1.0 - EDGE else reflected(x)


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks by item and by position, and misses by both."""
    state.rounds[0] += 1
    for position in range(ranking.shape[0]):
        item, click = ranking[position], clicks[position]
        state.misses[item, position] += 1 - click
        cache.misses[position, item] += 1 - click
        state.item_clicks[item] += click
        state.position_clicks[position] += click


register_fast(PBLB, State, Cache, build, score=score, update=update, lean=True)
