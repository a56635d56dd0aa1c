"""PB-MHB, fast: most candidates are refused by a bound, and logarithms are kept.

The posterior of a candidate x' takes one logarithm for each miss count, but by Jensen's inequality
it is at most S log x' + F log(1 - x' Σ_j F_j w_j / F), F = Σ_j F_j, and most candidates are so bad
that this refuses them. The logarithms of the present particle are kept from round to round.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import array_kernel, inline_kernel, lean_kernel
from clickrank.numerics.truncated_normal import log_mass_ratio, sample_truncated_normal
from clickrank.policies._shared.particle import Particle, no_particle
from clickrank.policies._shared.proposals import TRUNCATED, propose
from clickrank.policies.contract import Request, register_fast
from clickrank.policies.pb_mhb import PBMHB, Params, State, start
from clickrank.types import FloatParticle, Floats, IntParticle, Ints

_LOG_2 = math.log(2.0)
# Uniform numbers in (0, 1] that have 53 bits: the logarithm of the smallest is -36.74.
_LEAST_LOG = -36.75
# Of two sums of logarithms, more than what rounding can do to them.
_SLACK = 1e-9


class Cache(NamedTuple):
    """The particle, its logarithms, and sums of clicks."""

    started: IntParticle  # (1,), 1 if there is a particle, else 0
    attraction: FloatParticle  # (n_items,), θ
    examination: FloatParticle  # (n_positions,), κ
    logs_known: Ints  # (1,), 1 if miss_logs are those of the particle, else 0
    miss_logs: Floats  # (n_items, n_positions), log(1 - θ_i κ_k)
    item_clicks: Ints  # (n_items,), S_i = Σ_k S_ik
    position_clicks: Ints  # (n_positions,), S_k = Σ_i S_ik
    logs_buffer: Floats  # (n_items,), such logarithms of a candidate


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
    """Let the particle take m steps, and write its θ and κ."""
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
        start(params, state, Particle(cache.started, theta, kappa), rng)
    for i in range(theta.shape[0]):
        for k in range(kappa.shape[0]):
            cache.miss_logs[i, k] = math.log(1.0 - theta[i] * kappa[k])
    cache.logs_known[0] = 1


@inline_kernel
def _step(
    params: Params, deviation: float, state: State, cache: Cache, rng: np.random.Generator
) -> None:
    """Move each θ_i and then each κ_k but that which is 1, once."""
    theta, kappa, logs = cache.attraction, cache.examination, cache.miss_logs
    clicks, misses = state.clicks, state.misses
    n_items, n_positions = logs.shape
    proposal = params.proposal
    # A bound of the truncated Gaussian's correction, which is needed itself for few candidates: a
    # mean at the edge loses half of the mass, and the logarithm of the mass has a slope of at most
    # 1/2 in μ/σ², as the mean of the truncated distribution is between μ and 1/2.
    most = min(_LOG_2, 0.5 / (deviation * deviation))
    for i in range(n_items):
        now, missed, weighted = 0.0, 0, 0.0
        more = params.prior_misses[i]
        if more > 0:
            now, missed, weighted = more * math.log(1.0 - theta[i]), more, float(more)
        for k in range(n_positions):
            now += misses[i, k] * logs[i, k]
            missed += misses[i, k]
            weighted += misses[i, k] * kappa[k]
        total = cache.item_clicks[i] + params.prior_clicks[i]
        other, correction = 0.0, most
        if proposal == TRUNCATED:
            other = sample_truncated_normal(theta[i], deviation, rng)
        else:
            other, correction = propose(
                proposal, theta[i], clicks[i], misses[i], kappa,
                params.prior_clicks[i], more, deviation, rng,
            )  # fmt: skip
        luck = _luck_needed(theta[i], other, total, now, missed, weighted, correction, rng)
        if luck <= 0.0:
            if proposal == TRUNCATED:
                correction = log_mass_ratio(theta[i], other, deviation)
            then = more * math.log(1.0 - other) if more > 0 else 0.0
            for k in range(n_positions):
                cache.logs_buffer[k] = math.log(1.0 - other * kappa[k])
                then += misses[i, k] * cache.logs_buffer[k]
            gain = total * (math.log(other) - math.log(theta[i])) + (then - now)
            if luck < gain + correction:
                theta[i] = other
                for k in range(n_positions):
                    logs[i, k] = cache.logs_buffer[k]
    crossing = -1
    if params.largest == 1 and n_positions > 1:
        crossing = int(rng.random() * n_positions)
    for k in range(n_positions):
        if k == crossing:
            _cross(k, deviation, params, state, cache, rng)
            continue
        if kappa[k] == 1.0:
            continue
        now, missed, weighted = 0.0, 0, 0.0
        for i in range(n_items):
            now += misses[i, k] * logs[i, k]
            missed += misses[i, k]
            weighted += misses[i, k] * theta[i]
        total = cache.position_clicks[k]
        other, correction = 0.0, most
        if proposal == TRUNCATED:
            other = sample_truncated_normal(kappa[k], deviation, rng)
        else:
            other, correction = propose(
                proposal, kappa[k], clicks[:, k], misses[:, k], theta, 0, 0, deviation, rng
            )
        luck = _luck_needed(kappa[k], other, total, now, missed, weighted, correction, rng)
        if luck <= 0.0:
            if proposal == TRUNCATED:
                correction = log_mass_ratio(kappa[k], other, deviation)
            then = 0.0
            for i in range(n_items):
                cache.logs_buffer[i] = math.log(1.0 - theta[i] * other)
                then += misses[i, k] * cache.logs_buffer[i]
            gain = total * (math.log(other) - math.log(kappa[k])) + (then - now)
            if luck < gain + correction:
                kappa[k] = other
                for i in range(n_items):
                    logs[i, k] = cache.logs_buffer[i]


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
    """Return what the logarithm of the acceptance ratio must exceed; infinity if it cannot.

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
    """Move κ_k over the largest of the others: see `clickrank.policies._shared.crossing`."""
    theta, kappa, logs = cache.attraction, cache.examination, cache.miss_logs
    misses = state.misses
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
