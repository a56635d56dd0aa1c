"""GRAB: explore only lists that differ from the leader by one exchange, in a graph learned too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._jit import lean_kernel
from clickrank._select import copy, top_k
from clickrank.numerics.kl_bounds import exploration_budget
from clickrank.policies._shared.leader_counts import hash_of_leader, name_leaders, times_led
from clickrank.policies.base import Assumes, Policy
from clickrank.policies.contract import Request, register
from clickrank.policies.unimodal import count_round, find_leader, is_due, no_leader, play_best
from clickrank.types import FloatScratch, FloatStatistic, Ints, IntScratch, IntStatistic


class Params(NamedTuple):
    """Constants."""

    n_items: int


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
    own: FloatScratch  # (n_positions,), at first the leader's click rates
    neighbours: IntScratch  # (n_items - 1, 2)
    gain: FloatScratch  # (n_items - 1,)
    best: IntScratch  # (n_positions,), the leader ã
    room: FloatScratch  # (5, n_items)
    marks: IntScratch  # (4, n_items)
    graph: FloatScratch  # (n_positions + 1, n_positions + 1)
    order: IntScratch  # (n_positions,), π̃: positions by decreasing click rate of the leader


@dataclass(frozen=True)
class GRAB(Policy):
    """GRAB plays the list that looks best, or one of n_items - 1 lists next to it.

    The leader ã has the largest Σ_k ρ̂_ik, with i = ã_k and ρ̂_ik the click rate of item i at
    position k. With π the positions by decreasing click rate of the leader, its neighbours swap the
    items at π_k and π_{k+1}, or replace the item at the last, π_K, by one not shown. Every
    n_items-th round of a leader plays it; the others play the largest Σ_k b_ik among leader and
    neighbours, b_ik = sup{p ≥ ρ̂_ik : T_ik d(ρ̂_ik, p) ≤ log s + 3 log log s}, where s - 1 is how
    often ã has led.

    **Assumes**: position-based clicks, or any matrix of click probabilities by item and position
    for which gauthier2022's Assumption 1 holds (`clickmodels.check_assumptions` tries every list;
    where it does not hold, GRAB may stay with a list that is not the best). Examination need not be
    known, nor decrease. No horizon.

    **Source**: gauthier2022, Algorithm 6; first in gauthier2021.

    **Differences**: 1. log log s is taken as 0 up to s = e. 2. Positions where the leader has equal
    click rates are ordered at random in each round. 3. Lists whose sums differ by less than 1e-11
    count as tied: for the leader, random bonuses of that size, by item and by position, decide. 4.
    With delayed feedback only rounds that have come back count, but for which rounds play the
    leader: there, lists made since count too. 5. How often a leader led is kept for 8,192 leaders;
    see `clickrank.policies._shared.leader_counts`. 6. Items may come and go, or be given for
    one list alone. A click rate of an item at a position does not depend on the other items, so all
    counts are kept; a leader is a list, and its count is kept too. An item that is new has no
    views, so its index is 1. Each set of items is then a bandit of its own that begins with what is
    known from the others.

    **Complexity**: a round looks at n_items - 1 neighbours and computes the indices, a few at most,
    that bounds leave open. The leader is found anew, O(n_positions² · n_items), when the changes
    since the last time could add up to another one.

    **Guarantee**: regret O(n_items log T / Δ), where Δ is the smallest gap of a neighbour of the
    best list, if that is unique and Assumption 1 holds, as it does for position-based clicks
    (gauthier2022, Theorem 1 and Lemma 1).

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.6, 0.4, 0.2], [0.9, 0.5])
    >>> cr.simulate("grab", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "grab"
    assumes = Assumes(click_models=("pbm", "click-matrix"))
    rank_remembers = True
    by_item = ("clicks", "misses", "mean")

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the kernels' constants."""
        return Params(n_items)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            **no_leader(n_items, n_positions, n_items - 1),
            order=np.zeros(n_positions, dtype=np.int64),
        )

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
    if is_due(state, led, params.n_items):
        copy(state.best, ranking)
        return
    _list_neighbours(params, state, rng)
    play_best(state, params.n_items - 1, exploration_budget(led + 1.0), rng, ranking)


@lean_kernel
def _list_neighbours(params: Params, state: State, rng: np.random.Generator) -> None:
    n_positions = state.best.shape[0]
    for position in range(n_positions):
        state.own[position] = state.mean[state.best[position], position]
    top_k(state.own, rng, state.order)
    for k in range(n_positions - 1):
        state.neighbours[k, 0] = state.order[k]
        state.neighbours[k, 1] = -1 - state.order[k + 1]
    used = state.marks[0]
    for item in range(used.shape[0]):
        used[item] = 0
    for item in state.best:
        used[item] = 1
    size = n_positions - 1
    for item in range(params.n_items):
        if used[item] == 0:
            state.neighbours[size, 0] = state.order[n_positions - 1]
            state.neighbours[size, 1] = item
            size += 1


def _update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    count_round(state, ranking, memo, clicks)


register(GRAB, State, _rank, _update, lean=True)
