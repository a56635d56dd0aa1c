"""CascadeKL-UCB: sort items by a KL confidence bound, learn down to the first click."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank.numerics.kl_bounds import exploration_budget
from clickrank.policies._shared.observation import FIRST_CLICK, positions_seen
from clickrank.policies.base import Assumes, Policy
from clickrank.policies.contract import Request, register
from clickrank.policies.kl_items import count_item, no_items, rank_by_index
from clickrank.types import FloatScratch, Ints, IntScratch, IntStatistic


class Params(NamedTuple):
    """Constants."""

    n_items: int


class State(NamedTuple):
    """What was seen of each item, and what is known of its index."""

    rounds: IntStatistic  # (1,), t - 1
    clicks: IntStatistic  # (n_items,), T(e) · ŵ(e)
    misses: IntStatistic  # (n_items,), T(e) - clicks
    value: FloatScratch  # (n_items,), U_t(e) or less; this and the next seven: see `KLItems`
    tangent: FloatScratch  # (n_items,)
    rate: FloatScratch  # (n_items,)
    at: FloatScratch  # (n_items,)
    ceiling: FloatScratch  # (n_items,), U_t(e) or more
    best: IntScratch  # (n_positions,)
    room: IntScratch  # (2, n_items)
    kept: FloatScratch  # (n_positions,)


@dataclass(frozen=True)
class CascadeKLUCB(Policy):
    """CascadeKL-UCB sorts items by a KL upper confidence bound of their attraction.

    It is CascadeUCB1 with bounds that are tighter, the more so the closer attractions are to 0 or
    to 1.

    U_t(e) = max{q ∈ [ŵ(e), 1] : T(e) · d(ŵ(e), q) ≤ log t + 3 log log t}, where ŵ(e) is the click
    rate of item e in its T(e) observations and d the divergence of Bernoulli distributions.

    **Assumes**: cascade clicks. No horizon.

    **Source**: kveton2015a, Algorithm 1 with the bounds of its eq. 5.

    **Differences**: 1. The paper observes each item once before it starts; here an item without an
    observation has an infinite bound. 2. Ties are broken at random. 3. With late feedback t - 1
    is the number of rounds whose clicks have come back. 4. log log t is taken as 0 up to t = e.
    5. If there are several clicks, which no cascade has, those after the first are not looked at.

    **Complexity**: a round solves the equation for the items that were looked at, and for the few
    others that cannot be told from one in the list by bounds (U is concave in log t + 3 log log t);
    O(n_items) comparisons otherwise. The ranking is exactly that of the policy which solves it for
    all.

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
        """Return the kernels' constants."""
        return Params(n_items)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(rounds=np.zeros(1, dtype=np.int64), **no_items(n_items, n_positions))


def _rank(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    delta = exploration_budget(state.rounds[0] + 1.0)
    rank_by_index(state, delta, rng, ranking)


def _update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    state.rounds[0] += 1
    for position in range(positions_seen(FIRST_CLICK, clicks)):
        count_item(state, ranking[position], clicks[position])


register(CascadeKLUCB, State, _rank, _update, lean=True)
