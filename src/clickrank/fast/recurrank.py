"""RecurRank, fast: computes the design of an interval when its phase begins, and stores it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import array_kernel, interpreted, lean_kernel
from clickrank._core.arrays import IntParticle, Ints
from clickrank.numerics.g_optimal import TOLERANCE, optimal_design_of, support_limit
from clickrank.policies._shared.fisher_yates import fill_at_random
from clickrank.policies._shared.position_intervals import interval
from clickrank.policies._shared.recurrank_items import PHASES, SALTS
from clickrank.policies.contract import Request
from clickrank.policies.recurrank import (
    Params,
    RecurRank,
    State,
    designed,
    end_phase,
    no_plan,
    views_needed,
)
from clickrank.policies.registration import register_fast


class Cache(NamedTuple):
    """The decks of views, and the design of each interval."""

    instance: IntParticle  # (n_positions,), number of the instance to which the deck belongs
    planned: IntParticle  # (n_items,), views to be handed out
    cards: Ints  # (n_positions,), number of views in the deck; -1 if they must be counted
    end: Ints  # (n_positions,), the position after the interval that begins here
    n_measured: Ints  # (n_positions,), number of items in its design; 0 if it has a single item
    measured: Ints  # (n_positions, most), these items
    needed: Ints  # (n_positions, most), T(a)
    missing: Ints  # (n_positions,), how many of these views have not come back


def build(params: Params, state: State) -> Cache:
    """Return the designs, and decks that the next ranking fills."""
    n_positions = state.phase.size
    slots = n_positions, support_limit(state.order.size, params.features.shape[1])
    cache = Cache(
        **no_plan(params, state)._asdict(),
        cards=np.full(n_positions, -1, dtype=np.int64),
        end=np.zeros(n_positions, dtype=np.int64),
        n_measured=np.zeros(n_positions, dtype=np.int64),
        measured=np.zeros(slots, dtype=np.int64),
        needed=np.zeros(slots, dtype=np.int64),
        missing=np.zeros(n_positions, dtype=np.int64),
    )
    with interpreted():
        for first in np.flatnonzero(state.phase).tolist():
            items, end = interval(state.order, state.phase, first)
            measured = needed = items[:0]
            if items.size > 1:
                measured, weights, _, leverage = optimal_design_of(
                    params.features, items, TOLERANCE
                )
                needed = views_needed(params, state, first, items.size, weights, leverage)
            _keep(state, cache, first, end, measured, needed)
    return cache


@lean_kernel
def _keep(state: State, cache: Cache, first: int, end: int, measured: Ints, needed: Ints) -> None:
    """Write the design of an interval to the cache."""
    size = measured.shape[0]
    cache.end[first], cache.n_measured[first], cache.missing[first] = end, size, 0
    for slot in range(size):
        cache.measured[first, slot] = measured[slot]
        cache.needed[first, slot] = needed[slot]
        cache.missing[first] += needed[slot] - state.views[measured[slot]]


def rank(
    params: Params,
    state: State,
    cache: Cache,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Put an item to be measured at the first position of each interval, above the best others."""
    n_positions = ranking.shape[0]
    memo[n_positions] = int(rng.random() * SALTS)
    for first in range(n_positions):
        memo[first] = 0
        if state.phase[first] == 0:
            continue
        if cache.n_measured[first] == 0:
            ranking[first] = state.order[first]
            continue
        number = state.restarts[0] * PHASES + state.phase[first]
        if cache.cards[first] <= 0 or cache.instance[first] != number:
            _renew_deck(state, cache, first, number)
        left = int(rng.random() * cache.cards[first])
        slot = 0
        last = cache.n_measured[first] - 1
        while slot < last and left >= cache.planned[cache.measured[first, slot]]:
            left -= cache.planned[cache.measured[first, slot]]
            slot += 1
        item = cache.measured[first, slot]
        cache.planned[item] -= 1
        cache.cards[first] -= 1
        memo[first] = number * params.most_measured + slot
        ranking[first] = item
        if state.phase[first] == 1:
            fill_at_random(state.order.shape[0], rng, item, ranking)
            continue
        place = first
        for position in range(first + 1, cache.end[first]):
            place += state.order[place] == item
            ranking[position] = state.order[place]
            place += 1


@lean_kernel
def _renew_deck(state: State, cache: Cache, first: int, number: int) -> None:
    """Count the views in the deck; if it is empty or of another instance, plan the missing ones."""
    cache.cards[first] = 0
    if cache.instance[first] == number:
        for slot in range(cache.n_measured[first]):
            cache.cards[first] += cache.planned[cache.measured[first, slot]]
        if cache.cards[first] > 0:
            return
    else:
        cache.instance[first] = number
        last = cache.end[first] == state.phase.shape[0]
        for place in range(first, state.order.shape[0] if last else cache.end[first]):
            if state.order[place] >= 0:
                cache.planned[state.order[place]] = 0
    for slot in range(cache.n_measured[first]):
        item = cache.measured[first, slot]
        cache.planned[item] = cache.needed[first, slot] - state.views[item]
        cache.cards[first] += cache.planned[item]


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count what was measured; the last view that a phase needs ends it."""
    n_positions = ranking.shape[0]
    for first in range(n_positions):
        if cache.n_measured[first] == 0:
            continue
        number = state.restarts[0] * PHASES + state.phase[first]
        slot = memo[first] - number * params.most_measured
        if slot < 0 or slot >= params.most_measured:
            continue
        item = ranking[first]
        if slot >= cache.n_measured[first] or cache.measured[first, slot] != item:
            slot = _slot_of(cache, first, item)  # items have been renumbered
        if slot >= 0 and state.views[item] < cache.needed[first, slot]:
            state.views[item] += 1
            state.clicks[item] += clicks[first]
            cache.missing[first] -= 1
            if cache.missing[first] == 0:
                _end_phase(params, state, cache, first, int(memo[n_positions]))


@lean_kernel
def _slot_of(cache: Cache, first: int, item: int) -> int:
    """Return the index of an item in the design of an interval; -1 if it is not there."""
    for slot in range(cache.n_measured[first]):
        if cache.measured[first, slot] == item:
            return slot
    return -1


@array_kernel
def _end_phase(params: Params, state: State, cache: Cache, first: int, salt: int) -> None:
    """End the phase of an interval, and store the designs of those that begin."""
    end = cache.end[first]
    measured = cache.measured[first, : cache.n_measured[first]].copy()
    end_phase(params, state, first, measured, salt)
    for begin in range(first, end):
        if state.phase[begin] > 0:
            items, until = interval(state.order, state.phase, begin)
            measured = needed = items[:0]
            if items.shape[0] > 1:
                measured, needed = designed(params, state, begin)
            _keep(state, cache, begin, until, measured, needed)


# A round takes 79 instead of 67 ns if `update` is inlined in the loop (10 items, 5 positions).
register_fast(RecurRank, State, Cache, build, rank, update, lean=True, call_update=True)
