"""UniRank: a unimodal bandit whose arms are ordered partitions of the items."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import kernel
from clickrank._core.arrays import Floats, IntParticle, Ints, IntStatistic
from clickrank._core.validate import check_int
from clickrank.errors import invalid
from clickrank.numerics.count_table import SLOTS, count_of, count_once_more, no_counts
from clickrank.numerics.kl_bounds import exploration_budget, kl_lower
from clickrank.policies._shared.leader_items import LeadingPartitions
from clickrank.policies._shared.ordered_partition import (
    count_wins,
    draw_compatible,
    hash_of_partition,
    peel,
)
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy
from clickrank.policies.registration import register


class State(NamedTuple):
    """Wins of each item over each other one, and how often each leader has led."""

    rounds: IntStatistic  # (1,), t - 1
    # (n_items, n_items): i clicked, j not, while in one subset of the partition shown;
    # T_ij = wins_ij + wins_ji and ŝ_ij = (wins_ij - wins_ji) / T_ij
    wins: IntStatistic
    keys: IntStatistic  # (slots,), hashes of the leaders that are counted: see `count_table`
    times: IntStatistic  # (slots,), rounds that each has led, τ


class Labels(NamedTuple):
    """The label of each item in the hashes of leaders.

    It stays with the item when items are renumbered, so that the counts of leaders stay valid.
    """

    labels: IntParticle  # (n_items,)


class Params(NamedTuple):
    """Constants."""

    n_positions: int  # K


@dataclass(frozen=True)
class UniRank(Policy, LeadingPartitions):
    """UniRank shows ordered partitions near the leader, to learn which items are better.

    The leader is the order that the clicks suggest so far. Items of two consecutive subsets are
    mixed until all items of the first are better than all of the second with confidence.

    Let O be the rounds in which i and j are in one subset of the partition played and exactly one
    of them is clicked; an item not shown counts as not clicked. Let T_ij = |O| and ŝ_ij = Σ_O (c_i
    - c_j)/T_ij. Item i dominates j if ŝ_ij ≥ √(log log t/T_ij). *Leader* P̃: first the items that
    no other dominates, then those that none dominates of the rest, until they fill the list; the
    items left are the rest, which the leader does not show. *Played*: from the top, a subset is
    merged with the next one if some index s̲_ij is at most 0, i in the first and j in the second; a
    merged subset is not merged again. If the last subset above the rest was not merged and s̲_ij is
    at most 0 for some j of the rest, the j of the smallest s̲_ij joins it. Here s̲_ij = 2f - 1,
    with f the least μ ≤ (1 + ŝ_ij)/2 for which T_ij kl((1 + ŝ_ij)/2, μ) ≤ log τ + 3 log log τ, and
    τ the rounds that this leader has led before. The list is uniform among those that the partition
    played allows.

    **Assumes**: examination that decreases from the first position on. Clicks by a position-based,
    document-based or cascade model, or any other in which of two items, exchanged at random, the
    better one is clicked more often. No two items equally attractive, for the bound below.

    **Source**: gauthier2022, Algorithms 10 and 11.

    **Differences**: 1. The printed Algorithm 11 never removes B from R; here it does. 2. As in
    Remark 8, the rest may be empty; if items dominate each other in cycles, all remaining items
    form the subset before it, and are shown. 3. f = 0 for (1 + ŝ)/2 = 0, T = 0 or τ = 0; the paper
    sets f = 0 where (1 + ŝ)/2 is 1, not 0. 4. log log is 0 up to e. 5. Subsets are merged if the
    smallest index is at most 0, as in the text of the paper; its algorithm has below 0. It matters
    for a pair with equally many wins when τ = 1, whose index is exactly 0. 6. With T_ij = 0, i does
    not dominate j. 7. τ counts rounds with feedback, and t is one more than the number of all of
    these. Leader and partition shown travel in the memo. 8. Ties of the item that joins are broken
    at random. 9. The counts of leaders are stored by hash in a table of fixed size, and the least
    may be forgotten: see ``clickrank.numerics.count_table``. 10. Items may be added or removed, and
    a list may be limited to some of them (candidates). Which of two items wins, exchanged at
    random, does not depend on a third one, so that all wins are kept; a leader is the partition of
    the items that it shows, so that its count is kept too. A new item has met no other, and is in
    the leader's first subset. For each set of candidates the leader is found again from the same
    counts.

    **Complexity**: O(n_items²) per round, and O(n_items²) memory; the kernels of
    ``clickrank.fast.uni_rank`` usually take O(n_items) per round and O(n_items) per click.

    **Guarantee**: regret O(n_items · log T / Δ) if no two items are equally attractive (Theorem
    3, which defines Δ: it is small if clicks hardly distinguish neighbours of the best list), else
    O(n_items · n_positions · log T / Δ) (Remark 10).

    Parameters
    ----------
    slots
        Size of the table of leaders whose rounds are counted: a power of two, at least 8.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.6, 0.4, 0.2], [0.9, 0.5])
    >>> cr.simulate("unirank", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "unirank"
    assumes = Assumes(click_models=("pbm", "cascade"), positions="decreasing")

    slots: int = SLOTS

    def __post_init__(self) -> None:
        """Check the parameters."""
        slots = check_int("UniRank", "slots", self.slots, 8)
        if slots & (slots - 1):
            raise invalid("UniRank", "slots must be a power of two", self.slots)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        return Params(n_positions)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        rounds, wins = np.zeros(1, dtype=np.int64), np.zeros((n_items, n_items), dtype=np.int64)
        return State(rounds, wins, *no_counts(int(self.slots)))

    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return two integers per item: its subset of the leader, and of the partition shown."""
        return 2 * n_items


def build(params: Params, state: State) -> Labels:
    """Label each item with its own number."""
    return Labels(np.arange(state.wins.shape[0]))


def rank(
    params: Params,
    state: State,
    cache: Labels,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Elicit the leader, mix its subsets where uncertain, and draw a list (Algorithm 10)."""
    n_items = state.wins.shape[0]
    leader = memo[:n_items]  # c with i in P̃_c, from 1; 0 for the rest
    played = memo[n_items:]  # d with i in P_d, from 1; 0 for the rest
    n_subsets = peel(_dominance(state), params.n_positions, leader)  # Algorithm 11
    rounds_led = count_of(state.keys, state.times, hash_of_partition(leader, cache.labels))

    played[:] = 0
    order = np.empty(0, dtype=np.int64)  # the items by subset of the partition shown
    d = 0
    c = 0
    while c < n_subsets:
        c += 1
        d += 1
        subset = np.flatnonzero(leader == c)
        next_subset = np.flatnonzero(leader == (c + 1 if c < n_subsets else 0))
        f = _least_f(state, subset, next_subset, rounds_led)
        if (f <= 0.5).any():  # an index s̲_ij = 2f - 1 is at most 0
            if c == n_subsets:  # only the item with the least index joins, ties at random
                tied = np.flatnonzero(f == f.min())
                chosen = int(rng.random() * tied.size) if tied.size > 1 else 0
                next_subset = next_subset[tied[chosen : chosen + 1]]
            subset = np.append(subset, next_subset)
            c += 1  # the next subset is used already
        played[subset] = d
        order = np.append(order, subset)
    draw_compatible(order, played, rng, ranking)


@kernel
def _dominance(state: State) -> Ints:
    """Return 1 at (i, j) where ŝ_ij ≥ √(log log t / T_ij)."""
    t = state.rounds[0] + 1.0
    loglog = math.log(math.log(t)) if t > math.e else 0.0
    difference = state.wins - state.wins.T
    trials = state.wins + state.wins.T
    dominates = (trials > 0) & (difference >= 0) & (difference * difference >= trials * loglog)
    return dominates.astype(np.int64)


@kernel
def _least_f(state: State, subset: Ints, others: Ints, rounds_led: int) -> Floats:
    """Return, for each item j of ``others``, the least f of s̲_ij over the items i of ``subset``."""
    f = np.zeros(others.size)
    budget = exploration_budget(float(max(rounds_led, 1)))
    for n in range(others.size if rounds_led > 0 else 0):
        j = others[n]
        f[n] = min([kl_lower(state.wins[i, j], state.wins[j, i], budget) for i in subset])
    return f


def update(
    params: Params, state: State, cache: Labels, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count the leader, and each click as a win over the unclicked items of its subset."""
    n_items = state.wins.shape[0]
    count_once_more(state.keys, state.times, hash_of_partition(memo[:n_items], cache.labels))
    state.rounds[0] += 1
    count_wins(state.wins, memo[n_items:], ranking, clicks)


register(UniRank, State, rank, update, cache=Labels, build=build)
