"""Parts of fast GRAB and fast S-GRAB: a stored leader, and bounded indices.

The leader is found again only when the changes of click rates since the last time could add up to
another one. A neighbour is written as two numbers: (position, item) replaces the item at a
position, and (position, -1 - other position) swaps two. An index is computed only if bounds do not
determine which list is best.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from clickrank._compile.jit import inline_kernel, lean_kernel
from clickrank._core.arrays import Floats, IntParticle, Ints
from clickrank.fast._shared.kl_index_cache import NEVER, KLIndices, bound, forget, index, no_indices
from clickrank.numerics.assignment import TIE, assign, assignment_buffers
from clickrank.numerics.kl_bounds import SLACK
from clickrank.policies import grab, s_grab
from clickrank.policies._shared.unimodal import build as build_bookkeeping
from clickrank.policies._shared.unimodal import count_list
from clickrank.rankings.selection import copy

State: TypeAlias = grab.State | s_grab.State


class Cache(NamedTuple):
    """The leader, click rates, and the known indices."""

    lists_since_feedback: IntParticle  # (1,); this and the next: as in the plain kernels
    labels: IntParticle  # (n_items,)
    mean: Floats  # (n_items, n_positions), ρ̂_ik
    indices: KLIndices  # (n_items, n_positions), b_ik when last computed
    best: Ints  # (n_positions,), the leader ã when last found
    margin: Floats  # (1,), the leader exceeds every other list by at least this
    leader_buffer: Floats  # (n_positions,), b_ik of the leader, or less; at first its ρ̂_ik
    order_buffer: Ints  # (n_positions,), π̃ of GRAB: positions by decreasing click rate
    neighbours_buffer: Ints  # (degree, 2), see above
    gain_buffer: Floats  # (degree,), a neighbour's sum of indices minus the leader's
    float_buffer: Floats  # (5, n_items); this and the next two: see `assign`
    int_buffer: Ints  # (4, n_items)
    graph_buffer: Floats  # (n_positions + 1, n_positions + 1)


def build(params: grab.Params | s_grab.Params, state: State) -> Cache:
    """Compute the click rates; the leader and the indices are computed when they are needed."""
    n_items, n_positions = state.clicks.shape
    work = assignment_buffers(n_items, n_positions)
    return Cache(
        **build_bookkeeping(params, state)._asdict(),
        mean=state.clicks / np.maximum(state.clicks + state.misses, 1),
        indices=no_indices((n_items, n_positions)),
        best=work["best"],
        margin=np.zeros(1),
        leader_buffer=np.zeros(n_positions),
        order_buffer=np.zeros(n_positions, dtype=np.int64),
        neighbours_buffer=np.zeros((max(params.degree, 1), 2), dtype=np.int64),
        gain_buffer=np.zeros(max(params.degree, 1)),
        float_buffer=work["float_buffer"],
        int_buffer=work["int_buffer"],
        graph_buffer=work["graph_buffer"],
    )


@lean_kernel
def find_leader(cache: Cache, rng: np.random.Generator) -> None:
    """Set ``cache.best`` to the list with the largest sum of click rates, ties at random."""
    if cache.margin[0] <= SLACK:  # the changes since the last time may add up to another leader
        buffers = cache.float_buffer, cache.int_buffer, cache.graph_buffer
        cache.margin[0] = assign(cache.mean, rng, cache.best, buffers[0], buffers[1], buffers[2])


@lean_kernel
def play_best(
    state: State, cache: Cache, degree: int, delta: float, rng: np.random.Generator, ranking: Ints
) -> None:
    """Write the leader or one of its neighbours, whichever has the largest sum of indices.

    An index is computed only if bounds do not determine which list is best: the result is the same
    as with all indices computed.
    """
    copy(cache.best, ranking)
    for position in range(ranking.shape[0]):
        cache.leader_buffer[position] = cache.mean[cache.best[position], position]
    promising = -1
    for n in range(degree):
        cache.gain_buffer[n] = _gain(state, cache, n, delta, False)
        if promising < 0 or cache.gain_buffer[n] > cache.gain_buffer[promising]:
            promising = n
    if promising < 0 or cache.gain_buffer[promising] < -TIE:
        return
    for position in range(ranking.shape[0]):
        arm = cache.best[position], position
        cache.leader_buffer[position] = index(cache.indices, state.clicks, state.misses, arm, delta)
    cache.gain_buffer[promising] = _gain(state, cache, promising, delta, True)
    best = max(0.0, cache.gain_buffer[promising])
    for n in range(degree):
        if n != promising:
            gain = _gain(state, cache, n, delta, False)
            if gain >= best - TIE:
                gain = _gain(state, cache, n, delta, True)
                best = max(best, gain)
            cache.gain_buffer[n] = gain
    tied = 0 if best > TIE else 1  # the leader itself
    for n in range(degree):
        tied += cache.gain_buffer[n] >= best - TIE
    left = int(rng.random() * tied) if tied > 1 else 0
    if best <= TIE:
        left -= 1
    for n in range(degree):
        if cache.gain_buffer[n] >= best - TIE:
            if left == 0:
                _exchange(cache.neighbours_buffer[n, 0], cache.neighbours_buffer[n, 1], ranking)
            left -= 1


@inline_kernel
def _gain(state: State, cache: Cache, n: int, delta: float, exact: bool) -> float:
    """Return the sum of a neighbour's indices (or bounds of them) minus that of the leader."""
    position = cache.neighbours_buffer[n, 0]
    other = cache.neighbours_buffer[n, 1]
    if other >= 0:
        return _index(state, cache, other, position, delta, exact) - float(
            cache.leader_buffer[position]
        )
    other = -1 - other
    return (
        _index(state, cache, cache.best[other], position, delta, exact)
        + _index(state, cache, cache.best[position], other, delta, exact)
        - float(cache.leader_buffer[position])
        - float(cache.leader_buffer[other])
    )


@inline_kernel
def _index(
    state: State, cache: Cache, item: int, position: int, delta: float, exact: bool
) -> float:
    arm = item, position
    if exact or cache.indices.delta[arm] == NEVER:
        return index(cache.indices, state.clicks, state.misses, arm, delta)
    return bound(cache.indices, arm, delta)


@inline_kernel
def _exchange(position: int, other: int, ranking: Ints) -> None:
    if other >= 0:
        ranking[position] = other
    else:
        item = ranking[position]
        ranking[position] = ranking[-1 - other]
        ranking[-1 - other] = item


@lean_kernel
def count_round(state: State, cache: Cache, ranking: Ints, leader: Ints, clicks: Ints) -> None:
    """Count a settled round, and by how much another list may have come closer to the leader."""
    count_list(state, cache, ranking, leader, clicks)
    for position in range(ranking.shape[0]):
        item = ranking[position]
        before = cache.mean[item, position]
        forget(cache.indices, (item, position))
        views = state.clicks[item, position] + state.misses[item, position]
        after = state.clicks[item, position] / views
        cache.mean[item, position] = after
        # Another list comes closer to the leader by what the leader loses and the other wins.
        if cache.best[position] == item:
            cache.margin[0] -= max(before - after, 0.0)
        else:
            cache.margin[0] -= max(after - before, 0.0)
