"""S-GRAB, fast: stores the leader while no other list can lead, and computes few indices.

A round compares γ neighbours; the rest is as in fast GRAB.
"""

from __future__ import annotations

import numpy as np

from clickrank._compile.jit import lean_kernel
from clickrank._core.arrays import Ints
from clickrank.fast._shared.unimodal import Cache, build, count_round, find_leader, play_best
from clickrank.numerics.count_table import count_of
from clickrank.numerics.kl_bounds import exploration_budget
from clickrank.policies._shared.unimodal import hash_of_list, is_due
from clickrank.policies.contract import Request
from clickrank.policies.registration import register_fast
from clickrank.policies.s_grab import SGRAB, Params, State
from clickrank.rankings.selection import copy


def rank(
    params: Params,
    state: State,
    cache: Cache,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Show the leader in every (γ + 1)-th of its rounds, else the best list next to it."""
    find_leader(cache, rng)
    copy(cache.best, memo)
    rounds_led = count_of(state.keys, state.times, hash_of_list(cache.best, cache.labels))
    if is_due(cache.lists_since_feedback, rounds_led, params.degree + 1):
        copy(cache.best, ranking)
        return
    _list_neighbours(cache)
    play_best(state, cache, params.degree, exploration_budget(rounds_led + 1.0), rng, ranking)


@lean_kernel
def _list_neighbours(cache: Cache) -> None:
    n_items, n_positions = cache.mean.shape
    size = 0
    used = cache.int_buffer[0]
    for item in range(n_items):
        used[item] = 0
    for position in range(n_positions):
        used[cache.best[position]] = 1
        for other in range(position):
            cache.neighbours_buffer[size, 0] = position
            cache.neighbours_buffer[size, 1] = -1 - other
            size += 1
    for item in range(n_items):
        if used[item] == 0:
            for position in range(n_positions):
                cache.neighbours_buffer[size, 0] = position
                cache.neighbours_buffer[size, 1] = item
                size += 1


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count the round, and by how much another list may have come closer to the leader."""
    count_round(state, cache, ranking, memo, clicks)


register_fast(SGRAB, State, Cache, build, rank, update, lean=True)
