"""BubbleRank: starts from a given list, and exchanges neighbours if the lower one is better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import IntParticle, Ints, IntStatistic
from clickrank._core.validate import check_float, check_int
from clickrank.numerics.shuffling import draw_distinct
from clickrank.policies._shared.bubble_rank_items import BubbleRankItems, base_list, distinct_items
from clickrank.policies._shared.bubble_sort import begin_with, bubble, confidently_better
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy
from clickrank.policies.registration import register


class State(NamedTuple):
    """The base list, and how often one item of a pair was clicked and the other was not."""

    rounds: IntStatistic  # (1,), t - 1
    base: IntStatistic  # (n_items,), the base list R̄, then the items below the page,
    #                     first those that may still be better than the last item on it
    wins: IntStatistic  # (n_items, n_items), in randomised pairs: row clicked, column not; so that
    #                     s(i,j) = wins[i,j] - wins[j,i] and n(i,j) = wins[i,j] + wins[j,i]


class Waiting(NamedTuple):
    """Lists that are waiting for feedback, which cannot be computed from the statistics."""

    lists_since_feedback: IntParticle  # (1,), lists made since the last feedback; t counts them too


class Params(NamedTuple):
    """Constants."""

    n_positions: int  # K
    given: bool  # whether an initial list is given; otherwise the first list shown is used
    width: float  # 4 log(1/δ): i is better than j, with confidence, if s > 0 and s² > width · n


@dataclass(frozen=True)
class BubbleRank(Policy, BubbleRankItems):
    """BubbleRank improves a given list, and never shows one that is much worse.

    In every round, disjoint pairs of neighbours, which begin at odd and at even positions in turn,
    are shown in random order unless the upper item is better with confidence. A pair counts if
    exactly one of the two is clicked. Once the lower item is better with confidence, it moves up.

    Let n(i,j) be how often the pair counted, and s(i,j) how often i was the one clicked, minus how
    often j was. Item i is better than j with confidence if s(i,j) > 2 √(n(i,j) log(1/δ)), where
    δ = T^-power.

    **Assumes**: position-based or cascade clicks, or any click model with the properties that the
    paper assumes; the first positions are examined most. The horizon is known.

    **Source**: changli2019, Algorithm 1.

    **Differences**: 1. The paper re-ranks as many items as there are positions. With more, the last
    position is paired with a random item below the page that may be better than the last one; an
    item that is not shown is not clicked. An item that is better with confidence takes the last
    position (of several, the one with the largest lead). 2. Without `initial`, the first list,
    drawn at random, is the one to start from; with delayed feedback, the first that comes back, and
    each list before that is drawn again. 3. Pairs shown in a fixed order do not count. The memo
    records which pairs were randomised, and the item with which the last position was paired: late
    feedback counts for the pair, wherever its items are by then. 4. Rounds alternate between even
    and odd pairs by the number of lists with feedback, plus those made since.

    **Complexity**: O(n_items) per round, and memory for n_items² counts.

    **Guarantee**: regret O(K (χ_max/χ_min) (K + V_0) log(T) / Δ_min) for K items at K positions,
    examined with probabilities between χ_min and χ_max, where Δ_min is the smallest gap in
    attraction and V_0 counts pairs in the wrong order in the first list (changli2019).
    It is safe: with high probability no list has more than K/2 such pairs more than the first one.
    Nothing is proved for more items than positions.

    Parameters
    ----------
    horizon
        Number of rounds T.
    initial
        The list to start from, best first; items after the first n_positions are ignored. By
        default a random one.
    power
        δ = T^-power; 4 in the paper.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.6, 0.4, 0.2], [0.9, 0.5])
    >>> policy = cr.policies.BubbleRank(horizon=100, initial=[1, 0])
    >>> cr.simulate(policy, model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "bubblerank"
    starting_list = "initial"
    assumes = Assumes(click_models=("pbm", "cascade"), horizon=True, positions="decreasing")
    rank_remembers = True

    horizon: int
    initial: Sequence[int] | Ints | None = None
    power: float = 4.0

    def __post_init__(self) -> None:
        """Check the parameters, and the initial list as far as possible without the catalogue."""
        object.__setattr__(self, "horizon", check_int("BubbleRank", "horizon", self.horizon, 1))
        check_float("BubbleRank", "power", self.power, 0.0)
        if self.initial is not None:
            initial = distinct_items("BubbleRank", "initial", self.initial)
            object.__setattr__(self, "initial", initial)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        return Params(
            n_positions, self.initial is not None, 4.0 * self.power * math.log(self.horizon)
        )

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            rounds=np.zeros(1, dtype=np.int64),
            base=base_list("BubbleRank", self.initial, n_items, n_positions),
            wins=np.zeros((n_items, n_items), dtype=np.int64),
        )

    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return one integer per position.

        It is 1 if the position was randomised with the next one, else 0. The last is 1 + the item
        that was left out, or 0.
        """
        return n_positions


def build(params: Params, state: State) -> Waiting:
    """Return a cache in which no list is waiting for feedback."""
    return Waiting(np.zeros(1, dtype=np.int64))


def rank(
    params: Params,
    state: State,
    cache: Waiting,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Show every other pair of neighbours in random order, unless the upper item is better."""
    n_positions = ranking.shape[0]
    memo[:] = 0
    if not params.given and state.rounds[0] == 0:
        draw_distinct(rng, state.base.shape[0], ranking)
        return
    ranking[:] = state.base[:n_positions]
    offset = (state.rounds[0] + cache.lists_since_feedback[0] + 1) % 2  # h = t mod 2
    cache.lists_since_feedback[0] += 1
    for position in range(offset, n_positions - 1, 2):
        item, other = ranking[position], ranking[position + 1]
        if not confidently_better(state.wins, params.width, item, other):
            memo[position] = 1
            if rng.random() < 0.5:
                ranking[position], ranking[position + 1] = other, item
    last = n_positions - 1
    candidates = 0  # number of items below the page that may be better than its last one
    for item in state.base[n_positions:]:
        candidates += not confidently_better(state.wins, params.width, state.base[last], item)
    if candidates > 0 and (last - offset) % 2 == 0:
        other = state.base[n_positions + int(rng.random() * candidates)]
        if rng.random() < 0.5:
            memo[last] = 1 + ranking[last]
            ranking[last] = other
        else:
            memo[last] = 1 + other


def update(
    params: Params, state: State, cache: Waiting, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count randomised pairs of which one item was clicked, then exchange neighbours."""
    started = params.given or state.rounds[0] > 0
    state.rounds[0] += 1
    cache.lists_since_feedback[0] = 0
    if not started:  # this list is the base list, and the other items follow
        begin_with(ranking, state.base)
        return
    last = ranking.shape[0] - 1
    for position in range(last):
        if memo[position] != 0 and clicks[position] != clicks[position + 1]:
            winner = ranking[position + clicks[position + 1]]
            loser = ranking[position + clicks[position]]
            state.wins[winner, loser] += 1
    if memo[last] != 0 and clicks[last] == 1:
        state.wins[ranking[last], memo[last] - 1] += 1
    bubble(state.base, state.wins, params.width, ranking.shape[0])


register(BubbleRank, State, rank, update, cache=Waiting, build=build)
