"""Thompson sampling: draw an attraction for each item from its posterior, and sort by the draws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from clickrank._select import copy, renew_top_k
from clickrank.numerics.gamma import BETA_SIZE, draw_odds, set_beta_constants
from clickrank.policies.base import Assumes, register
from clickrank.policies.bayesian import CLICK_MODELS, BayesianPolicy, count, no_counts
from clickrank.types import Floats, FloatScratch, Ints, IntScratch, IntStatistic


class Params(NamedTuple):
    """Constants."""

    alpha: Floats  # (n_items,), α_i
    beta: Floats  # (n_items,), β_i
    rule: int  # which positions are observed


class State(NamedTuple):
    """Observed clicks and misses, and what draws need."""

    clicks: IntStatistic  # (n_items,), Σ O Y
    misses: IntStatistic  # (n_items,), Σ O (1 - Y)
    stale: IntScratch  # (n_items,), 1 where the constants are not of these counts
    constants: FloatScratch  # (n_items, BETA_SIZE), see numerics.gamma
    odds: FloatScratch  # (n_items,), θ_i/(1 - θ_i) of one draw, or a bound below the list's
    uniform: FloatScratch  # (n_items,), a power of it is missing in the odds; 1 if none
    best: IntScratch  # (n_positions,), distinct items; after `rank` by decreasing odds


@dataclass(frozen=True)
class ThompsonSampling(BayesianPolicy):
    """Thompson sampling shows each list as often as it is the best, as far as is known.

    It draws an attraction for each item from its posterior, and sorts by the draws. A prior helps
    from the first visitor on.

    θ_i ~ Beta(α_i + clicks, β_i + misses), counted where the item was surely looked at: the whole
    list (document-based clicks), down to the first click (cascade) or to the last (dependent
    clicks); all of it without a click.

    **Assumes**: document-based, cascade or dependent clicks, in a dependent click model with
    satisfaction that does not increase down the list. No horizon.

    **Source**: kveton2022, Algorithm 2, sections 4 to 6.

    **Differences**: 1. In a dependent click model, counting down to the last click, as the text
    does, is biased: an item between clicks counts only because a click followed. With attraction
    .4 and satisfaction .5 the positions 1, 2, 3 show .400, .440, .542. `observe="first-click"`
    counts what is certain whatever came later: less, without bias. 2. Draws are compared by their
    odds θ/(1 - θ), which are precise near 1 too. With α or β far below 1 some are too small or too
    large for float64, and tie; ties are broken at random.

    **Complexity**: O(n_items) a round, one Beta draw an item; the power that a draw with α < 1
    takes is left out for items that cannot reach the list anyway.

    **Guarantee**: for attractions drawn from the prior, regret
    O(√(n_positions · n_items · T) log T), and less the more the prior knows (kveton2022,
    Theorems 1 and 2, Corollary 3).

    Parameters
    ----------
    click_model
        How people click: "dctr", "cascade", "dcm" or "pbm".
    prior
        A `clickrank.priors.Beta`; by default every attraction is as likely.
    examination
        With "pbm" only: probability that each position is looked at (κ), each above 0.
    observe
        With "dcm" only: "last-click" or "first-click", down to where items count as observed.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.Cascade([0.6, 0.4, 0.2], n_positions=2)
    >>> prior = cr.priors.Beta([6, 4, 2], [4, 6, 8])
    >>> policy = cr.policy("thompson", model=model, prior=prior)
    >>> cr.simulate(policy, model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "thompson"
    assumes = Assumes(click_models=CLICK_MODELS, known=("click_model", "examination"), priors=True)

    def params(self, n_items: int, n_positions: int) -> Any:
        """Return the kernels' constants."""
        return Params(*self.prior_of(n_items), self.rule())

    def init(self, n_items: int, n_positions: int) -> Any:
        """Return the state before the first round."""
        return State(
            **no_counts(n_items),
            constants=np.zeros((n_items, BETA_SIZE)),
            odds=np.zeros(n_items),
            uniform=np.ones(n_items),
            best=np.arange(n_positions),
        )


def _rank(
    params: Params, state: State, rng: np.random.Generator, ranking: Ints, memo: Ints
) -> None:
    odds = state.odds
    for item in range(odds.shape[0]):
        if state.stale[item] == 1:
            set_beta_constants(
                params.alpha[item] + state.clicks[item],
                params.beta[item] + state.misses[item],
                state.constants,
                item,
            )
            state.stale[item] = 0
        odds[item], state.uniform[item] = draw_odds(state.constants, item, rng)
    # What the items of the last list have drawn is what others must reach.
    needed = math.inf
    for position in range(ranking.shape[0]):
        item = state.best[position]
        odds[item] *= state.uniform[item] ** state.constants[item, 4]
        state.uniform[item] = 1.0
        needed = min(needed, odds[item])
    for item in range(odds.shape[0]):
        if state.uniform[item] < 1.0 and odds[item] >= needed:
            odds[item] *= state.uniform[item] ** state.constants[item, 4]
    renew_top_k(odds, rng, state.best)
    copy(state.best, ranking)


def _update(params: Params, state: State, ranking: Ints, memo: Ints, clicks: Ints) -> None:
    count(state, params.rule, ranking, clicks)


register(ThompsonSampling, State, _rank, _update, lean=True)
