"""RBA-KL-UCB: ranked bandits, one KL-UCB bandit per position."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Floats, Ints, IntStatistic
from clickrank._core.validate import check_float
from clickrank.numerics.pbm_kl_index import kl_ucb
from clickrank.policies.capabilities import HasMemo, ItemsComeAndGo
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy
from clickrank.policies.registration import register


class State(NamedTuple):
    """Counts of each bandit's arms; the arm of bandit l for item k is k · n_positions + l."""

    rounds: IntStatistic  # (1,), t - 1
    clicks: IntStatistic  # (n_arms, 1), S: rewards of a bandit's choices
    misses: IntStatistic  # (n_arms, 1), N - S: choices without a reward


class Params(NamedTuple):
    """Constants."""

    certain: Floats  # (1,), the arms of a bandit are always seen: one position with examination 1
    loglog: float  # c in log t + c log log t
    n_items: int


@dataclass(frozen=True)
class RBAKLUCB(Policy, HasMemo, ItemsComeAndGo):
    """RBA-KL-UCB runs an independent KL-UCB bandit for each position, from the top down.

    If a bandit chooses an item already shown above, a random item is shown instead and the bandit
    earns nothing, so that the bandit of position l learns to choose the l-th best item.

    Bandit l chooses argmax_k sup{q : N d(S/N, q) ≤ log t + c log log t}, where N counts its choices
    of item k, and S the clicks on them at position l.

    **Assumes**: positions of decreasing prominence, since the l-th best item goes to position l.
    Nothing else about clicks, because each position learns separately.

    **Source**: radlinski2008, Figure 2, with the bandit of garivier2011, as used in lagree2016,
    section 4.

    **Differences**: 1. A bandit is rewarded only if its own choice was shown at its position and
    clicked; its choices travel in the memo. 2. The replacement is drawn uniformly from the items
    not shown above. 3. c = 0 by default, which garivier2011 recommends in practice; its proof needs
    3, and lagree2016 does not state its choice. In 100,000 rounds of its Figure 1b the regret is
    283 ± 5 with 0 and 451 ± 7 with 3 (60 runs, the experiment lagree-2016/figure-1b). 4. Each
    bandit tries each item once before its index counts. 5. Items may come and go, or be candidates
    for one list only: each bandit keeps the counts of its arms, and a new item is a new arm.

    **Complexity**: a round solves the KL equation for each arm, n_items · n_positions of them.

    **Guarantee**: within a factor 1 - 1/e of the best list's reward in the limit (radlinski2008);
    the regret compared with the best list may be linear.

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
    by_item = ("clicks", "misses")

    loglog: float = 0.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_float("RBAKLUCB", "loglog", self.loglog, 0.0)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        return Params(np.ones(1), float(self.loglog), n_items)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        n_arms = n_items * n_positions
        return State(
            rounds=np.zeros(1, dtype=np.int64),
            clicks=np.zeros((n_arms, 1), dtype=np.int64),
            misses=np.zeros((n_arms, 1), dtype=np.int64),
        )

    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return one integer per position: the choice of its bandit."""
        return n_positions

    def memos_for(self, memos: Ints, numbers: Ints, n_items: int) -> Ints:
        """Return memos in which items have their new numbers."""
        return numbers[memos]


def rank(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Let each bandit choose, and show a random item if its choice is shown above."""
    log_t = math.log(state.rounds[0] + 1.0)
    delta = log_t
    if params.loglog > 0.0 and log_t > 1.0:
        delta += params.loglog * math.log(log_t)
    n_items, n_positions = params.n_items, ranking.shape[0]
    index = np.empty(n_items)
    is_shown = np.zeros(n_items, dtype=np.bool_)
    for position in range(n_positions):
        for item in range(n_items):
            arm = item * n_positions + position
            index[item] = kl_ucb(state.clicks[arm], state.misses[arm], params.certain, delta)
        best = np.flatnonzero(index == index.max())
        choice = best[0]
        if best.size > 1:
            choice = best[int(rng.random() * best.size)]
        memo[position] = choice
        if is_shown[choice]:
            others = np.flatnonzero(~is_shown)
            choice = others[int(rng.random() * others.size)]
        is_shown[choice] = True
        ranking[position] = choice


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Reward each bandit with the click on its choice, if that was shown."""
    state.rounds[0] += 1
    n_positions = ranking.shape[0]
    for position in range(n_positions):
        arm = memo[position] * n_positions + position
        reward = clicks[position] if memo[position] == ranking[position] else 0
        state.clicks[arm, 0] += reward
        state.misses[arm, 0] += 1 - reward


register(RBAKLUCB, State, rank, update)
