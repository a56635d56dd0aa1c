"""Epoch-TS for unknown position biases: biases are drawn first, then attractions given them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._jit import lean_kernel
from clickrank._select import place, renew_top_k
from clickrank.numerics.gamma import gamma_constants, sample_gamma
from clickrank.numerics.mnl_curvature import draw_log_biases
from clickrank.numerics.mnl_tables import (
    Objective,
    item_buffer,
    minimise_tables,
    position_buffer,
)
from clickrank.policies._shared.epochs import EpochPolicy, ends_epoch, goes_on, no_epochs
from clickrank.policies.base import Assumes
from clickrank.policies.contract import Request, register
from clickrank.types import FloatScratch, Ints, IntScratch, IntStatistic


class Params(NamedTuple):
    """Constants."""

    objective: Objective  # the composite likelihood and the prior


class State(NamedTuple):
    """Counts by item and position, the present epoch, and the draws last sorted by."""

    epoch: IntStatistic  # (1,), l - 1; this and the next two: see `epochs`
    begun: IntStatistic  # (1,)
    current: IntStatistic  # (n_positions,)
    clicks: IntStatistic  # (n_items, n_positions), N
    epochs: IntStatistic  # (n_items, n_positions), Ñ
    stale: IntScratch  # (1,), 1 if the mode is not that of the counts
    log_attraction: FloatScratch  # (n_items,), log α at the mode; where the next search starts
    log_bias: FloatScratch  # (n_positions,), log λ at the mode; likewise
    drawn_log_bias: FloatScratch  # (n_positions,), one draw of log λ
    draws: FloatScratch  # (n_items,), one draw of each attraction given the biases
    best: IntScratch  # (n_positions,), items by decreasing draw
    order: IntScratch  # (n_positions,), positions by decreasing drawn bias
    n_buffer: FloatScratch  # (n_items, n_positions), N; this and the rest: see `minimise_tables`
    m_buffer: FloatScratch  # (n_items, n_positions), Ñ
    bend_buffer: FloatScratch  # (n_items, n_positions)
    item_buffer: FloatScratch
    position_buffer: FloatScratch


@dataclass(frozen=True)
class EpochTSUnknown(EpochPolicy):
    """Epoch-TS for unknown biases shows each list as often as it is probably the best one.

    At the beginning of an epoch it draws a bias for each position from their posterior, then an
    attraction for each item given these biases, as `EpochTS` does. The largest attraction goes to
    the largest bias, and so on; the list is shown until it is not clicked.

    log λ is normal around the mode (x, y) = (log α, log λ) of the posterior density

    Π_jk e^(N z) / (1 + e^z)^(N + Ñ) · Π_j e^(x_j) / (1 + e^(x_j))² · Π_k e^(y_k) / (1 + e^(y_k))²

    with z = x_j + y_k, N clicks on item j at position k and Ñ complete epochs that showed it there;
    its precision is the curvature there, without the items (a Schur complement). Given λ,
    α_j = (G / H) · Λ_j/Σλ², with Gamma variables G and H of shapes 1 + N_j and Λ_j²/Σλ², where
    Λ_j = 1 + Σ_k Ñ_jk λ_k and Σλ² = 1 + Σ_k Ñ_jk λ_k².

    The second and the third product are the prior: Beta-prime(1, 1) for each attraction and each
    bias, worth one click in one epoch. No position is the reference: clicks determine the products
    α_j λ_k only, but the order of either does not depend on the scale, and the prior settles it.

    **Assumes**: multinomial logit clicks; position bias need not be known, nor decrease. No
    horizon.

    **Source**: this library. grant2020, section 7, names randomised approaches with approximate
    posteriors as future work; for known and equal biases it is agrawal2017.

    **Differences**: 1. The likelihood is the composite one, which takes the counts of one epoch for
    independent (`clickrank.fit.mnl_composite`): the exact one needs every list that was shown, not
    two tables. After random lists on the source's problems the standard deviations of log(λ_k /
    λ_l) are 1 % to 14 % larger than those of the exact posterior (`tests/test_mnl_unknown.py`). 2.
    The normal approximation is used for biases only, each of which has clicks on many items. Items
    may have no click, where the posterior is far from normal. Given the biases, its draws have the
    right mean and variance and are exact for biases of 1, as for `EpochTS`. 3. Draws may exceed 1,
    although no α or λ does in the source. 4. Late feedback and several clicks in one list: as in
    `EpochUCB`; until the first list of an epoch has come back, each has draws of its own.

    **Complexity**: a round within an epoch copies the list. A new one takes a few steps of Newton's
    method from the last mode, each O(n_items · n_positions²), n_positions normal draws and two
    Gamma draws per item.

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
        """Return the kernels' constants."""
        free = -math.inf, math.inf
        return Params(Objective(1, 1.0, 1.0, 0, *free, *free))

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        cells = (n_items, n_positions)
        return State(
            **no_epochs(n_positions),
            clicks=np.zeros(cells, dtype=np.int64),
            epochs=np.zeros(cells, dtype=np.int64),
            stale=np.ones(1, dtype=np.int64),
            log_attraction=np.zeros(n_items),
            log_bias=np.zeros(n_positions),
            drawn_log_bias=np.zeros(n_positions),
            draws=np.zeros(n_items),
            best=np.zeros(n_positions, dtype=np.int64),
            order=np.arange(n_positions),
            n_buffer=np.zeros(cells),
            m_buffer=np.zeros(cells),
            bend_buffer=np.zeros(cells),
            item_buffer=item_buffer(n_items),
            position_buffer=position_buffer(n_positions),
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
    n_items, n_positions = state.clicks.shape
    if state.stale[0] == 1:
        _find_mode(params, state)
        state.stale[0] = 0
    draw_log_biases(
        state.n_buffer,
        state.m_buffer,
        params.objective,
        state.log_attraction,
        state.log_bias,
        state.bend_buffer,
        state.item_buffer,
        state.position_buffer,
        rng,
        state.drawn_log_bias,
    )
    for item in range(n_items):
        clicks = exposure = squares = 1.0
        for position in range(n_positions):
            clicks += state.clicks[item, position]
            if state.epochs[item, position] > 0:
                bias = math.exp(state.drawn_log_bias[position])
                exposure += state.epochs[item, position] * bias
                squares += state.epochs[item, position] * bias * bias
        d, c = gamma_constants(clicks)
        win = sample_gamma(d, c, rng)
        d, c = gamma_constants(exposure * exposure / squares)
        state.draws[item] = win / sample_gamma(d, c, rng) * (exposure / squares)
    renew_top_k(state.draws, rng, state.best)
    renew_top_k(state.drawn_log_bias, rng, state.order)
    place(state.best, state.order, ranking)


@lean_kernel
def _find_mode(params: Params, state: State) -> None:
    for item in range(state.clicks.shape[0]):
        for position in range(state.clicks.shape[1]):
            state.n_buffer[item, position] = state.clicks[item, position]
            state.m_buffer[item, position] = state.epochs[item, position]
    minimise_tables(
        state.n_buffer,
        state.m_buffer,
        params.objective,
        state.log_attraction,
        state.log_bias,
        state.bend_buffer,
        state.item_buffer,
        state.position_buffer,
    )


def _update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    ended = ends_epoch(state.epoch, state.begun, state.current, ranking, memo, clicks)
    for position in range(ranking.shape[0]):
        state.clicks[ranking[position], position] += clicks[position]
        if ended:
            state.epochs[ranking[position], position] += 1
    state.stale[0] = 1


register(EpochTSUnknown, State, _rank, _update, lean=True)
