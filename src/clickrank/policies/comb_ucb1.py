"""CombUCB1: shows the list with the largest sum of bounds, one per item and position."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Ints, IntStatistic
from clickrank.numerics.assignment import best_assignment
from clickrank.policies._shared.rotation import rotate, rotations, rotations_left
from clickrank.policies.capabilities import ExactLists, ItemsComeAndGo
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy
from clickrank.policies.registration import register
from clickrank.rankings.closed_form import ListSource
from clickrank.rankings.distributions import RankingDistribution

# Stands for 1/√T_ik where item i has no view at position k; far above any other value. After the
# rotations this happens only if an item is new or if other lists were shown.
UNSEEN = 1e3


class State(NamedTuple):
    """Clicks and misses of each item at each position."""

    rounds: IntStatistic  # (1,), t - 1
    clicks: IntStatistic  # (n_items, n_positions), clicks on item i at position k
    misses: IntStatistic  # (n_items, n_positions), views without a click; T_ik = clicks + misses


class Params(NamedTuple):
    """Constants."""

    exploration: float  # 1.5


@dataclass(frozen=True)
class CombUCB1(Policy, ItemsComeAndGo, ExactLists):
    """CombUCB1 treats every item at every position as an arm, and shows the best set of arms.

    U_t(i, k) = ρ̂_ik + √(1.5 log(t - 1) / T_ik), where ρ̂_ik is the click rate of item i in T_ik
    views at position k; the list maximises Σ_k U_t(a_k, k), a linear assignment problem.

    **Assumes**: clicks that depend on the item and its position only, as position-based clicks do;
    examination need not be known, nor decrease. No horizon.

    **Source**: kveton2015, Algorithm 1, on the position-based model (gauthier2022, Remark 2).

    **Differences**: 1. The first rounds show each rotation of the catalogue once, in random order;
    with delayed feedback, until each has come back. 2. Lists whose sums differ by less than 1e-11
    are tied; random bonuses of that size, one per item and one per position, decide.

    **Complexity**: a round computes n_items · n_positions indices and solves the assignment
    problem, O(n_positions² · n_items).

    **Guarantee**: regret O(n_items · n_positions² log T / Δ), where Δ is the smallest gap of a list
    (kveton2015, Theorem 5).

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.6, 0.4, 0.2], [0.9, 0.5])
    >>> cr.simulate("comb-ucb1", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "comb-ucb1"
    assumes = Assumes(click_models=("pbm", "click-matrix"))
    by_item = ("clicks", "misses")

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        return Params(1.5)

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
    """Show each rotation once, then the list with the largest sum of U_t(i, k)."""
    left = rotations_left(state.clicks, state.misses)
    if left > 0:
        rotate(state.clicks, state.misses, left, rng, ranking)
        return
    scale = math.sqrt(params.exploration * math.log(state.rounds[0]))
    n_items, n_positions = state.clicks.shape
    bounds = np.empty((n_items, n_positions))
    for item in range(n_items):
        for position in range(n_positions):
            clicks = state.clicks[item, position]
            views = clicks + state.misses[item, position]
            bounds[item, position] = scale * UNSEEN
            if views > 0:
                bounds[item, position] = clicks / views + scale * (1.0 / math.sqrt(views))
    best_assignment(bounds, rng, ranking)


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks and misses."""
    state.rounds[0] += 1
    for position in range(ranking.shape[0]):
        item = ranking[position]
        state.clicks[item, position] += clicks[position]
        state.misses[item, position] += 1 - clicks[position]


register(CombUCB1, State, rank, update)
