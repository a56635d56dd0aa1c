"""BC-MP-TS: Thompson sampling with a Beta posterior of bias-corrected counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._select import place, prominence, renew_top_k
from clickrank.numerics.gamma import gamma_constants, plain_gamma_constants, sample_gamma
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
    """Clicks, and views weighted by examination."""

    clicks: IntStatistic  # (n_items,), S_k
    seen: FloatStatistic  # (n_items,), Ñ_k
    wins: FloatStatistic  # (n_items, 2), constants of a Gamma draw of shape 1 + S_k
    losses: FloatStatistic  # (n_items, 2), and of shape 1 + max(Ñ_k - S_k, 0)
    draws: FloatScratch  # (n_items,), one draw from each posterior
    best: IntScratch  # (n_positions,), items by decreasing draw


@dataclass(frozen=True)
class BCMPTS(Policy):
    """BC-MP-TS draws an attraction for each item from a Beta distribution, and sorts by the draws.

    The true posterior under position-based clicks is not a Beta distribution; this policy takes the
    Beta that would be right if views weighted by examination were views that were examined.

    θ_k ~ Beta(1 + S_k, 1 + max(Ñ_k - S_k, 0)), with S_k clicks and Ñ_k = Σ_l κ_l N_kl.

    **Assumes**: position-based clicks, known examination. No horizon.

    **Source**: komiyama2015, section 5 (bias-corrected MP-TS), as used in lagree2016, section 4.

    **Differences**: 1. Ñ_k - S_k, which lucky clicks make negative, is cut off at 0. 2. The best
    draw goes to the most examined position, so that examination need not decrease.

    **Complexity**: O(n_items) a round, one Beta draw an item.

    **Guarantee**: none. For attractions near one the Beta is narrower than the posterior, so the
    policy explores too little: a few runs in a thousand settle on a wrong list (001, Figure 1a).
    Use `PBMTS`.

    Parameters
    ----------
    examination
        Probability that each position is looked at (κ), each above 0.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.6, 0.4, 0.2], [0.9, 0.5])
    >>> cr.simulate("bc-mp-ts", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "bc-mp-ts"
    assumes = Assumes(click_models=("pbm",), known=("examination",))
    by_item = ("clicks", "seen", "wins", "losses")

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
        even = np.tile(plain_gamma_constants(1.0), (n_items, 1))
        return State(
            clicks=np.zeros(n_items, dtype=np.int64),
            seen=np.zeros(n_items),
            wins=even,
            losses=even.copy(),
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
    for item in range(state.draws.shape[0]):
        win = sample_gamma(state.wins[item, 0], state.wins[item, 1], rng)
        loss = sample_gamma(state.losses[item, 0], state.losses[item, 1], rng)
        state.draws[item] = win / (win + loss)  # Beta
    renew_top_k(state.draws, rng, state.best)
    place(state.best, params.prominence, ranking)


def _update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    for position in range(ranking.shape[0]):
        item = ranking[position]
        state.clicks[item] += clicks[position]
        state.seen[item] += params.examination[position]
        wins = state.clicks[item]
        if clicks[position] == 1:
            state.wins[item, 0], state.wins[item, 1] = gamma_constants(1.0 + wins)
        losses = max(state.seen[item] - wins, 0.0)
        state.losses[item, 0], state.losses[item, 1] = gamma_constants(1.0 + losses)


register(BCMPTS, State, _rank, _update)
