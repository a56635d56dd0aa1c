"""Epoch-UCB: sorts items by a confidence bound under MNL clicks; shows a list until no click."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Floats, FloatStatistic, Ints, IntStatistic, Vector
from clickrank.policies._shared.epochs import EpochPolicy, ends_epoch, goes_on, no_epochs
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, check_length, set_probabilities
from clickrank.policies.registration import register
from clickrank.rankings.selection import drawn_top_k, place, prominence


class State(NamedTuple):
    """Clicks and exposure of each item, and the present epoch."""

    epoch: IntStatistic  # (1,), epochs that have ended, l - 1
    begun: IntStatistic  # (1,), 1 if a list of the present epoch has come back, with a click
    current: IntStatistic  # (n_positions,), that list
    clicks: IntStatistic  # (n_items,), Σ n
    exposure: FloatStatistic  # (n_items,), Λ_j: sum of the item's biases in lists without a click


class Params(NamedTuple):
    """Constants."""

    position_bias: Floats  # (n_positions,), λ
    prominence: Ints  # (n_positions,), positions by decreasing bias
    exploration: float  # factor of the logarithm: 4
    half: float  # J/2
    squared: int  # 1 for log(J l²/2), 0 for log(J l/2)


@dataclass(frozen=True)
class EpochUCB(EpochPolicy):
    """Epoch-UCB sorts items by an upper confidence bound of their attraction, epoch by epoch.

    People choose one item of the whole list, or none. A list is shown until it is not clicked; the
    clicks on an item until then are geometric with mean λα, whatever else is shown.

    ᾱ_j + √(4 min(1, 2ᾱ_j) log(J l²/2) / Λ_j) + 4 log(J l²/2) / Λ_j in epoch l, with J items,
    ᾱ_j = (clicks on item j) / Λ_j and Λ_j the sum of the position biases λ of item j over its
    complete epochs. The largest goes to the position with the largest λ, and so on.

    **Assumes**: multinomial logit clicks, known position bias. No horizon.

    **Source**: grant2020, Algorithm 2.

    **Differences**: 1. An item without a complete epoch has an infinite index; the paper leaves the
    first epochs open. 2. Ties are broken at random. 3. The logarithm is at least 0. It would be
    negative only in the first epoch with one item. 4. An index may exceed 1, as printed, although
    no α does. 5. Late feedback: an epoch ends when any list comes back without a click; lists of
    epochs that have ended count too, and l - 1 is the number of lists that came back without a
    click. `clickrank.policies._shared.epochs` explains why this is unbiased. 6. Several clicks in
    one list, which this click model does not have, all count.

    **Complexity**: a round within an epoch copies the list. A new list takes O(n_items) indices and
    a sort.

    **Guarantee**: regret O(√(n_items · T log(n_items · T) · max λ / min λ)) (grant2020,
    Proposition 8), with immediate feedback.

    Parameters
    ----------
    position_bias
        Bias of each position (λ), above 0 and at most 1; it need not decrease.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.MNL([0.6, 0.4, 0.2], [1.0, 0.5])
    >>> cr.simulate("epoch-ucb", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "epoch-ucb"
    assumes = Assumes(click_models=("mnl",), known=("position_bias",))
    by_item = ("clicks", "exposure")

    position_bias: Vector

    def __post_init__(self) -> None:
        """Check the parameters."""
        set_probabilities(self, "position_bias")

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        bias = check_length(self, "position_bias", n_positions)
        return Params(bias, prominence(bias), 4.0, n_items / 2.0, 1)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            **no_epochs(n_positions),
            clicks=np.zeros(n_items, dtype=np.int64),
            exposure=np.zeros(n_items),
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
    """Show the epoch's list, or begin an epoch with the items that have the largest indices."""
    if goes_on(state.epoch, state.begun, state.current, ranking, memo):
        return
    number = state.epoch[0] + 1.0  # l
    inside = params.half * number * (number if params.squared == 1 else 1.0)
    level = params.exploration * max(0.0, math.log(inside))
    index = np.empty(state.clicks.shape[0])
    for item in range(index.shape[0]):
        index[item] = math.inf
        if state.exposure[item] > 0.0:
            share = 1.0 / state.exposure[item]
            mean = state.clicks[item] * share
            width = math.sqrt(min(1.0, 2.0 * mean) * share)
            index[item] = mean + math.sqrt(level) * width + level * share
    best = np.empty(ranking.shape[0], dtype=np.int64)
    drawn_top_k(index, rng, best)
    place(best, params.prominence, ranking)


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks or, in a list without one, exposure: Λ sums over the lists that end epochs."""
    ended = ends_epoch(state.epoch, state.begun, state.current, ranking, memo, clicks)
    for position in range(ranking.shape[0]):
        item = ranking[position]
        state.clicks[item] += clicks[position]
        if ended:
            state.exposure[item] += params.position_bias[position]


register(EpochUCB, State, rank, update)
