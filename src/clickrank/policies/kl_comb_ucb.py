"""KL-CombUCB: CombUCB1 with the tighter KL confidence bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Ints, IntStatistic
from clickrank.numerics.assignment import best_assignment
from clickrank.numerics.kl_bounds import exploration_budget, kl_upper_table
from clickrank.policies._shared.rotation import rotate, rotations, rotations_left
from clickrank.policies.capabilities import ExactLists, ItemsComeAndGo
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy
from clickrank.policies.registration import register
from clickrank.rankings.closed_form import ListSource
from clickrank.rankings.distributions import RankingDistribution


class State(NamedTuple):
    """Clicks and misses of each item at each position."""

    rounds: IntStatistic  # (1,), t - 1
    clicks: IntStatistic  # (n_items, n_positions), clicks on item i at position k
    misses: IntStatistic  # (n_items, n_positions), views without a click; T_ik = clicks + misses


class Params(NamedTuple):
    """Constants."""

    n_items: int


@dataclass(frozen=True)
class KLCombUCB(Policy, ItemsComeAndGo, ExactLists):
    """KL-CombUCB shows the list with the largest sum of KL confidence bounds.

    b_ik(t) = sup{p ∈ [ρ̂_ik, 1] : T_ik d(ρ̂_ik, p) ≤ log t + 3 log log t}, where ρ̂_ik is the click
    rate of item i in T_ik views at position k. The list maximises Σ_k b_ik(t), i = a_k: a linear
    assignment problem.

    **Assumes**: clicks that depend on the item and its position only, as position-based clicks do;
    examination need not be known, nor decrease. No horizon.

    **Source**: gauthier2022, Algorithm 3, after kveton2015.

    **Differences**: 1. The first rounds show each rotation of the catalogue once, as printed, in
    random order; with delayed feedback, until each has come back. 2. log log t is taken as 0 up to
    t = e. 3. Lists whose sums differ by less than 1e-11 are tied; random bonuses of that size, one
    per item and one per position, decide.

    **Complexity**: a round computes n_items · n_positions indices and solves the assignment
    problem, O(n_positions² · n_items).

    **Guarantee**: regret O(n_items · n_positions² log T / Δ) (gauthier2022, section 2.1.2).

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.6, 0.4, 0.2], [0.9, 0.5])
    >>> cr.simulate("kl-comb-ucb", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "kl-comb-ucb"
    assumes = Assumes(click_models=("pbm", "click-matrix"))
    by_item = ("clicks", "misses")

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        return Params(n_items)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            rounds=np.zeros(1, dtype=np.int64),
            clicks=np.zeros((n_items, n_positions), dtype=np.int64),
            misses=np.zeros((n_items, n_positions), dtype=np.int64),
        )

    def lists(self, source: ListSource) -> RankingDistribution | None:
        """Return the rotations that are left; None after them."""
        return rotations(source.state.clicks, source.state.misses, source.n_positions)


def rank(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Show each rotation once, then the list with the largest sum of b_ik(t)."""
    left = rotations_left(state.clicks, state.misses)
    if left > 0:
        rotate(state.clicks, state.misses, left, rng, ranking)
        return
    delta = exploration_budget(state.rounds[0] + 1.0)
    best_assignment(kl_upper_table(state.clicks, state.misses, delta), rng, ranking)


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks and misses."""
    state.rounds[0] += 1
    for position in range(ranking.shape[0]):
        item = ranking[position]
        state.clicks[item, position] += clicks[position]
        state.misses[item, position] += 1 - clicks[position]


register(KLCombUCB, State, rank, update)
