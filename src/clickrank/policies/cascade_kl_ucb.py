"""CascadeKL-UCB: sorts items by a KL confidence bound, and learns down to the first click."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Floats, Ints, IntStatistic
from clickrank.numerics.kl_bounds import exploration_budget, kl_upper
from clickrank.policies._shared.observation import FIRST_CLICK, positions_seen
from clickrank.policies.capabilities import ItemsComeAndGo
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy
from clickrank.policies.registration import register


class State(NamedTuple):
    """Observations of each item."""

    rounds: IntStatistic  # (1,), t - 1
    clicks: IntStatistic  # (n_items,), T(e) · ŵ(e)
    misses: IntStatistic  # (n_items,), T(e) - clicks


class Params(NamedTuple):
    """Constants."""

    n_positions: int  # K


@dataclass(frozen=True)
class CascadeKLUCB(Policy, ItemsComeAndGo):
    """CascadeKL-UCB sorts items by a KL upper confidence bound of their attraction.

    It is CascadeUCB1 with tighter bounds, especially for attractions close to 0 or to 1.

    U_t(e) = max{q ∈ [ŵ(e), 1] : T(e) · d(ŵ(e), q) ≤ log t + 3 log log t}, where ŵ(e) is the click
    rate of item e in its T(e) observations and d the divergence of Bernoulli distributions.

    **Assumes**: cascade clicks. No horizon.

    **Source**: kveton2015a, Algorithm 1 with the bounds of its eq. 5.

    **Differences**: 1. The paper observes each item once before it starts; here an item without an
    observation has an infinite bound. 2. Ties are broken at random. 3. With late feedback t - 1
    is the number of rounds whose clicks have come back. 4. log log t is taken as 0 up to t = e.
    5. Clicks after the first, which a cascade does not have, are ignored.

    **Complexity**: a round solves the equation for each item, and sorts the items.

    **Guarantee**: for attractions w_1 ≥ … ≥ w_K > w_(K+1) ≥ … regret at most
    Σ_(e > K) (1 + ε) Δ_(e,K) (1 + log(1/Δ_(e,K))) / d(w_e, w_K) · (log T + 3 log log T) + C(ε) for
    every ε > 0, where Δ_(e,K) = w_K - w_e (kveton2015a, Theorem 3).

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.Cascade([0.6, 0.4, 0.2], n_positions=2)
    >>> cr.simulate("cascade-kl-ucb", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "cascade-kl-ucb"
    assumes = Assumes(click_models=("cascade",))
    by_item = ("clicks", "misses")

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        return Params(n_positions)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            rounds=np.zeros(1, dtype=np.int64),
            clicks=np.zeros(n_items, dtype=np.int64),
            misses=np.zeros(n_items, dtype=np.int64),
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
    delta = exploration_budget(state.rounds[0] + 1.0)
    for item in range(items.shape[0]):
        items[item] = math.inf
        if state.clicks[item] + state.misses[item] > 0:
            items[item] = kl_upper(state.clicks[item], state.misses[item], delta)


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks and misses down to the first click."""
    state.rounds[0] += 1
    for position in range(positions_seen(FIRST_CLICK, clicks)):
        item = ranking[position]
        state.clicks[item] += clicks[position]
        state.misses[item] += 1 - clicks[position]


register(CascadeKLUCB, State, score=score, update=update, draw_ties=True)
