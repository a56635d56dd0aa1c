"""PMED: explore as much as the lower bound asks for, where neither parameter is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import kernel, lean_kernel
from clickrank.numerics.birkhoff import decompose
from clickrank.numerics.exploration_program import exploration_amounts
from clickrank.numerics.pbm_likelihood import PBMEstimates, estimate_pbm
from clickrank.policies.base import Assumes, Policy
from clickrank.policies.capabilities import ExactLists
from clickrank.policies.contract import Request, register
from clickrank.rankings.lists import Few, Lists, ListSource
from clickrank.rankings.selection import top_k
from clickrank.types import (
    Floats,
    FloatStatistic,
    IntParticle,
    Ints,
    IntStatistic,
    number,
    switch,
)

#: The amounts of exploration are computed to this relative error.
TOLERANCE = 0.01
#: and within this many rounds of cuts; ten to twenty are usual.
MOST_ROUNDS = 250
#: Logarithms of estimates count as at least this far apart.
CLOSEST = 1e-3


class State(NamedTuple):
    """Counts, and the plan made from them at certain rounds.

    The plan speaks of ranks: the i-th best item at the k-th most examined position.
    """

    rounds: IntStatistic  # (1,), t - 1
    clicks: IntStatistic  # (n_items, n_positions), clicks on item i at position k
    misses: IntStatistic  # (n_items, n_positions), views without a click; N_ik = clicks + misses
    next_plan: IntStatistic  # (1,), the number of rounds at which the next plan is made
    failures: IntStatistic  # (1,), plans that could not be made
    n_lists: IntStatistic  # (1,), lists of the plan; -1 if it could not be made
    lists: IntStatistic  # (lists, n_positions), v: by rank of position, the item's rank
    weights: FloatStatistic  # (lists,), c_v / log t: how much of each list


class Queue(NamedTuple):
    """The lists to show next, which are dealt like cards."""

    size: IntParticle  # (1,), lists left in the queue
    queue: IntParticle  # (lists, n_positions), L_C
    log_theta: Floats  # (n_items,), log θ̂ when the queue was filled
    log_kappa: Floats  # (n_positions,), log κ̂ when the queue was filled


class Params(NamedTuple):
    """Constants."""

    alpha: float  # α
    hinge: bool
    beta: float  # β
    gamma: float  # γ
    renewal: float


@dataclass(frozen=True)
class PMED(Policy, ExactLists):
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

    **Complexity**: a queue costs one fit, O(n_items · n_positions²) a Newton step, about six of
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
        # Birkhoff's steps empty one entry each: those of items at positions, and of items left out.
        lists = n_items * n_positions + 2 * n_items
        return State(
            rounds=np.zeros(1, dtype=np.int64),
            clicks=np.zeros((n_items, n_positions), dtype=np.int64),
            misses=np.zeros((n_items, n_positions), dtype=np.int64),
            next_plan=np.full(1, n_items, dtype=np.int64),
            failures=np.zeros(1, dtype=np.int64),
            n_lists=np.zeros(1, dtype=np.int64),
            lists=np.zeros((lists, n_positions), dtype=np.int64),
            weights=np.zeros(lists),
        )

    def lists(self, source: ListSource) -> Lists | None:
        """Return the lists of the queue; None if it is empty and items or positions are tied."""
        cache = source.cache
        if cache.size[0] > 0:
            return Few(cache.queue[: cache.size[0]].copy())
        shown, _ = source.probe()
        values = {*cache.log_theta.tolist()}, {*cache.log_kappa.tolist()}
        if (len(values[0]), len(values[1])) == (source.n_items, source.n_positions):
            return Few(np.concatenate([shown[None], cache.queue[: cache.size[0]]]))
        source.keep("fitted", "x", "y")  # which the estimates, as they are rounded, do not show
        return None


def empty_queue(params: Params, state: State) -> Queue:
    """Return a queue of no lists."""
    n_items, n_positions = state.clicks.shape
    longest = 1 + n_items + n_items * n_positions
    return Queue(
        size=np.zeros(1, dtype=np.int64),
        queue=np.zeros((longest, n_positions), dtype=np.int64),
        log_theta=np.zeros(n_items),
        log_kappa=np.zeros(n_positions),
    )


def rank(
    params: Params,
    state: State,
    cache: Queue,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Show any list of the queue; when it is empty, fill it first."""
    if cache.size[0] == 0:
        estimates = estimate_pbm(state.clicks, state.misses)
        cache.log_theta[:] = estimates.log_theta
        cache.log_kappa[:] = estimates.log_kappa
        cache.size[0] = _fill_queue(params, state, estimates, rng, cache.queue)
    last = cache.size[0] - 1
    chosen = int(rng.random() * (last + 1)) if last > 0 else 0
    ranking[:] = cache.queue[chosen]
    cache.queue[chosen] = cache.queue[last]
    cache.size[0] = last


