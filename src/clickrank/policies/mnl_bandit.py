"""MNL-bandit: an upper confidence bound for every item at every position, epoch by epoch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._jit import inline_kernel
from clickrank._select import copy
from clickrank.numerics.assignment import assign, no_assignment
from clickrank.policies._shared.epochs import EpochPolicy, ends_epoch, goes_on, no_epochs
from clickrank.policies.base import Assumes
from clickrank.policies.contract import Request, register
from clickrank.types import FloatScratch, FloatStatistic, Ints, IntScratch, IntStatistic


class Params(NamedTuple):
    """Constants."""

    exploration: float  # 4
    half: float  # JK/2


class State(NamedTuple):
    """What is known of each item at each position, the present epoch, and the list found best."""

    epoch: IntStatistic  # (1,), l - 1; this and the next two: see `epochs`
    begun: IntStatistic  # (1,)
    current: IntStatistic  # (n_positions,)
    clicks: IntStatistic  # (n_items, n_positions), N_kj
    epochs: IntStatistic  # (n_items, n_positions), Ñ_kj: lists without a click
    mean: FloatStatistic  # (n_items, n_positions), γ̄_jk; infinite before the first of those
    share: FloatStatistic  # (n_items, n_positions), 1/Ñ_kj; 0 before it
    width: FloatStatistic  # (n_items, n_positions), √(min(1, 2γ̄_jk)/Ñ_kj); 0 before it
    bound: FloatScratch  # (n_items, n_positions), the index, scaled
    best: IntScratch  # (n_positions,); this and the next three: see `assign`
    room: FloatScratch  # (5, n_items)
    marks: IntScratch  # (4, n_items)
    graph: FloatScratch  # (n_positions + 1, n_positions + 1)


@dataclass(frozen=True)
class MNLBandit(EpochPolicy):
    """MNL-bandit learns the weight of every item at every position by itself.

    It need not know the position bias, nor that there is one; it has n_items · n_positions weights
    to learn for that.

    γ̄_jk + √(4 min(1, 2γ̄_jk) log(JK l²/2) / Ñ_jk) + 4 log(JK l²/2) / Ñ_jk in epoch l, for J items, K
    positions and γ̄_jk the clicks on item j at position k for each of its Ñ_jk complete epochs
    there. The list maximises the sum, a linear assignment problem, and is shown until it is not
    clicked.

    **Assumes**: multinomial logit clicks; position bias need not be known, nor decrease. No
    horizon.

    **Source**: grant2020, Algorithm 4, after agrawal2019.

    **Differences**: 1. Without a complete epoch an index is infinite: the list with most of these
    goes first, and among those the one whose other indices have the largest sum. 2. Lists whose
    sums differ by less than 1e-11 of n_positions times the largest index count as tied, and random
    bonuses of that size, by item and by position, decide. 3. The logarithm is at least 0. 4. Late
    feedback and several clicks in one list: as in `EpochUCB`.

    **Complexity**: a round within an epoch copies the list. A new one takes
    O(n_items · n_positions) indices and a check that no exchange of items improves the last list,
    O(n_positions³); if one does, the assignment problem, O(n_positions² · n_items).

    **Guarantee**: regret O(√(n_items · n_positions · T log(n_items · n_positions · T²)) +
    n_items · n_positions · log²(n_items · n_positions · T)) (grant2020, Corollary 19), with
    feedback at once.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.MNL([0.6, 0.4, 0.2], [1.0, 0.5])
    >>> cr.simulate("mnl-bandit", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "mnl-bandit"
    assumes = Assumes(click_models=("mnl",))
    by_item = ("clicks", "epochs", "mean", "share", "width")

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the kernels' constants."""
        return Params(4.0, n_items * n_positions / 2.0)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        cells = (n_items, n_positions)
        return State(
            **no_epochs(n_positions),
            clicks=np.zeros(cells, dtype=np.int64),
            epochs=np.zeros(cells, dtype=np.int64),
            mean=np.full(cells, math.inf),
            share=np.zeros(cells),
            width=np.zeros(cells),
            bound=np.zeros(cells),
            **no_assignment(n_items, n_positions),
        )


def _rank(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    if goes_on(state.epoch, state.begun, state.current, ranking, memo):
        return
    number = state.epoch[0] + 1.0
    level = params.exploration * max(0.0, math.log(params.half * number * number))
    root = math.sqrt(level)
    n_items, n_positions = state.bound.shape
    largest = 0.0
    for item in range(n_items):
        for position in range(n_positions):
            value = state.mean[item, position] + root * state.width[item, position]
            value += level * state.share[item, position]
            state.bound[item, position] = value
            if value < math.inf:
                largest = max(largest, value)
    # An infinite index becomes 1, more than all finite ones of a list together.
    scale = 1.0 / (1.0 + n_positions * largest)
    for item in range(n_items):
        for position in range(n_positions):
            state.bound[item, position] = min(1.0, state.bound[item, position] * scale)
    assign(state.bound, rng, state.best, state.room, state.marks, state.graph)
    copy(state.best, ranking)


def _update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    ended = ends_epoch(state.epoch, state.begun, state.current, ranking, memo, clicks)
    for position in range(ranking.shape[0]):
        item = ranking[position]
        if ended:
            state.epochs[item, position] += 1
            state.share[item, position] = 1.0 / state.epochs[item, position]
            _estimate(state, item, position)
        elif clicks[position] == 1:
            state.clicks[item, position] += 1
            if state.epochs[item, position] > 0:
                _estimate(state, item, position)


@inline_kernel
def _estimate(state: State, item: int, position: int) -> None:
    share = state.share[item, position]
    mean = state.clicks[item, position] * share
    state.mean[item, position] = mean
    state.width[item, position] = math.sqrt(min(1.0, 2.0 * mean) * share)


register(MNLBandit, State, _rank, _update, lean=True)
