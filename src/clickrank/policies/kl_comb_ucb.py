"""KL-CombUCB: CombUCB1 with the tighter KL confidence bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._jit import inline_kernel
from clickrank._select import copy
from clickrank.numerics.assignment import TIE, no_assignment, optimise, settle
from clickrank.numerics.kl_bounds import exploration_budget
from clickrank.policies._shared.rotation import rotate, rotations
from clickrank.policies.base import Assumes, Policy
from clickrank.policies.contract import Request, register
from clickrank.policies.kl_cells import NEVER, cell_bound, cell_index, count_cell, no_cells
from clickrank.rankings.lists import Lists, ListSource
from clickrank.types import FloatScratch, Ints, IntScratch, IntStatistic

# Leads below this may come from the difference between bounds and indices.
CLOSE = 1e-7


class Params(NamedTuple):
    """Constants."""

    n_items: int


class State(NamedTuple):
    """Counts by item and position with their indices, and the list last found best."""

    rounds: IntStatistic  # (1,), t - 1
    unstarted: IntStatistic  # (1,), items never shown at the first position: rotations to play
    clicks: IntStatistic  # (n_items, n_positions)
    misses: IntStatistic  # (n_items, n_positions)
    value: FloatScratch  # (n_items, n_positions); this and the next two: see `KLCells`
    rate: FloatScratch  # (n_items, n_positions)
    at: FloatScratch  # (n_items, n_positions)
    bound: FloatScratch  # (n_items, n_positions), b_ik(t) or a number above it
    best: IntScratch  # (n_positions,); this and the next three: see `assign`
    room: FloatScratch  # (5, n_items)
    marks: IntScratch  # (4, n_items)
    graph: FloatScratch  # (n_positions + 1, n_positions + 1)


@dataclass(frozen=True)
class KLCombUCB(Policy):
    """KL-CombUCB plays the list with the largest sum of KL confidence bounds.

    b_ik(t) = sup{p ∈ [ρ̂_ik, 1] : T_ik d(ρ̂_ik, p) ≤ log t + 3 log log t}, where ρ̂_ik is the click
    rate of item i in T_ik views at position k. The list maximises Σ_k b_ik(t), i = a_k: a linear
    assignment problem.

    **Assumes**: clicks that depend on the item and its position alone, as position-based ones do;
    examination need not be known, nor decrease. No horizon.

    **Source**: gauthier2022, Algorithm 3, after kveton2015.

    **Differences**: 1. The first rounds play each rotation of the catalogue once, as printed, in
    random order; with delayed feedback, until each has come back. 2. log log t is taken as 0 up to
    t = e. 3. Lists whose sums differ by less than 1e-11 count as tied, and random bonuses of that
    size, by item and by position, decide.

    **Complexity**: as CombUCB1, with upper bounds in place of the indices: the list that is best by
    these is best by the indices once its own indices are computed. So a round computes a few
    indices more than those of the last list, and the list is exactly that of all indices.

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
        """Return the kernels' constants."""
        return Params(n_items)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            rounds=np.zeros(1, dtype=np.int64),
            unstarted=np.full(1, n_items, dtype=np.int64),
            **no_cells(n_items, n_positions),
            bound=np.zeros((n_items, n_positions)),
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
    delta = exploration_budget(state.rounds[0] + 1.0)
    n_items, n_positions = state.bound.shape
    for item in range(n_items):
        for position in range(n_positions):
            if state.at[item, position] == NEVER:
                cell_index(state, item, position, delta)
            state.bound[item, position] = cell_bound(state, item, position, delta)
    lead = 0.0
    computed = True
    while computed:
        lead = optimise(state.bound, state.best, state.room, state.marks, state.graph)
        computed = False
        if lead > CLOSE:
            for position in range(n_positions):
                computed |= _compute(state, state.best[position], position, delta)
        else:  # several lists are best or nearly so: bounds would try them one after the other
            for item in range(n_items):
                for position in range(n_positions):
                    computed |= _compute(state, item, position, delta)
    if lead <= TIE:
        settle(state.bound, rng, state.best, state.room, state.marks)
    copy(state.best, ranking)


@inline_kernel
def _compute(state: State, item: int, position: int, delta: float) -> bool:
    """Replace the bound of a cell by its index; returns whether it was not yet known."""
    known = state.at[item, position] == delta
    state.bound[item, position] = cell_index(state, item, position, delta)
    return not known


def _update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    state.rounds[0] += 1
    first = ranking[0]
    state.unstarted[0] -= state.clicks[first, 0] + state.misses[first, 0] == 0
    for position in range(ranking.shape[0]):
        count_cell(state, ranking[position], position, clicks[position])


register(KLCombUCB, State, _rank, _update, lean=True)
