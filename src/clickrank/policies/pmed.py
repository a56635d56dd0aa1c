"""PMED: explores as much as the lower bound requires, if neither parameter of a PBM is known."""

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
from clickrank.numerics.log_gaps import largest, smallest_gap
from clickrank.numerics.pbm_maximum import PBMEstimates, estimate_pbm, explains
from clickrank.policies._shared.pmed_queue import PMEDQueue
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy
from clickrank.policies.registration import register
from clickrank.rankings.selection import top_k

#: Relative error of the amounts of exploration,
TOLERANCE = 0.01
#: which takes at most this many rounds of cuts; ten to twenty are usual.
MOST_ROUNDS = 250
#: Smallest difference between the logarithms of two estimates.
CLOSEST = 1e-3


class State(NamedTuple):
    """Counts, and the plan that is made from them at certain rounds.

    The plan refers to ranks: the i-th best item at the k-th most examined position.
    """

    clicks: IntStatistic  # (n_items, n_positions), clicks on item i at position k
    misses: IntStatistic  # (n_items, n_positions), views without a click; N_ik = clicks + misses
    lists: IntStatistic  # (lists, n_positions), v: the rank of the item per rank of the position
    # (lists,), c_v / log t; 0 after the last list. The first is -1 if the program was not solved
    weights: FloatStatistic


class Queue(NamedTuple):
    """The lists to show next, in random order."""

    size: IntParticle  # (1,), number of lists in the queue
    queue: IntParticle  # (lists, n_positions), L_C


class Params(NamedTuple):
    """Constants."""

    alpha: float  # α
    hinge: bool  # whether doubtful estimates cause uniform exploration
    beta: float  # β
    gamma: float  # γ
    renewal: float  # relative growth of the rounds between two plans


