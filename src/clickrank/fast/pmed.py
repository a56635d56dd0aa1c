"""PMED, fast: each fit starts at the last estimates, and takes two or three Newton steps.

Estimates are rounded, so that they do not depend on where the fit starts. All buffers are reused.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import interpreted, lean_kernel
from clickrank._core.arrays import Floats, IntParticle, Ints
from clickrank.numerics.doubly_stochastic import birkhoff, fill_up
from clickrank.numerics.exploration_program import solve_program
from clickrank.numerics.exploration_rivals import Workspace, workspace
from clickrank.numerics.pbm_likelihood import PBMCells, table_cells
from clickrank.numerics.pbm_maximum import NewtonBuffers, PBMEstimates, fit_table, newton_buffers
from clickrank.policies.contract import Request
from clickrank.policies.pmed import (
    CLOSEST,
    MOST_ROUNDS,
    PMED,
    TOLERANCE,
    Params,
    State,
    empty_queue,
    is_doubtful,
    next_plan,
    rounds_of,
)
from clickrank.policies.registration import register_fast
from clickrank.rankings.selection import top_k


class Cache(NamedTuple):
    """The queue, and the last estimates."""

    size: IntParticle  # (1,), number of lists in the queue
    queue: IntParticle  # (lists, n_positions), L_C
    log_theta: Floats  # (n_items,), x rounded; sorted, for the plan
    log_kappa: Floats  # (n_positions,), y rounded; sorted, for the plan
    rounds: Ints  # (1,), t - 1
    next_plan: Ints  # (1,), the number of rounds at which the next plan is made
    fitted: Ints  # (1,), 1 if x and y hold an estimate to start from
    x: Floats  # (n_items,), log θ̂
    y: Floats  # (n_positions,), log κ̂
    order_buffer: Ints  # (n_items,), items, best first
    places_buffer: Ints  # (n_positions,), positions, most examined first
    covered_buffer: Ints  # (n_items, n_positions), 1 for pairs of item and position in the queue
    unused_buffer: Floats  # (n_items, n_positions), views not yet used to satisfy the plan
    matrix_buffer: Floats  # (n_items, n_items), amounts, with columns for items not shown
    permutations_buffer: Ints  # (lists, n_items), the permutations that add up to the matrix
    matching_buffer: Ints  # (4, n_items), for `birkhoff`
    program_buffer: Workspace  # for `solve_program`
    cells_buffer: PBMCells  # for `fit_table`
    newton_buffer: NewtonBuffers  # for `fit_table`


def build(params: Params, state: State) -> Cache:
    """Return a cache without lists and estimates."""
    n_items, n_positions = state.clicks.shape
    with interpreted():
        rounds = rounds_of(state)
        later = next_plan(params, n_items, rounds)
    return Cache(
        **empty_queue(params, state)._asdict(),
        log_theta=np.zeros(n_items),
        log_kappa=np.zeros(n_positions),
        rounds=np.full(1, rounds, dtype=np.int64),
        next_plan=np.full(1, later, dtype=np.int64),
        fitted=np.zeros(1, dtype=np.int64),
        x=np.zeros(n_items),
        y=np.zeros(n_positions),
        order_buffer=np.zeros(n_items, dtype=np.int64),
        places_buffer=np.zeros(n_positions, dtype=np.int64),
        covered_buffer=np.zeros((n_items, n_positions), dtype=np.int64),
        unused_buffer=np.zeros((n_items, n_positions)),
        matrix_buffer=np.zeros((n_items, n_items)),
        permutations_buffer=np.zeros((state.weights.size, n_items), dtype=np.int64),
        matching_buffer=np.zeros((4, n_items), dtype=np.int64),
        program_buffer=workspace(n_items, n_positions),
        cells_buffer=table_cells(n_items, n_positions),
        newton_buffer=newton_buffers(n_items, n_positions, n_items * n_positions),
    )


def rank(
    params: Params,
    state: State,
    cache: Cache,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Show any list of the queue; when it is empty, fill it first."""
    if cache.size[0] == 0:
        _fill_queue(params, state, cache, rng)
    last = cache.size[0] - 1
    chosen = int(rng.random() * (last + 1)) if last > 0 else 0
    for position in range(ranking.shape[0]):
        ranking[position] = cache.queue[chosen, position]
        cache.queue[chosen, position] = cache.queue[last, position]
    cache.size[0] = last


