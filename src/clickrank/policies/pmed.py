"""PMED: explore as much as the lower bound asks for, where neither parameter is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._jit import lean_kernel
from clickrank._select import top_k
from clickrank.numerics.birkhoff import birkhoff, fill_up
from clickrank.numerics.exploration_program import Workspace, solve_program, workspace
from clickrank.numerics.pbm_likelihood import fit_likelihood
from clickrank.policies.base import Assumes, Policy
from clickrank.policies.contract import Request, register
from clickrank.rankings.lists import Few, Lists, ListSource
from clickrank.types import (
    Floats,
    FloatScratch,
    FloatStatistic,
    Ints,
    IntScratch,
    IntStatistic,
    number,
    switch,
)

#: The amounts of exploration are computed to this relative error.
TOLERANCE = 0.01
#: and within this many rounds of cuts; ten to twenty are usual.
MOST_ROUNDS = 250
#: Closer than this, logarithms of estimates count as so far apart.
CLOSEST = 1e-3


class Params(NamedTuple):
    """Constants."""

    alpha: float  # α
    hinge: bool
    beta: float  # β
    gamma: float  # γ
    renewal: float


class State(NamedTuple):
    """Counts, the plan made from them at certain rounds, and the lists to show next.

    The plan speaks of ranks: the i-th best item at the k-th most examined position.
    """

    rounds: IntStatistic  # (1,), t - 1
    clicks: IntStatistic  # (n_items, n_positions)
    misses: IntStatistic  # (n_items, n_positions)
    next_plan: IntStatistic  # (1,), rounds at which the plan is made anew
    failures: IntStatistic  # (1,), plans that could not be made
    n_lists: IntStatistic  # (1,), lists of the plan; -1 if it could not be made
    lists: IntStatistic  # (lists, n_positions), v: by rank of position, the item's rank
    weights: FloatStatistic  # (lists,), c_v / log t: how much of each list
    size: IntScratch  # (1,), lists left in the queue
    queue: IntScratch  # (lists, n_positions), L_C
    covered: IntScratch  # (n_items, n_positions), 1 for pairs of item and position in the queue
    left: FloatScratch  # (n_items, n_positions), views not yet used to satisfy the plan
    order: IntScratch  # (n_items,), items, best first
    places: IntScratch  # (n_positions,), positions, most examined first
    fitted: IntScratch  # (1,), 1 if x and y hold an estimate to start from
    x: FloatScratch  # (n_items,), log θ̂
    y: FloatScratch  # (n_positions,), log κ̂
    log_theta: FloatScratch  # (n_items,), log θ̂ rounded; sorted, for the plan
    log_kappa: FloatScratch  # (n_positions,), log κ̂ rounded; sorted, for the plan
    matrix: FloatScratch  # (n_items, n_items), amounts, with columns for items not shown
    permutations: IntScratch  # (lists, n_items), what the matrix is made of
    matching: IntScratch  # (4, n_items), birkhoff's work space
    amounts: FloatScratch  # this and all below: see exploration_program.Workspace
    mu: FloatScratch
    table: FloatScratch
    basic: IntScratch
    nonbasic: IntScratch
    cut: FloatScratch
    changes: FloatScratch
    step: FloatScratch
    inner: FloatScratch
    right: FloatScratch
    bend: FloatScratch


@dataclass(frozen=True)
class PMED(Policy):
    """PMED shows each item at each position as often as the regret's lower bound asks for.

    Neither attraction nor examination is known. Estimates of both (the likelihood's maximum)
    tell which list is best and, by a linear program, how often to show which item where to rule
    out all parameters of which another list would be the best. Lists that have been shown too
    rarely go into a queue, with the best list; when all have been shown, the queue is made anew.

    Amounts q ≥ 0 minimise Σ q_ik κ_k (θ_k - θ_i) such that Σ_{i≠k} q_ik d(θ_i κ_k, θ'_i κ'_k) ≥ 1
    for all (θ', κ') that agree with (θ, κ) on the best list, here (1, 2, ...), and have another
    best list. log t · q is decomposed into lists v with weights c_v. The queue gets

    - the best list;
    - each rotation of the catalogue with a pair (item, position) seen less than α √(log t) times;
    - each v whose pairs were seen less than c_v times (views serve one v only), if one of its
      pairs is in no other list of the queue;
    - with ``hinge``, all rotations if two θ̂ or two κ̂ are closer than β / log log t, or if
      d(μ̂_ik, θ̂_i κ̂_k) > γ / √N_ik somewhere: estimates that the model does not explain yet.

    **Assumes**: position-based clicks. Nothing known, no horizon; no two items equally
    attractive, no two positions equally examined.

    **Source**: komiyama2017, PMED and PMED-Hinge; outlined in gauthier2022, section 2.1.1.

    **Differences**: 1. Examination need not decrease: positions are sorted by κ̂ like items by
    θ̂, and (θ', κ') may have positions in another order. Where the paper knows the order its
    program has fewer constraints, and a smaller constant. 2. The queue is filled when it is
    empty, from the counts at that time, rather than during the loop; it is shown in random order.
    3. The program is solved anew when rounds have grown by the part ``renewal``, to 1 %; between,
    amounts go to whoever has the rank. 4. Counts have 0.05 clicks and misses more in each cell:
    estimates exist and are unique whatever the counts. They are rounded to 1e-6 in the logarithm,
    and ties are broken at random. 5. For the program, log θ̂ or log κ̂ of neighbours count as at
    least 1/√t, but not less than 0.001, apart: closer ones would need more than t rounds. 6. Views
    of the best list's own pairs are not asked for: no constraint contains them. 7. A pair never
    seen brings its rotation into the queue from the start; with delayed feedback, until it comes
    back. 8. ``hinge`` is the extra exploration only. The paper, for its proof, has hinges in the
    estimates and in the constraints too: divergences count from γ/√n upwards. 9. If the program
    cannot be solved within bounds, all rotations are shown instead, and the statistic
    ``failures`` counts it: not seen in simulations, and with attractions near 1 at many positions
    in one of some thousand random tables of counts before the bounds were widened.

    **Complexity**: a queue costs one fit, O(n_items · n_positions²) a Newton step, two or three of
    them. A plan costs some ten rounds of cuts, each with n_items + n_positions convex problems
    of the same order, and the simplex method: 1 ms at 10 × 5, where 100,000 rounds take a second.
    Plans are O(log t) many. For some tens of items: memory is O(n_items² · n_positions) numbers.

    **Guarantee**: for PMED-Hinge C* log T + o(log T), C* being the program's value, and no policy
    has less; none is proved for the plain version, nor for ``hinge`` as it is here.

    Parameters
    ----------
    alpha
        Least exploration α ≥ 0 of each item at each position.
    hinge
        Whether estimates that cannot be trusted yet bring uniform exploration.
    beta
        With ``hinge``: how close two estimates may be, β ≥ 0.
    gamma
        With ``hinge``: how far clicks may be from what the estimates say, γ ≥ 0.
    renewal
        Part by which the rounds grow between two plans, ≥ 0; at 0 each round makes one.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.6, 0.4, 0.2], [0.9, 0.5])
    >>> cr.simulate("pmed", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "pmed"
    most_items = 60
    assumes = Assumes(click_models=("pbm",))
    rank_remembers = True

    alpha: float = 1.0
    hinge: bool = False
    beta: float = 0.01
    gamma: float = 1.0
    renewal: float = 0.05

    def __post_init__(self) -> None:
        """Check the parameters."""
        for field in ("alpha", "beta", "gamma", "renewal"):
            number("PMED", field, getattr(self, field), 0.0, 1000.0)
        switch("PMED", "hinge", self.hinge)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the kernels' constants."""
        return Params(
            float(self.alpha),
            self.hinge,
            float(self.beta),
            float(self.gamma),
            float(self.renewal),
        )

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        shape = (n_items, n_positions)
        # Birkhoff's steps empty one entry each: those of items at positions, and of items left out.
        lists = n_items * n_positions + 2 * n_items
        longest = 1 + n_items + n_items * n_positions

        def whole(*dimensions: int) -> Ints:
            return np.zeros(dimensions, dtype=np.int64)

        return State(
            rounds=whole(1),
            clicks=whole(*shape),
            misses=whole(*shape),
            next_plan=np.full(1, n_items, dtype=np.int64),
            failures=whole(1),
            n_lists=whole(1),
            lists=whole(lists, n_positions),
            weights=np.zeros(lists),
            size=whole(1),
            queue=whole(longest, n_positions),
            covered=whole(*shape),
            left=np.zeros(shape),
            order=whole(n_items),
            places=whole(n_positions),
            fitted=whole(1),
            x=np.zeros(n_items),
            y=np.zeros(n_positions),
            log_theta=np.zeros(n_items),
            log_kappa=np.zeros(n_positions),
            matrix=np.zeros((n_items, n_items)),
            permutations=whole(lists, n_items),
            matching=whole(4, n_items),
            **workspace(n_items, n_positions)._asdict(),
        )

    def lists(self, source: ListSource) -> Lists | None:
        """Return the lists of the queue; None if it is empty and items or positions are tied."""
        state = source.state
        size = int(state.size[0])
        if size > 0:
            return Few(state.queue[:size].copy())
        shown, _ = source.probe()
        ties = np.append(np.diff(np.sort(state.log_theta)), np.diff(np.sort(state.log_kappa)))
        if not (ties == 0.0).any():
            left = state.queue[: int(state.size[0])]
            return Few(np.concatenate([shown[None], left]))
        source.keep("fitted", "x", "y")  # which the estimates, as they are rounded, do not show
        return None


def _rank(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    if state.size[0] == 0:
        _fill_queue(params, state, rng)
    last = state.size[0] - 1
    chosen = int(rng.random() * (last + 1)) if last > 0 else 0
    for position in range(ranking.shape[0]):
        ranking[position] = state.queue[chosen, position]
        state.queue[chosen, position] = state.queue[last, position]
    state.size[0] = last


@lean_kernel
def _fill_queue(params: Params, state: State, rng: np.random.Generator) -> None:
    """Write the lists to show next: the best one, and those that were shown too rarely."""
    n_items, n_positions = state.clicks.shape
    t = state.rounds[0] + 1.0
    _estimate(state)
    top_k(state.log_theta, rng, state.order)
    top_k(state.log_kappa, rng, state.places)

    for i in range(n_items):
        for k in range(n_positions):
            state.covered[i, k] = 0
    for k in range(n_positions):
        state.queue[0, state.places[k]] = state.order[k]
        state.covered[state.order[k], state.places[k]] = 1
    state.size[0] = 1
    least = params.alpha * math.sqrt(math.log(t))
    everything = state.n_lists[0] < 0 or (params.hinge and _doubtful(params, state, t))
    for first in range(n_items):
        needed = everything
        for k in range(n_positions):
            item = (first + k) % n_items
            views = state.clicks[item, k] + state.misses[item, k]
            needed = needed or views == 0 or views < least
        if needed:
            for k in range(n_positions):
                item = (first + k) % n_items
                state.queue[state.size[0], k] = item
                state.covered[item, k] = 1
            state.size[0] += 1
    _add_plan(state, math.log(t))


@lean_kernel
def _estimate(state: State) -> None:
    """Write log θ̂ and log κ̂ of the counts."""
    fit_likelihood(
        state.clicks,
        state.misses,
        state.fitted,
        state.x,
        state.y,
        state.log_theta,
        state.log_kappa,
        state.bend,
        state.inner,
    )


@lean_kernel
def _doubtful(params: Params, state: State, t: float) -> bool:
    """Whether the estimates are too close to each other, or too far from the clicks."""
    n_items, n_positions = state.clicks.shape
    shift = state.log_kappa[state.places[0]]  # so that the most examined position has κ = 1
    if math.log(t) > 1.0:
        closest = params.beta / math.log(math.log(t))
        for i in range(1, n_items):
            better = math.exp(state.log_theta[state.order[i - 1]] + shift)
            if better - math.exp(state.log_theta[state.order[i]] + shift) < closest:
                return True
        for k in range(1, n_positions):
            more = math.exp(state.log_kappa[state.places[k - 1]] - shift)
            if more - math.exp(state.log_kappa[state.places[k]] - shift) < closest:
                return True
    for i in range(n_items):
        for k in range(n_positions):
            clicks, misses = state.clicks[i, k], state.misses[i, k]
            n = clicks + misses
            if n == 0:
                continue
            expected = math.exp(state.x[i] + state.y[k])
            d = 0.0
            if clicks > 0:
                d += clicks * math.log(clicks / (n * expected))
            if misses > 0:
                d += misses * math.log(misses / (n * (1.0 - expected)))
            if d > params.gamma * math.sqrt(n):
                return True
    return False


@lean_kernel
def _add_plan(state: State, log_t: float) -> None:
    """Add the plan's lists that were shown too rarely and are not there pair by pair."""
    n_items, n_positions = state.clicks.shape
    for i in range(n_items):
        for k in range(n_positions):
            state.left[i, k] = state.clicks[i, k] + state.misses[i, k]
    for s in range(state.n_lists[0]):
        asked = state.weights[s] * log_t
        had = math.inf
        new = False
        for k in range(n_positions):
            if state.lists[s, k] != k:
                item, position = state.order[state.lists[s, k]], state.places[k]
                had = min(had, state.left[item, position])
                new = new or state.covered[item, position] == 0
        used = min(asked, had)
        for k in range(n_positions):
            state.left[state.order[state.lists[s, k]], state.places[k]] -= used
        if had < asked and new:
            for k in range(n_positions):
                item, position = state.order[state.lists[s, k]], state.places[k]
                state.queue[state.size[0], position] = item
                state.covered[item, position] = 1
            state.size[0] += 1


def _update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    state.rounds[0] += 1
    for position in range(ranking.shape[0]):
        item = ranking[position]
        state.clicks[item, position] += clicks[position]
        state.misses[item, position] += 1 - clicks[position]
    if state.rounds[0] >= state.next_plan[0]:
        _plan(state)
        later = math.ceil(state.rounds[0] * (1.0 + params.renewal))
        state.next_plan[0] = max(state.rounds[0] + 1, later)


@lean_kernel
def _plan(state: State) -> None:
    """Solve the program for the estimates, and write its amounts as lists with weights."""
    n_items, n_positions = state.clicks.shape
    _estimate(state)
    _sort_down(state.log_theta)
    _sort_down(state.log_kappa)
    apart = max(1.0 / math.sqrt(state.rounds[0] + 1.0), CLOSEST)
    for i in range(1, n_items):
        before = min(i - 1, n_positions - 1)
        state.log_theta[i] = min(state.log_theta[i], state.log_theta[before] - apart)
    for k in range(1, n_positions):
        state.log_kappa[k] = min(state.log_kappa[k], state.log_kappa[k - 1] - apart)
    # Rounding may have made the largest probability 1.
    excess = state.log_theta[0] + state.log_kappa[0] + 1e-6
    if excess > 0.0:
        for i in range(n_items):
            state.log_theta[i] -= excess
    # The whole state would do as well, but compiling takes longer the more fields are handed on.
    work = Workspace(
        state.amounts,
        state.mu,
        state.table,
        state.basic,
        state.nonbasic,
        state.cut,
        state.changes,
        state.step,
        state.inner,
        state.right,
        state.bend,
    )
    _, cost = solve_program(work, state.log_theta, state.log_kappa, TOLERANCE, MOST_ROUNDS)
    if cost == math.inf:
        state.failures[0] += 1
        state.n_lists[0] = -1
        return
    fill_up(state.amounts, state.matrix)
    found = birkhoff(state.matrix, state.permutations, state.weights, state.matching)
    for s in range(found):
        for k in range(n_positions):
            state.lists[s, k] = state.permutations[s, k]
    state.n_lists[0] = found


@lean_kernel
def _sort_down(values: Floats) -> None:
    """Sort in place, largest first."""
    for i in range(1, values.shape[0]):
        value = values[i]
        place = i
        while place > 0 and values[place - 1] < value:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value


register(PMED, State, _rank, _update, lean=True)
