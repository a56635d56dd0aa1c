"""TopRank: an ordered partition of the items, which is split as clicks distinguish items."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import lean_kernel
from clickrank._core.arrays import Ints, IntStatistic
from clickrank._core.validate import check_bool, check_float, check_int
from clickrank.errors import invalid
from clickrank.policies._shared.ordered_partition import count_wins, draw_compatible, peel
from clickrank.policies._shared.top_rank_items import TopRankItems
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy
from clickrank.policies.registration import register

#: C of the confidence width.
WIDTH = 4.0 * math.sqrt(2.0 / math.pi) / math.erf(math.sqrt(2.0))


class State(NamedTuple):
    """Which items were clicked when others were not, and which items beat which others."""

    rounds: IntStatistic  # (1,), lists whose clicks were counted
    clicks: IntStatistic  # (n_items,), clicks on i: for the fast kernels, not read in this file
    won: IntStatistic  # (n_items, n_items), W_ij: i was clicked and j was not, while both were in
    #                    one block of the partition played; S_ij = W_ij - W_ji, N_ij = W_ij + W_ji
    beats: IntStatistic  # (n_items, n_items), 1 at (i, j) where G has the edge (j, i)


class Params(NamedTuple):
    """Constants."""

    guess: int  # rounds before the first restart; 0 if there is none
    scale: float  # C/δ before the first restart


@dataclass(frozen=True)
class TopRank(Policy, TopRankItems):
    """TopRank shows random lists that respect all proven comparisons of items.

    Items not yet distinguished share a block; blocks fill the list from the top, in random order.

    For i, j in one block of the partition played, U_ij = c_i - c_j, where c_i = 0 if i is not
    shown; S_ij = Σ U_ij and N_ij = Σ |U_ij|. Item i beats j for good once N_ij > 0 and S_ij ≥ √(2
    N_ij log(C √N_ij / δ)), C = 4√(2/π)/erf(√2). The first block has the items that none beats, the
    second those that none of the rest beats, and so on.

    **Assumes**: examination that decreases from the first position on, and click probabilities
    v(a, k) on list a at position k such that for some α 1. the items with the largest α, in order,
    get most clicks; 2. if a less attractive j takes the place of i at position k, v(a, k) is
    multiplied by α_j/α_i at most; 3. the k-th best item, shown at position k, gets at least as many
    clicks there as in the best list. This holds for position-based, document-based and cascade
    clicks. It holds for dependent clicks and dynamic Bayesian networks if all clicks satisfy
    equally (otherwise the best items in order may not get most clicks), and for the multinomial
    logit model with decreasing biases λ. There α_j/(1 + λ_1 α_j) takes the place of α_j, because an
    attractive item also takes clicks from the other items of its list. The horizon, or `doubling`.

    **Source**: lattimore2018, Algorithm 1; gauthier2022, Algorithm 4.

    **Differences**: 1. δ = 1/T unless `failure` is given. 2. If items beat each other in a cycle,
    with a probability of at most δ n_items², all items not yet placed form the last block; the loop
    as printed would not end. 3. Clicks that come late count for the partition that was shown,
    which travels in the memo. 4. With `doubling` T is guessed. After as many rounds as guessed
    (with feedback), everything is forgotten and the guess doubles; δ = 1/guess. Feedback on lists
    made before is ignored. 5. Items may be added or removed, and a list may be limited to some of
    them (candidates): S, N and the comparisons are kept, as they do not depend on other items, and
    the partition is computed for the items of the catalogue (see ``top_rank_items``). With
    probability 1 - δ n², where n counts all items there ever were, no edge is wrong.

    **Complexity**: O(n_items²) per round, and memory for 2 n_items² numbers. The kernels of
    ``clickrank.fast.top_rank`` take O(n_items) per round to store the partition, and usually O(1)
    per click. From 1,024 items on those of ``clickrank.fast.top_rank_log`` begin with a log of the
    clicks, and need no memory for pairs as long as only the first block is clicked.

    **Guarantee**: for δ = 1/T, regret O(n_items · n_positions · log T / Δ), where Δ is the smallest
    (θ_i - θ_j)/θ_i of one of the best n_positions items i and a less attractive j, and whatever the
    gaps O(√(n_positions³ · n_items · T log T)) (lattimore2018). With doubling, log² T instead of
    log T in the first one.

    Parameters
    ----------
    horizon
        Number of rounds T. It is not needed, and not used, with `failure` or `doubling`.
    failure
        Probability δ, above 0 and at most 1; 1/T by default.
    doubling
        Whether to guess the horizon, and to start again with twice the guess.
    guess
        First guess of the horizon, for `doubling`.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.6, 0.4, 0.2], [0.9, 0.5])
    >>> cr.simulate("toprank", model, horizon=100, runs=2, seed=0).runs
    2
    >>> cr.policy("toprank", doubling=True)
    TopRank(horizon=None, failure=None, doubling=True, guess=1000)
    """

    name = "toprank"
    assumes = Assumes(
        click_models=("pbm", "cascade", "dcm", "dbn", "mnl"),
        horizon=True,
        positions="decreasing",
        equal_satisfaction=True,
    )

    horizon: int | None = None
    failure: float | None = None
    doubling: bool = False
    guess: int = 1000

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_bool("TopRank", "doubling", self.doubling)
        object.__setattr__(self, "guess", check_int("TopRank", "guess", self.guess, 1))
        if self.horizon is not None:
            object.__setattr__(self, "horizon", check_int("TopRank", "horizon", self.horizon, 1))
        if self.failure is not None:
            if self.doubling:
                rule = "failure must be left out with doubling, which sets it"
                raise invalid("TopRank", rule, self.failure)
            if check_float("TopRank", "failure", self.failure, 0.0, 1.0) == 0.0:
                raise invalid("TopRank", "failure must be above 0", self.failure)
        elif self.horizon is None and not self.doubling:
            rule = "horizon must be given, or failure, or doubling=True"
            raise invalid("TopRank", rule, self.horizon)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        failure = self.failure
        if failure is None:
            rounds = self.guess if self.doubling else self.horizon
            assert rounds is not None  # checked in __post_init__
            failure = 1.0 / rounds
        return Params(self.guess if self.doubling else 0, WIDTH / failure)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            rounds=np.zeros(1, dtype=np.int64),
            clicks=np.zeros(n_items, dtype=np.int64),
            won=np.zeros((n_items, n_items), dtype=np.int64),
            beats=np.zeros((n_items, n_items), dtype=np.int64),
        )

    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return one integer per item, its block; with doubling, one more, the restarts."""
        return n_items + 1 if self.doubling else n_items


