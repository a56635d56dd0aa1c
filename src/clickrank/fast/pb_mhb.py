"""PB-MHB, fast: a bound refuses most candidates, and logarithms are stored.

The posterior of a candidate x' takes one logarithm per miss count. By Jensen's inequality it is at
most S log x' + F log(1 - x' Σ_j F_j w_j / F), F = Σ_j F_j, and most candidates are so bad that this
bound refuses them. The logarithms of the present particle are kept from round to round.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import array_kernel, inline_kernel, lean_kernel
from clickrank._core.arrays import FloatParticle, Floats, IntParticle, Ints
from clickrank.numerics.truncated_normal import log_mass_ratio, sample_truncated_normal
from clickrank.policies._shared.crossing import cross_to, propose_crossing
from clickrank.policies._shared.metropolis_hastings import TRUNCATED, propose
from clickrank.policies._shared.particle import Particle, no_particle
from clickrank.policies._shared.particle_start import start_metropolis
from clickrank.policies.contract import Request
from clickrank.policies.pb_mhb import PBMHB, Params, State
from clickrank.policies.registration import register_fast

_LOG_2 = math.log(2.0)
# Uniform numbers in (0, 1] have 53 bits: the logarithm of the smallest is -36.74.
_LEAST_LOG = -36.75
# More than the rounding error of the difference between two sums of logarithms.
_SLACK = 1e-9


class Cache(NamedTuple):
    """The particle, its logarithms, and sums of clicks."""

    started: IntParticle  # (1,), 1 if there is a particle, else 0
    attraction: FloatParticle  # (n_items,), θ
    examination: FloatParticle  # (n_positions,), κ
    logs_known: Ints  # (1,), 1 if miss_logs match the particle, else 0
    miss_logs: Floats  # (n_items, n_positions), log(1 - θ_i κ_k)
    item_clicks: Ints  # (n_items,), S_i = Σ_k S_ik
    position_clicks: Ints  # (n_positions,), S_k = Σ_i S_ik
    logs_buffer: Floats  # (n_items,), the logarithms for a candidate


def build(params: Params, state: State) -> Cache:
    """Sum the clicks; the logarithms are computed when there is a particle."""
    return Cache(
        *no_particle(params, state),
        logs_known=np.zeros(1, dtype=np.int64),
        miss_logs=np.zeros(state.misses.shape),
        item_clicks=state.clicks.sum(axis=1),
        position_clicks=state.clicks.sum(axis=0),
        logs_buffer=np.zeros(state.misses.shape[0]),
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
    """Move the particle by m steps, and write its θ and κ."""
    theta, kappa = cache.attraction, cache.examination
    if cache.logs_known[0] == 0 or cache.started[0] == 0 or params.random_start == 1:
        _begin(params, state, cache, rng)
    deviation = params.width / math.sqrt(state.rounds[0] + 1.0)
    for _ in range(params.steps):
        _step(params, deviation, state, cache, rng)
    for i in range(theta.shape[0]):
        items[i] = theta[i]
    for k in range(kappa.shape[0]):
        positions[k] = kappa[k]


@array_kernel
def _begin(params: Params, state: State, cache: Cache, rng: np.random.Generator) -> None:
    """Start a particle if there is none, and compute its logarithms."""
    theta, kappa = cache.attraction, cache.examination
    if cache.started[0] == 0 or params.random_start == 1:
        start_metropolis(params, state, Particle(cache.started, theta, kappa), rng)
    for i in range(theta.shape[0]):
        for k in range(kappa.shape[0]):
            cache.miss_logs[i, k] = math.log(1.0 - theta[i] * kappa[k])
    cache.logs_known[0] = 1


@inline_kernel
def _step(
    params: Params, deviation: float, state: State, cache: Cache, rng: np.random.Generator
) -> None:
    """Move each θ_i once, and then each κ_k except the one that is fixed at 1."""
    theta, kappa, logs = cache.attraction, cache.examination, cache.miss_logs
    clicks, misses = state.clicks, state.misses
    # A bound of the correction of the truncated Gaussian, which is itself needed for few
    # candidates: a mean at the edge loses half of the mass, and the logarithm of the mass has a
    # slope of at most 1/2 in μ/σ², as the mean of the truncated distribution is between μ and 1/2.
    most = min(_LOG_2, 0.5 / (deviation * deviation))
    for i in range(theta.shape[0]):
        prior = params.prior_clicks[i], params.prior_misses[i]
        total = cache.item_clicks[i] + prior[0]
        theta[i] = _move(
            params, theta[i], total, clicks[i], misses[i], logs[i], kappa, prior, deviation, most,
            cache.logs_buffer, rng,
        )  # fmt: skip
    crossing = -1
    if params.largest == 1 and kappa.shape[0] > 1:
        crossing = int(rng.random() * kappa.shape[0])
    for k in range(kappa.shape[0]):
        if k == crossing:
            _cross(k, deviation, params, state, cache, rng)
        elif kappa[k] < 1.0:
            total = cache.position_clicks[k]
            kappa[k] = _move(
                params, kappa[k], total, clicks[:, k], misses[:, k], logs[:, k], theta, (0, 0),
                deviation, most, cache.logs_buffer, rng,
            )  # fmt: skip


@inline_kernel
def _move(
    params: Params,
    x: float,
    total: int,
    clicks: Ints,
    misses: Ints,
    logs: Floats,
    weights: Floats,
    prior: tuple[int, int],
    deviation: float,
    most: float,
    logs_buffer: Floats,
    rng: np.random.Generator,
) -> float:
    """Return x or, if it is accepted, a candidate; then ``logs`` become log(1 - x' w_j).

    ``total`` counts all clicks, including those of the prior.
    """
    now, missed, weighted = 0.0, prior[1], float(prior[1])
    if prior[1] > 0:
        now = prior[1] * math.log(1.0 - x)
    for j in range(weights.shape[0]):
        now += misses[j] * logs[j]
        missed += misses[j]
        weighted += misses[j] * weights[j]
    if params.proposal == TRUNCATED:
        other = sample_truncated_normal(x, deviation, rng)
        correction = most
    else:
        other, correction = propose(
            params.proposal, x, clicks, misses, weights, prior, deviation, rng
        )
    luck = _luck_needed(x, other, total, now, missed, weighted, correction, rng)
    if luck > 0.0:
        return x
    if params.proposal == TRUNCATED:
        correction = log_mass_ratio(x, other, deviation)
    then = prior[1] * math.log(1.0 - other) if prior[1] > 0 else 0.0
    for j in range(weights.shape[0]):
        logs_buffer[j] = math.log(1.0 - other * weights[j])
        then += misses[j] * logs_buffer[j]
    gain = total * (math.log(other) - math.log(x)) + (then - now)
    if luck >= gain + correction:
        return x
    for j in range(weights.shape[0]):
        logs[j] = logs_buffer[j]
    return other


@lean_kernel
def _luck_needed(
    x: float,
    other: float,
    total: int,
    now: float,
    missed: int,
    weighted: float,
    correction: float,
    rng: np.random.Generator,
) -> float:
    """Return the threshold for the logarithm of the acceptance ratio; infinity if unreachable.

    A candidate of 0 is refused. ``now`` is Σ_j F_j log(1 - x w_j), ``missed`` is F = Σ_j F_j and
    ``weighted`` is Σ_j F_j w_j. By Jensen's inequality,
    Σ_j F_j log(1 - x' w_j) ≤ F log(1 - x' Σ_j F_j w_j / F).
    """
    if other <= 0.0:
        return math.inf
    luck = 1.0 - rng.random()
    gain = total * math.log(other / x)
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


@inline_kernel
def _cross(
    k: int,
    deviation: float,
    params: Params,
    state: State,
    cache: Cache,
    rng: np.random.Generator,
) -> None:
    """Move κ_k as `cross` does, and update the stored logarithms."""
    theta, kappa, logs = cache.attraction, cache.examination, cache.miss_logs
    misses = state.misses
    n_items, n_positions = logs.shape
    second, value, other, place, other_place = propose_crossing(k, kappa, deviation, rng)
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
    total = cache.position_clicks[k]
    # The ratio of the truncated masses is at most 2.
    most = growth - prior_now + _LOG_2
    luck = _luck_needed(value, other, total, now, missed, weighted, most, rng)
    if luck > 0.0:
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
    if luck >= gain + (then - now) + correction:
        return
    cross_to(k, second, value, other, theta, kappa)
    crossed = value > 1.0 or other > 1.0
    for j in range(n_positions):
        if crossed or j == k:
            for i in range(n_items):
                logs[i, j] = math.log(1.0 - theta[i] * kappa[j])


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks and misses by item and position, and sum clicks."""
    state.rounds[0] += 1
    for position in range(ranking.shape[0]):
        item = ranking[position]
        click = clicks[position]
        state.clicks[item, position] += click
        state.misses[item, position] += 1 - click
        cache.item_clicks[item] += click
        cache.position_clicks[position] += click


register_fast(PBMHB, State, Cache, build, score=score, update=update, lean=True)
