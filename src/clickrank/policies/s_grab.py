"""S-GRAB: explore all lists that differ from the leader by one exchange."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._jit import lean_kernel
from clickrank._select import copy
from clickrank.numerics.kl_bounds import exploration_budget
from clickrank.policies._shared.leader_counts import hash_of_leader, name_leaders, times_led
from clickrank.policies.base import Assumes, Policy
from clickrank.policies.contract import Request, register
from clickrank.policies.unimodal import count_round, find_leader, is_due, no_leader, play_best
from clickrank.types import FloatScratch, FloatStatistic, Ints, IntScratch, IntStatistic


class Params(NamedTuple):
    """Constants."""

    degree: int  # γ


class State(NamedTuple):
    """Counts by item and position, how often each leader led, and indices: see `Unimodal`."""

    clicks: IntStatistic  # (n_items, n_positions)
    misses: IntStatistic  # (n_items, n_positions)
    mean: FloatStatistic  # (n_items, n_positions), ρ̂_ik
    keys: IntStatistic  # (slots,)
    times: IntStatistic  # (slots,), T̃_a
    labels: IntScratch  # (n_items,), what the hashes call the items
    value: FloatScratch  # (n_items, n_positions), b_ik when last computed
    rate: FloatScratch  # (n_items, n_positions)
    at: FloatScratch  # (n_items, n_positions)
    margin: FloatScratch  # (1,)
    ahead: IntScratch  # (1,)
    own: FloatScratch  # (n_positions,)
    neighbours: IntScratch  # (degree, 2)
    gain: FloatScratch  # (degree,)
    best: IntScratch  # (n_positions,), the leader ã
    room: FloatScratch  # (5, n_items)
    marks: IntScratch  # (4, n_items)
    graph: FloatScratch  # (n_positions + 1, n_positions + 1)


@dataclass(frozen=True)
class SGRAB(Policy):
    """S-GRAB plays the list that looks best, or any that differs from it by one exchange.

    It is GRAB on a fixed graph: the neighbours of a leader swap any two of its items, or replace
    any by one not shown, γ = K(2L - K - 1)/2 in all. Every (γ + 1)-th round of a leader plays it;
    the others play the largest sum of indices among leader and neighbours.

    **Assumes**: position-based clicks, or any matrix of click probabilities by item and position in
    which every list that is not the best has a better one among these neighbours. That is less than
    GRAB needs, whose neighbours are some of these. Examination need not be known, nor decrease. No
    horizon.

    **Source**: gauthier2022, Algorithm 12: OSUB (Algorithm 5, combes2014) on the static graph.

    **Differences**: 1, 3, 4, 5 and 6 of GRAB; the order of positions plays no part.

    **Complexity**: a round looks at γ neighbours; else as GRAB.

    **Guarantee**: regret O(n_items · n_positions log T / Δ) (gauthier2022, appendix A.7).

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.6, 0.4, 0.2], [0.9, 0.5])
    >>> cr.simulate("s-grab", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "s-grab"
    assumes = Assumes(click_models=("pbm", "click-matrix"))
    rank_remembers = True
    by_item = ("clicks", "misses", "mean")

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the kernels' constants."""
        return Params(n_positions * (2 * n_items - n_positions - 1) // 2)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(**no_leader(n_items, n_positions, self.params(n_items, n_positions).degree))

    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return the size of the leader."""
        return n_positions

    def mend(self, state: State, numbers: Ints) -> None:
        """Let the counts of leaders go on."""
        name_leaders(state.labels, numbers)

    def memos_for(self, memos: Ints, numbers: Ints, n_items: int) -> Ints:
        """Return memos with the leader's items called by other numbers."""
        return numbers[memos]


def _rank(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    find_leader(state, rng)
    copy(state.best, memo)
    led = times_led(state.keys, state.times, hash_of_leader(state.best, state.labels))
    if is_due(state, led, params.degree + 1):
        copy(state.best, ranking)
        return
    _list_neighbours(state)
    play_best(state, params.degree, exploration_budget(led + 1.0), rng, ranking)


@lean_kernel
def _list_neighbours(state: State) -> None:
    n_items, n_positions = state.mean.shape
    size = 0
    used = state.marks[0]
    for item in range(used.shape[0]):
        used[item] = 0
    for position in range(n_positions):
        used[state.best[position]] = 1
        for other in range(position):
            state.neighbours[size, 0] = position
            state.neighbours[size, 1] = -1 - other
            size += 1
    for item in range(n_items):
        if used[item] == 0:
            for position in range(n_positions):
                state.neighbours[size, 0] = position
                state.neighbours[size, 1] = item
                size += 1


def _update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    count_round(state, ranking, memo, clicks)


register(SGRAB, State, _rank, _update, lean=True)
