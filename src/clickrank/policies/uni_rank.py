"""UniRank: a unimodal bandit whose arms are ordered partitions of the items."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._jit import lean_kernel
from clickrank.errors import invalid
from clickrank.numerics.kl_bounds import exploration_budget, kl_lower
from clickrank.policies._shared.leader_counts import (
    SLOTS,
    lead,
    name_leaders,
    no_leaders,
    times_led,
)
from clickrank.policies.base import Assumes, Policy
from clickrank.policies.blocks import draw_compatible
from clickrank.policies.contract import Request, register
from clickrank.policies.dominance import (
    elicit,
    expire,
    leader_key,
    no_dominance,
    rebuild,
    weigh_pair,
)
from clickrank.types import FloatScratch, Ints, IntScratch, IntStatistic, whole

_LOG2 = math.log(2.0)
_ROUNDING = 1e-12


class Params(NamedTuple):
    """Constants."""

    n_positions: int  # K


class State(NamedTuple):
    """Wins of each item over each other one, how often each leader has led, and the leader."""

    rounds: IntStatistic  # (1,), t - 1
    # (n_items, n_items): i clicked, j not, while in one subset; S_ij = wins_ij - wins_ji, T_ij sum
    wins: IntStatistic
    keys: IntStatistic  # (slots,); this and the next: see leader_counts
    times: IntStatistic  # (slots,)
    clock: FloatScratch  # (2,), the last t, and its log log t
    evidence: FloatScratch  # (n_items, n_items), T_ij kl(p̂, 1/2), see `_weigh`; ∞ if not known
    labels: IntScratch  # (n_items,), what the hashes of leaders call the items
    ready: IntScratch  # (1,), whether the rest of the scratch fits the wins
    stale: IntScratch  # (1,), whether the leader is to be elicited anew
    dominators: IntScratch  # (n_items, words), bit i of row j: i dominates j
    floor: FloatScratch  # (n_items + 1,), at most S_ij²/T_ij of j's dominators; last, of all pairs
    witness: IntScratch  # (n_items,), an item that dominates j, or -1; next three: lists by witness
    head: IntScratch  # (n_items + 1,)
    after: IntScratch  # (n_items,)
    before: IntScratch  # (n_items,)
    left: IntScratch  # (words,), items not yet peeled off
    leader: IntScratch  # (n_items,), c with i in P̃_c, from 1; 0 for the last subset
    key: IntScratch  # (1,), the leader's hash
    n_blocks: IntScratch  # (1,), d̃ - 1
    order: IntScratch  # (n_items,), the items by subset
    starts: IntScratch  # (n_items + 2,), where each subset begins in it
    played: IntScratch  # (n_items + 1,), d with P̃_c in P_d, from 1; 0 for the last subset
    cuts: IntScratch  # (n_items + 1,), where each P_d begins in the order
    value: FloatScratch  # (n_items,), least index of items that may join
    work: IntScratch  # (n_items,)
    clicked: IntScratch  # (n_items,), 0 between calls


@dataclass(frozen=True)
class UniRank(Policy):
    """UniRank plays ordered partitions near the one that leads, to learn which items are better.

    The leader is the order that clicks suggest so far; items of two subsets in a row are mixed as
    long as it is not certain that all of the first are better than all of the second.

    With O = rounds in which i and j are in one subset of the partition played and exactly one of
    them is clicked, T_ij = |O| and ŝ_ij = Σ_O (c_i - c_j)/T_ij. *Leader* P̃: the items that no
    other dominates, ŝ_ij ≥ √(log log t/T_ij), then those that none dominates of the rest, until
    they fill the list; the last subset are the items left. *Played*: two subsets in a row become
    one if the least index s̲_ij, i of the first and j of the second, is at most 0; an item of the
    last subset with the least index joins the one before it if that is at most 0. Here
    s̲_ij = 2f - 1, with f the least μ ≤ (1 + ŝ_ij)/2 of T_ij kl((1 + ŝ_ij)/2, μ) ≤
    log τ + 3 log log τ, and τ the rounds that this leader has led before. The list is
    uniform among those that the partition played allows.

    **Assumes**: positions of decreasing prominence, the first one most. Clicks by a position-based,
    document or cascade model, or any other in which of two items, exchanged at random, the better
    one is clicked more often. No two items equally attractive, for the bound below.

    **Source**: gauthier2022, Algorithms 10 and 11.

    **Differences**: 1. Algorithm 11 takes B off R, which is not printed. 2. As Remark 8 says, the
    last subset are the items never shown by the leader, and may be empty; where items dominate each
    other in circles, all those left are shown and form the subset before it. 3. f = 0 for
    (1 + ŝ)/2 = 0, T = 0 or τ = 0; the text has 1 for the first. 4. log log is 0 up to e. 5. Subsets
    mix if the index is at most 0, as in the text, where the algorithm has less than 0: an unknown
    pair has index -1, an even one at most 0. 6. With T_ij = 0, i does not dominate j. 7. t and τ
    count rounds whose feedback has come, and t one more. Leader and partition played travel in the
    memo. 8. Ties of the item that joins are broken at random. 9. The leaders' counts are kept
    by hash in a table of fixed size, and the least may be forgotten: see ``leader_counts``.
    10. Items may come and go, or be given for one list alone. Who wins of two items that are
    exchanged at random does not depend on a third one, so all wins are kept; a leader is the
    partition of the items that it shows, so its count is kept too. An item that is new has met no
    other, and is in the leader's first subset. Each set of items is then a bandit of its own that
    begins with what is known from the others.

    **Complexity**: usually O(n_items) a round and O(n_items) a click, and O(n_items²) memory. The
    leader is elicited anew only when a pair changes that matters for it, see ``dominance``; whether
    an index is at most 0 shows without solving for it. The lists are exactly those of the policy
    that computes everything anew. The first list after items are added or retired takes O(n_items²)
    more; in the service, while items are retired, each first list after feedback.

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
            clock=np.zeros(2),
            evidence=np.full((n_items, n_items), np.inf),
            **no_dominance(n_items),
            played=np.zeros(n_items + 1, dtype=np.int64),
            cuts=np.zeros(n_items + 1, dtype=np.int64),
            value=np.zeros(n_items),
            work=np.zeros(n_items, dtype=np.int64),
            clicked=np.zeros(n_items, dtype=np.int64),
        )

    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return two whole numbers an item: its subset of the leader, then of what is played."""
        return 2 * n_items

    def memo_limit(self, n_items: int) -> int:
        """Return what subsets are below: they count from 1."""
        return n_items + 1

    def mend(self, state: State, numbers: Ints) -> None:
        """Let the counts of leaders go on."""
        name_leaders(state.labels, numbers)

    def memos_for(self, memos: Ints, numbers: Ints, n_items: int) -> Ints:
        """Return memos for another catalogue; items that it has besides were in no subset."""
        n_before = numbers.size
        found = np.zeros((len(memos), 2 * n_items), dtype=np.int64)
        there = np.flatnonzero(numbers >= 0)
        for half in (0, 1):
            part = memos[:, half * n_before : (half + 1) * n_before]
            found[:, half * n_items + numbers[there]] = part[:, there]
        return found


def _rank(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    n_items = state.leader.shape[0]
    loglog = _loglog(state)
    if state.ready[0] == 0:
        rebuild(state, loglog)
    else:
        expire(state, loglog)
    if state.stale[0] == 1:
        elicit(state, params.n_positions, state.work)
    led = times_led(state.keys, state.times, state.key[0])
    # An index of -1 for all pairs before the leader has led, which any budget of ∞ gives.
    budget = exploration_budget(float(led)) if led > 0 else math.inf

    n_blocks = state.n_blocks[0]
    shown = state.starts[n_blocks]
    joins = -1  # where in the order
    count = 0
    block = 0
    while block < n_blocks:
        state.cuts[count] = state.starts[block]
        count += 1
        state.played[block + 1] = count
        block += 1
        if block < n_blocks:
            if _uncertain(state, block - 1, budget):
                state.played[block + 1] = count
                block += 1
        elif shown < n_items:
            joins = _outsider(state, budget, rng)
    state.cuts[count] = shown if joins < 0 else shown + 1
    for item in range(n_items):
        memo[item] = state.leader[item]
        memo[n_items + item] = state.played[state.leader[item]]
    if joins >= 0:
        item = state.order[joins]
        memo[n_items + item] = count
        state.order[joins] = state.order[shown]
        state.order[shown] = item
    draw_compatible(state.order, state.cuts, rng, state.work, ranking)
    if joins >= 0:
        item = state.order[joins]
        state.order[joins] = state.order[shown]
        state.order[shown] = item


@lean_kernel
def _loglog(state: State) -> float:
    """Return log log t, 0 for t up to e."""
    t = state.rounds[0] + 1.0
    if state.clock[0] != t:
        state.clock[0] = t
        state.clock[1] = math.log(math.log(t)) if t > math.e else 0.0
    return float(state.clock[1])


@lean_kernel
def _weigh(state: State, i: int, j: int) -> float:
    """Return T kl((1 + ŝ)/2, 1/2), negative for ŝ < 0; -∞ where f is 0 for any budget.

    The index is at most 0 where this is at most the budget.
    """
    known = state.evidence[i, j]
    if known < math.inf:
        return float(known)
    won = state.wins[i, j]
    lost = state.wins[j, i]
    if won == 0:
        weight = -math.inf
    else:
        half = 0.5 * (won + lost)
        weight = won * math.log(won / half)
        if lost > 0:
            weight += lost * math.log(lost / half)
        if won < lost:
            weight = -weight
    state.evidence[i, j] = weight
    return weight


@lean_kernel
def _uncertain(state: State, block: int, budget: float) -> bool:
    """Say whether an item of the next block may be better than one of this."""
    if budget == math.inf:
        return True
    for place in range(state.starts[block], state.starts[block + 1]):
        for other in range(state.starts[block + 1], state.starts[block + 2]):
            if _weigh(state, state.order[place], state.order[other]) <= budget:
                return True
    return False


@lean_kernel
def _outsider(state: State, budget: float, rng: np.random.Generator) -> int:
    """Return the place of the item that joins the last block shown, -1 for none."""
    n_items = state.leader.shape[0]
    begin = state.starts[state.n_blocks[0] - 1]
    shown = state.starts[state.n_blocks[0]]
    outside = n_items - shown
    if budget == math.inf:
        return int(shown + (int(rng.random() * outside) if outside > 1 else 0))
    # Items with an index of -1 come first; next, those of pairs with an index of at most 0.
    unknown = 0
    pairs = 0
    first = -1
    second = -1
    least = math.inf
    for place in range(begin, shown):
        item = state.order[place]
        for other in range(shown, n_items):
            rival = state.order[other]
            if place == begin:
                state.value[rival] = math.inf
            elif state.value[rival] == 0.0:
                continue
            weight = _weigh(state, item, rival)
            if weight > budget:
                continue
            if weight == -math.inf:
                state.value[rival] = 0.0
                unknown += 1
            else:
                pairs += 1
                if weight < least:
                    least = weight
                    first = item
                    second = other
        if unknown == outside:
            break
    if unknown > 0:
        return _pick(state, shown, 0.0, unknown, rng)
    if pairs < 2:
        return second
    best = _settle(state, begin, shown, first, second, budget)
    ties = 0
    for other in range(shown, n_items):
        ties += state.value[state.order[other]] == best
    return _pick(state, shown, best, ties, rng)


@lean_kernel
def _settle(state: State, begin: int, shown: int, first: int, second: int, budget: float) -> float:
    """Return the least f of all pairs, and note for each item its own if it is the least.

    The pair that comes first is a guess. Of another one, f is below a given p just where the
    divergence to p is below the budget, so few are solved for.
    """
    rival = state.order[second]
    best = kl_lower(state.wins[first, rival], state.wins[rival, first], budget)
    state.value[rival] = best
    log_p = math.log(best)
    log_q = math.log1p(-best)
    for place in range(begin, shown):
        item = state.order[place]
        for other in range(shown, state.order.shape[0]):
            rival = state.order[other]
            weight = state.evidence[item, rival]
            if weight > budget or (item == first and other == second):
                continue
            won = state.wins[item, rival]
            lost = state.wins[rival, item]
            cross = -won * log_p - lost * log_q
            excess = abs(weight) - (won + lost) * _LOG2 + cross - budget
            above = won > best * (won + lost)
            if above and excess > _ROUNDING * (1.0 + budget + won + lost + cross):
                continue
            f = kl_lower(won, lost, budget)
            state.value[rival] = min(state.value[rival], f)
            if f < best:
                best = f
                log_p = math.log(best)
                log_q = math.log1p(-best)
    return best


@lean_kernel
def _pick(state: State, shown: int, value: float, ties: int, rng: np.random.Generator) -> int:
    """Return the place of a random one of the items outside that have this value."""
    skip = int(rng.random() * ties) if ties > 1 else 0
    other = shown
    while state.value[state.order[other]] != value or skip > 0:
        if state.value[state.order[other]] == value:
            skip -= 1
        other += 1
    return other


def _update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    n_items = state.leader.shape[0]
    changed = 0
    for item in range(n_items):
        changed |= memo[item] ^ state.leader[item]
    # The key belongs to the leader last elicited, even where that is stale.
    key = state.key[0] if changed == 0 else leader_key(memo[:n_items], state.labels)
    lead(state.keys, state.times, key)
    state.rounds[0] += 1
    total = 0
    for position in range(ranking.shape[0]):
        total += clicks[position]
        state.clicked[ranking[position]] = clicks[position]
    if total > 0:
        loglog = _loglog(state)
        for position in range(ranking.shape[0]):
            if clicks[position] == 1:
                _count(state, ranking[position], memo[n_items:], loglog)
        for item in ranking:
            state.clicked[item] = 0


@lean_kernel
def _count(state: State, item: int, played: Ints, loglog: float) -> None:
    """Count a click as a win over each item of the same subset that was not clicked."""
    own = played[item]
    for other in range(played.shape[0]):
        if played[other] == own and state.clicked[other] == 0:
            state.wins[item, other] += 1
            if state.ready[0] == 1:
                state.evidence[item, other] = math.inf
                state.evidence[other, item] = math.inf
                weigh_pair(state, item, other, loglog)


register(UniRank, State, _rank, _update, lean=True)
