"""S-GRAB: explores all lists that differ from the leader by one exchange."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import kernel
from clickrank._core.arrays import Ints, IntStatistic
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


class State(NamedTuple):
    """Clicks and misses of each item at each position, and how often each leader led."""

    clicks: IntStatistic  # (n_items, n_positions), clicks on item i at position k
    misses: IntStatistic  # (n_items, n_positions), views without a click; T_ik = clicks + misses
    keys: IntStatistic  # (slots,), hashes of the lists that have led: see `count_table`
    times: IntStatistic  # (slots,), T̃_a, number of rounds that each of them led


class Params(NamedTuple):
    """Constants."""

    degree: int  # γ, the number of neighbours of a list


@dataclass(frozen=True)
class SGRAB(Policy, LeadingLists):
    """S-GRAB shows the list that looks best, or any that differs from it by one exchange.

    It is GRAB on a fixed graph: the neighbours of a leader swap any two of its items, or replace
    any by one not shown, γ = K(2L - K - 1)/2 in all. Every (γ + 1)-th round of a leader shows it;
    the others show the list with the largest sum of indices among leader and neighbours.

    **Assumes**: position-based clicks, or any matrix of click probabilities by item and position in
    which every list that is not the best has a better one among these neighbours. GRAB needs more,
    because its neighbours are a subset of these. Examination need not be known, nor decrease. No
    horizon.

    **Source**: gauthier2022, Algorithm 12: OSUB (Algorithm 5, combes2014) on the static graph.

    **Differences**: 1, 3, 4, 5 and 6 of GRAB; the order of positions does not matter.

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

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        return Params(n_positions * (2 * n_items - n_positions - 1) // 2)

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
    """Show the leader in every (γ + 1)-th of its rounds, else the best list next to it."""
    leader = memo
    best_assignment(click_rates(state.clicks, state.misses), rng, leader)
    rounds_led = count_of(state.keys, state.times, hash_of_list(leader, cache.labels))
    if is_due(cache.lists_since_feedback, rounds_led, params.degree + 1):
        ranking[:] = leader
    else:
        indices = kl_upper_table(state.clicks, state.misses, exploration_budget(rounds_led + 1.0))
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
    params: Params, state: State, cache: Bookkeeping, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count the clicks, and one more round for the list that led when the ranking was made."""
    count_list(state, cache, ranking, memo, clicks)


register(SGRAB, State, rank, update, cache=Bookkeeping, build=build)
