"""GRAB: explores only lists that differ from the leader by one exchange."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import kernel
from clickrank._core.arrays import Floats, Ints, IntStatistic
from clickrank.numerics.assignment import best_assignment
from clickrank.numerics.count_table import count_of, no_counts
from clickrank.numerics.kl_bounds import exploration_budget, kl_upper_table
from clickrank.policies._shared.leader_items import LeadingLists
from clickrank.policies._shared.unimodal import (
    Bookkeeping,
    build,
    click_rates,
    count_list,
    hash_of_list,
    is_due,
    play_best,
)
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy
from clickrank.policies.registration import register
from clickrank.rankings.selection import top_k


class State(NamedTuple):
    """Clicks and misses of each item at each position, and how often each leader led."""

    clicks: IntStatistic  # (n_items, n_positions), clicks on item i at position k
    misses: IntStatistic  # (n_items, n_positions), views without a click; T_ik = clicks + misses
    keys: IntStatistic  # (slots,), hashes of the lists that have led: see `count_table`
    times: IntStatistic  # (slots,), T̃_a, number of rounds that each of them led


class Params(NamedTuple):
    """Constants."""

    degree: int  # n_items - 1, the number of neighbours of a list


@dataclass(frozen=True)
class GRAB(Policy, LeadingLists):
    """GRAB shows the list that looks best, or one of n_items - 1 lists next to it.

    The leader ã has the largest Σ_k ρ̂_ik, with i = ã_k and ρ̂_ik the click rate of item i at
    position k. With π̃ the positions by decreasing click rate of the leader, its neighbours swap
    the items at π̃_k and π̃_{k+1}, or replace the item at the last, π̃_K, by one not shown. Every
    n_items-th round of a leader shows it; the others show the list with the largest Σ_k b_ik among
    leader and neighbours, b_ik = sup{p ≥ ρ̂_ik : T_ik d(ρ̂_ik, p) ≤ log s + 3 log log s}, where ã
    has led s - 1 times before.

    **Assumes**: position-based clicks, or any matrix of click probabilities by item and position
    for which gauthier2022's Assumption 1 holds (`clickmodels.check_assumptions` tries every list;
    where it does not hold, GRAB may stay with a list that is not the best). Examination need not be
    known, nor decrease. No horizon.

    **Source**: gauthier2022, Algorithm 6; first in gauthier2021.

    **Differences**: 1. log log s is taken as 0 up to s = e. 2. Positions where the leader has equal
    click rates are ordered at random in each round. 3. Lists whose sums differ by less than 1e-11
    are tied. Ties between leaders are decided by tiny random bonuses, each the product of a random
    number per item and one per position; tied leaders are therefore not equally likely. 4. With
    delayed feedback all counts are of rounds that have come back; only the rule that decides when
    the leader is shown also counts the lists made since the last feedback. 5. The numbers of rounds
    of the leaders are in a table of 8,192 places. When a leader finds its places taken, the one of
    them that led least is forgotten, and counts from 0 if it returns; up to about 1,200 leaders
    this is unlikely (`clickrank.numerics.count_table`). 6. Items may be added or removed, and a
    list may be limited to some of them (candidates). A click rate does not depend on the other
    items, so that all counts are kept, including those of leaders. For each set of candidates the
    leader is found again from the same counts. A new item has index 1.

    **Complexity**: a round finds the leader, O(n_positions² · n_items), computes n_items ·
    n_positions indices, and adds them up for n_items - 1 neighbours.

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
    rank_remembers = True  # the lists made since the last feedback

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        return Params(n_items - 1)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        clicks, misses = np.zeros((2, n_items, n_positions), dtype=np.int64)
        return State(clicks, misses, *no_counts())

    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return the size of the leader."""
        return n_positions


def rank(
    params: Params,
    state: State,
    cache: Bookkeeping,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Show the leader in every n_items-th of its rounds, else the best list next to it."""
    leader = memo  # travels with the list, so that `update` can count it
    rates = click_rates(state.clicks, state.misses)
    best_assignment(rates, rng, leader)
    rounds_led = count_of(state.keys, state.times, hash_of_list(leader, cache.labels))
    if is_due(cache.lists_since_feedback, rounds_led, params.degree + 1):
        ranking[:] = leader
    else:
        indices = kl_upper_table(state.clicks, state.misses, exploration_budget(rounds_led + 1.0))
        play_best(_neighbourhood(leader, rates, rng), indices, rng, ranking)


@kernel
def _neighbourhood(leader: Ints, rates: Floats, rng: np.random.Generator) -> Ints:
    """Return the leader and its neighbours, one list per row."""
    n_items, n_positions = rates.shape
    own = np.empty(n_positions)
    for position in range(n_positions):
        own[position] = rates[leader[position], position]
    order = np.empty(n_positions, dtype=np.int64)  # π̃: positions by decreasing click rate
    top_k(own, rng, order)
    lists = np.empty((n_items, n_positions), dtype=np.int64)
    lists[:] = leader
    row = 1
    for k in range(n_positions - 1):  # swap the items at two consecutive positions of π̃
        lists[row, order[k]] = leader[order[k + 1]]
        lists[row, order[k + 1]] = leader[order[k]]
        row += 1
    for item in range(n_items):
        if not (leader == item).any():  # replace the item at the last position of π̃
            lists[row, order[n_positions - 1]] = item
            row += 1
    return lists


def update(
    params: Params, state: State, cache: Bookkeeping, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count the clicks, and one more round for the list that led when the ranking was made."""
    count_list(state, cache, ranking, memo, clicks)


register(GRAB, State, rank, update, cache=Bookkeeping, build=build)
