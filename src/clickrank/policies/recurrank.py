"""RecurRank: measure the items of each interval of positions by a design, and split it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from clickrank._compile.jit import array_kernel, lean_kernel
from clickrank.errors import invalid
from clickrank.features import Features
from clickrank.numerics.g_optimal import GOptimalDesign, support_limit
from clickrank.policies._shared.designed_estimates import (
    best_places,
    chain_end,
    estimate_items,
    optimal_design,
)
from clickrank.policies._shared.fisher_yates import fill_at_random
from clickrank.policies.base import Assumes, Policy
from clickrank.policies.capabilities import DropsItems, ExactLists, HasFeatures, HasMemo
from clickrank.policies.contract import Request, register
from clickrank.rankings.lists import Few, Joined, Led, Lists, ListSource
from clickrank.types import Floats, IntParticle, Ints, IntStatistic, number, whole

#: After this many changes of the catalogue, no list from before is still on its way.
EPOCHS = 16
#: More phases than there will be: the 27th alone takes more rounds than can be counted.
PHASES = 32
#: How far the leverage of a design may exceed that of the best one, as a part of it.
DESIGN = 1e-3
#: Views that are as good as infinitely many.
MOST_VIEWS = 2.0**53
_SALTS = 2**16


class State(NamedTuple):
    """The intervals, each with the items it may show and a design of how often to measure which.

    An interval is known by its first position. Its items begin at the same place of `order`: all
    but the last one have as many items as positions.
    """

    order: IntStatistic  # (n_items,), 𝒜 of all intervals; in each, the first are sorted, best first
    alive: IntStatistic  # (1,), how many items are left
    end: IntStatistic  # (n_positions,), the position after the interval that begins here
    phase: IntStatistic  # (n_positions,), ℓ; 0 where no interval begins
    epoch: IntStatistic  # (1,), how often the catalogue was changed
    support: IntStatistic  # (n_positions,), items of the design; 0 if there is nothing to learn
    chosen: IntStatistic  # (n_positions, most), these items
    needed: IntStatistic  # (n_positions, most), T(a)
    views: IntStatistic  # (n_positions, most), of them at the first position
    clicks: IntStatistic  # (n_positions, most)
    past: IntStatistic  # (2, n_items), views and clicks before this phase; empty as in the paper


class Plan(NamedTuple):
    """The views that were not handed out yet: a deck that is being dealt."""

    planning: IntParticle  # (n_positions,), the instance that the next two are of, see `instance`
    planned: IntParticle  # (n_positions, most), views to be handed out
    unplanned: IntParticle  # (n_positions,), their sum


class Params(NamedTuple):
    """Constants."""

    features: Floats  # (n_items, d)
    failure: float  # δ
    printed: bool  # whether to eliminate as Algorithm 1 says, not as the proof does
    stride: int  # d (d + 1) / 2, by which numbers of instances are told apart in a memo
    program: bool  # whether to do as the authors' program


@dataclass(frozen=True)
class RecurRank(Policy, HasMemo, DropsItems, ExactLists, HasFeatures):
    """RecurRank measures items in rounds of growing precision, and splits positions as it learns.

    Each interval of positions has its own items 𝒜, sorted by the last estimates, and a phase ℓ. In
    phase ℓ item a is shown T(a) = ⌈d π(a) log(|𝒜| / δ_ℓ) / (2 Δ_ℓ²)⌉ times at the interval's first
    position, above the others in order, where Δ_ℓ = 2^-ℓ, δ_ℓ = δ / (2 n_positions 2^ℓ) and π is a
    G-optimal design of 𝒜. Then θ̂ = V†S from these views alone estimates all items; the interval
    is split where two neighbours are 2Δ_ℓ apart, and items that cannot belong to it are dropped.

    **Assumes**: attraction linear in the features, positions of decreasing prominence, and clicks
    by examination times attraction, where examination of a position may depend on the set of items
    above it, and is least under the best list: position-based, document-based and cascade clicks,
    dependent clicks and dynamic Bayesian networks if all clicks satisfy equally (otherwise the
    order of the items above matters). Not the multinomial logit model, where an item at a position
    changes how much that position is looked at. The horizon, or `failure`.

    **Source**: li2019, Algorithm 1.

    **Differences**: 1. δ = 1/√T as in Theorem 1; δ_ℓ is not printed, and follows from Appendix A,
    where Σ 2 n_positions δ_ℓ ≤ δ (the authors' program has ℓ (ℓ + 1) for 2^ℓ, which does as well).
    2. As printed, items are dropped only below a gap of 2Δ_ℓ between two neighbours. Many items
    leave no such gaps, and then none is ever dropped. The proof of Lemma 3 drops every item that as
    many others as the interval has positions beat by 2Δ_ℓ; so does this, unless `elimination` is
    "printed". 3. The design is within 0.1 % of the best, and in T(a) its largest leverage
    stands for d where it is larger. Where the items span less than d dimensions, d is
    kept as printed. 4. In the first phase, whose order is arbitrary, each list has random items
    below the first one. 5. The T(a) views are handed out in random order. When all are under way
    and some have not come back, those are planned anew; an item's views beyond T(a), and those of
    an instance that has ended, do not count. 6. Estimates that are equal to 1e-9 are sorted at
    random, by a number that travels in the memo. 7. An interval with one item has no phases.
    8. Where several designs are equally good, the items' numbers decide which one is played: of two
    items with the same features it is always the same one that is measured. By the model they are
    equally attractive. 9. ``variant="program"`` follows the authors' public program where that
    departs from the paper: intervals are never split; a phase takes d log(|𝒜| / δ_ℓ) / Δ_ℓ² rounds,
    twice as many, with ℓ (ℓ + 1) for 2^ℓ in δ_ℓ, and measures its items equally often; and θ̂ also
    counts what earlier phases have seen of these items. Their items are a volumetric spanner, drawn
    at random (Appendix B); here they are those of the G-optimal design. What is shown below the
    first item of a list in the first phase is random in each list, and in their program the same.

    **Complexity**: a round costs O(n_positions + d²), or O(n_positions² + d²) in the first phase,
    whatever the number of items. The end of a phase costs some ten passes over the items of the
    interval, O(d²) each.

    **Guarantee**: regret O(n_positions √(d T log(n_items T))), li2019, Theorem 1, with the proof's
    elimination; as printed it can be linear in T. Items that were dropped may be retired, and it
    goes on; other changes start it again. Both are argued at `change_catalogue`.

    Parameters
    ----------
    features
        One row of numbers an item.
    horizon
        Number of rounds T; may be left open with `failure`, and is then not used.
    failure
        Probability δ, above 0 and at most 1; 1/√T if left open.
    elimination
        Which items to drop: "proof" or "printed", see above.
    variant
        "paper", or "program" to do as the authors' program, see above.

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
        if self.horizon is not None:
            whole("RecurRank", "horizon", self.horizon, 1)
        if self.failure is not None:
            number("RecurRank", "failure", self.failure, 0.0, 1.0)
            if self.failure == 0.0:
                raise invalid("RecurRank", "failure must be above 0", self.failure)
        elif self.horizon is None:
            raise invalid("RecurRank", "horizon must be given, or failure", self.horizon)
        if self.elimination not in ("proof", "printed"):
            rule = "elimination must be 'proof' or 'printed'"
            raise invalid("RecurRank", rule, self.elimination)
        if self.variant not in ("paper", "program"):
            raise invalid("RecurRank", "variant must be 'paper' or 'program'", self.variant)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the kernels' constants."""
        failure = self.failure
        if failure is None:
            assert self.horizon is not None  # as checked
            failure = 1.0 / math.sqrt(self.horizon)
        features = self.features.for_items("RecurRank", n_items)
        printed, program = self.elimination == "printed", self.variant == "program"
        return Params(features, float(failure), printed, self._stride(), program)

    def _stride(self) -> int:
        d = self.features.n_features
        return d * (d + 1) // 2

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round: one interval with all items."""
        state, params = self.unstarted(n_items, n_positions), self.params(n_items, n_positions)
        items, weights, leverage = state.order[:0], np.zeros(0), 0.0
        if n_items > 1:
            design = GOptimalDesign.of(self.features, DESIGN)
            items, weights, leverage = design.items, design.weights, design.leverage
        plan_phase(params, state, 0, n_positions, 1, items, weights, leverage)
        return state

    def unstarted(self, n_items: int, n_positions: int) -> State:
        """Return a state without any interval."""
        slots = n_positions, support_limit(n_items, self.features.n_features)
        past = 2, n_items if self.variant == "program" else 0
        return State(
            order=np.arange(n_items),
            alive=np.full(1, n_items, dtype=np.int64),
            end=np.zeros(n_positions, dtype=np.int64),
            phase=np.zeros(n_positions, dtype=np.int64),
            epoch=np.zeros(1, dtype=np.int64),
            support=np.zeros(n_positions, dtype=np.int64),
            chosen=np.zeros(slots, dtype=np.int64),
            needed=np.zeros(slots, dtype=np.int64),
            views=np.zeros(slots, dtype=np.int64),
            clicks=np.zeros(slots, dtype=np.int64),
            past=np.zeros(past, dtype=np.int64),
        )

    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return one whole number a position, what is measured there, and a random one."""
        return n_positions + 1

    def memo_limit(self, n_items: int) -> int:
        """Return what both kinds of numbers are below."""
        return max(_SALTS, EPOCHS * PHASES * self._stride())

    def dropped(self, state: State) -> Ints:
        """Return the items that are in no interval any more."""
        return np.setdiff1d(np.arange(state.order.size), state.order[: state.alive[0]])

    def lists(self, source: ListSource) -> Lists:
        """Return the lists of intervals, each with what it measures first."""
        state, plan = source.state, source.cache
        parts: list[tuple[Lists, int]] = []
        for first in np.flatnonzero(state.phase).tolist():
            size = int(state.end[first]) - first
            support = int(state.support[first])
            if support == 0:
                parts.append((Few([[state.order[first]]]), 1))
                continue
            views = plan.planned[first, :support]
            number = state.epoch[0] * PHASES + state.phase[first]
            if plan.unplanned[first] == 0 or plan.planning[first] != number:
                views = state.needed[first, :support] - state.views[first, :support]
            chances = views / views.sum()
            measured = state.chosen[first, :support]
            if state.phase[first] == 1:
                led = np.bincount(measured, chances, source.n_items).astype(np.float64)
                parts.append((Led(led, size), size))
                continue
            items = state.order[first : first + size]
            rows = [[item, *items[items != item][: size - 1]] for item in measured.tolist()]
            parts.append((Few(rows, chances), size))
        return Joined(parts)


def no_plan(params: Params, state: State) -> Plan:
    """Return a plan that the next ranking will make."""
    return Plan(np.zeros_like(state.end), np.zeros_like(state.needed), np.zeros_like(state.end))


@lean_kernel
def instance(state: State, first: int) -> int:
    """Return the number of the instance that begins at a position: by its epoch and phase."""
    return int(state.epoch[0] * PHASES + state.phase[first])


def rank(
    params: Params,
    state: State,
    cache: Plan,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Put an item to be measured at the first position of each interval, above the best others."""
    n_positions = ranking.shape[0]
    memo[n_positions] = int(rng.random() * _SALTS)
    for first in range(n_positions):
        memo[first] = 0
        if state.phase[first] == 0:
            continue
        if state.support[first] == 0:
            ranking[first] = state.order[first]
            continue
        slot = draw_measured(state, cache, rng, first)
        memo[first] = instance(state, first) * params.stride + slot
        measured = state.chosen[first, slot]
        ranking[first] = measured
        if state.phase[first] == 1:
            fill_at_random(state.order.shape[0], rng, measured, ranking)
            continue
        place = first
        for position in range(first + 1, state.end[first]):
            place += state.order[place] == measured
            ranking[position] = state.order[place]
            place += 1


@lean_kernel
def draw_measured(state: State, plan: Plan, rng: np.random.Generator, first: int) -> int:
    """Draw what to measure from the views that are planned, and take it off the plan."""
    number = instance(state, first)
    if plan.unplanned[first] == 0 or plan.planning[first] != number:
        plan.planning[first] = number
        plan.unplanned[first] = 0
        for slot in range(state.support[first]):
            plan.planned[first, slot] = state.needed[first, slot] - state.views[first, slot]
            plan.unplanned[first] += plan.planned[first, slot]
    left = int(rng.random() * plan.unplanned[first])
    slot = 0
    while left >= plan.planned[first, slot]:
        left -= plan.planned[first, slot]
        slot += 1
    plan.planned[first, slot] -= 1
    plan.unplanned[first] -= 1
    return slot


def update(
    params: Params, state: State, cache: Plan, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count what was measured; with the last view that a phase needs, it ends."""
    n_positions = ranking.shape[0]
    for first in range(n_positions):
        # Below 0 for an earlier instance, or where there was none; too large for a later one.
        slot = memo[first] - instance(state, first) * params.stride
        if (
            slot >= 0
            and slot < state.support[first]
            and state.chosen[first, slot] == ranking[first]
            and state.views[first, slot] < state.needed[first, slot]
        ):
            state.views[first, slot] += 1
            state.clicks[first, slot] += clicks[first]
            complete = True
            for other in range(state.support[first]):
                complete &= state.views[first, other] == state.needed[first, other]
            if complete:
                end_phase(params, state, first, int(memo[n_positions]))


@array_kernel
def end_phase(params: Params, state: State, first: int, salt: int) -> None:
    """Estimate the items of an interval, drop and sort them, split it, and begin new phases."""
    n_positions, end, support = state.end.shape[0], state.end[first], state.support[first]
    items = state.order[first : state.alive[0] if end == n_positions else end].copy()
    measured = state.chosen[first, :support]
    if params.program:
        for slot in range(support):
            state.past[0, measured[slot]] = state.views[first, slot]
            state.past[1, measured[slot]] = state.clicks[first, slot]
    views, clicks = state.views[first], state.clicks[first]
    estimates = estimate_items(params.features, measured, views, clicks, items)

    size = end - first
    gap = 2.0 * 2.0 ** -float(state.phase[first])
    best = best_places(estimates, items, salt, size)
    top = estimates[best]
    floor = top[size - 1]
    if params.printed:
        floor = chain_end(estimates, floor, gap)
    estimates[best] = math.inf
    place = first
    for i in range(size):
        state.order[place] = items[best[i]]
        place += 1
    for i in range(items.shape[0]):
        if floor - gap < estimates[i] < math.inf:
            state.order[place] = items[i]
            place += 1
    if end == n_positions:
        state.alive[0] = place

    phase = state.phase[first] + 1
    begin = first
    for i in range(1, size + 1):
        if i == size or (top[i - 1] - top[i] >= gap and not params.program):
            begin_phase(params, state, begin, first + i, phase)
            begin = first + i


@array_kernel
def begin_phase(params: Params, state: State, first: int, end: int, phase: int) -> None:
    """Find a design of the items of an interval, and plan a phase; not of a single item."""
    items = state.order[first : state.alive[0] if end == state.end.shape[0] else end]
    chosen, weights, leverage = items[:0].copy(), np.zeros(0), 0.0
    if items.shape[0] > 1:
        chosen, weights, leverage = optimal_design(params.features, items, DESIGN)
    _plan_kernel(params, state, first, end, phase, chosen, weights, leverage)


def plan_phase(
    params: Params,
    state: State,
    first: int,
    end: int,
    phase: int,
    items: Ints,
    weights: Floats,
    leverage: float,
) -> None:
    """Begin a phase of an interval: write how often to measure each item of its design."""
    n_positions, size = state.end.shape[0], items.shape[0]
    n_items = (state.alive[0] if end == n_positions else end) - first
    state.end[first], state.phase[first], state.support[first] = end, phase, size
    parts = phase * (phase + 1.0) if params.program else 2.0**phase
    failure = params.failure / (2.0 * n_positions * parts)  # δ_ℓ
    dimension = max(leverage, float(params.features.shape[1]))
    views = 0.5 * dimension * 4.0**phase * math.log(n_items / failure)
    if params.program:
        views = 4.0**phase * params.features.shape[1] * math.log(n_items / failure)
    for slot in range(size):
        state.chosen[first, slot] = items[slot]
        state.views[first, slot] = state.past[0, items[slot]] if params.program else 0
        state.clicks[first, slot] = state.past[1, items[slot]] if params.program else 0
        more = int(min(MOST_VIEWS, math.ceil(views * weights[slot])))
        if params.program:  # whole rounds, the remaining ones for the first items
            more = int((min(MOST_VIEWS, math.floor(views)) + size - 1 - slot) // size)
        state.needed[first, slot] = state.views[first, slot] + more


_plan_kernel = lean_kernel(plan_phase)

register(RecurRank, State, rank, update, cache=Plan, build=no_plan, lean=True)
