"""Thompson sampling: draws an attraction per item from its posterior, and sorts by the draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from clickrank._core.arrays import Floats, Ints, IntStatistic
from clickrank.policies._shared.attraction_posterior import sample_beta_odds, sample_page_odds
from clickrank.policies._shared.bayesian import CLICK_MODELS, KNOWN, BayesianPolicy
from clickrank.policies._shared.observation import positions_seen
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes
from clickrank.policies.registration import register
from clickrank.rankings.request_candidates import candidate, n_candidates


class State(NamedTuple):
    """Clicks and misses where the item was certainly examined (O = 1)."""

    clicks: IntStatistic  # (n_items,), Σ O Y
    misses: IntStatistic  # (n_items,), Σ O (1 - Y)


class PageState(NamedTuple):
    """Clicks and misses if positions may go unexamined."""

    clicks: IntStatistic  # (n_items,), S_i
    misses: IntStatistic  # (n_items, n_positions), F_il


class Params(NamedTuple):
    """Constants."""

    alpha: Floats  # (n_items,), α_i
    beta: Floats  # (n_items,), β_i
    rule: int  # the rule for observed positions, see `positions_seen`
    visibility: Floats  # (n_positions,), larger where clicks satisfy more


class PageParams(NamedTuple):
    """Constants if positions may go unexamined."""

    alpha: Floats  # (n_items,), α_i
    beta: Floats  # (n_items,), β_i
    examination: Floats  # (n_positions + 1,), κ, and a 1
    visibility: Floats  # (n_positions,), larger where examination is larger


@dataclass(frozen=True)
class ThompsonSampling(BayesianPolicy):
    """Thompson sampling shows each list with the probability that it is the best one.

    It draws an attraction for each item from its posterior, and sorts by the draws. A prior helps
    from the first visitor on.

    θ_i ~ Beta(α_i + clicks, β_i + misses), counted where the item was certainly examined: the whole
    list ("dctr"), down to the first click ("cascade"; clicks below it, which a cascade does not
    have, do not count) or down to the last ("dcm"); without a click, the whole list. The best item
    goes to the position whose clicks satisfy most.

    With "pbm" every shown item without a click is a miss at its position, which was examined with
    probability κ_l only, and the posterior is not a Beta distribution: π(θ_i) ∝
    θ^(α_i + S_i - 1) (1 - θ)^(β_i - 1) Π_l (1 - κ_l θ)^F_il, with S_i clicks and F_il misses at
    position l. With the uniform prior this is PBM-TS.

    **Assumes**: "dctr", "cascade", "dcm" or "pbm" clicks (`click_model`). With "dcm", the positions
    whose clicks satisfy most: the upper ones, or those given by `satisfaction`. With "pbm", known
    examination. No horizon.

    **Source**: kveton2022, Algorithm 2, sections 4 to 6.

    **Differences**: 1. In a dependent click model, counting down to the last click, as the paper
    does, is biased: an item between clicks counts only because a click followed. With attraction
    .4 and satisfaction .5 the estimates at positions 1, 2, 3 are .400, .440, .542.
    `observe="first-click"` counts only what is certain whatever came later: fewer observations,
    without bias. With 30 items, 3 positions and 2,000 rounds the former still has the smaller
    regret. 2. Draws are compared by their odds θ/(1 - θ), which are precise near 1 too. With α or β
    far below 1 some are too small or too large for float64, and tie; ties are broken at random. 3.
    Position-based clicks, which the paper leaves open; the best draw goes to the most examined
    position, so that examination need not decrease. 4. The paper assumes that satisfaction
    decreases; with other values of `satisfaction`, the best draw goes where it is largest.

    **Complexity**: O(n_items) per round, one Beta draw per item. With "pbm" draws are by exact
    rejection, which takes O(n_positions) per item.

    **Guarantee**: for attractions drawn from the prior, regret
    O(√(n_positions · n_items · T) log T), and less for a more informative prior, under
    document-based and cascade clicks (kveton2022, Theorems 1 and 2), and under dependent clicks
    with `observe="first-click"` (Corollary 3). None for dependent clicks with the default rule,
    although Corollary 3 states one: its proof needs observations that do not depend on later
    clicks, and regret is linear. With attractions .5, .45, …, .25 and satisfaction .8, .6, .4, .2
    it was 392 in 100,000 rounds and 3,453 in 1,000,000 (6 runs, seed 1), but 41 and 49 with
    "first-click", which is recommended for long horizons: a few thousand rounds or more if
    satisfaction decreases, some 100,000 if it is equal at all positions (the experiments
    kveton-2022/dcm-decreasing and dcm-observation). None for position-based clicks.

    Parameters
    ----------
    click_model
        How people click: "dctr", "cascade", "dcm" or "pbm".
    prior
        A `clickrank.priors.Beta`; the default is the uniform prior.
    examination
        Only with "pbm": probability that each position is examined (κ), each above 0.
    observe
        Only with "dcm": items count as observed down to the "last-click" (the paper's rule) or to
        the "first-click" (recommended for long horizons).
    satisfaction
        Only with "dcm": probability that a click at each position satisfies, of which only the
        order is used. The default is that of the click model, if it has one, and else decreasing.

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
    assumes = Assumes(click_models=CLICK_MODELS, known=KNOWN, priors=True)

    def params(self, n_items: int, n_positions: int) -> Any:
        """Return the constants that the kernels read."""
        if not self.doubtful():
            return Params(*self.prior_of(n_items), self.rule(), self.satisfying(n_positions))
        return PageParams(*self.prior_of(n_items), *self.page(n_positions))

    def init(self, n_items: int, n_positions: int) -> Any:
        """Return the state before the first round."""
        clicks = np.zeros(n_items, dtype=np.int64)
        if self.doubtful():
            return PageState(clicks, np.zeros((n_items, n_positions), dtype=np.int64))
        return State(clicks, np.zeros(n_items, dtype=np.int64))


def score(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    items: Floats,
    positions: Floats,
) -> None:
    """Write the odds of one draw of θ_i for each candidate."""
    for i in range(n_candidates(request.candidates, items.shape[0])):
        item = candidate(request.candidates, i)
        alpha = params.alpha[item] + state.clicks[item]
        beta = params.beta[item] + state.misses[item]
        items[item] = sample_beta_odds(alpha, beta, rng)
    positions[:] = params.visibility


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks and misses down to the last position that was certainly examined."""
    for position in range(positions_seen(params.rule, clicks)):
        item = ranking[position]
        state.clicks[item] += clicks[position]
        state.misses[item] += 1 - clicks[position]


def score_page(
    params: PageParams,
    state: PageState,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    items: Floats,
    positions: Floats,
) -> None:
    """Write the odds of one draw of θ_i for each candidate, if positions may go unexamined."""
    for i in range(n_candidates(request.candidates, items.shape[0])):
        item = candidate(request.candidates, i)
        alpha = params.alpha[item] + state.clicks[item]
        beta = params.beta[item]
        items[item] = sample_page_odds(alpha, beta, state.misses, item, params.examination, rng)
    positions[:] = params.visibility


def update_page(
    params: PageParams, state: PageState, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks by item, and misses by item and position."""
    for position in range(ranking.shape[0]):
        item = ranking[position]
        state.clicks[item] += clicks[position]
        state.misses[item, position] += 1 - clicks[position]


register(ThompsonSampling, State, score=score, update=update)
register(ThompsonSampling, PageState, score=score_page, update=update_page)
