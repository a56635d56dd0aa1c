"""MNL-bandit: an upper confidence bound for every item at every position, epoch by epoch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Ints, IntStatistic
from clickrank.numerics.assignment import best_assignment
from clickrank.policies._shared.epochs import EpochPolicy, ends_epoch, goes_on, no_epochs
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes
from clickrank.policies.registration import register


class State(NamedTuple):
    """Clicks and epochs of each item at each position, and the present epoch."""

    epoch: IntStatistic  # (1,), epochs that have ended, l - 1
    begun: IntStatistic  # (1,), 1 if a list of the present epoch has come back, with a click
    current: IntStatistic  # (n_positions,), that list
    clicks: IntStatistic  # (n_items, n_positions), N_jk
    epochs: IntStatistic  # (n_items, n_positions), Ñ_jk: lists without a click


class Params(NamedTuple):
    """Constants."""

    exploration: float  # factor of the logarithm: 4
    half: float  # JK/2


@dataclass(frozen=True)
class MNLBandit(EpochPolicy):
    """MNL-bandit learns the weight of every item at every position separately.

    It need not know the position bias, nor that there is one, but has n_items · n_positions weights
    to learn.

    γ̄_jk + √(4 min(1, 2γ̄_jk) log(JK l²/2) / Ñ_jk) + 4 log(JK l²/2) / Ñ_jk in epoch l, for J items, K
    positions and γ̄_jk the clicks on item j at position k, divided by its Ñ_jk complete epochs
    there. The list maximises the sum, a linear assignment problem, and is shown until it is not
    clicked.

    **Assumes**: multinomial logit clicks; position bias need not be known, nor decrease. No
    horizon.

    **Source**: grant2020, Algorithm 4, after agrawal2019.

    **Differences**: 1. Without a complete epoch an index is infinite: the list with most of these
    goes first, and among those the one whose other indices have the largest sum. 2. Lists whose
    sums differ by less than 1e-11 of n_positions times the largest index are tied; random bonuses
    of that size, one per item and one per position, decide. 3. The logarithm is at least 0. 4. Late
    feedback and several clicks in one list: as in `EpochUCB`.

    **Complexity**: a round within an epoch copies the list. A new list takes
    O(n_items · n_positions) indices and the assignment problem, O(n_positions² · n_items).

    **Guarantee**: regret O(√(n_items · n_positions · T log(n_items · n_positions · T²)) +
    n_items · n_positions · log²(n_items · n_positions · T)) (grant2020, Corollary 19), with
    immediate feedback.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.MNL([0.6, 0.4, 0.2], [1.0, 0.5])
    >>> cr.simulate("mnl-bandit", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "mnl-bandit"
    assumes = Assumes(click_models=("mnl",))
    by_item = ("clicks", "epochs")

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        return Params(4.0, n_items * n_positions / 2.0)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            **no_epochs(n_positions),
            clicks=np.zeros((n_items, n_positions), dtype=np.int64),
            epochs=np.zeros((n_items, n_positions), dtype=np.int64),
        )


def rank(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Show the epoch's list, or begin an epoch with the list of the largest sum of indices."""
    if goes_on(state.epoch, state.begun, state.current, ranking, memo):
        return
    number = state.epoch[0] + 1.0  # l
    level = params.exploration * max(0.0, math.log(params.half * number * number))
    n_items, n_positions = state.clicks.shape
    index = np.full((n_items, n_positions), math.inf)
    largest = 0.0
    for item in range(n_items):
        for position in range(n_positions):
            if state.epochs[item, position] > 0:
                share = 1.0 / state.epochs[item, position]
                mean = state.clicks[item, position] * share
                width = math.sqrt(min(1.0, 2.0 * mean) * share)
                value = mean + math.sqrt(level) * width + level * share
                index[item, position] = value
                largest = max(largest, value)
    # An infinite index becomes 1, which is more than all finite ones of a list together.
    scale = 1.0 / (1.0 + n_positions * largest)
    for item in range(n_items):
        for position in range(n_positions):
            index[item, position] = min(1.0, index[item, position] * scale)
    best_assignment(index, rng, ranking)


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks or, in a list without one, the epoch of each item at its position."""
    ended = ends_epoch(state.epoch, state.begun, state.current, ranking, memo, clicks)
    for position in range(ranking.shape[0]):
        item = ranking[position]
        state.clicks[item, position] += clicks[position]
        if ended:
            state.epochs[item, position] += 1


register(MNLBandit, State, rank, update)
