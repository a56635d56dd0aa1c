"""PBM-KL-UCB: sort items by the KL confidence bound that PBM-PIE explores with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._select import kth_largest, place, prominence, renew_top_k
from clickrank.numerics.kl_index import SLACK
from clickrank.policies.base import Assumes, Policy, check_length, set_probabilities
from clickrank.policies.contract import Request, register
from clickrank.policies.kl_counts import count, no_counts, refresh, upper
from clickrank.types import (
    Floats,
    FloatScratch,
    FloatStatistic,
    Ints,
    IntScratch,
    IntStatistic,
    Vector,
    number,
)


class Params(NamedTuple):
    """Constants."""

    examination: Floats  # (n_positions,), κ
    prominence: Ints  # (n_positions,), positions by decreasing examination
    exploration: float  # 1 + ε


class State(NamedTuple):
    """Counts by item and position, and the index last computed for each item."""

    rounds: IntStatistic  # (1,), t - 1
    clicks: IntStatistic  # (n_items, n_positions), S_kl
    misses: IntStatistic  # (n_items, n_positions), N_kl - S_kl
    constant: FloatStatistic  # (n_items, n_positions); this and the next four: see kl_counts
    stale: IntScratch  # (n_items,)
    value: FloatScratch  # (n_items,), U_k when it was last computed
    rate: FloatScratch  # (n_items,)
    until: FloatScratch  # (n_items,)
    score: FloatScratch  # (n_items,), U_k now, or a bound on it below the list's indices
    largest: FloatScratch  # (n_positions,), for kth_largest
    best: IntScratch  # (n_positions,), items by decreasing score


@dataclass(frozen=True)
class PBMKLUCB(Policy):
    """PBM-KL-UCB sorts items by a KL upper confidence bound of their attraction.

    The bound uses what each position reveals, so it is tighter than PBM-UCB's; 001's conclusion
    asks for this policy without studying it.

    U_k(t) = sup{q ∈ [θ_k^min, 1] : Σ_l N_kl d(S_kl/N_kl, κ_l q) ≤ δ},  δ = (1 + ε) log t (eq. 7).

    **Assumes**: position-based clicks, known examination. No horizon.

    **Source**: lagree2016, eq. 7 and conclusion.

    **Differences**: 1. An item never shown has an infinite index. 2. The best index goes to the
    most examined position, so that examination need not decrease. 3. Ties are broken at random.
    4. Positions that contradict each other may leave no q within δ; the index is then the q that
    fits best, which the text leaves open.

    **Complexity**: a round solves eq. 7 for the shown items and the few others whose tangent bound
    reaches the list (U is concave in δ); O(n_items) comparisons otherwise. The ranking is exactly
    that of the policy which solves it for all.

    **Guarantee**: none proved.

    Parameters
    ----------
    examination
        Probability that each position is looked at (κ), each above 0.
    epsilon
        Extra exploration ε ≥ 0.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.6, 0.4, 0.2], [0.9, 0.5])
    >>> cr.simulate("pbm-kl-ucb", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "pbm-kl-ucb"
    assumes = Assumes(click_models=("pbm",), known=("examination",))
    by_item = ("clicks", "misses", "constant")

    examination: Vector
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        set_probabilities(self, "examination")
        number("PBMKLUCB", "epsilon", self.epsilon, 0.0)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the kernels' constants."""
        examination = check_length(self, "examination", n_positions)
        return Params(examination, prominence(examination), 1.0 + self.epsilon)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            rounds=np.zeros(1, dtype=np.int64),
            **no_counts(n_items, n_positions),
            score=np.zeros(n_items),
            largest=np.zeros(n_positions),
            best=np.zeros(n_positions, dtype=np.int64),
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
    delta = params.exploration * math.log(state.rounds[0] + 1.0)
    n_items = state.score.shape[0]
    for item in range(n_items):
        if state.stale[item] == 1:
            refresh(state, params.examination, item, delta)
    # Indices only grow with δ: old ones are lower bounds, but for rounding.
    needed = kth_largest(state.value, state.largest) - SLACK
    for item in range(n_items):
        bound = upper(state, item, delta)
        if bound >= needed:
            bound = refresh(state, params.examination, item, delta)
        state.score[item] = bound
    renew_top_k(state.score, rng, state.best)
    place(state.best, params.prominence, ranking)


def _update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    state.rounds[0] += 1
    for position in range(ranking.shape[0]):
        count(state, params.examination, ranking[position], position, clicks[position])


register(PBMKLUCB, State, _rank, _update)
