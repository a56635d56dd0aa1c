"""What GRAB and S-GRAB share: a leader, and the best list in its neighbourhood.

The leader is the list that looks best by click rates; a neighbour differs from it by one exchange.
A neighbour is written as two numbers: (position, item) replaces the item at a position, and
(position, -1 - other position) swaps two.

These kernels take any state that has the fields of `Unimodal`.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from clickrank._jit import inline_kernel, lean_kernel
from clickrank._select import copy
from clickrank.numerics.assignment import TIE, assign, no_assignment
from clickrank.policies._shared.leader_counts import hash_of_leader, lead, no_leaders
from clickrank.policies.kl_cells import (
    NEVER,
    SLACK,
    KLCells,
    cell_bound,
    cell_index,
    count_cell,
    no_cells,
)
from clickrank.types import Floats, Ints


class Unimodal(KLCells, Protocol):
    """The fields that a state must have, beside those of `KLCells` and of `assign`."""

    @property
    def mean(self) -> Floats:
        """Statistic (n_items, n_positions), ρ̂_ik; 0 without a view."""

    @property
    def keys(self) -> Ints:
        """Statistic, with ``times`` the number of rounds each leader has led."""

    @property
    def times(self) -> Ints:
        """Statistic, see `clickrank.policies._shared.leader_counts`."""

    @property
    def labels(self) -> Ints:
        """Scratch (n_items,): what hashes of leaders call the items, see `name_leaders`."""

    @property
    def margin(self) -> Floats:
        """Scratch (1,): by how much the leader still exceeds every other list, at least."""

    @property
    def ahead(self) -> Ints:
        """Scratch (1,): lists made since feedback last came back."""

    @property
    def own(self) -> Floats:
        """Scratch (n_positions,): the index of the leader's item at each position, or less."""

    @property
    def neighbours(self) -> Ints:
        """Scratch (degree, 2)."""

    @property
    def gain(self) -> Floats:
        """Scratch (degree,): what a neighbour's indices sum up to beyond the leader's."""

    @property
    def best(self) -> Ints:
        """Scratch (n_positions,): the leader; this and the next three: see `assign`."""

    @property
    def room(self) -> Floats:
        """Scratch (5, n_items)."""

    @property
    def marks(self) -> Ints:
        """Scratch (4, n_items)."""

    @property
    def graph(self) -> Floats:
        """Scratch (n_positions + 1, n_positions + 1)."""


def no_leader(n_items: int, n_positions: int, degree: int) -> dict[str, Any]:
    """Return the fields of `Unimodal` before the first round."""
    return {
        **no_cells(n_items, n_positions),
        **no_leaders(),
        "mean": np.zeros((n_items, n_positions)),
        "labels": np.arange(n_items),
        "margin": np.zeros(1),
        "ahead": np.zeros(1, dtype=np.int64),
        "own": np.zeros(n_positions),
        "neighbours": np.zeros((max(degree, 1), 2), dtype=np.int64),
        "gain": np.zeros(max(degree, 1)),
        **no_assignment(n_items, n_positions),
    }


@lean_kernel
def find_leader(state: Unimodal, rng: np.random.Generator) -> None:
    """Make ``state.best`` the list with the largest sum of click rates, ties at random."""
    if state.margin[0] <= SLACK:  # the changes since the last time may add up to another leader
        state.margin[0] = assign(state.mean, rng, state.best, state.room, state.marks, state.graph)


@lean_kernel
def is_due(state: Unimodal, led: int, period: int) -> bool:
    """Say whether a leader that has led so often is to be played as it is, and count a list made.

    Lists whose feedback is to come count too: with feedback in batches the number of rounds that
    have come back might be a multiple of the period for the whole batch, or never.
    """
    due = bool((led + state.ahead[0]) % period == 0)
    state.ahead[0] += 1
    return due


@lean_kernel
def play_best(
    state: Unimodal, degree: int, delta: float, rng: np.random.Generator, ranking: Ints
) -> None:
    """Write the leader or one of its neighbours, whichever has the largest sum of indices.

    An index is computed only where bounds leave open which list is best: the result is that of all
    indices computed.
    """
    copy(state.best, ranking)
    for position in range(ranking.shape[0]):
        state.own[position] = state.mean[state.best[position], position]
    promising = -1
    for n in range(degree):
        state.gain[n] = _gain(state, n, delta, False)
        if promising < 0 or state.gain[n] > state.gain[promising]:
            promising = n
    if promising < 0 or state.gain[promising] < -TIE:
        return
    for position in range(ranking.shape[0]):
        state.own[position] = cell_index(state, state.best[position], position, delta)
    state.gain[promising] = _gain(state, promising, delta, True)
    best = max(0.0, state.gain[promising])
    for n in range(degree):
        if n != promising:
            gain = _gain(state, n, delta, False)
            if gain >= best - TIE:
                gain = _gain(state, n, delta, True)
                best = max(best, gain)
            state.gain[n] = gain
    tied = 0 if best > TIE else 1  # the leader itself
    for n in range(degree):
        tied += state.gain[n] >= best - TIE
    left = int(rng.random() * tied) if tied > 1 else 0
    if best <= TIE:
        left -= 1
    for n in range(degree):
        if state.gain[n] >= best - TIE:
            if left == 0:
                _exchange(state.neighbours[n, 0], state.neighbours[n, 1], ranking)
            left -= 1


@inline_kernel
def _gain(state: Unimodal, n: int, delta: float, exact: bool) -> float:
    """Return the sum of a neighbour's indices (or bounds on them) minus the leader's ``own``."""
    position = state.neighbours[n, 0]
    other = state.neighbours[n, 1]
    if other >= 0:
        return _index(state, other, position, delta, exact) - float(state.own[position])
    other = -1 - other
    return (
        _index(state, state.best[other], position, delta, exact)
        + _index(state, state.best[position], other, delta, exact)
        - float(state.own[position])
        - float(state.own[other])
    )


@inline_kernel
def _index(state: Unimodal, item: int, position: int, delta: float, exact: bool) -> float:
    if exact or state.at[item, position] == NEVER:
        return cell_index(state, item, position, delta)
    return cell_bound(state, item, position, delta)


@inline_kernel
def _exchange(position: int, other: int, ranking: Ints) -> None:
    if other >= 0:
        ranking[position] = other
    else:
        item = ranking[position]
        ranking[position] = ranking[-1 - other]
        ranking[-1 - other] = item


@lean_kernel
def count_round(state: Unimodal, ranking: Ints, leader: Ints, clicks: Ints) -> None:
    """Count a settled round: its clicks, and who was the leader."""
    state.ahead[0] = 0
    lead(state.keys, state.times, hash_of_leader(leader, state.labels))
    for position in range(ranking.shape[0]):
        item = ranking[position]
        before = state.mean[item, position]
        count_cell(state, item, position, clicks[position])
        views = state.clicks[item, position] + state.misses[item, position]
        after = state.clicks[item, position] / views
        state.mean[item, position] = after
        # Another list comes closer to the leader by what the leader loses and others win.
        if state.best[position] == item:
            state.margin[0] -= max(before - after, 0.0)
        else:
            state.margin[0] -= max(after - before, 0.0)