def rank(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Draw a list that respects the partition, and write the partition to the memo."""
    n_items = state.beats.shape[0]
    block = memo[:n_items]  # d with i in P_d, from 0
    peel(state.beats, n_items, block)
    block -= 1
    draw_compatible(np.argsort(block, kind="mergesort"), block, rng, ranking)
    if params.guess > 0:
        memo[n_items] = count_restarts(params.guess, state.rounds[0])


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Compare the clicks on all pairs within a block of the partition that was shown."""
    n_items = state.beats.shape[0]
    restarts = count_restarts(params.guess, state.rounds[0])
    if params.guess > 0 and memo[n_items] != restarts:
        return
    state.clicks[ranking] += clicks
    count_wins(state.won, memo[:n_items], ranking, clicks)
    scale = params.scale * (1 << restarts)  # C/δ
    for i in ranking[clicks == 1]:  # only a click on i can raise S_ij
        for j in range(n_items):
            s = state.won[i, j] - state.won[j, i]
            n = state.won[i, j] + state.won[j, i]
            if n > 0 and s >= math.sqrt(2.0 * n * math.log(scale * math.sqrt(n))):
                state.beats[i, j] = 1
    state.rounds[0] += 1
    if count_restarts(params.guess, state.rounds[0]) > restarts:
        state.clicks[:] = 0
        state.won[:] = 0
        state.beats[:] = 0


@lean_kernel
def count_restarts(guess: int, rounds: int) -> int:
    """Return the number of restarts: after guess rounds, 2 guess more, and so on."""
    restarts = 0
    while guess > 0 and rounds >= guess * ((2 << restarts) - 1):
        restarts += 1
    return restarts


register(TopRank, State, rank, update)
