"""PBM-UCB: sorts items by a confidence bound whose views are weighted by examination."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Floats, FloatStatistic, Ints, IntStatistic, Vector
from clickrank._core.validate import check_float
from clickrank.policies.capabilities import ItemsComeAndGo
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy, check_length, set_probabilities
from clickrank.policies.registration import register
from clickrank.rankings.selection import visibility


class State(NamedTuple):
    """Clicks and views of each item, at any position."""

    rounds: IntStatistic  # (1,), t - 1
    clicks: IntStatistic  # (n_items,), S_k
    views: IntStatistic  # (n_items,), N_k
    seen: FloatStatistic  # (n_items,), views weighted by examination, Ñ_k


class Params(NamedTuple):
    """Constants."""

    examination: Floats  # (n_positions,), κ
    visibility: Floats  # (n_positions,), larger where examination is larger
    exploration: float  # 1 + ε


@dataclass(frozen=True)
class PBMUCB(Policy, ItemsComeAndGo):
    """PBM-UCB sorts items by an upper confidence bound of their attraction.

    A missing click at a rarely examined position contains little information: views are weighted by
    the examination probability of their position.

    U_k(t) = S_k/Ñ_k + sqrt(N_k/Ñ_k) · sqrt(δ/(2 Ñ_k)),  δ = (1 + ε) log t, with S_k clicks, N_k
    views and Ñ_k = Σ_l κ_l N_kl.

    **Assumes**: position-based clicks, known examination. No horizon.

    **Source**: lagree2016, section 4 (PBM-UCB).

    **Differences**: 1. An item never shown has an infinite index; the paper leaves the first
    rounds open. 2. Ties are broken at random. 3. The best index goes to the most examined
    position, so that examination need not decrease.

    **Complexity**: O(n_items) per round.

    **Guarantee**: regret O(log T) for ε > 0 (Theorem 9); ε = 0 is the usual choice in experiments
    and has no proof.

    Parameters
    ----------
    examination
        Probability that each position is examined (κ), each above 0.
    epsilon
        Extra exploration ε ≥ 0.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.6, 0.4, 0.2], [0.9, 0.5])
    >>> policy = cr.policies.PBMUCB(examination=model.examination)
    >>> cr.simulate(policy, model, horizon=2000, runs=4, seed=0).regret.shape
    (4, 32)
    """

    name = "pbm-ucb"
    assumes = Assumes(click_models=("pbm",), known=("examination",))
    by_item = ("clicks", "views", "seen")

    examination: Vector
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        set_probabilities(self, "examination")
        check_float("PBMUCB", "epsilon", self.epsilon, 0.0)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        examination = check_length(self, "examination", n_positions)
        return Params(examination, visibility(examination), 1.0 + self.epsilon)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            rounds=np.zeros(1, dtype=np.int64),
            clicks=np.zeros(n_items, dtype=np.int64),
            views=np.zeros(n_items, dtype=np.int64),
            seen=np.zeros(n_items),
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
    """Write U_k(t) for each item; the best item goes to the most examined position."""
    delta = params.exploration * math.log(state.rounds[0] + 1.0)
    for item in range(items.shape[0]):
        items[item] = math.inf
        if state.views[item] > 0:
            mean = state.clicks[item] / state.seen[item]
            width = math.sqrt(0.5 * state.views[item]) / state.seen[item]
            items[item] = mean + width * math.sqrt(delta)
    positions[:] = params.visibility


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks, views, and views weighted by examination."""
    state.rounds[0] += 1
    for position in range(ranking.shape[0]):
        item = ranking[position]
        state.clicks[item] += clicks[position]
        state.views[item] += 1
        state.seen[item] += params.examination[position]


register(PBMUCB, State, score=score, update=update)
