"""RBA-KL-UCB: ranked bandits, one KL-UCB bandit a position."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._jit import kernel
from clickrank.numerics.kl_index import SLACK
from clickrank.policies.base import Assumes, Policy
from clickrank.policies.contract import Request, register
from clickrank.policies.kl_counts import count, no_counts, refresh, upper
from clickrank.types import (
    Floats,
    FloatScratch,
    FloatStatistic,
    Ints,
    IntScratch,
    IntStatistic,
    number,
)


class Params(NamedTuple):
    """Constants."""

    certain: Floats  # (1,), a bandit's arms are always seen: one position of examination 1
    loglog: float  # c in log t + c log log t


class State(NamedTuple):
    """Counts of each bandit's arms; the arm of bandit l for item k is k · n_positions + l."""

    rounds: IntStatistic  # (1,), t - 1
    clicks: IntStatistic  # (n_arms, 1), rewards of a bandit's choice
    misses: IntStatistic  # (n_arms, 1), choices that brought no reward
    constant: FloatStatistic  # (n_arms, 1); this and the next four: see kl_counts
    stale: IntScratch  # (n_arms,)
    value: FloatScratch  # (n_arms,), the arm's index when it was last computed
    rate: FloatScratch  # (n_arms,)
    until: FloatScratch  # (n_arms,)
    taken: IntScratch  # (n_items,), 1 for the items of the list so far, else 0


@dataclass(frozen=True)
class RBAKLUCB(Policy):
    """RBA-KL-UCB runs an independent KL-UCB bandit for each position, from the top down.

    A bandit that chooses an item already shown above is replaced by a random item and earns
    nothing, so the bandit of position l comes to look for the l-th best item.

    Bandit l chooses argmax_k sup{q : N d(S/N, q) ≤ log t + c log log t}, with N times it chose
    item k and S clicks that those choices brought at position l.

    **Assumes**: positions of decreasing prominence, since the l-th best item goes to position l;
    nothing else about clicks, each position learns alone.

    **Source**: radlinski2008, Figure 2, with the bandit of garivier2011, as used in lagree2016,
    section 4.

    **Differences**: 1. A bandit is rewarded only if its own choice was shown at its position and
    clicked; its choices travel in the memo. 2. The replacement is drawn uniformly from the items
    not shown above. 3. c = 0 by default, which garivier2011 recommends in practice; its proof needs
    3, and lagree2016 does not say which it takes. In 100,000 rounds of its Figure 1b 283 ± 5 are
    lost with 0 and 451 ± 7 with 3 (60 runs, the experiment lagree-2016/figure-1b). 4. Each bandit
    tries each item once before its index counts. 5. Items may come and go, or be given for one list
    alone: each bandit keeps the counts of its arms, and a new item is a new arm.

    **Complexity**: O(n_items · n_positions) comparisons a round, and a few solutions of the KL
    equation: those of the last choices, and of arms whose tangent bound reaches the largest
    index. The choices are exactly those of the policy which solves it for all.

    **Guarantee**: within a factor 1 - 1/e of the best list's reward in the limit (radlinski2008),
    so the regret against the best list may be linear.

    Parameters
    ----------
    loglog
        Weight c ≥ 0 of log log t in the exploration.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.6, 0.4, 0.2], [0.9, 0.5])
    >>> cr.simulate("rba-kl-ucb", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "rba-kl-ucb"
    assumes = Assumes(positions="decreasing")
    by_item = ("clicks", "misses", "constant")

    loglog: float = 0.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        number("RBAKLUCB", "loglog", self.loglog, 0.0)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the kernels' constants."""
        return Params(np.ones(1), float(self.loglog))

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        n_arms = n_items * n_positions
        return State(
            rounds=np.zeros(1, dtype=np.int64),
            **no_counts(n_arms, 1),
            taken=np.zeros(n_items, dtype=np.int64),
        )

    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return one whole number a position: its bandit's choice."""
        return n_positions

    def memos_for(self, memos: Ints, numbers: Ints, n_items: int) -> Ints:
        """Return memos with the items called by other numbers."""
        return numbers[memos]


def _rank(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    log_t = math.log(state.rounds[0] + 1.0)
    delta = log_t
    if params.loglog > 0.0 and log_t > 1.0:
        delta += params.loglog * math.log(log_t)
    n_items = state.taken.shape[0]
    state.taken[:] = 0
    for position in range(ranking.shape[0]):
        choice = _choose(params, state, position, delta, rng)
        memo[position] = choice
        if state.taken[choice] == 1:
            skip = int(rng.random() * (n_items - position))
            choice = -1
            while skip >= 0:
                choice += 1
                skip -= 1 - state.taken[choice]
        state.taken[choice] = 1
        ranking[position] = choice


@kernel
def _choose(
    params: Params, state: State, position: int, delta: float, rng: np.random.Generator
) -> int:
    """Return the item of the largest index among the arms of one bandit, ties at random."""
    n_arms = state.stale.shape[0]
    n_positions = n_arms // state.taken.shape[0]
    needed = -math.inf
    for arm in range(position, n_arms, n_positions):
        if state.stale[arm] == 1:
            refresh(state, params.certain, arm, delta)
        # Indices only grow with δ: an old one is a lower bound, but for rounding.
        needed = max(needed, state.value[arm] - SLACK)
    choice = -1
    best = -math.inf
    ties = 0
    for arm in range(position, n_arms, n_positions):
        if upper(state, arm, delta) >= needed:
            value = refresh(state, params.certain, arm, delta)
            if value > best:
                best = value
                choice = arm // n_positions
                ties = 1
            elif value == best:
                ties += 1
    if ties > 1:
        skip = int(rng.random() * ties)
        while skip > 0:
            choice += 1
            if upper(state, choice * n_positions + position, delta) == best:
                skip -= 1
    return choice


def _update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    state.rounds[0] += 1
    n_positions = ranking.shape[0]
    for position in range(n_positions):
        own = memo[position] == ranking[position]
        reward = clicks[position] if own else 0
        count(state, params.certain, memo[position] * n_positions + position, 0, reward)


register(RBAKLUCB, State, _rank, _update)
