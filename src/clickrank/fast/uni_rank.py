"""UniRank, fast: elicits the leader again only when a pair changes that matters for it.

Which items dominate which others is kept up to date, see `clickrank.fast._shared.dominance`.
Whether an index is at most 0 is decided without solving for it: s̲_ij ≤ 0 exactly if ŝ_ij ≤ 0 or
T_ij kl((1 + ŝ_ij)/2, 1/2) is within the budget. A round usually takes O(n_items), and O(n_items)
per click. The first list after items are added or retired takes O(n_items²) more; in the
service, while items are retired, so does each first list after feedback.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import lean_kernel
from clickrank._core.arrays import Floats, IntParticle, Ints
from clickrank.fast._shared.dominance import elicit, expire, no_dominance, rebuild, weigh_pair
from clickrank.fast._shared.ordered_partition import draw_compatible
from clickrank.numerics.count_table import count_of, count_once_more
from clickrank.numerics.kl_bounds import exploration_budget, kl_lower
from clickrank.policies._shared.ordered_partition import hash_of_partition
from clickrank.policies.contract import Request
from clickrank.policies.registration import register_fast
from clickrank.policies.uni_rank import Params, State, UniRank

_LOG2 = math.log(2.0)
_ROUNDING = 1e-12


class Cache(NamedTuple):
    """Which items dominate which, the leader, and the known indices."""

    labels: IntParticle  # (n_items,), as in the plain kernels
    clock: Floats  # (2,), the last t, and its log log t
    evidence: Floats  # (n_items, n_items), T_ij kl(p̂, 1/2), see `_weigh`; ∞ if unknown
    ready: Ints  # (1,), whether the following fields match the wins
    stale: Ints  # (1,), whether the leader must be elicited again
    dominators: Ints  # (n_items, words), bit i of row j: i dominates j
    floor: Floats  # (n_items + 1,), at most S_ij²/T_ij of j's dominators; last, of all pairs
    witness: Ints  # (n_items,), an item that dominates j, or -1
    head: Ints  # (n_items + 1,), first item per witness, last of those without; or -1
    after: Ints  # (n_items,), the next item of the same witness, or -1
    before: Ints  # (n_items,), the previous item with the same witness, or -1
    remaining: Ints  # (words,), bits of the items not yet peeled off
    leader: Ints  # (n_items,), c with i in P̃_c, from 1; 0 for the last subset
    key: Ints  # (1,), the leader's hash
    n_blocks: Ints  # (1,), d̃ - 1
    order: Ints  # (n_items,), the items by subset
    starts: Ints  # (n_items + 2,), start of each subset in the order
    played: Ints  # (n_items + 1,), d with P̃_c in P_d, from 1; 0 for the last subset
    cuts: Ints  # (n_items + 1,), start of each P_d in the order
    value_buffer: Floats  # (n_items,), least index of items that may join
    item_buffer: Ints  # (n_items,)
    clicked_buffer: Ints  # (n_items,), 0 between calls


def build(params: Params, state: State) -> Cache:
    """Return an empty cache, which the first list computes from the wins."""
    n_items = state.wins.shape[0]
    return Cache(
        clock=np.zeros(2),
        evidence=np.full((n_items, n_items), np.inf),
        **no_dominance(n_items),
        played=np.zeros(n_items + 1, dtype=np.int64),
        cuts=np.zeros(n_items + 1, dtype=np.int64),
        value_buffer=np.zeros(n_items),
        item_buffer=np.zeros(n_items, dtype=np.int64),
        clicked_buffer=np.zeros(n_items, dtype=np.int64),
    )


def rank(
    params: Params,
    state: State,
    cache: Cache,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Bring the leader up to date, mix its subsets where uncertain, and draw a list."""
    n_items = cache.leader.shape[0]
    loglog = _loglog(state, cache)
    if cache.ready[0] == 0:
        rebuild(state.wins, cache, loglog)
    else:
        expire(state.wins, cache, loglog)
    if cache.stale[0] == 1:
        elicit(cache, params.n_positions, cache.item_buffer)
    rounds_led = count_of(state.keys, state.times, cache.key[0])
    # Before the leader has led, the index of all pairs is -1, which a budget of ∞ gives.
    budget = exploration_budget(float(rounds_led)) if rounds_led > 0 else math.inf

    n_blocks = cache.n_blocks[0]
    shown = cache.starts[n_blocks]
    joins = -1  # place in the order of the item that joins
    count = 0
    block = 0
    while block < n_blocks:
        cache.cuts[count] = cache.starts[block]
        count += 1
        cache.played[block + 1] = count
        block += 1
        if block < n_blocks:
            if _uncertain(state.wins, cache, block - 1, budget):
                cache.played[block + 1] = count
                block += 1
        elif shown < n_items:
            joins = _outsider(state.wins, cache, budget, rng)
    cache.cuts[count] = shown if joins < 0 else shown + 1
    for item in range(n_items):
        memo[item] = cache.leader[item]
        memo[n_items + item] = cache.played[cache.leader[item]]
    if joins >= 0:
        item = cache.order[joins]
        memo[n_items + item] = count
        cache.order[joins] = cache.order[shown]
        cache.order[shown] = item
    draw_compatible(cache.order, cache.cuts, rng, cache.item_buffer, ranking)
    if joins >= 0:
        item = cache.order[joins]
        cache.order[joins] = cache.order[shown]
        cache.order[shown] = item


@lean_kernel
def _loglog(state: State, cache: Cache) -> float:
    """Return log log t, 0 for t up to e."""
    t = state.rounds[0] + 1.0
    if cache.clock[0] != t:
        cache.clock[0] = t
        cache.clock[1] = math.log(math.log(t)) if t > math.e else 0.0
    return float(cache.clock[1])


