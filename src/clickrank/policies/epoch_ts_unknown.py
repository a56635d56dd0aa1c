"""Epoch-TS for unknown position biases: draws biases, and then attractions given the biases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Ints, IntStatistic
from clickrank.numerics.mnl_curvature import draw_log_biases
from clickrank.numerics.mnl_objective import Objective, fit_tables, tables_of
from clickrank.policies._shared.beta_prime import draw_beta_prime
from clickrank.policies._shared.epochs import EpochPolicy, ends_epoch, goes_on, no_epochs
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes
from clickrank.policies.registration import register
from clickrank.rankings.selection import place, top_k


class State(NamedTuple):
    """Clicks and epochs of each item at each position, and the present epoch."""

    epoch: IntStatistic  # (1,), epochs that have ended, l - 1
    begun: IntStatistic  # (1,), 1 if a list of the present epoch has come back, with a click
    current: IntStatistic  # (n_positions,), that list
    clicks: IntStatistic  # (n_items, n_positions), N
    epochs: IntStatistic  # (n_items, n_positions), Ñ: lists without a click


class Params(NamedTuple):
    """Constants."""

    objective: Objective  # the composite likelihood and the prior


@dataclass(frozen=True)
class EpochTSUnknown(EpochPolicy):
    """Epoch-TS for unknown biases shows each list with the probability that it is the best one.

    At the beginning of an epoch it draws a bias for each position from their posterior, then an
    attraction for each item given these biases, as `EpochTS` does. The largest attraction goes to
    the largest bias, and so on. The list is shown until it is not clicked.

    log λ is normal around the mode (x, y) = (log α, log λ) of the posterior density

    Π_jk e^(N z) / (1 + e^z)^(N + Ñ) · Π_j e^(x_j) / (1 + e^(x_j))² · Π_k e^(y_k) / (1 + e^(y_k))²

    with z = x_j + y_k, N clicks on item j at position k and Ñ complete epochs that showed it there;
    its precision is the curvature there, with the items eliminated (a Schur complement). Given λ,
    α_j = (G / H) · Λ_j/Σλ², with Gamma variables G and H of shapes 1 + N_j and Λ_j²/Σλ², where
    Λ_j = 1 + Σ_k Ñ_jk λ_k and Σλ² = 1 + Σ_k Ñ_jk λ_k².

    The second and the third product are the prior: Beta-prime(1, 1) for each attraction and each
    bias, worth one click in one epoch. No position is the reference: clicks determine only the
    products α_j λ_k, but the order of either does not depend on the scale, which the prior fixes.

    **Assumes**: multinomial logit clicks; position bias need not be known, nor decrease. No
    horizon.

    **Source**: this library. grant2020, section 7, names randomised approaches with approximate
    posteriors as future work; for known and equal biases it is agrawal2017.

    **Differences**: 1. The likelihood is the composite one, which treats the counts of one epoch as
    independent (`clickrank.fit.mnl_composite`): the exact one needs every list that was shown, not
    two tables. After random lists on the source's problems the standard deviations of log(λ_k /
    λ_l) are 1 % to 14 % larger than those of the exact posterior (`test_epoch_ts_unknown.py`). 2.
    The normal approximation is used for biases only, each of which has clicks on many items. Items
    may have no click, where the posterior is far from normal. Given the biases, their draws have
    the right mean and variance and are exact for biases of 1, as for `EpochTS`. 3. Draws may exceed
    1, although no α or λ does in the source. 4. Late feedback and several clicks in one list: as in
    `EpochUCB`; until the first list of an epoch has come back, each list has its own draws.

    **Complexity**: a round within an epoch copies the list. A new list takes about 10 steps of
    Newton's method, each O(n_items · n_positions²), n_positions normal draws and two Gamma draws
    per item.

    **Guarantee**: none proved.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.MNL([0.6, 0.4, 0.2], [1.0, 0.5])
    >>> cr.simulate("epoch-ts-unknown", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "epoch-ts-unknown"
    assumes = Assumes(click_models=("mnl",))
    by_item = ("clicks", "epochs")

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        free = -math.inf, math.inf
        return Params(Objective(1, 1.0, 1.0, 0, *free, *free))

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
    """Show the epoch's list, or begin an epoch with the largest draws at the largest biases."""
    if goes_on(state.epoch, state.begun, state.current, ranking, memo):
        return
    n_items, n_positions = state.clicks.shape
    tables = tables_of(state.clicks, state.epochs, False)
    mode_x, mode_y = np.zeros(n_items), np.zeros(n_positions)
    fit_tables(tables, params.objective, mode_x, mode_y)
    log_bias = np.empty(n_positions)
    draw_log_biases(tables, params.objective, mode_x, mode_y, rng, log_bias)
    draws = np.empty(n_items)
    for item in range(n_items):
        clicks = exposure = squares = 1.0
        for position in range(n_positions):
            bias = math.exp(log_bias[position])
            clicks += state.clicks[item, position]
            exposure += state.epochs[item, position] * bias
            squares += state.epochs[item, position] * bias * bias
        ratio = draw_beta_prime(clicks, exposure * exposure / squares, rng)  # G/H
        draws[item] = ratio * (exposure / squares)
    best, order = np.empty_like(ranking), np.empty_like(ranking)
    top_k(draws, rng, best)
    top_k(log_bias, rng, order)
    place(best, order, ranking)


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


register(EpochTSUnknown, State, rank, update)
