"""TopRank: keep an ordered partition of the items, and split it as clicks tell items apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import kernel
from clickrank.errors import invalid
from clickrank.policies._shared import click_log
from clickrank.policies._shared.ordered_partition import by_subset, cut, draw_compatible, peel
from clickrank.policies._shared.top_rank_items import mend_pairs
from clickrank.policies.base import Assumes, Policy
from clickrank.policies.capabilities import ExactLists, HasMemo, ItemsComeAndGo
from clickrank.policies.contract import Request, register
from clickrank.rankings.lists import Lists, ListSource, partition
from clickrank.types import Ints, IntStatistic, number, switch, whole

#: c of the confidence width.
WIDTH = 4.0 * math.sqrt(2.0 / math.pi) / math.erf(math.sqrt(2.0))
_EPOCHS = 64  # more than doubling reaches


class State(NamedTuple):
    """Click differences of pairs, what they prove, and the partition that follows.

    For items of one block S_ij = difference + clicks_i - clicks_j and
    N_ij = disagreement + clicks_i + clicks_j; for others the two fields are S_ij and N_ij
    themselves. So that a click changes one number instead of one per item of its block, it is
    counted for its item, and pairs keep the rest; both kernels of the policy read this state.
    """

    epoch: IntStatistic  # (1,), how often everything was forgotten
    rounds: IntStatistic  # (1,), rounds of this epoch
    clicks: IntStatistic  # (n_items,), all that were counted
    difference: IntStatistic  # (n_items, n_items)
    disagreement: IntStatistic  # (n_items, n_items)
    beats: IntStatistic  # (n_items, n_items), 1 at (i, j) where G has the edge (j, i)
    block: IntStatistic  # (n_items,), d with i in P_d, from 0


class Params(NamedTuple):
    """Constants."""

    guess: int  # rounds of the first epoch; 0 for a single epoch without end
    scale: float  # c/δ of the first epoch


@dataclass(frozen=True)
class TopRank(Policy, HasMemo, ItemsComeAndGo, ExactLists):
    """TopRank shows random lists that respect all it is sure of: which items beat which others.

    Items not told apart share a block; blocks fill the list from the top, each in random order.

    For i, j in one block of the partition played, U_ij = c_i - c_j, where c_i = 0 if i is not
    shown; S_ij = Σ U_ij and N_ij = Σ |U_ij|. Item i beats j for good once N_ij > 0 and
    S_ij ≥ √(2 N_ij log(c √N_ij / δ)), c = 4√(2/π)/erf(√2). The first block are the items that
    none beats, the second those that none beats of the rest, and so on.

    **Assumes**: positions of decreasing prominence, the first one most, and clicks v(a, k) on list
    a at position k such that for some α 1. the items of the largest α, in order, get most clicks;
    2. exchanging i at position k with a less attractive j, v(a, k) falls to α_j/α_i of it or less;
    3. an item gets the fewest clicks at position k when the rest of the list is the best one.
    Position-based, document-based and cascade clicks are such. So are dependent clicks and dynamic
    Bayesian networks where all clicks satisfy equally (otherwise, the best items in order do not
    get most clicks or are not the most satisfying), and the multinomial logit model with decreasing
    biases: for α_j/(1 + λ_1 α_j) in place of α_j, as an attractive item takes clicks from its own
    list, too. The horizon, or `doubling`.

    **Source**: lattimore2018, Algorithm 1; gauthier2022, Algorithm 4.

    **Differences**: 1. δ = 1/T unless `failure` is given. 2. If items beat each other in a circle,
    which has probability δ n_items² at most, all items not yet placed form the last block;
    the loop as printed would not end. 3. Clicks that come late count for the partition that was
    played, which travels in the memo. 4. With `doubling` the horizon is a guess; when as many
    rounds have come back, all is forgotten, lists still on their way included, and the next epoch
    is twice as long, with δ = 1/guess. An epoch counts its own lists alone. 5. Items may come and
    go, or be given for one list alone: S, N and who beats whom are kept, as they say nothing about
    other items, and the partition follows for the items there are (see ``top_rank_items``). With
    probability 1 - δ n_items², for all items that ever were, every edge stays right.

    **Complexity**: O(n_items³) a round at most, and memory for 3 n_items² numbers. The kernels of
    ``clickrank.fast.top_rank`` take O(n_items) a round to remember the partition, and usually O(1)
    a click; those of ``top_rank_log``, from 2,048 items on, usually do without memory for pairs.

    **Guarantee**: for δ = 1/T, regret O(n_items · n_positions · log T / Δ), and whatever the gaps
    O(√(n_positions³ · n_items · T log T)) (lattimore2018). With doubling, log² T
    instead of log T in the first one.

    Parameters
    ----------
    horizon
        Number of rounds T; may be left open with `failure` or `doubling`, and is then not used.
    failure
        Probability δ, above 0 and at most 1; 1/T if left open.
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
    by_item = ("clicks", "block")
    by_pair = ("difference", "disagreement", "beats")
    mended = ("crowd", "log", "superiors", "traces")  # of `LoggedState`

    horizon: int | None = None
    failure: float | None = None
    doubling: bool = False
    guess: int = 1000

    def __post_init__(self) -> None:
        """Check the parameters."""
        switch("TopRank", "doubling", self.doubling)
        object.__setattr__(self, "guess", whole("TopRank", "guess", self.guess, 1))
        if self.horizon is not None:
            object.__setattr__(self, "horizon", whole("TopRank", "horizon", self.horizon, 1))
        if self.failure is not None:
            if self.doubling:
                rule = "failure must be left open with doubling, which sets it"
                raise invalid("TopRank", rule, self.failure)
            number("TopRank", "failure", self.failure, 0.0, 1.0)
            if self.failure == 0.0:
                raise invalid("TopRank", "failure must be above 0", self.failure)
        elif self.horizon is None and not self.doubling:
            rule = "horizon must be given, or failure, or doubling=True"
            raise invalid("TopRank", rule, self.horizon)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the kernels' constants."""
        if self.doubling:
            return Params(self.guess, WIDTH / (1.0 / self.guess))
        if self.failure is not None:
            return Params(0, WIDTH / self.failure)
        assert self.horizon is not None  # as checked
        return Params(0, WIDTH / (1.0 / self.horizon))

    def init(self, n_items: int, n_positions: int) -> State | click_log.LoggedState:
        """Return the state before the first round; with a log of clicks for many items."""
        pairs = (n_items, n_items)
        state = State(
            epoch=np.zeros(1, dtype=np.int64),
            rounds=np.zeros(1, dtype=np.int64),
            clicks=np.zeros(n_items, dtype=np.int64),
            difference=np.zeros(pairs, dtype=np.int64),
            disagreement=np.zeros(pairs, dtype=np.int64),
            beats=np.zeros(pairs, dtype=np.int64),
            block=np.zeros(n_items, dtype=np.int64),
        )
        if n_items < click_log.LARGE or self.reference:
            return state
        return click_log.with_log(state, n_positions)

    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return one whole number per item, its block; with doubling, one more: the epoch."""
        return n_items + 1 if self.doubling else n_items

    def memo_limit(self, n_items: int) -> int:
        """Return what blocks and epochs are below; ``n_items`` itself stands for no block."""
        return max(n_items + 1, _EPOCHS) if self.doubling else n_items + 1

    def unpacked(self, state: State | click_log.LoggedState) -> click_log.LoggedState:
        """Return a state whose matrices hold all pairs."""
        return click_log.with_matrices(state)

    def mend(self, state: State | click_log.LoggedState, numbers: Ints) -> None:
        """Divide the items again by what is proved about those that are there."""
        mend_pairs(state, numbers)

    def memos_for(self, memos: Ints, numbers: Ints, n_items: int) -> Ints:
        """Return memos for another catalogue; further items that it has were in no block.

        Nor do blocks from the number of items on count: lists end before them.
        """
        there = np.flatnonzero(numbers >= 0)
        found = np.full((len(memos), n_items), n_items, dtype=np.int64)
        blocks = memos[:, there]
        found[:, numbers[there]] = np.where(blocks < min(numbers.size, n_items), blocks, n_items)
        return np.column_stack([found, memos[:, numbers.size :]])

    def lists(self, source: ListSource) -> Lists:
        """Return the lists that respect the partition, which are equally likely."""
        order, starts = cut(source.state.block)
        return partition(order, starts, source.n_positions)


def rank(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Draw a list that respects the partition, which the memo has."""
    n_items = state.block.shape[0]
    draw_compatible(by_subset(state.block + 1), state.block, rng, ranking)
    memo[:n_items] = state.block
    if params.guess > 0:
        memo[n_items] = state.epoch[0]


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Compare the clicks on all pairs of one block of the partition played, and divide again."""
    n_items = state.block.shape[0]
    if params.guess > 0 and memo[n_items] != state.epoch[0]:
        return
    clicked = np.zeros(n_items, dtype=np.int64)
    for position in range(ranking.shape[0]):
        clicked[ranking[position]] = clicks[position]
    _add_clicks(state, 1)  # now the two fields are S and N
    for i in range(n_items):
        for j in range(n_items):
            u = clicked[i] - clicked[j]
            if memo[i] == memo[j] and u != 0:
                state.difference[i, j] += u
                state.disagreement[i, j] += 1
                n = state.disagreement[i, j]
                scale = params.scale * (1 << state.epoch[0])  # c/δ
                if state.difference[i, j] >= math.sqrt(2.0 * n * math.log(scale * math.sqrt(n))):
                    state.beats[i, j] = 1
    state.clicks[:] += clicked
    peel(state.beats, n_items, state.block)
    state.block[:] -= 1  # from 0
    _add_clicks(state, -1)
    state.rounds[0] += 1
    if params.guess > 0 and state.rounds[0] == params.guess << state.epoch[0]:
        _forget(state)


@kernel
def _add_clicks(state: State, sign: int) -> None:
    """Add to the pairs of each block what the clicks on their items say of S and N."""
    for i in range(state.block.shape[0]):
        for j in range(state.block.shape[0]):
            if i != j and state.block[i] == state.block[j]:
                state.difference[i, j] += sign * (state.clicks[i] - state.clicks[j])
                state.disagreement[i, j] += sign * (state.clicks[i] + state.clicks[j])


@kernel
def _forget(state: State) -> None:
    """Begin the next epoch: twice as long, half the δ, and nothing known."""
    state.epoch[0] += 1
    state.rounds[0] = 0
    state.clicks[:] = 0
    state.difference[:, :] = 0
    state.disagreement[:, :] = 0
    state.beats[:, :] = 0
    state.block[:] = 0


register(TopRank, State, rank, update)
