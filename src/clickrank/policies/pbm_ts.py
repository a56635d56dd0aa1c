"""PBM-TS: Thompson sampling from the exact posterior of the position-based model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Floats, FloatStatistic, Ints, IntStatistic, Vector
from clickrank.numerics.posterior_draws import HAT_SIZE, build_hat, sample_posterior
from clickrank.policies.capabilities import ItemsComeAndGo
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy, check_length, set_probabilities
from clickrank.policies.registration import register
from clickrank.rankings.request_candidates import candidate, n_candidates
from clickrank.rankings.selection import visibility


class State(NamedTuple):
    """The counts of the posterior."""

    clicks: IntStatistic  # (n_items,), Σ_l α_kl = S_k
    misses: IntStatistic  # (n_items, n_positions), β_kl = N_kl - S_kl
    seen: FloatStatistic  # (n_items,), views weighted by examination, Ñ_k


class Params(NamedTuple):
    """Constants."""

    examination: Floats  # (n_positions,), κ
    visibility: Floats  # (n_positions,), larger where examination is larger


@dataclass(frozen=True)
class PBMTS(Policy, ItemsComeAndGo):
    """PBM-TS draws an attraction for each item from its exact posterior, and sorts by the draws.

    A miss at a rarely examined position moves the posterior little; no approximation is made.

    π(θ_k) ∝ Π_l θ_k^{S_kl} (1 - κ_l θ_k)^{N_kl - S_kl} on [0, 1]: a uniform prior.

    **Assumes**: position-based clicks, known examination. No horizon.

    **Source**: lagree2016, section 4 (PBM-TS).

    **Differences**: 1. The paper draws by rejection from a Beta distribution of the most used
    position's counts, which is improper before the first click and miss there and stalls as counts
    grow. Here the proposal is a piecewise exponential hat of tangents of the log-density: the same
    distribution, with about 1.13 proposals per draw for any counts. 2. The best draw goes to the
    most examined position, so that examination need not decrease.

    **Complexity**: O(n_items · n_positions) per round, one hat and one draw per item.

    **Guarantee**: none proved; conjectured asymptotically optimal in lagree2016, section 5.

    Parameters
    ----------
    examination
        Probability that each position is examined (κ), each above 0.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.6, 0.4, 0.2], [0.9, 0.5])
    >>> cr.simulate("pbm-ts", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "pbm-ts"
    assumes = Assumes(click_models=("pbm",), known=("examination",))
    by_item = ("clicks", "misses", "seen")

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
        return State(
            clicks=np.zeros(n_items, dtype=np.int64),
            misses=np.zeros((n_items, n_positions), dtype=np.int64),
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
    """Draw θ_k for each item; the largest draw goes to the most examined position."""
    hat = np.empty(HAT_SIZE)
    for i in range(n_candidates(request.candidates, items.shape[0])):
        item = candidate(request.candidates, i)
        clicks, misses = state.clicks[item], state.misses[item]
        estimate = clicks / state.seen[item] if clicks > 0 else 0.0
        build_hat(clicks, misses, params.examination, estimate, hat)
        items[item] = sample_posterior(clicks, misses, params.examination, hat, rng)
    positions[:] = params.visibility


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks, misses, and views weighted by examination."""
    for position in range(ranking.shape[0]):
        item = ranking[position]
        state.clicks[item] += clicks[position]
        state.misses[item, position] += 1 - clicks[position]
        state.seen[item] += params.examination[position]


register(PBMTS, State, score=score, update=update)
