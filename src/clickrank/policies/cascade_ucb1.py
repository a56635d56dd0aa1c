"""CascadeUCB1: sorts items by a confidence bound, and learns down to the first click."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Floats, Ints, IntStatistic
from clickrank.policies._shared.observation import FIRST_CLICK, positions_seen
from clickrank.policies.capabilities import ItemsComeAndGo
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy
from clickrank.policies.registration import register


class State(NamedTuple):
    """Observations of each item."""

    rounds: IntStatistic  # (1,), t - 1
    clicks: IntStatistic  # (n_items,), T(e) · ŵ(e)
    views: IntStatistic  # (n_items,), T(e): how often the item was examined


class Params(NamedTuple):
    """Constants."""

    exploration: float  # 1.5
    n_positions: int  # K


@dataclass(frozen=True)
class CascadeUCB1(Policy, ItemsComeAndGo):
    """CascadeUCB1 sorts items by an upper confidence bound of their attraction.

    People scan from the top and click once. All items down to the click were examined, or the whole
    list if there is no click. The items below the click were not observed.

    U_t(e) = ŵ(e) + √(1.5 log(t - 1) / T(e)), where ŵ(e) is the click rate of item e in its T(e)
    observations. The items with the largest U_t are shown, best first.

    **Assumes**: cascade clicks. No horizon.

    **Source**: kveton2015a, Algorithm 1 with the bounds of its eq. 4.

    **Differences**: 1. The paper observes each item once before it starts; here an item without an
    observation has an infinite bound. 2. Ties are broken at random. 3. With late feedback t - 1
    is the number of rounds whose clicks have come back. 4. Clicks after the first, which a cascade
    does not have, are ignored.

    **Complexity**: a round computes and sorts n_items bounds.

    **Guarantee**: for attractions w_1 ≥ … ≥ w_K > w_(K+1) ≥ … regret at most
    Σ_(e > K) 12 log T / Δ_(e,K) + π² n_items / 3, where Δ_(e,K) = w_K - w_e (kveton2015a,
    Theorem 2).

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.Cascade([0.6, 0.4, 0.2], n_positions=2)
    >>> cr.simulate("cascade-ucb1", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "cascade-ucb1"
    assumes = Assumes(click_models=("cascade",))
    by_item = ("clicks", "views")

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        return Params(1.5, n_positions)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            rounds=np.zeros(1, dtype=np.int64),
            clicks=np.zeros(n_items, dtype=np.int64),
            views=np.zeros(n_items, dtype=np.int64),
        )


def score(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    items: Floats,
    positions: Floats,
) -> None:
    """Write U_t(e) for each item."""
    scale = math.sqrt(params.exploration * math.log(max(1, state.rounds[0])))
    for item in range(items.shape[0]):
        items[item] = math.inf
        if state.views[item] > 0:
            share = 1.0 / state.views[item]
            items[item] = state.clicks[item] * share + scale * math.sqrt(share)


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks and views down to the first click."""
    state.rounds[0] += 1
    for position in range(positions_seen(FIRST_CLICK, clicks)):
        item = ranking[position]
        state.clicks[item] += clicks[position]
        state.views[item] += 1


register(CascadeUCB1, State, score=score, update=update, draw_ties=True)
