"""PBM-TS: Thompson sampling from the exact posterior of the position-based model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._select import place, prominence, renew_top_k
from clickrank.numerics.posterior import HAT_SIZE, build_hat, sample_posterior
from clickrank.policies.base import Assumes, Policy, check_length, set_probabilities
from clickrank.policies.contract import Request, register
from clickrank.types import (
    Floats,
    FloatScratch,
    FloatStatistic,
    Ints,
    IntScratch,
    IntStatistic,
    Vector,
)


class Params(NamedTuple):
    """Constants."""

    examination: Floats  # (n_positions,), κ
    prominence: Ints  # (n_positions,), positions by decreasing examination


class State(NamedTuple):
    """The posterior's counts, and its samplers."""

    clicks: IntStatistic  # (n_items,), Σ_l α_kl = S_k
    misses: IntStatistic  # (n_items, n_positions), β_kl = N_kl - S_kl
    seen: FloatStatistic  # (n_items,), views weighted by examination, Ñ_k
    stale: IntScratch  # (n_items,), 1 where the hat is not of these counts
    hats: FloatScratch  # (n_items, HAT_SIZE), see numerics.posterior
    draws: FloatScratch  # (n_items,), one draw from each posterior
    best: IntScratch  # (n_positions,), items by decreasing draw


@dataclass(frozen=True)
class PBMTS(Policy):
    """PBM-TS draws an attraction for each item from its exact posterior, and sorts by the draws.

    A miss at a rarely examined position moves the posterior little; no approximation is made.

    π(θ_k) ∝ Π_l θ_k^{S_kl} (1 - κ_l θ_k)^{N_kl - S_kl} on [0, 1]: a uniform prior.

    **Assumes**: position-based clicks, known examination. No horizon.

    **Source**: lagree2016, section 4 (PBM-TS).

    **Differences**: 1. The text draws by rejection from a Beta distribution of the most used
    position's counts, which is improper before the first click and miss there and stalls as counts
    grow. Here the proposal is a hat of tangents of the log-density: the same distribution, at about
    1.13 proposals a draw for ever. 2. The best draw goes to the most examined position, so that
    examination need not decrease.

    **Complexity**: O(n_items + n_positions²) a round: hats are rebuilt for the shown items only,
    and half of the
    draws need no logarithm of the density.

    **Guarantee**: none proved; conjectured asymptotically optimal in 001, section 5.

    Parameters
    ----------
    examination
        Probability that each position is looked at (κ), each above 0.

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
        """Return the kernels' constants."""
        examination = check_length(self, "examination", n_positions)
        return Params(examination, prominence(examination))

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            clicks=np.zeros(n_items, dtype=np.int64),
            misses=np.zeros((n_items, n_positions), dtype=np.int64),
            seen=np.zeros(n_items),
            stale=np.ones(n_items, dtype=np.int64),
            hats=np.zeros((n_items, HAT_SIZE)),
            draws=np.zeros(n_items),
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
    examination = params.examination
    for item in range(state.draws.shape[0]):
        clicks = state.clicks[item]
        misses = state.misses[item]
        hat = state.hats[item]
        if state.stale[item] == 1:
            estimate = clicks / state.seen[item] if clicks > 0 else 0.0
            build_hat(clicks, misses, examination, estimate, hat)
            state.stale[item] = 0
        state.draws[item] = sample_posterior(clicks, misses, examination, hat, rng)
    renew_top_k(state.draws, rng, state.best)
    place(state.best, params.prominence, ranking)


def _update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    for position in range(ranking.shape[0]):
        item = ranking[position]
        state.clicks[item] += clicks[position]
        state.misses[item, position] += 1 - clicks[position]
        state.seen[item] += params.examination[position]
        state.stale[item] = 1


register(PBMTS, State, _rank, _update)
