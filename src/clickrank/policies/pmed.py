"""PMED: explore as much as the lower bound asks for, where neither parameter is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import array_kernel, lean_kernel
from clickrank._core.arrays import Floats, FloatStatistic, IntParticle, Ints, IntStatistic
from clickrank._core.validate import check_bool, check_float
from clickrank.numerics.doubly_stochastic import decompose
from clickrank.numerics.exploration_program import exploration_amounts
from clickrank.numerics.pbm_maximum import PBMEstimates, estimate_pbm, explains
from clickrank.numerics.spacing import largest, smallest_gap
from clickrank.policies._shared.pmed_queue import PMEDQueue
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy
from clickrank.policies.registration import register
from clickrank.rankings.selection import top_k

#: The amounts of exploration are computed to this relative error,
TOLERANCE = 0.01
#: in at most this many rounds of cuts; ten to twenty are usual.
MOST_ROUNDS = 250
#: Logarithms of estimates count as at least this far apart.
CLOSEST = 1e-3


class State(NamedTuple):
    """Counts, and the plan made from them at certain rounds.

    The plan speaks of ranks: the i-th best item at the k-th most examined position.
    """

    clicks: IntStatistic  # (n_items, n_positions), clicks on item i at position k
    misses: IntStatistic  # (n_items, n_positions), views without a click; N_ik = clicks + misses
    lists: IntStatistic  # (lists, n_positions), v: by rank of position, the item's rank
    # (lists,), c_v / log t; 0 after the last list. The first is -1 if the program was not solved
    weights: FloatStatistic


class Queue(NamedTuple):
    """The lists to show next, which are dealt like cards."""

    size: IntParticle  # (1,), lists left in the queue
    queue: IntParticle  # (lists, n_positions), L_C


class Params(NamedTuple):
    """Constants."""

    alpha: float  # α
    hinge: bool  # whether doubtful estimates bring uniform exploration
    beta: float  # β
    gamma: float  # γ
    renewal: float  # part by which the rounds grow between two plans


@dataclass(frozen=True)
class PMED(Policy, PMEDQueue):
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
      pairs is in no list that is in the queue already;
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
    cannot be solved within bounds, all rotations are shown until the next plan: not seen in
    simulations, and with attractions near 1 at many positions in one of some thousand random tables
    of counts before the bounds were widened.

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
            check_float("PMED", field, getattr(self, field), 0.0, 1000.0)
        check_bool("PMED", "hinge", self.hinge)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the kernels' constants."""
        beta, gamma = float(self.beta), float(self.gamma)
        return Params(float(self.alpha), self.hinge, beta, gamma, float(self.renewal))

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        # Birkhoff's steps empty one entry each: those of items at positions, and of items left out.
        lists = n_items * n_positions + 2 * n_items
        return State(
            clicks=np.zeros((n_items, n_positions), dtype=np.int64),
            misses=np.zeros((n_items, n_positions), dtype=np.int64),
            lists=np.zeros((lists, n_positions), dtype=np.int64),
            weights=np.zeros(lists),
        )


def empty_queue(params: Params, state: State) -> Queue:
    """Return a queue of no lists."""
    n_items, n_positions = state.clicks.shape
    queue = np.zeros((1 + n_items + n_items * n_positions, n_positions), dtype=np.int64)
    return Queue(np.zeros(1, dtype=np.int64), queue)


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
        cache.size[0] = fill_queue(params, state, rng, cache.queue)
    last = cache.size[0] - 1
    chosen = int(rng.random() * (last + 1)) if last > 0 else 0
    ranking[:] = cache.queue[chosen]
    cache.queue[chosen] = cache.queue[last]
    cache.size[0] = last


