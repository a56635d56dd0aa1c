"""S-GRAB: explore all lists that differ from the leader by one exchange."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import kernel
from clickrank.numerics.assignment import best_assignment
from clickrank.numerics.kl_bounds import exploration_budget, kl_upper_table
from clickrank.policies._shared.leader_counts import (
    hash_of_leader,
    lead,
    name_leaders,
    no_leaders,
    times_led,
)
from clickrank.policies._shared.unimodal import (
    Particle,
    click_rates,
    is_due,
    new_particle,
    play_best,
)
from clickrank.policies.base import Assumes, Policy
from clickrank.policies.capabilities import HasMemo, ItemsComeAndGo
from clickrank.policies.contract import Request, register
from clickrank.types import Ints, IntStatistic


class State(NamedTuple):
    """Clicks and misses of each item at each position, and how often each leader led."""

    clicks: IntStatistic  # (n_items, n_positions), clicks on item i at position k
    misses: IntStatistic  # (n_items, n_positions), views without a click; T_ik = clicks + misses
    keys: IntStatistic  # (slots,), hashes of the lists that have led: see `leader_counts`
    times: IntStatistic  # (slots,), T̃_a, the number of rounds that each of them led


class Params(NamedTuple):
    """Constants."""

    degree: int  # γ, the number of neighbours of a list


@dataclass(frozen=True)
class SGRAB(Policy, HasMemo, ItemsComeAndGo):
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

    **Complexity**: a round finds the leader, O(n_positions² · n_items), computes n_items ·
    n_positions indices, and adds them up for γ neighbours.

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
    by_item = ("clicks", "misses")

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the kernels' constants."""
        return Params(n_positions * (2 * n_items - n_positions - 1) // 2)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            clicks=np.zeros((n_items, n_positions), dtype=np.int64),
            misses=np.zeros((n_items, n_positions), dtype=np.int64),
            **no_leaders(),
        )

    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return the size of the leader."""
        return n_positions

    def name_items(self, cache: Particle, numbers: Ints) -> None:
        """Let the counts of leaders go on under other numbers of the items."""
        name_leaders(cache.labels, numbers)

    def memos_for(self, memos: Ints, numbers: Ints, n_items: int) -> Ints:
        """Return memos with the leader's items called by other numbers."""
        return numbers[memos]


def rank(
    params: Params,
    state: State,
    cache: Particle,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Play the leader in every (γ + 1)-th of its rounds, else the best list next to it."""
    leader = memo
    best_assignment(click_rates(state.clicks, state.misses), rng, leader)
    led = times_led(state.keys, state.times, hash_of_leader(leader, cache.labels))
    if is_due(cache.ahead, led, params.degree + 1):
        ranking[:] = leader
    else:
        indices = kl_upper_table(state.clicks, state.misses, exploration_budget(led + 1.0))
        play_best(_neighbourhood(params, leader, indices.shape[0]), indices, rng, ranking)


@kernel
def _neighbourhood(params: Params, leader: Ints, n_items: int) -> Ints:
    """Return the leader and its neighbours, one list per row."""
    n_positions = leader.shape[0]
    lists = np.empty((params.degree + 1, n_positions), dtype=np.int64)
    lists[:] = leader
    row = 1
    for position in range(n_positions):  # swap two items
        for other in range(position):
            lists[row, position] = leader[other]
            lists[row, other] = leader[position]
            row += 1
    for item in range(n_items):  # or replace one
        if not (leader == item).any():
            for position in range(n_positions):
                lists[row, position] = item
                row += 1
    return lists


def update(
    params: Params, state: State, cache: Particle, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count the clicks, and one more round for the list that led when the ranking was made."""
    cache.ahead[0] = 0
    lead(state.keys, state.times, hash_of_leader(memo, cache.labels))
    for position in range(ranking.shape[0]):
        item = ranking[position]
        state.clicks[item, position] += clicks[position]
        state.misses[item, position] += 1 - clicks[position]


register(SGRAB, State, rank, update, cache=Particle, build=new_particle)
