"""Epoch-UCB without position biases: they are estimated together with the attractions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._jit import lean_kernel
from clickrank._select import place, top_k
from clickrank.numerics.mnl_scaling import (
    PULL,
    Box,
    add_sensitivities,
    add_up,
    minimise_scaling,
    room_shape,
)
from clickrank.numerics.pbm_likelihood import rounded
from clickrank.policies.base import Assumes, KnownModel, Policy, register
from clickrank.policies.epochs import EPOCHS, carry_epoch, ends_epoch, goes_on, no_epochs
from clickrank.types import FloatScratch, Ints, IntScratch, IntStatistic, number, switch


class Params(NamedTuple):
    """Constants."""

    width: float  # c: the bound is α + c β √(log ...)
    squared: int  # 1 for log(J l²), 0 for log(J l)
    least: float  # ε
    most_attraction: float
    most_bias: float


class State(NamedTuple):
    """Counts by item and position, the present epoch, and the estimates."""

    epoch: IntStatistic  # (1,), l - 1; this and the next two: see `epochs`
    begun: IntStatistic  # (1,)
    current: IntStatistic  # (n_positions,)
    clicks: IntStatistic  # (n_items, n_positions), N
    epochs: IntStatistic  # (n_items, n_positions), Ñ
    stale: IntScratch  # (1,), 1 if the estimates are not those of the counts
    counts: FloatScratch  # (n_items, n_positions), N
    item_epochs: FloatScratch  # (n_items,), Σ_k Ñ
    position_epochs: FloatScratch  # (n_positions,), Σ_j Ñ
    log_bias: FloatScratch  # (n_positions,), log λ; where the next fit starts
    attraction: FloatScratch  # (n_items,), α
    other_bias: FloatScratch  # (n_positions,), log λ with one more click
    other_attraction: FloatScratch  # (n_items,), α with one more click
    enough: FloatScratch  # (n_items,), β² from which on the index is the largest attraction
    squares: FloatScratch  # (n_items,), β², or less if all have enough
    bound: FloatScratch  # (n_items,), the index
    best: IntScratch  # (n_positions,), items by decreasing index
    order: IntScratch  # (n_positions,), positions by decreasing λ
    room: FloatScratch  # see `minimise_scaling`


@dataclass(frozen=True)
class EpochUCBUnknown(Policy):
    """Epoch-UCB for unknown position biases sorts items by what one more click could change.

    Attractions and biases are fitted to the clicks of all epochs; the confidence bound of an item
    comes from how much its estimate moves with each count.

    α_j + √(36 β_j² log(J l²)) in epoch l, with J items and β_j² = Σ_ks Ñ_ks (α_j - α_j^ks)²,
    where (α, λ) minimise Σ_jk N_jk / (α_j λ_k) + Ñ_jk log(α_j λ_k), N being the clicks on item j at
    position k and Ñ the epochs that had it there, and α^ks is α with one more click in N_ks. The
    largest goes to the position of the largest λ, and so on.

    **Assumes**: multinomial logit clicks. The first position's bias counts as 1; with ``most`` = 1,
    no other is more prominent. No horizon.

    **Source**: grant2020, Algorithms 1 and 3.

    **Differences**: 1. The estimates are the limit of the printed alternating scheme, which is not
    the maximum of the geometric likelihood: see `clickrank.fit.mnl_em`. Newton's method finds it,
    to 1e-8 or better. 2. With few clicks the scheme has no limit: λ falls to 0 while α grows. The
    source has parameters in (0, 1], its α^EM has values there, and in a footnote there is an ε that
    they may not fall below, without its value; the steps that it prints keep to none of this. Here
    biases but λ_1 are kept within [least, most], attractions within [least, 1], and indices at or
    below 1: an attraction that is held at 1 does not move with a click, so that its β is 0 and its
    index 1, and with larger indices beside it the best items would come last. All items that may
    be the best are then tied, and shown evenly. Without the ``ceiling`` an item with a few clicks
    may have an attraction and a β of 50 or 100, and is shown more than others. 3. Where the
    clicks tell a product α_j λ_k only, α_j is drawn to 1: each item counts as shown in 1/1000 epoch
    more, at bias 1, with as many clicks. 4. Eq. 16 takes the estimates of one epoch before;
    here they are the latest. 5. An item without a complete epoch has an infinite index. 6. Indices
    and log λ are rounded to 1e-6, so that ties are ties; items that tie are ordered at random,
    positions from the first on. 7. Late feedback and several clicks: as in `EpochUCB`.

    **Complexity**: a round within an epoch copies the list. A new epoch fits anew, once and again
    for each shown pair of item and position, starting from the last fit: a few of Newton's steps,
    each O(n_items · n_positions²). So O(n_items² · n_positions³) an epoch; less while all indices
    are 1, which some of the pairs tell.

    **Guarantee**: regret O(n_positions² √(n_items · T log(n_items · T²))) (grant2020,
    Proposition 10), for the supremum over all counts in place of β, and feedback at once.

    **Observed**: on problem (c), 8,000 rounds and 40 runs, mean regret is 2,200, as of random
    lists; without the ceiling 227 (from 109 to 573), where bad runs still go from one wrong item to
    the next at the end. With the ceiling for estimates but not for indices, 2,358 to 3,959 in 4
    runs. `EpochUCBStar` has 124, and 101 without it, but then 5 of the 40 runs, instead of none,
    lose as with a wrong item in the list all through the second half.

    Parameters
    ----------
    least
        ε: the smallest estimate of an attraction or a bias, above 0.
    most
        The largest estimate of a bias, beside that of the first position: at least 1.
    ceiling
        Whether attractions and indices are kept at or below 1.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.MNL([0.6, 0.4, 0.2], [1.0, 0.5])
    >>> cr.simulate("epoch-ucb-unknown", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "epoch-ucb-unknown"
    assumes = Assumes(click_models=("mnl",))
    by_item = ("clicks", "epochs")

    least: float = 0.01
    most: float = 1.0
    ceiling: bool = True

    def __post_init__(self) -> None:
        """Check the parameters."""
        owner = type(self).__name__
        number(owner, "least", self.least, 1e-12, 1.0)
        number(owner, "most", self.most, 1.0)
        switch(owner, "ceiling", self.ceiling)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the kernels' constants."""
        most_attraction = 1.0 if self.ceiling else math.inf
        return Params(6.0, 1, float(self.least), most_attraction, float(self.most))

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        cells = (n_items, n_positions)
        return State(
            **no_epochs(n_positions),
            clicks=np.zeros(cells, dtype=np.int64),
            epochs=np.zeros(cells, dtype=np.int64),
            stale=np.ones(1, dtype=np.int64),
            counts=np.zeros(cells),
            item_epochs=np.zeros(n_items),
            position_epochs=np.zeros(n_positions),
            log_bias=np.zeros(n_positions),
            attraction=np.ones(n_items),
            other_bias=np.zeros(n_positions),
            other_attraction=np.ones(n_items),
            enough=np.zeros(n_items),
            squares=np.zeros(n_items),
            bound=np.zeros(n_items),
            best=np.zeros(n_positions, dtype=np.int64),
            order=np.arange(n_positions),
            room=np.zeros(room_shape(n_positions)),
        )

    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return one whole number: the epoch."""
        return 1

    def memo_limit(self, n_items: int) -> int:
        """Return what it is below."""
        return EPOCHS

    def why_not(self, model: KnownModel) -> str | None:
        """Say why the assumptions do not hold for a click model; None if they do."""
        return super().why_not(model) or _too_prominent(model, self.most)

    def mend(self, state: State, numbers: Ints) -> None:
        """Go on with the epoch if all items of its list are there."""
        carry_epoch(state, numbers)


def _too_prominent(model: KnownModel, most: float) -> str | None:
    """Say which position is more prominent, beside the first, than estimates may be."""
    bias = [float(x) for x in getattr(model, "position_bias", ())]
    if bias and max(bias) > most * bias[0] * (1.0 + 1e-12):
        limit = "more" if most == 1.0 else f"more than {most:g} times more"
        return f"it assumes that no position is {limit} prominent than the first, not {bias}"
    return None


def rank_by_sensitivity(
    params: Params, state: State, rng: np.random.Generator, ranking: Ints, memo: Ints
) -> None:
    """Show the epoch's list, or begin an epoch with the items of the largest indices."""
    if goes_on(state, ranking, memo):
        return
    if state.stale[0] == 1:
        _fit(params, state)
        state.stale[0] = 0
    top_k(state.bound, rng, state.best)
    place(state.best, state.order, ranking)


@lean_kernel
def _fit(params: Params, state: State) -> None:
    """Write the indices of the items and the order of the positions."""
    n_items, n_positions = state.clicks.shape
    box = Box(params.least, params.most_attraction, params.least, params.most_bias)
    add_up(state.clicks, state.epochs, state.counts, state.item_epochs, state.position_epochs)
    minimise_scaling(
        state.counts,
        state.item_epochs,
        state.position_epochs,
        box,
        PULL,
        state.log_bias,
        state.attraction,
        False,
        state.room,
    )
    for k in range(n_positions):  # sorted into the order of those before it
        bias = rounded(state.log_bias[k])
        at = k
        while at > 0 and rounded(state.log_bias[state.order[at - 1]]) < bias:
            state.order[at] = state.order[at - 1]
            at -= 1
        state.order[at] = k
    epoch = state.epoch[0] + 1.0
    level = math.log(n_items * epoch * (epoch if params.squared == 1 else 1.0))
    for j in range(n_items):
        above = (params.most_attraction - state.attraction[j]) / params.width
        state.enough[j] = above * above / level if state.item_epochs[j] > 0.0 else 0.0
    add_sensitivities(
        state.counts,
        state.epochs,
        state.item_epochs,
        state.position_epochs,
        box,
        PULL,
        state.log_bias,
        state.attraction,
        state.other_bias,
        state.other_attraction,
        state.room,
        state.order,
        state.enough,
        state.squares,
    )
    for j in range(n_items):
        index = math.inf
        if state.item_epochs[j] > 0.0:
            index = state.attraction[j] + params.width * math.sqrt(level * state.squares[j])
            index = rounded(min(index, params.most_attraction))
        state.bound[j] = index


def count_epochs(params: Params, state: State, ranking: Ints, memo: Ints, clicks: Ints) -> None:
    """Count clicks or, without one, the epoch of each shown item and its position."""
    ended = ends_epoch(state, ranking, memo, clicks)
    for position in range(ranking.shape[0]):
        state.clicks[ranking[position], position] += clicks[position]
        if ended:
            state.epochs[ranking[position], position] += 1
    state.stale[0] = 1


register(EpochUCBUnknown, State, rank_by_sensitivity, count_epochs, lean=True)