@array_kernel
def fill_queue(params: Params, state: State, rng: np.random.Generator, queue: Ints) -> int:
    """Write the best list and those that were shown too rarely; returns how many there are."""
    n_items, n_positions = state.clicks.shape
    estimates = estimate_pbm(state.clicks, state.misses)
    order = np.empty(n_items, dtype=np.int64)  # items, best first
    places = np.empty(n_positions, dtype=np.int64)  # positions, most examined first
    top_k(estimates.log_theta, rng, order)
    top_k(estimates.log_kappa, rng, places)
    best, size = queue[0], 1
    best[places] = order[:n_positions]

    views = (state.clicks + state.misses).astype(np.float64)  # later: that served no list yet
    log_t = math.log(rounds_of(state) + 1.0)
    least = params.alpha * math.sqrt(log_t)
    doubtful = params.hinge and is_doubtful(params, state, estimates, log_t)
    for first in range(n_items):
        queue[size] = (first + np.arange(n_positions)) % n_items
        fewest = along(views, queue[size]).min()
        if doubtful or state.weights[0] < 0.0 or fewest == 0.0 or fewest < least:
            size += 1

    for v in range(np.count_nonzero(state.weights > 0.0)):
        shown, asked = queue[size], state.weights[v] * log_t
        shown[places] = order[state.lists[v]]
        others = shown != best
        had = np.where(others, along(views, shown), math.inf).min()
        for position, item in enumerate(shown):  # views serve one list only
            views[item, position] -= min(asked, had)
        new = others & (np.sum(queue[:size] == shown, axis=0) == 0)
        if had < asked and np.any(new):
            size += 1
    return size


@array_kernel
def along(table: Floats, ranking: Ints) -> Floats:
    """Return the entries of a list's pairs of item and position."""
    return np.array([table[ranking[k], k] for k in range(ranking.shape[0])])


@lean_kernel
def is_doubtful(params: Params, state: State, estimates: PBMEstimates, log_t: float) -> bool:
    """Return whether estimates are too close to each other, or too far from the clicks."""
    closest = params.beta / math.log(log_t) if log_t > 1.0 else 0.0
    scale = largest(estimates.log_kappa)  # so that the most examined position has κ = 1
    gap = min(smallest_gap(estimates.log_theta, scale), smallest_gap(estimates.log_kappa, -scale))
    return gap < closest or not explains(estimates, state.clicks, state.misses, params.gamma)


def update(
    params: Params, state: State, cache: Queue, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks and misses, and make another plan if it is time."""
    planned = next_plan(params, state.clicks.shape[0], rounds_of(state))
    for position, item in enumerate(ranking):
        state.clicks[item, position] += clicks[position]
        state.misses[item, position] += 1 - clicks[position]
    if rounds_of(state) == planned:
        make_plan(state)


@array_kernel
def rounds_of(state: State) -> int:
    """Return the number of rounds, t - 1: each has shown one item at the first position."""
    return int(np.sum(state.clicks[:, 0] + state.misses[:, 0]))


@lean_kernel
def next_plan(params: Params, n_items: int, rounds: int) -> int:
    """Return the number of rounds, more than these, after which the next plan is made."""
    planned = n_items
    while planned <= rounds:
        planned = max(planned + 1, math.ceil(planned * (1.0 + params.renewal)))
    return planned


@array_kernel
def make_plan(state: State) -> None:
    """Solve the program for the estimates, and write its amounts as lists with weights."""
    estimates = estimate_pbm(state.clicks, state.misses)
    x, y = -np.sort(-estimates.log_theta), -np.sort(-estimates.log_kappa)
    apart = max(1.0 / math.sqrt(rounds_of(state) + 1.0), CLOSEST)
    for i in range(1, x.shape[0]):
        x[i] = min(x[i], x[min(i, y.shape[0]) - 1] - apart)
    for k in range(1, y.shape[0]):
        y[k] = min(y[k], y[k - 1] - apart)
    x -= max(0.0, x[0] + y[0] + 1e-6)  # rounding may have made the largest probability 1
    amounts, cost = exploration_amounts(x, y, TOLERANCE, MOST_ROUNDS)
    decompose(amounts, state.lists, state.weights)
    if cost == math.inf:
        state.weights[0] = -1.0


register(PMED, State, rank, update, cache=Queue, build=empty_queue)
