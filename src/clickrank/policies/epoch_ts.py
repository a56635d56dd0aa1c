"""Epoch-TS: Thompson sampling for MNL clicks; a list is shown until it is not clicked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Floats, FloatStatistic, Ints, IntStatistic, Vector
from clickrank.policies._shared.beta_prime import draw_beta_prime
from clickrank.policies._shared.epochs import EpochPolicy, ends_epoch, goes_on, no_epochs
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, check_length, set_probabilities
from clickrank.policies.registration import register
from clickrank.rankings.selection import place, prominence, top_k


class State(NamedTuple):
    """The counts of each item's posterior, and the present epoch."""

    epoch: IntStatistic  # (1,), epochs that have ended, l - 1
    begun: IntStatistic  # (1,), 1 if a list of the present epoch has come back, with a click
    current: IntStatistic  # (n_positions,), that list
    clicks: IntStatistic  # (n_items,), N_j
    exposure: FloatStatistic  # (n_items,), Λ_j, including 1 for the prior
    squares: FloatStatistic  # (n_items,), Σ λ², including 1 for the prior


class Params(NamedTuple):
    """Constants."""

    position_bias: Floats  # (n_positions,), λ
    prominence: Ints  # (n_positions,), positions by decreasing bias


@dataclass(frozen=True)
class EpochTS(EpochPolicy):
    """Epoch-TS shows each list for an epoch, with the probability that it is the best one.

    At the beginning of an epoch it draws an attraction for each item from its posterior, and sorts
    by the draws. The list is shown until it is not clicked.

    α_j = (G / H) · Λ_j/Σλ², with G and H Gamma variables of shapes 1 + N_j and Λ_j²/Σλ². N_j counts
    the clicks on item j; Λ_j and Σλ² sum its position biases and their squares over its complete
    epochs and one more of bias 1, for the prior.

    In an epoch at a position of bias λ the clicks on an item are geometric with mean λα. If λ = 1,
    a Beta-prime(1, 1) prior, with density 1/(1 + α)², is conjugate: after n epochs the posterior is
    Beta-prime(1 + N, 1 + n), the distribution of G/H. With other biases the posterior has no name.
    The draw then represents Λ²/Σλ² epochs of one bias λ' = Σλ²/Λ, which preserves the mean α and
    the variance (α + λ'α²)/Λ of the estimate N/Λ.

    **Assumes**: multinomial logit clicks, known position bias. No horizon.

    **Source**: this library. grant2020, section 7, names it as future work; for equal biases it is
    the posterior of agrawal2017, with slots.

    **Differences**: 1. The posterior uses an item's own clicks only. It is exact for positions of
    bias 1, and has the right two moments otherwise. Clicks on other items of the list show how long
    an epoch was, which is not used: with them no posterior has a closed form. 2. Draws may exceed
    1, although no α does. 3. Late feedback and several clicks in one list: as in `EpochUCB`; until
    the first list of an epoch has come back, each list has its own draws.

    **Complexity**: a round within an epoch copies the list. A new list takes two Gamma draws per
    item.

    **Guarantee**: none proved.

    Parameters
    ----------
    position_bias
        Bias of each position (λ), above 0 and at most 1; it need not decrease.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.MNL([0.6, 0.4, 0.2], [1.0, 0.5])
    >>> cr.simulate("epoch-ts", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "epoch-ts"
    assumes = Assumes(click_models=("mnl",), known=("position_bias",))
    by_item = ("clicks", "exposure", "squares")

    position_bias: Vector

    def __post_init__(self) -> None:
        """Check the parameters."""
        set_probabilities(self, "position_bias")

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        bias = check_length(self, "position_bias", n_positions)
        return Params(bias, prominence(bias))

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            **no_epochs(n_positions),
            clicks=np.zeros(n_items, dtype=np.int64),
            exposure=np.ones(n_items),
            squares=np.ones(n_items),
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
    """Show the epoch's list, or begin an epoch with the items that have the largest draws."""
    if goes_on(state.epoch, state.begun, state.current, ranking, memo):
        return
    draws = np.empty(state.clicks.shape[0])
    for item in range(draws.shape[0]):
        epochs = state.exposure[item] * state.exposure[item] / state.squares[item]  # Λ²/Σλ²
        ratio = draw_beta_prime(1.0 + state.clicks[item], epochs, rng)  # G/H
        draws[item] = ratio * (state.exposure[item] / state.squares[item])
    best = np.empty(ranking.shape[0], dtype=np.int64)
    top_k(draws, rng, best)
    place(best, params.prominence, ranking)


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks or, in a list without one, the biases of its positions and their squares."""
    ended = ends_epoch(state.epoch, state.begun, state.current, ranking, memo, clicks)
    for position in range(ranking.shape[0]):
        item, bias = ranking[position], params.position_bias[position]
        state.clicks[item] += clicks[position]
        if ended:
            state.exposure[item] += bias
            state.squares[item] += bias * bias


register(EpochTS, State, rank, update)
