"""BC-MP-TS: Thompson sampling with a Beta posterior of bias-corrected counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Floats, FloatStatistic, Ints, IntStatistic, Vector
from clickrank.numerics.gamma_draws import sample_beta
from clickrank.policies.capabilities import ItemsComeAndGo
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy, check_length, set_probabilities
from clickrank.policies.registration import register
from clickrank.rankings.request_candidates import candidate, n_candidates
from clickrank.rankings.selection import copy, visibility


class State(NamedTuple):
    """Clicks, and views weighted by examination."""

    clicks: IntStatistic  # (n_items,), S_k
    seen: FloatStatistic  # (n_items,), Ñ_k


class Params(NamedTuple):
    """Constants."""

    examination: Floats  # (n_positions,), κ
    visibility: Floats  # (n_positions,), larger where examination is larger


@dataclass(frozen=True)
class BCMPTS(Policy, ItemsComeAndGo):
    """BC-MP-TS draws an attraction for each item from a Beta distribution, and sorts by the draws.

    The true posterior under position-based clicks is not a Beta distribution. This policy uses the
    Beta distribution that would be right if views weighted by examination were examined views.

    θ_k ~ Beta(1 + S_k, 1 + max(Ñ_k - S_k, 0)), with S_k clicks and Ñ_k = Σ_l κ_l N_kl.

    **Assumes**: position-based clicks, known examination. No horizon.

    **Source**: komiyama2015, section 5 (bias-corrected MP-TS), as used in lagree2016, section 4.

    **Differences**: 1. Ñ_k - S_k, which may be negative by chance, is at least 0. 2. The best draw
    goes to the most examined position, so that examination need not decrease.

    **Complexity**: O(n_items) per round, one Beta draw per item.

    **Guarantee**: none. For attractions near one the Beta distribution is narrower than the
    posterior, so that the policy explores too little: a few runs in a thousand settle on a wrong
    list (lagree2016, Figure 1a). `PBMTS` is the better choice.

    Parameters
    ----------
    examination
        Probability that each position is examined (κ), each above 0.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.6, 0.4, 0.2], [0.9, 0.5])
    >>> cr.simulate("bc-mp-ts", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "bc-mp-ts"
    assumes = Assumes(click_models=("pbm",), known=("examination",))
    by_item = ("clicks", "seen")

    examination: Vector

    def __post_init__(self) -> None:
        """Check the parameters."""
        set_probabilities(self, "examination")

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        examination = check_length(self, "examination", n_positions)
        return Params(examination, visibility(examination))

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(clicks=np.zeros(n_items, dtype=np.int64), seen=np.zeros(n_items))


def score(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    items: Floats,
    positions: Floats,
) -> None:
    """Draw θ_k for each candidate; the largest draw goes to the most examined position."""
    for i in range(n_candidates(request.candidates, items.shape[0])):
        item = candidate(request.candidates, i)
        misses = max(state.seen[item] - state.clicks[item], 0.0)
        items[item] = sample_beta(1.0 + state.clicks[item], 1.0 + misses, rng)
    copy(params.visibility, positions)


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks, and views weighted by examination."""
    for position in range(ranking.shape[0]):
        item = ranking[position]
        state.clicks[item] += clicks[position]
        state.seen[item] += params.examination[position]


register(BCMPTS, State, score=score, update=update, lean=True)