@lean_kernel
def _fill_queue(params: Params, state: State, cache: Cache, rng: np.random.Generator) -> None:
    """Write the lists to show next: the best one, and those that were shown too rarely."""
    n_items, n_positions = state.clicks.shape
    log_t = math.log(cache.rounds[0] + 1.0)
    _estimate(state, cache)
    top_k(cache.log_theta, rng, cache.order_buffer)
    top_k(cache.log_kappa, rng, cache.places_buffer)

    for i in range(n_items):
        for k in range(n_positions):
            cache.covered_buffer[i, k] = 0
    for k in range(n_positions):
        cache.queue[0, cache.places_buffer[k]] = cache.order_buffer[k]
        cache.covered_buffer[cache.order_buffer[k], cache.places_buffer[k]] = 1
    cache.size[0] = 1
    least = params.alpha * math.sqrt(log_t)
    everything = state.weights[0] < 0.0
    if params.hinge:
        everything |= _is_doubtful(params, state, cache, log_t)
    for first in range(n_items):
        needed = everything
        for k in range(n_positions):
            item = (first + k) % n_items
            views = state.clicks[item, k] + state.misses[item, k]
            needed = needed or views == 0 or views < least
        if needed:
            for k in range(n_positions):
                item = (first + k) % n_items
                cache.queue[cache.size[0], k] = item
                cache.covered_buffer[item, k] = 1
            cache.size[0] += 1
    _add_plan(state, cache, log_t)


@lean_kernel
def _is_doubtful(params: Params, state: State, cache: Cache, log_t: float) -> bool:
    estimates = PBMEstimates(cache.x, cache.y, cache.log_theta, cache.log_kappa)
    return is_doubtful(params, state, estimates, log_t)


@lean_kernel
def _estimate(state: State, cache: Cache) -> None:
    """Write log θ̂ and log κ̂ of the counts."""
    fit_table(
        state.clicks,
        state.misses,
        cache.fitted,
        PBMEstimates(cache.x, cache.y, cache.log_theta, cache.log_kappa),
        cache.cells_buffer,
        cache.newton_buffer,
    )


@lean_kernel
def _add_plan(state: State, cache: Cache, log_t: float) -> None:
    """Add the lists of the plan that were shown too rarely and have a pair that is not queued."""
    n_items, n_positions = state.clicks.shape
    for i in range(n_items):
        for k in range(n_positions):
            cache.unused_buffer[i, k] = state.clicks[i, k] + state.misses[i, k]
    for s in range(state.weights.shape[0]):
        if state.weights[s] <= 0.0:
            break
        asked = state.weights[s] * log_t
        had = math.inf
        new = False
        for k in range(n_positions):
            if state.lists[s, k] != k:
                item, position = cache.order_buffer[state.lists[s, k]], cache.places_buffer[k]
                had = min(had, cache.unused_buffer[item, position])
                new = new or cache.covered_buffer[item, position] == 0
        used = min(asked, had)
        for k in range(n_positions):
            cache.unused_buffer[cache.order_buffer[state.lists[s, k]], cache.places_buffer[k]] -= (
                used
            )
        if had < asked and new:
            for k in range(n_positions):
                item, position = cache.order_buffer[state.lists[s, k]], cache.places_buffer[k]
                cache.queue[cache.size[0], position] = item
                cache.covered_buffer[item, position] = 1
            cache.size[0] += 1


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks and misses, and make another plan if it is due."""
    cache.rounds[0] += 1
    for position in range(ranking.shape[0]):
        item = ranking[position]
        state.clicks[item, position] += clicks[position]
        state.misses[item, position] += 1 - clicks[position]
    if cache.rounds[0] >= cache.next_plan[0]:
        _plan(state, cache)
        cache.next_plan[0] = next_plan(params, state.clicks.shape[0], cache.rounds[0])


@lean_kernel
def _plan(state: State, cache: Cache) -> None:
    """Solve the program for the estimates, and store its amounts as lists with weights."""
    n_items, n_positions = state.clicks.shape
    _estimate(state, cache)
    _sort_down(cache.log_theta)
    _sort_down(cache.log_kappa)
    apart = max(1.0 / math.sqrt(cache.rounds[0] + 1.0), CLOSEST)
    for i in range(1, n_items):
        before = min(i - 1, n_positions - 1)
        cache.log_theta[i] = min(cache.log_theta[i], cache.log_theta[before] - apart)
    for k in range(1, n_positions):
        cache.log_kappa[k] = min(cache.log_kappa[k], cache.log_kappa[k - 1] - apart)
    # Rounding may have made the largest probability 1.
    excess = cache.log_theta[0] + cache.log_kappa[0] + 1e-6
    if excess > 0.0:
        for i in range(n_items):
            cache.log_theta[i] -= excess
    _, cost = solve_program(
        cache.program_buffer, cache.log_theta, cache.log_kappa, TOLERANCE, MOST_ROUNDS
    )
    for s in range(state.weights.shape[0]):
        state.weights[s] = 0.0
        for k in range(n_positions):
            state.lists[s, k] = 0
    if cost == math.inf:
        state.weights[0] = -1.0
        return
    fill_up(cache.program_buffer.amounts, cache.matrix_buffer)
    found = birkhoff(
        cache.matrix_buffer, cache.permutations_buffer, state.weights, cache.matching_buffer
    )
    for s in range(found):
        for k in range(n_positions):
            state.lists[s, k] = cache.permutations_buffer[s, k]


@lean_kernel
def _sort_down(values: Floats) -> None:
    """Sort in place, largest first."""
    for i in range(1, values.shape[0]):
        value = values[i]
        place = i
        while place > 0 and values[place - 1] < value:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value


register_fast(PMED, State, Cache, build, rank, update, lean=True)
