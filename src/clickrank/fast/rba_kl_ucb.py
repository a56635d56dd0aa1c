"""RBA-KL-UCB, fast: solves the KL equation only for arms that may have the largest index.

These are the last choices, and the few other arms whose tangent bound reaches the largest index; a
round takes O(n_items · n_positions) comparisons otherwise.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import inline_kernel, lean_kernel
from clickrank._core.arrays import Ints
from clickrank.fast._shared.kl_index_cache import (
    NEVER,
    KLIndices,
    bound,
    forget,
    index_over_positions,
    no_indices,
)
from clickrank.numerics.kl_bounds import SLACK
from clickrank.policies.contract import Request
from clickrank.policies.rba_kl_ucb import RBAKLUCB, Params, State
from clickrank.policies.registration import register_fast


class Cache(NamedTuple):
    """The known indices."""

    indices: KLIndices  # (n_arms,), when last computed
    taken_buffer: Ints  # (n_items,), 1 for the items of the list so far, else 0


def build(params: Params, state: State) -> Cache:
    """Return a cache without any index."""
    return Cache(
        indices=no_indices(state.clicks.shape[0]),
        taken_buffer=np.zeros(params.n_items, dtype=np.int64),
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
    """Let each bandit choose, and show a random item if its choice is shown above."""
    log_t = math.log(state.rounds[0] + 1.0)
    delta = log_t
    if params.loglog > 0.0 and log_t > 1.0:
        delta += params.loglog * math.log(log_t)
    taken = cache.taken_buffer
    n_items = taken.shape[0]
    for item in range(n_items):
        taken[item] = 0
    for position in range(ranking.shape[0]):
        choice = _choose(params, state, cache, position, delta, rng)
        memo[position] = choice
        if taken[choice] == 1:
            skip = int(rng.random() * (n_items - position))
            choice = -1
            while skip >= 0:
                choice += 1
                skip -= 1 - taken[choice]
        taken[choice] = 1
        ranking[position] = choice


@lean_kernel
def _choose(
    params: Params,
    state: State,
    cache: Cache,
    position: int,
    delta: float,
    rng: np.random.Generator,
) -> int:
    """Return the item with the largest index among the arms of one bandit, ties at random."""
    indices = cache.indices
    n_arms = indices.value.shape[0]
    n_positions = n_arms // params.n_items
    needed = -math.inf
    for arm in range(position, n_arms, n_positions):
        if indices.delta[arm] == NEVER:
            _index(params, state, cache, arm, delta)
        # Indices only grow with δ: an old one is a lower bound, except for rounding errors.
        needed = max(needed, indices.value[arm] - SLACK)
    choice = -1
    best = -math.inf
    ties = 0
    for arm in range(position, n_arms, n_positions):
        if bound(indices, arm, delta) >= needed:
            value = _index(params, state, cache, arm, delta)
            if value > best:
                best = value
                choice = arm // n_positions
                ties = 1
            elif value == best:
                ties += 1
    if ties > 1:
        skip = int(rng.random() * ties)
        while skip > 0:
            choice += 1
            if bound(indices, choice * n_positions + position, delta) == best:
                skip -= 1
    return choice


@inline_kernel
def _index(params: Params, state: State, cache: Cache, arm: int, delta: float) -> float:
    counts = state.clicks, state.misses
    return index_over_positions(cache.indices, *counts, params.certain, arm, delta)


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Reward each bandit with the click on its choice, and forget the arm's index."""
    state.rounds[0] += 1
    n_positions = ranking.shape[0]
    for position in range(n_positions):
        arm = memo[position] * n_positions + position
        reward = clicks[position] if memo[position] == ranking[position] else 0
        state.clicks[arm, 0] += reward
        state.misses[arm, 0] += 1 - reward
        forget(cache.indices, arm)


register_fast(RBAKLUCB, State, Cache, build, rank, update, lean=True)
