"""CombUCB1: the list with the largest sum of confidence bounds, one for each item and position."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._select import copy
from clickrank.numerics.assignment import assign, no_assignment
from clickrank.policies._shared.rotation import rotate, rotations
from clickrank.policies.base import Assumes, Policy
from clickrank.policies.contract import Request, register
from clickrank.rankings.lists import Lists, ListSource
from clickrank.types import FloatScratch, FloatStatistic, Ints, IntScratch, IntStatistic

# 1/√T of a cell without a view, which its own lists leave none of after the rotations: far above
# that of any other.
UNSEEN = 1e3


class Params(NamedTuple):
    """Constants."""

    exploration: float  # 1.5


class State(NamedTuple):
    """Counts by item and position, and the list last found best."""

    rounds: IntStatistic  # (1,), t - 1
    unstarted: IntStatistic  # (1,), items never shown at the first position: rotations to play
    clicks: IntStatistic  # (n_items, n_positions)
    misses: IntStatistic  # (n_items, n_positions)
    mean: FloatStatistic  # (n_items, n_positions), ρ̂_ik
    width: FloatStatistic  # (n_items, n_positions), 1/√T_ik
    bound: FloatScratch  # (n_items, n_positions), U_t(i, k)
    best: IntScratch  # (n_positions,); this and the next three: see `assign`
    room: FloatScratch  # (5, n_items)
    marks: IntScratch  # (4, n_items)
    graph: FloatScratch  # (n_positions + 1, n_positions + 1)


@dataclass(frozen=True)
class CombUCB1(Policy):
    """CombUCB1 treats every item at every position as an arm, and plays the best set of arms.

    U_t(i, k) = ρ̂_ik + √(1.5 log(t - 1) / T_ik), where ρ̂_ik is the click rate of item i in T_ik
    views at position k; the list maximises Σ_k U_t(a_k, k), a linear assignment problem.

    **Assumes**: clicks that depend on the item and its position alone, as position-based ones do;
    examination need not be known, nor decrease. No horizon.

    **Source**: kveton2015, Algorithm 1, on the position-based model (gauthier2022, Remark 2).

    **Differences**: 1. The first rounds play each rotation of the catalogue once, in random order;
    with delayed feedback, until each has come back. 2. Lists whose sums differ by less than 1e-11
    count as tied, and random bonuses of that size, by item and by position, decide.

    **Complexity**: a round computes n_items · n_positions indices and checks that no exchange of
    items improves the last list, O(n_positions³); if one does, it solves the assignment problem,
    O(n_positions² · n_items).

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
    by_item = ("clicks", "misses", "mean", "width")

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the kernels' constants."""
        return Params(1.5)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        cells = (n_items, n_positions)
        return State(
            rounds=np.zeros(1, dtype=np.int64),
            unstarted=np.full(1, n_items, dtype=np.int64),
            clicks=np.zeros(cells, dtype=np.int64),
            misses=np.zeros(cells, dtype=np.int64),
            mean=np.zeros(cells),
            width=np.full(cells, UNSEEN),
            bound=np.zeros(cells),
            **no_assignment(n_items, n_positions),
        )

    def mend(self, state: State, numbers: Ints) -> None:
        """Count the rotations to play anew."""
        state.unstarted[0] = np.count_nonzero(state.clicks[:, 0] + state.misses[:, 0] == 0)

    def lists(self, source: ListSource) -> Lists | None:
        """Return the rotations left to show; later the lists are not known."""
        return rotations(source.state.clicks, source.state.misses, source.n_positions)


def _rank(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    if state.unstarted[0] > 0:
        rotate(state.clicks, state.misses, state.unstarted[0], rng, ranking)
        return
    scale = math.sqrt(params.exploration * math.log(state.rounds[0]))
    for item in range(state.mean.shape[0]):
        for position in range(state.mean.shape[1]):
            state.bound[item, position] = (
                state.mean[item, position] + scale * state.width[item, position]
            )
    assign(state.bound, rng, state.best, state.room, state.marks, state.graph)
    copy(state.best, ranking)


def _update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    state.rounds[0] += 1
    first = ranking[0]
    state.unstarted[0] -= state.clicks[first, 0] + state.misses[first, 0] == 0
    for position in range(ranking.shape[0]):
        item = ranking[position]
        state.clicks[item, position] += clicks[position]
        state.misses[item, position] += 1 - clicks[position]
        views = state.clicks[item, position] + state.misses[item, position]
        state.mean[item, position] = state.clicks[item, position] / views
        state.width[item, position] = 1.0 / math.sqrt(views)


register(CombUCB1, State, _rank, _update, lean=True)
