"""RecurRank: measures the items of each interval of positions by a design, and splits it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from clickrank._compile.jit import array_kernel
from clickrank._core.arrays import Floats, IntParticle, Ints, IntStatistic
from clickrank._core.features import Features
from clickrank._core.validate import LARGEST, check_choice
from clickrank.numerics.g_optimal import TOLERANCE, optimal_design
from clickrank.policies._shared.deck import draw_card
from clickrank.policies._shared.designed_estimates import best_places, chain_end, estimate_items
from clickrank.policies._shared.fisher_yates import fill_at_random
from clickrank.policies._shared.position_intervals import begins, interval, write_items
from clickrank.policies._shared.recurrank_items import PHASES, SALTS, RecurRankItems
from clickrank.policies._shared.recurrank_program import add_past, program_views
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy, check_failure
from clickrank.policies.registration import register


class State(NamedTuple):
    """The intervals of positions, and the observations of their items.

    An interval is identified by its first position, and ends where the next one begins. Its items
    begin at the same index of `order`: all but the last have as many items as positions.
    """

    # (n_items,), the items of all intervals. In each, as many as it has positions come first, from
    # phase 2 on with the best on top; the others follow in any order. -1 for dropped items.
    order: IntStatistic
    phase: IntStatistic  # (n_positions,), ℓ of the interval that begins here; 0 if none does
    views: IntStatistic  # (n_items,), in this phase, at the first position of the item's interval
    clicks: IntStatistic  # (n_items,), at these views
    past: IntStatistic  # (2, n_items), views and clicks of earlier phases; (2, 0) unless "program"
    restarts: IntStatistic  # (1,), changes of the catalogue, modulo 16: distinguishes memos


class PlannedViews(NamedTuple):
    """Views of the present phases for which no list was made yet: one deck per interval.

    An instance is an interval in a phase, as in the source.
    """

    instance: IntParticle  # (n_positions,), number of the instance to which the deck belongs
    planned: IntParticle  # (n_items,), views to be handed out


class Params(NamedTuple):
    """Constants."""

    features: Floats  # (n_items, d)
    failure: float  # δ
    printed: bool  # whether to eliminate as printed in Algorithm 1, not as in the proof
    program: bool  # whether to follow the authors' program
    most_measured: int  # d (d + 1) / 2, the largest number of items in a design


@dataclass(frozen=True)
class RecurRank(Policy, RecurRankItems):
    """RecurRank measures items in phases of growing precision, and splits positions as it learns.

    Each interval of positions has its own items 𝒜, the best of them sorted by the last estimates,
    and a phase ℓ. In phase ℓ item a is shown T(a) = ⌈d π(a) log(|𝒜| / δ_ℓ) / (2 Δ_ℓ²)⌉ times at the
    interval's first position, with the best other items of the interval below it in order, where
    Δ_ℓ = 2^-ℓ, δ_ℓ = δ / (2 n_positions 2^ℓ) and π is a G-optimal design of 𝒜. Then θ̂ = V†S from
    these views alone estimates all items, with V = Σ a aᵀ over the views and S = Σ a over the
    clicked ones; the interval is split where two neighbours are 2Δ_ℓ apart, and items that cannot
    belong to it are dropped.

    **Assumes**: attraction linear in the features, examination that decreases from the first
    position on, and click probabilities of examination times attraction, where the examination of a
    position may depend on the set of items above it, and is least under the best list:
    position-based, document-based and cascade clicks, and dependent clicks and dynamic Bayesian
    networks if all clicks satisfy equally (otherwise the order of the items above matters). Not the
    multinomial logit model, where an item at a position changes the examination of that position.
    The horizon, or `failure`.

    **Source**: li2019, Algorithm 1.

    **Differences**: 1. δ = 1/√T as in Theorem 1; δ_ℓ is not printed, and follows from Appendix A,
    where Σ 2 n_positions δ_ℓ ≤ δ (the authors' program has ℓ (ℓ + 1) in place of 2^ℓ, which is as
    good). 2. As printed, items are dropped only below a gap of 2Δ_ℓ between two neighbours. Many
    items leave no such gaps, and then none is ever dropped. The proof of Lemma 3 drops every item
    whose estimate is at least 2Δ_ℓ below the m-th largest, where the interval has m positions; so
    does this policy, unless `elimination` is "printed". 3. The design is within 0.1 % of the best.
    T(a) uses the larger of d and its largest leverage aᵀQ(π)†a. 4. In the first phase, whose order
    is arbitrary, each list has random items below the first one. 5. The T(a) views are handed out
    in random order. When all have been handed out but some have no feedback yet, further lists are
    made for these. Views beyond T(a), and those of phases that have ended, do not count. 6.
    Estimates are rounded to multiples of 2⁻³⁰ (about 1e-9), and ties are sorted at random, by a
    number that travels in the memo. 7. An interval with one item has no phases. 8. If several
    designs are equally good, the numbers of the items decide which one is used: of two items with
    the same features it is always the same one that is measured. In the model they are equally
    attractive. 9. ``variant="program"`` follows the authors' public program where that departs from
    the paper: intervals are never split (`elimination` decides which items are dropped); a phase
    takes d log(|𝒜| / δ_ℓ) / Δ_ℓ² rounds, twice as many, with ℓ (ℓ + 1) in place of 2^ℓ in δ_ℓ, and
    measures its items equally often; and θ̂ also counts the observations of these items in earlier
    phases. Their items are a volumetric spanner, drawn at random (Appendix B); here they are those
    of the G-optimal design. In the first phase, the items below the first one are random in each
    list; in their program they are the same in all lists. 10. Dropped items may be retired, and
    learning continues; other changes of the items start the policy again (the reasons are at
    `clickrank.policies.change_catalogue`).

    **Complexity**: a design costs about ten passes over the items of its interval, O(d²) each. The
    fast kernels compute it once per phase, and otherwise take O(n_positions + d²) per round, or
    O(n_positions² + d²) in the first phase, whatever the number of items.

    **Guarantee**: regret O(n_positions √(d T log(n_items T))), li2019, Theorem 1, with the
    elimination of the proof; as printed it can be linear in T: see difference 2.

    Parameters
    ----------
    features
        One row of numbers per item.
    horizon
        Number of rounds T. It is not needed, and not used, if `failure` is given.
    failure
        Probability δ, above 0 and at most 1; 1/√T by default.
    elimination
        Which items to drop: "proof" or "printed", see difference 2.
    variant
        "paper", or "program" to follow the authors' program, see difference 9.

    Examples
    --------
    >>> import clickrank as cr
    >>> attraction = cr.clickmodels.LinearAttraction([[1, 0], [0, 1], [0.5, 0.5]], [0.6, 0.2])
    >>> model = cr.clickmodels.PBM(attraction, [0.9, 0.5])
    >>> cr.simulate("recurrank", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "recurrank"
    assumes = Assumes(
        click_models=("pbm", "cascade", "dcm", "dbn"),
        horizon=True,
        features=True,
        positions="decreasing",
        equal_satisfaction=True,
    )
    rank_remembers = True

    features: Features
    horizon: int | None = None
    failure: float | None = None
    elimination: Literal["proof", "printed"] = "proof"
    variant: Literal["paper", "program"] = "paper"

    def __post_init__(self) -> None:
        """Check the parameters."""
        object.__setattr__(self, "features", Features(self.features))
        check_failure(self, self.horizon, self.failure)
        check_choice("RecurRank", "elimination", self.elimination, ("proof", "printed"))
        check_choice("RecurRank", "variant", self.variant, ("paper", "program"))

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        failure = 1.0 / math.sqrt(self.horizon or 1) if self.failure is None else self.failure
        features, d = self.features.for_items("RecurRank", n_items), self.features.n_features
        printed, program = self.elimination == "printed", self.variant == "program"
        return Params(features, float(failure), printed, program, d * (d + 1) // 2)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round: one interval with all items."""
        return State(
            order=np.arange(n_items),
            phase=(np.arange(n_positions) == 0).astype(np.int64),
            views=np.zeros(n_items, dtype=np.int64),
            clicks=np.zeros(n_items, dtype=np.int64),
            past=np.zeros((2, n_items * (self.variant == "program")), dtype=np.int64),
            restarts=np.zeros(1, dtype=np.int64),
        )


def no_plan(params: Params, state: State) -> PlannedViews:
    """Return empty decks; the next ranking fills them."""
    return PlannedViews(np.zeros_like(state.phase), np.zeros_like(state.order))


def rank(
    params: Params,
    state: State,
    cache: PlannedViews,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Put an item to be measured at the first position of each interval, above the best others."""
    memo[:] = 0
    memo[-1] = int(rng.random() * SALTS)  # decides ties when a phase ends
    for first in begins(state.phase):
        items, end = interval(state.order, state.phase, first)
        if items.shape[0] == 1:
            ranking[first] = items[0]
            continue
        # Identifies the interval's phase; the memo also holds which item of the design was shown.
        instance = state.restarts[0] * PHASES + state.phase[first]
        measured, needed = designed(params, state, first)
        if cache.instance[first] != instance or not cache.planned[measured].any():
            cache.instance[first] = instance
            cache.planned[items] = 0
            for slot, item in enumerate(measured):
                cache.planned[item] = needed[slot] - state.views[item]
        slot = draw_card(cache.planned, measured, rng)
        memo[first] = instance * params.most_measured + slot
        ranking[first] = measured[slot]
        if state.phase[first] == 1:
            fill_at_random(state.order.shape[0], rng, measured[slot], ranking)
        else:
            ranking[first + 1 : end] = items[items != measured[slot]][: end - first - 1]


def update(
    params: Params, state: State, cache: PlannedViews, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count what was measured; the last view that a phase needs ends it."""
    for first in begins(state.phase):
        item, instance = ranking[first], state.restarts[0] * PHASES + state.phase[first]
        if memo[first] // params.most_measured == instance:  # else the instance has ended
            measured, needed = designed(params, state, first)
            missing = needed - state.views[measured]
            if np.any((measured == item) & (missing > 0)):
                state.views[item] += 1
                state.clicks[item] += clicks[first]
                if missing.sum() == 1:
                    end_phase(params, state, first, measured, memo[-1])


@array_kernel
def end_phase(params: Params, state: State, first: int, measured: Ints, salt: int) -> None:
    """Estimate the items of an interval, drop and sort them, and split it: lines 5 to 8."""
    items, end = interval(state.order, state.phase, first)
    views, clicks = state.views[measured], state.clicks[measured]
    if params.program:
        views, clicks = add_past(state.past, measured, views, clicks)
    estimates = estimate_items(params.features, measured, views, clicks, items)
    state.views[items] = 0
    state.clicks[items] = 0

    size, phase = end - first, state.phase[first]
    gap = 2.0 * 2.0 ** -float(phase)  # 2Δ_ℓ
    best = best_places(estimates, items, salt, size)
    top = estimates[best]
    lowest = chain_end(estimates, top[-1], gap) if params.printed else top[-1]
    stays = estimates > lowest - gap
    stays[best] = False
    write_items(state.order[first : first + items.shape[0]], items[best], items[stays])
    for i in range(size):
        splits = i == 0 or (top[i - 1] - top[i] >= gap and not params.program)
        state.phase[first + i] = phase + 1 if splits else 0


@array_kernel
def designed(params: Params, state: State, first: int) -> tuple[Ints, Ints]:
    """Return the items that the phase of an interval measures, and how often, T(a)."""
    items, _ = interval(state.order, state.phase, first)
    measured, weights, _, leverage = optimal_design(params.features, items, TOLERANCE)
    return measured, views_needed(params, state, first, items.shape[0], weights, leverage)


@array_kernel
def views_needed(
    params: Params, state: State, first: int, n_items: int, weights: Floats, leverage: float
) -> Ints:
    """Return T(a) = ⌈d π(a) log(|𝒜| / δ_ℓ) / (2 Δ_ℓ²)⌉ for a G-optimal design of weights π(a)."""
    n_positions, d, phase = state.phase.shape[0], params.features.shape[1], state.phase[first]
    if params.program:
        return program_views(params.failure, n_positions, d, phase, n_items, weights.shape[0])
    delta = params.failure / (2.0 * n_positions * 2.0**phase)  # δ_ℓ
    views = 0.5 * max(leverage, float(d)) * 4.0**phase * math.log(n_items / delta)
    needed: Ints = np.ceil(min(views, float(LARGEST)) * weights).astype(np.int64)
    return needed


register(RecurRank, State, rank, update, cache=PlannedViews, build=no_plan)
