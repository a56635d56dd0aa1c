"""UniRank: a unimodal bandit whose arms are ordered partitions of the items."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import kernel
from clickrank.errors import invalid
from clickrank.numerics.kl_bounds import exploration_budget, kl_lower
from clickrank.policies._shared.leader_counts import (
    SLOTS,
    hash_of_partition,
    lead,
    name_leaders,
    no_leaders,
    times_led,
)
from clickrank.policies._shared.ordered_partition import by_subset, draw_compatible, peel
from clickrank.policies.base import Assumes, Policy
from clickrank.policies.capabilities import HasMemo, ItemsComeAndGo
from clickrank.policies.contract import Request, register
from clickrank.types import IntParticle, Ints, IntStatistic, whole


class State(NamedTuple):
    """Wins of each item over each other one, and how often each leader has led."""

    rounds: IntStatistic  # (1,), t - 1
    # (n_items, n_items): i clicked, j not, while in one subset of the partition played;
    # T_ij = wins_ij + wins_ji and ŝ_ij = (wins_ij - wins_ji) / T_ij
    wins: IntStatistic
    keys: IntStatistic  # (slots,), hashes of leaders; this and the next: see `leader_counts`
    times: IntStatistic  # (slots,), rounds that each has led, τ


class Labels(NamedTuple):
    """What hashes of leaders call each item: the same when items come and go, as are the counts."""

    labels: IntParticle  # (n_items,)


class Params(NamedTuple):
    """Constants."""

    n_positions: int  # K


@dataclass(frozen=True)
class UniRank(Policy, HasMemo, ItemsComeAndGo):
    """UniRank plays ordered partitions near the one that leads, to learn which items are better.

    The leader is the order that clicks suggest so far; items of two subsets in a row are mixed as
    long as it is not certain that all of the first are better than all of the second.

    With O = rounds in which i and j are in one subset of the partition played and exactly one of
    them is clicked, T_ij = |O| and ŝ_ij = Σ_O (c_i - c_j)/T_ij, item i dominates j if
    ŝ_ij ≥ √(log log t/T_ij). *Leader* P̃: first the items that no other dominates, then those that
    none dominates of the rest, until they fill the list; the last subset are the items left.
    *Played*: from the top, a subset is merged with the next one if the least index s̲_ij, i of the
    first and j of the second, is at most 0; a pair just merged is not merged again. If the last
    subset of the list was not merged, the item outside of the least index joins it, if that is at
    most 0. Here s̲_ij = 2f - 1, with f the least μ ≤ (1 + ŝ_ij)/2 for which
    T_ij kl((1 + ŝ_ij)/2, μ) ≤ log τ + 3 log log τ, and τ the rounds that this leader has led
    before. The list is uniform among those that the partition played allows.

    **Assumes**: positions of decreasing prominence, the first one most. Clicks by a position-based,
    document or cascade model, or any other in which of two items, exchanged at random, the better
    one is clicked more often. No two items equally attractive, for the bound below.

    **Source**: gauthier2022, Algorithms 10 and 11.

    **Differences**: 1. The printed Algorithm 11 never removes B from R; here it does. 2. As Remark
    8 says, the last subset are the items never shown by the leader, and may be empty; where items
    dominate each other in cycles, all those left are shown and form the subset before it. 3. f = 0
    for (1 + ŝ)/2 = 0, T = 0 or τ = 0; the text sets f = 0 where (1 + ŝ)/2 is 1, not 0. 4. log log
    is 0 up to e. 5. Subsets mix if the index is at most 0, as in the text, where the algorithm has
    less than 0: an unknown pair has index -1, an even one at most 0. 6. With T_ij = 0, i does not
    dominate j. 7. t and τ count rounds whose feedback has come, and t one more. Leader and
    partition played travel in the memo. 8. Ties of the item that joins are broken at random. 9. The
    leaders' counts are kept by hash in a table of fixed size, and the least may be forgotten: see
    ``leader_counts``. 10. Items may come and go, or be given for one list alone. Who wins of two
    items that are exchanged at random does not depend on a third one, so all wins are kept; a
    leader is the partition of the items that it shows, so its count is kept too. An item that is
    new has met no other, and is in the leader's first subset. Each set of items is then a bandit of
    its own that begins with what is known from the others.

    **Complexity**: O(n_items³) a round at most, and O(n_items²) memory; the kernels of
    ``clickrank.fast.uni_rank`` usually take O(n_items) a round and O(n_items) a click.

    **Guarantee**: regret O(n_items · log T / Δ) where no two items are equally attractive
    (Theorem 3), else O(n_items · n_positions · log T / Δ) (Remark 10).

    Parameters
    ----------
    slots
        Room for leaders whose rounds are counted: a power of two, at least 8.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.6, 0.4, 0.2], [0.9, 0.5])
    >>> cr.simulate("unirank", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "unirank"
    assumes = Assumes(click_models=("pbm", "cascade"), positions="decreasing")
    by_item = ()
    by_pair = ("wins",)

    slots: int = SLOTS

    def __post_init__(self) -> None:
        """Check the parameters."""
        slots = whole("UniRank", "slots", self.slots, 8)
        if slots & (slots - 1):
            raise invalid("UniRank", "slots must be a power of two", self.slots)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the kernels' constants."""
        return Params(n_positions)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            rounds=np.zeros(1, dtype=np.int64),
            wins=np.zeros((n_items, n_items), dtype=np.int64),
            **no_leaders(int(self.slots)),
        )

    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return two numbers per item: its subset of the leader, then of the partition played."""
        return 2 * n_items

    def memo_limit(self, n_items: int) -> int:
        """Return what subsets are below: they count from 1."""
        return n_items + 1

    def name_items(self, cache: Labels, numbers: Ints) -> None:
        """Let the counts of leaders go on."""
        name_leaders(cache.labels, numbers)

    def memos_for(self, memos: Ints, numbers: Ints, n_items: int) -> Ints:
        """Return memos for another catalogue; further items that it has were in no subset."""
        n_before = numbers.size
        found = np.zeros((len(memos), 2 * n_items), dtype=np.int64)
        there = np.flatnonzero(numbers >= 0)
        for half in (0, 1):
            part = memos[:, half * n_before : (half + 1) * n_before]
            found[:, half * n_items + numbers[there]] = part[:, there]
        return found


def build(params: Params, state: State) -> Labels:
    """Call the items by their numbers."""
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
    """Elicit the leader, mix its subsets where it is uncertain, and draw a list (Algorithm 10)."""
    n_items = state.wins.shape[0]
    leader = memo[:n_items]  # c with i in P̃_c, from 1; 0 for the last subset
    played = memo[n_items:]  # d with i in P_d, from 1; 0 for the last subset
    n_subsets = peel(_dominance(state), params.n_positions, leader)  # Algorithm 11
    led = times_led(state.keys, state.times, hash_of_partition(leader, cache.labels))

    played[:] = 0
    places = leader.copy()  # the item that joins comes after those of the leader
    d = 0
    c = 0
    while c < n_subsets:
        c += 1
        d += 1
        end = c  # P_d are the subsets c … end of the leader
        for j in range(n_items):
            if leader[j] == c + 1 and _least(state, leader, c, j, led) <= 0.5:
                end = c + 1
        for i in range(n_items):
            if c <= leader[i] <= end:
                played[i] = d
        if c == n_subsets:
            joins = _joins(state, leader, c, led, rng)
            if joins >= 0:
                played[joins] = d
                places[joins] = c + 1
        c = end
    draw_compatible(by_subset(places), played, rng, ranking)


@kernel
def _dominance(state: State) -> Ints:
    """Return 1 at (i, j) where ŝ_ij ≥ √(log log t / T_ij)."""
    n_items = state.wins.shape[0]
    t = state.rounds[0] + 1.0
    loglog = math.log(math.log(t)) if t > math.e else 0.0
    dominates = np.zeros((n_items, n_items), dtype=np.int64)
    for i in range(n_items):
        for j in range(n_items):
            ahead = state.wins[i, j] - state.wins[j, i]
            trials = state.wins[i, j] + state.wins[j, i]
            if trials > 0 and ahead >= 0 and float(ahead * ahead) >= trials * loglog:
                dominates[i, j] = 1
    return dominates


@kernel
def _least(state: State, leader: Ints, c: int, j: int, led: int) -> float:
    """Return the least f of an item i of a subset and j; s̲_ij = 2f - 1 is at most 0 if f ≤ 1/2."""
    if led == 0:
        return 0.0
    budget = exploration_budget(float(led))
    least = 1.0
    for i in range(leader.shape[0]):
        if leader[i] == c:
            least = min(least, kl_lower(state.wins[i, j], state.wins[j, i], budget))
    return least


@kernel
def _joins(state: State, leader: Ints, c: int, led: int, rng: np.random.Generator) -> int:
    """Return the item outside that joins subset c, ties at random; -1 if none may be better."""
    n_items = leader.shape[0]
    values = np.full(n_items, np.inf)
    for j in range(n_items):
        if leader[j] == 0:
            values[j] = _least(state, leader, c, j, led)
    if values.min() > 0.5:
        return -1
    tied = np.flatnonzero(values == values.min())
    return int(tied[int(rng.random() * tied.size) if tied.size > 1 else 0])


def update(
    params: Params, state: State, cache: Labels, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count the leader, and each click as a win over the items of its subset without one."""
    n_items = state.wins.shape[0]
    leader, played = memo[:n_items], memo[n_items:]
    lead(state.keys, state.times, hash_of_partition(leader, cache.labels))
    state.rounds[0] += 1
    clicked = np.zeros(n_items, dtype=np.int64)
    for position in range(ranking.shape[0]):
        clicked[ranking[position]] = clicks[position]
    for i in range(n_items):
        for j in range(n_items):
            if clicked[i] == 1 and clicked[j] == 0 and played[i] == played[j]:
                state.wins[i, j] += 1


register(UniRank, State, rank, update, cache=Labels, build=build)