@kernel
def _fill_queue(
    params: Params, state: State, estimates: PBMEstimates, rng: np.random.Generator, queue: Ints
) -> int:
    """Write the best list and those that were shown too rarely; returns how many there are."""
    n_items, n_positions = state.clicks.shape
    order = np.empty(n_items, dtype=np.int64)  # items, best first
    places = np.empty(n_positions, dtype=np.int64)  # positions, most examined first
    top_k(estimates.log_theta, rng, order)
    top_k(estimates.log_kappa, rng, places)
    views = 1.0 * (state.clicks + state.misses)  # later: those that served no list yet
    covered = np.zeros((n_items, n_positions), dtype=np.int64)  # 1 for pairs in the queue
    for k in range(n_positions):
        queue[0, places[k]] = order[k]
    size = _cover(covered, queue, 0)

    log_t = math.log(state.rounds[0] + 1.0)
    least = params.alpha * math.sqrt(log_t)
    everything = state.n_lists[0] < 0
    if params.hinge:
        everything |= is_doubtful(params, state, estimates, order, places)
    for first in range(n_items):
        needed = everything
        for k in range(n_positions):
            item = (first + k) % n_items
            needed |= views[item, k] == 0 or views[item, k] < least
            queue[size, k] = item
        if needed:
            size = _cover(covered, queue, size)

    for v in range(state.n_lists[0]):
        asked = state.weights[v] * log_t
        had = math.inf
        new = False
        for k in range(n_positions):
            item, position = order[state.lists[v, k]], places[k]
            queue[size, position] = item
            if state.lists[v, k] != k:
                had = min(had, views[item, position])
                new |= covered[item, position] == 0
        for position in range(n_positions):  # views serve one list only
            views[queue[size, position], position] -= min(asked, had)
        if had < asked and new:
            size = _cover(covered, queue, size)
    return size


@lean_kernel
def _cover(covered: Ints, queue: Ints, size: int) -> int:
    """Take the list after the first ``size`` into the queue; returns how many there are then."""
    for position in range(queue.shape[1]):
        covered[queue[size, position], position] = 1
    return size + 1


@lean_kernel
def _close(logarithms: Floats, shift: float, order: Ints, closest: float) -> bool:
    """Return whether two estimates that follow each other in their order are too close."""
    for i in range(1, order.shape[0]):
        larger = math.exp(logarithms[order[i - 1]] + shift)
        if larger - math.exp(logarithms[order[i]] + shift) < closest:
            return True
    return False


@lean_kernel
def is_doubtful(
    params: Params, state: State, estimates: PBMEstimates, order: Ints, places: Ints
) -> bool:
    """Return whether estimates are too close to each other, or too far from the clicks."""
    n_items, n_positions = state.clicks.shape
    log_t = math.log(state.rounds[0] + 1.0)
    shift = estimates.log_kappa[places[0]]  # so that the most examined position has κ = 1
    if log_t > 1.0:
        closest = params.beta / math.log(log_t)
        if _close(estimates.log_theta, shift, order, closest):
            return True
        if _close(estimates.log_kappa, -shift, places, closest):
            return True
    for i in range(n_items):
        for k in range(n_positions):
            clicks, misses = state.clicks[i, k], state.misses[i, k]
            n = clicks + misses
            expected = math.exp(estimates.x[i] + estimates.y[k])
            d = 0.0  # N_ik d(μ̂_ik, θ̂_i κ̂_k)
            if clicks > 0:
                d += clicks * math.log(clicks / (n * expected))
            if misses > 0:
                d += misses * math.log(misses / (n * (1.0 - expected)))
            if d > params.gamma * math.sqrt(n):
                return True
    return False


def update(
    params: Params, state: State, cache: Queue, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks and misses, and make another plan if it is time."""
    state.rounds[0] += 1
    for position in range(ranking.shape[0]):
        item = ranking[position]
        state.clicks[item, position] += clicks[position]
        state.misses[item, position] += 1 - clicks[position]
    if state.rounds[0] >= state.next_plan[0]:
        _plan(state, estimate_pbm(state.clicks, state.misses))
        later = math.ceil(state.rounds[0] * (1.0 + params.renewal))
        state.next_plan[0] = max(state.rounds[0] + 1, later)


@kernel
def _plan(state: State, estimates: PBMEstimates) -> None:
    """Solve the program for the estimates, and write its amounts as lists with weights."""
    x, y = -np.sort(-estimates.log_theta), -np.sort(-estimates.log_kappa)
    apart = max(1.0 / math.sqrt(state.rounds[0] + 1.0), CLOSEST)
    for i in range(1, x.shape[0]):
        x[i] = min(x[i], x[min(i, y.shape[0]) - 1] - apart)
    for k in range(1, y.shape[0]):
        y[k] = min(y[k], y[k - 1] - apart)
    x -= max(0.0, x[0] + y[0] + 1e-6)  # rounding may have made the largest probability 1
    amounts, cost = exploration_amounts(x, y, TOLERANCE, MOST_ROUNDS)
    if cost == math.inf:
        state.failures[0] += 1
        state.n_lists[0] = -1
    else:
        state.n_lists[0] = decompose(amounts, state.lists, state.weights)


register(PMED, State, rank, update, cache=Queue, build=empty_queue)