@lean_kernel
def _weigh(wins: Ints, cache: Cache, i: int, j: int) -> float:
    """Return T kl((1 + ŝ)/2, 1/2), negative for ŝ < 0; -∞ where f is 0 for any budget.

    The index is at most 0 where this is at most the budget.
    """
    known = cache.evidence[i, j]
    if known < math.inf:
        return float(known)
    won = wins[i, j]
    lost = wins[j, i]
    if won == 0:
        weight = -math.inf
    else:
        half = 0.5 * (won + lost)
        weight = won * math.log(won / half)
        if lost > 0:
            weight += lost * math.log(lost / half)
        if won < lost:
            weight = -weight
    cache.evidence[i, j] = weight
    return weight


@lean_kernel
def _uncertain(wins: Ints, cache: Cache, block: int, budget: float) -> bool:
    """Return whether an item of the next block may be better than one of this block."""
    if budget == math.inf:
        return True
    for place in range(cache.starts[block], cache.starts[block + 1]):
        for other in range(cache.starts[block + 1], cache.starts[block + 2]):
            if _weigh(wins, cache, cache.order[place], cache.order[other]) <= budget:
                return True
    return False


@lean_kernel
def _outsider(wins: Ints, cache: Cache, budget: float, rng: np.random.Generator) -> int:
    """Return the place of the item that joins the last block shown, -1 for none."""
    n_items = cache.leader.shape[0]
    begin = cache.starts[cache.n_blocks[0] - 1]
    shown = cache.starts[cache.n_blocks[0]]
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
        item = cache.order[place]
        for other in range(shown, n_items):
            rival = cache.order[other]
            if place == begin:
                cache.value_buffer[rival] = math.inf
            elif cache.value_buffer[rival] == 0.0:
                continue
            weight = _weigh(wins, cache, item, rival)
            if weight > budget:
                continue
            if weight == -math.inf:
                cache.value_buffer[rival] = 0.0
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
        return _pick(cache, shown, 0.0, unknown, rng)
    if pairs < 2:
        return second
    best = _settle(wins, cache, begin, shown, first, second, budget)
    ties = 0
    for other in range(shown, n_items):
        ties += cache.value_buffer[cache.order[other]] == best
    return _pick(cache, shown, best, ties, rng)


@lean_kernel
def _settle(
    wins: Ints, cache: Cache, begin: int, shown: int, first: int, second: int, budget: float
) -> float:
    """Return the least f of all pairs, and store for each item its own if it is the least.

    The pair that comes first is a guess. For another one, f is below a given p if and only if the
    divergence to p is below the budget, so that few must be solved.
    """
    rival = cache.order[second]
    best = kl_lower(wins[first, rival], wins[rival, first], budget)
    cache.value_buffer[rival] = best
    log_p = math.log(best)
    log_q = math.log1p(-best)
    for place in range(begin, shown):
        item = cache.order[place]
        for other in range(shown, cache.order.shape[0]):
            rival = cache.order[other]
            weight = cache.evidence[item, rival]
            if weight > budget or (item == first and other == second):
                continue
            won = wins[item, rival]
            lost = wins[rival, item]
            cross = -won * log_p - lost * log_q
            excess = abs(weight) - (won + lost) * _LOG2 + cross - budget
            above = won > best * (won + lost)
            if above and excess > _ROUNDING * (1.0 + budget + won + lost + cross):
                continue
            f = kl_lower(won, lost, budget)
            cache.value_buffer[rival] = min(cache.value_buffer[rival], f)
            if f < best:
                best = f
                log_p = math.log(best)
                log_q = math.log1p(-best)
    return best


@lean_kernel
def _pick(cache: Cache, shown: int, value: float, ties: int, rng: np.random.Generator) -> int:
    """Return the place of a random item among those outside the list that have this value."""
    skip = int(rng.random() * ties) if ties > 1 else 0
    other = shown
    while cache.value_buffer[cache.order[other]] != value or skip > 0:
        if cache.value_buffer[cache.order[other]] == value:
            skip -= 1
        other += 1
    return other


def update(
    params: Params, state: State, cache: Cache, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count the leader and the wins, and store the changes that they cause."""
    n_items = cache.leader.shape[0]
    changed = 0
    for item in range(n_items):
        changed |= memo[item] ^ cache.leader[item]
    # The key belongs to the leader last elicited, even if that is stale.
    key = cache.key[0] if changed == 0 else hash_of_partition(memo[:n_items], cache.labels)
    count_once_more(state.keys, state.times, key)
    state.rounds[0] += 1
    total = 0
    for position in range(ranking.shape[0]):
        total += clicks[position]
        cache.clicked_buffer[ranking[position]] = clicks[position]
    if total > 0:
        loglog = _loglog(state, cache)
        for position in range(ranking.shape[0]):
            if clicks[position] == 1:
                _count(state.wins, cache, ranking[position], memo[n_items:], loglog)
        for item in ranking:
            cache.clicked_buffer[item] = 0


@lean_kernel
def _count(wins: Ints, cache: Cache, item: int, played: Ints, loglog: float) -> None:
    """Count a click as a win over each item of the same subset that was not clicked."""
    own = played[item]
    for other in range(played.shape[0]):
        if played[other] == own and cache.clicked_buffer[other] == 0:
            wins[item, other] += 1
            if cache.ready[0] == 1:
                cache.evidence[item, other] = math.inf
                cache.evidence[other, item] = math.inf
                weigh_pair(wins, cache, item, other, loglog)


register_fast(UniRank, State, Cache, build, rank, update, lean=True)