@dataclass(frozen=True)
class PMED(Policy, PMEDQueue):
    """PMED shows each item at each position as often as the lower bound of the regret requires.

    Neither attraction nor examination is known. Maximum-likelihood estimates of both determine the
    best list and, by a linear program, how often to show each item at each position to rule out all
    parameters under which another list would be the best. Lists that have been shown too rarely go
    into a queue, with the best list. When all have been shown, the queue is filled again.

    Amounts q ≥ 0 minimise Σ q_ik κ_k (θ_k - θ_i) such that Σ_{i≠k} q_ik d(θ_i κ_k, θ'_i κ'_k) ≥ 1
    for all (θ', κ') that agree with (θ, κ) on the best list, here (1, 2, ...), and have another
    best list. log t · q is decomposed into lists v with weights c_v. The queue gets

    - the best list;
    - each rotation of the catalogue with a pair (item, position) seen less than α √(log t) times;
    - each v whose pairs were seen less than c_v times (a view counts for one v only), if one of its
      pairs is in no list that is in the queue already;
    - with ``hinge``, all rotations if two θ̂ or two κ̂ are closer than β / log log t, or if
      d(μ̂_ik, θ̂_i κ̂_k) > γ / √N_ik for any pair: the model does not explain the estimates yet.

    **Assumes**: position-based clicks. Nothing known, no horizon; no two items equally
    attractive, no two positions equally examined.

    **Source**: komiyama2017, PMED and PMED-Hinge; outlined in gauthier2022, section 2.1.1.

    **Differences**: 1. Examination need not decrease: positions are sorted by κ̂ like items by
    θ̂, and (θ', κ') may have positions in another order. The paper knows the order, so that its
    program has fewer constraints, and a smaller constant. 2. The queue is filled when it is
    empty, from the counts at that time, rather than during the loop; it is shown in random order.
    3. The program is solved again when the rounds have grown by the share ``renewal``, to 1 %; in
    between, amounts belong to the items that have the ranks. 4. Counts have 0.05 further clicks and
    misses in each cell, so that estimates exist and are unique. They are rounded to 1e-6 in the
    logarithm, and ties are broken at random. 5. In the program, log θ̂ or log κ̂ of neighbours
    differ by at least 1/√t, but not less than 0.001: closer ones would need more than t rounds. 6.
    Views of the best list's own pairs are not required, because no constraint contains them. 7. A
    pair never seen brings its rotation into the queue from the start; with delayed feedback, until
    it comes back. 8. ``hinge`` is the extra exploration only. For its proof, the paper has hinges
    in the estimates and in the constraints too: divergences count from γ/√n upwards. 9. If the
    program cannot be solved within bounds, all rotations are shown until the next plan. This was
    not seen in simulations; with attractions near 1 at many positions it happened in one of some
    thousand random tables of counts, before the bounds were widened.

    **Complexity**: a queue costs one fit, O(n_items · n_positions²) per Newton step, about six of
    them. A plan costs about ten rounds of cuts, each with n_items + n_positions convex problems
    of the same order, and the simplex method: 1 ms for 10 items at 5 positions, where 100,000
    rounds take a second. There are O(log t) plans. For a few dozen items: memory is
    O(n_items² · n_positions) numbers.

    **Guarantee**: for PMED-Hinge C* log T + o(log T), where C* is the value of the program, and no
    policy has less; none is proved for the plain version, nor for ``hinge`` as implemented here.

    Parameters
    ----------
    alpha
        Minimum exploration α ≥ 0 of each item at each position.
    hinge
        Whether estimates that are not reliable yet cause uniform exploration.
    beta
        With ``hinge``: how close two estimates may be, β ≥ 0.
    gamma
        With ``hinge``: how far click rates may be from the estimates, γ ≥ 0.
    renewal
        Relative growth of the rounds between two plans, ≥ 0; with 0, each round makes a plan.

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
        """Return the constants that the kernels read."""
        beta, gamma = float(self.beta), float(self.gamma)
        return Params(float(self.alpha), self.hinge, beta, gamma, float(self.renewal))

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        # Each step of Birkhoff's algorithm empties one entry: of items at positions, or left out.
        lists = n_items * n_positions + 2 * n_items
        return State(
            clicks=np.zeros((n_items, n_positions), dtype=np.int64),
            misses=np.zeros((n_items, n_positions), dtype=np.int64),
            lists=np.zeros((lists, n_positions), dtype=np.int64),
            weights=np.zeros(lists),
        )


def empty_queue(params: Params, state: State) -> Queue:
    """Return an empty queue."""
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
    """Write the best list and those that were shown too rarely; return their number."""
    n_items, n_positions = state.clicks.shape
    estimates = estimate_pbm(state.clicks, state.misses)
    order = np.empty(n_items, dtype=np.int64)  # items, best first
    places = np.empty(n_positions, dtype=np.int64)  # positions, most examined first
    top_k(estimates.log_theta, rng, order)
    top_k(estimates.log_kappa, rng, places)
    best, size = queue[0], 1
    best[places] = order[:n_positions]

    views = (state.clicks + state.misses).astype(np.float64)  # later: not yet used for a list
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
        for position, item in enumerate(shown):  # a view counts for one list only
            views[item, position] -= min(asked, had)
        new = others & (np.sum(queue[:size] == shown, axis=0) == 0)
        if had < asked and np.any(new):
            size += 1
    return size


@array_kernel
def along(table: Floats, ranking: Ints) -> Floats:
    """Return the entries of a table at a list's pairs of item and position."""
    return np.array([table[ranking[k], k] for k in range(ranking.shape[0])])


@lean_kernel
def is_doubtful(params: Params, state: State, estimates: PBMEstimates, log_t: float) -> bool:
    """Return whether estimates are too close to each other, or too far from the clicks."""
    closest = params.beta / math.log(log_t) if log_t > 1.0 else 0.0
    scale = largest(estimates.log_kappa)  # the most examined position has κ = 1
    gap = min(smallest_gap(estimates.log_theta, scale), smallest_gap(estimates.log_kappa, -scale))
    return gap < closest or not explains(estimates, state.clicks, state.misses, params.gamma)


def update(
    params: Params, state: State, cache: Queue, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks and misses, and make another plan if it is due."""
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
    """Return the number of rounds after which the plan following ``rounds`` is made."""
    planned = n_items
    while planned <= rounds:
        planned = max(planned + 1, math.ceil(planned * (1.0 + params.renewal)))
    return planned


@array_kernel
def make_plan(state: State) -> None:
    """Solve the program for the estimates, and store its amounts as lists with weights."""
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
