"""Epoch-UCB: sort items by a bound on their weight, keep the list until someone does not click."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._jit import inline_kernel
from clickrank._select import contenders, draw_ties, enter, prominence
from clickrank.policies.base import Assumes, Policy, check_length, set_probabilities
from clickrank.policies.contract import Request, register
from clickrank.policies.epochs import EPOCHS, carry_epoch, ends_epoch, goes_on, no_epochs
from clickrank.types import (
    Floats,
    FloatScratch,
    FloatStatistic,
    Ints,
    IntScratch,
    IntStatistic,
    Vector,
)


class Params(NamedTuple):
    """Constants."""

    position_bias: Floats  # (n_positions,), λ
    prominence: Ints  # (n_positions,), positions by decreasing bias
    exploration: float  # c: 4
    half: float  # J/2
    squared: int  # 1 for log(J l²/2), 0 for log(J l/2)


class State(NamedTuple):
    """What is known of each item, the present epoch, and the bounds last sorted by."""

    epoch: IntStatistic  # (1,), l - 1; this and the next two: see `epochs`
    begun: IntStatistic  # (1,)
    current: IntStatistic  # (n_positions,)
    clicks: IntStatistic  # (n_items,), Σ n
    exposure: FloatStatistic  # (n_items,), Λ_j: biases of its positions in lists without a click
    mean: FloatStatistic  # (n_items,), ᾱ_j; infinite before the first such list
    share: FloatStatistic  # (n_items,), 1/Λ_j; 0 before it
    width: FloatStatistic  # (n_items,), √(min(1, 2ᾱ_j)/Λ_j); 0 before it
    bound: FloatScratch  # (n_items,), the index
    best: IntScratch  # (n_positions,), items by decreasing index, tied ones by number
    room: IntScratch  # (2, n_items); this and the next: see `contenders`
    kept: FloatScratch  # (n_positions,)


@dataclass(frozen=True)
class EpochUCB(Policy):
    """Epoch-UCB sorts items by an upper confidence bound of their attraction, epoch by epoch.

    People choose one item of the whole list, or none. A list is shown until it is not clicked: the
    clicks on an item until then are geometric, with mean λα whatever is beside it.

    ᾱ_j + √(4 min(1, 2ᾱ_j) log(J l²/2) / Λ_j) + 4 log(J l²/2) / Λ_j in epoch l, with J items,
    ᾱ_j = (clicks on item j) / Λ_j and Λ_j the position biases λ of item j summed over the complete
    epochs. The largest goes to the position of the largest λ, and so on.

    **Assumes**: multinomial logit clicks, known position bias. No horizon.

    **Source**: grant2020, Algorithm 2.

    **Differences**: 1. An item without a complete epoch has an infinite index; the text leaves the
    first epochs open. 2. Ties are broken at random. 3. The logarithm is at least 0. It is below
    only in the first epoch with one item. 4. An index may exceed 1, as printed, although no α does.
    5. Late feedback: an epoch ends when any list comes back without a click; lists of epochs that
    have ended count too, and l - 1 is the number of lists that came back without a click. See
    `clickrank.policies.epochs` for why that is unbiased. 6. Several clicks in one list, which this
    click model does not have, all count.

    **Complexity**: a round within an epoch copies the list. A new one takes O(n_items): a logarithm
    and a root, and a division and a root for each shown item.

    **Guarantee**: regret O(√(n_items · T log(n_items · T) · max λ / min λ)) (grant2020,
    Proposition 8), with feedback at once.

    Parameters
    ----------
    position_bias
        Prominence of each position (λ), above 0 and at most 1; it need not decrease.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.MNL([0.6, 0.4, 0.2], [1.0, 0.5])
    >>> cr.simulate("epoch-ucb", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "epoch-ucb"
    assumes = Assumes(click_models=("mnl",), known=("position_bias",))
    by_item = ("clicks", "exposure", "mean", "share", "width")

    position_bias: Vector

    def __post_init__(self) -> None:
        """Check the parameters."""
        set_probabilities(self, "position_bias")

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the kernels' constants."""
        bias = check_length(self, "position_bias", n_positions)
        return Params(bias, prominence(bias), 4.0, n_items / 2.0, 1)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            **no_epochs(n_positions),
            clicks=np.zeros(n_items, dtype=np.int64),
            exposure=np.zeros(n_items),
            mean=np.full(n_items, math.inf),
            share=np.zeros(n_items),
            width=np.zeros(n_items),
            bound=np.zeros(n_items),
            best=np.arange(n_positions),
            room=np.zeros((2, n_items), dtype=np.int64),
            kept=np.zeros(n_positions),
        )

    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return one whole number: the epoch."""
        return 1

    def memo_limit(self, n_items: int) -> int:
        """Return what it is below."""
        return EPOCHS

    def mend(self, state: State, numbers: Ints) -> None:
        """Go on with the epoch if all items of its list are there."""
        carry_epoch(state, numbers)


def rank_by_bounds(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Show the epoch's list, or begin an epoch with the items of the largest indices."""
    if goes_on(state, ranking, memo):
        return
    number = state.epoch[0] + 1.0
    inside = params.half * number
    if params.squared == 1:
        inside *= number
    level = params.exploration * max(0.0, math.log(inside))
    root = math.sqrt(level)
    for item in range(state.bound.shape[0]):
        state.bound[item] = state.mean[item] + root * state.width[item] + level * state.share[item]
    found = contenders(state.bound, state.bound, state.best, state.room, state.kept)
    enter(state.bound, state.best, state.room, found)
    draw_ties(state.bound, rng, state.best, state.room, found, ranking)
    for place in range(ranking.shape[0]):
        state.room[0, place] = ranking[place]
    for place in range(ranking.shape[0]):
        ranking[params.prominence[place]] = state.room[0, place]


def count_clicks(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks or, without one, exposure: Λ sums over the lists that end epochs."""
    ended = ends_epoch(state, ranking, memo, clicks)
    for position in range(ranking.shape[0]):
        item = ranking[position]
        if ended:
            state.exposure[item] += params.position_bias[position]
            state.share[item] = 1.0 / state.exposure[item]
            _estimate(state, item)
        elif clicks[position] == 1:
            state.clicks[item] += 1
            if state.exposure[item] > 0.0:
                _estimate(state, item)


@inline_kernel
def _estimate(state: State, item: int) -> None:
    state.mean[item] = state.clicks[item] * state.share[item]
    state.width[item] = math.sqrt(min(1.0, 2.0 * state.mean[item]) * state.share[item])


register(EpochUCB, State, rank_by_bounds, count_clicks, lean=True)
