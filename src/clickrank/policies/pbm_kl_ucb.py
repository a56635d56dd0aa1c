"""PBM-KL-UCB: sorts items by the KL confidence bound with which PBM-PIE explores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Floats, Ints, IntStatistic, Vector
from clickrank._core.validate import check_float
from clickrank.numerics.pbm_kl_index import kl_ucb
from clickrank.policies.capabilities import ItemsComeAndGo
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy, check_length, set_probabilities
from clickrank.policies.registration import register
from clickrank.rankings.selection import visibility


class State(NamedTuple):
    """Counts by item and position."""

    rounds: IntStatistic  # (1,), t - 1
    clicks: IntStatistic  # (n_items, n_positions), S_kl
    misses: IntStatistic  # (n_items, n_positions), N_kl - S_kl


class Params(NamedTuple):
    """Constants."""

    examination: Floats  # (n_positions,), κ
    visibility: Floats  # (n_positions,), larger where examination is larger
    exploration: float  # 1 + ε


@dataclass(frozen=True)
class PBMKLUCB(Policy, ItemsComeAndGo):
    """PBM-KL-UCB sorts items by a KL upper confidence bound of their attraction.

    The bound uses the information of each position, so that it is tighter than that of PBM-UCB; the
    conclusion of the paper proposes this policy without studying it.

    U_k(t) = sup{q ∈ [θ_k^min, 1] : Σ_l N_kl d(S_kl/N_kl, κ_l q) ≤ δ},  δ = (1 + ε) log t (eq. 7).

    **Assumes**: position-based clicks, known examination. No horizon.

    **Source**: lagree2016, eq. 7 and conclusion.

    **Differences**: 1. An item never shown has an infinite index. 2. The best index goes to the
    most examined position, so that examination need not decrease. 3. Ties are broken at random.
    4. Positions that contradict each other may leave no q within δ; the index is then the q that
    fits best. The paper leaves this open.

    **Complexity**: a round solves eq. 7, O(n_positions), for each item, and sorts the items.

    **Guarantee**: none proved.

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
    >>> cr.simulate("pbm-kl-ucb", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "pbm-kl-ucb"
    assumes = Assumes(click_models=("pbm",), known=("examination",))
    by_item = ("clicks", "misses")

    examination: Vector
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        set_probabilities(self, "examination")
        check_float("PBMKLUCB", "epsilon", self.epsilon, 0.0)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        examination = check_length(self, "examination", n_positions)
        return Params(examination, visibility(examination), 1.0 + self.epsilon)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            rounds=np.zeros(1, dtype=np.int64),
            clicks=np.zeros((n_items, n_positions), dtype=np.int64),
            misses=np.zeros((n_items, n_positions), dtype=np.int64),
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
        items[item] = kl_ucb(state.clicks[item], state.misses[item], params.examination, delta)
    positions[:] = params.visibility


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks and misses by item and position."""
    state.rounds[0] += 1
    for position in range(ranking.shape[0]):
        item = ranking[position]
        state.clicks[item, position] += clicks[position]
        state.misses[item, position] += 1 - clicks[position]


register(PBMKLUCB, State, score=score, update=update)
