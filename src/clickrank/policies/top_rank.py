"""TopRank: keep an ordered partition of the items, and split it as clicks tell items apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._jit import inline_kernel, lean_kernel
from clickrank.errors import invalid
from clickrank.policies.base import Assumes, Policy
from clickrank.policies.blocks import draw_compatible
from clickrank.policies.contract import Request, register
from clickrank.policies.crowd import (
    count_in_crowd,
    forget_log,
    leave_crowd,
    mark_together,
    no_crowd,
    note_superior,
)
from clickrank.policies.top_rank_items import mend_pairs, with_matrices
from clickrank.rankings.lists import Lists, ListSource, partition
from clickrank.types import FloatStatistic, Ints, IntScratch, IntStatistic, number, switch, whole

#: c of the confidence width.
WIDTH = 4.0 * math.sqrt(2.0 / math.pi) / math.erf(math.sqrt(2.0))
_FAR = 2**40  # clicks that no item will get
_EPOCHS = 64  # more than doubling reaches


class Params(NamedTuple):
    """Constants."""

    guess: int  # rounds of the first epoch; 0 for a single epoch without end
    scale: float  # c/δ of the first epoch


class State(NamedTuple):
    """Click differences of pairs, what they prove, and the partition that follows.

    Within a block S_ij grows by the clicks on i less those on j, whoever else is clicked. So a
    click is counted once, for its item, and pairs keep what else they have: for items of one block
    S_ij = difference + clicks_i - clicks_j and N_ij = disagreement + clicks_i + clicks_j; for
    others the two fields are S_ij and N_ij themselves. Many items do without the matrices while one
    block fills the list: see `crowd`.
    """

    epoch: IntStatistic  # (1,), how often everything was forgotten
    rounds: IntStatistic  # (1,), rounds of this epoch
    scale: FloatStatistic  # (1,), c/δ
    clicks: IntStatistic  # (n_items,), all that were counted
    difference: IntStatistic  # (n_items, n_items)
    disagreement: IntStatistic  # (n_items, n_items)
    beats: IntStatistic  # (n_items, n_items), 1 at (i, j) where G has the edge (j, i)
    wins: IntStatistic  # (n_items,), items that i beats
    superiors: IntStatistic  # (n_items,), items that beat j
    block: IntStatistic  # (n_items,), d with i in P_d, from 0
    order: IntStatistic  # (n_items,), the items by block
    starts: IntStatistic  # (n_items + 1,), where each block begins in it; n_items beyond the last
    crowd: IntStatistic  # (2,), 1 if the log holds all pairs, 2 with a table, else 0; its length
    log: IntStatistic  # (n_items² / 4,), clicked items by list, who left the first block; the table
    traces: IntStatistic  # (n_items, n_positions + 3), in a crowd: see `crowd`
    due: IntScratch  # (n_items,), clicks on i before which it cannot beat another one
    depth: IntScratch  # (n_items,), the next partition
    work: IntScratch  # (n_items,)
    clicked: IntScratch  # (n_items,), 0 between calls


@dataclass(frozen=True)
class TopRank(Policy):
    """TopRank shows random lists that respect all it is sure of: which items beat which others.

    Items not told apart share a block; blocks fill the list from the top, each in random order.

    For i, j in one block of the partition played, U_ij = c_i - c_j, where c_i = 0 if i is not
    shown; S_ij = Σ U_ij and N_ij = Σ |U_ij|. Item i beats j for good once N_ij > 0 and
    S_ij ≥ √(2 N_ij log(c √N_ij / δ)), c = 4√(2/π)/erf(√2). The first block are the items that
    none beats, the second those that none beats of the rest, and so on.

    **Assumes**: positions of decreasing prominence, the first one most, and clicks v(a, k) on list
    a at position k such that for some α 1. the items of the largest α, in order, get most clicks;
    2. exchanging i at position k with a less attractive j, v(a, k) falls by α_j/α_i or more; 3. an
    item gets the fewest clicks at position k when the rest of the list is the best one. Position-
    based, document-based and cascade clicks are such. So are dependent clicks and dynamic Bayesian
    networks where all clicks satisfy equally (otherwise, the best items in order do not get most
    clicks or are not the most satisfying), and the multinomial logit model with decreasing biases:
    for α_j/(1 + λ_1 α_j) in place of α_j, as an attractive item takes clicks from its own list,
    too. The horizon, or `doubling`.

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

    **Complexity**: O(n_items) a round to remember the partition, and O(1) a click. A click may only
    make its own item beat another, and not before a number of clicks on it that is computed from
    S and N; so the pairs of an item are rarely looked at. Pairs take 3 n_items² numbers; from 2,048
    items on, as long as feedback comes in time and the first block fills the list, a number a click
    instead, and n_items²/16 once fewer than a quarter of the items are in that block; n_items²/4 in
    all at most. The rest is reserved, but not written to. Once such a catalogue has changed, it has
    the matrices. The first list after items are added or retired takes O(n_items²) more; in the
    service, while items are retired, each first list after feedback.

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
        Whether to guess the horizon, and to start anew with twice the guess.
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
    by_item = ("clicks", "wins", "superiors", "block")
    by_pair = ("difference", "disagreement", "beats")

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

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        item = np.zeros(n_items, dtype=np.int64)
        pairs = (n_items, n_items)
        starts = np.full(n_items + 1, n_items, dtype=np.int64)
        starts[0] = 0
        return State(
            epoch=np.zeros(1, dtype=np.int64),
            rounds=np.zeros(1, dtype=np.int64),
            scale=np.full(1, self.params(n_items, n_positions).scale),
            clicks=item.copy(),
            # Not copies of each other: memory of zeros is not taken before it is written to.
            difference=np.zeros(pairs, dtype=np.int64),
            disagreement=np.zeros(pairs, dtype=np.int64),
            beats=np.zeros(pairs, dtype=np.int64),
            wins=item.copy(),
            superiors=item.copy(),
            block=item.copy(),
            order=np.arange(n_items),
            starts=starts,
            **no_crowd(n_items, n_positions),
            due=item.copy(),
            depth=item.copy(),
            work=item.copy(),
            clicked=item,
        )

    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return one whole number an item, its block; with doubling, one more: the epoch."""
        return n_items + 1 if self.doubling else n_items

    def memo_limit(self, n_items: int) -> int:
        """Return what blocks and epochs are below; ``n_items`` itself stands for no block."""
        return max(n_items + 1, _EPOCHS) if self.doubling else n_items + 1

    def unpacked(self, state: State) -> State:
        """Return a state whose matrices hold all pairs, as those of few items do."""
        found: State = with_matrices(state)
        return found

    def mend(self, state: State, numbers: Ints) -> None:
        """Divide the items again by what is proved about those that are there."""
        mend_pairs(state, numbers)

    def memos_for(self, memos: Ints, numbers: Ints, n_items: int) -> Ints:
        """Return memos for another catalogue; items that it has besides were in no block.

        Nor do blocks from the number of items on count: lists end before them.
        """
        there = np.flatnonzero(numbers >= 0)
        found = np.full((len(memos), n_items), n_items, dtype=np.int64)
        blocks = memos[:, there]
        found[:, numbers[there]] = np.where(blocks < min(numbers.size, n_items), blocks, n_items)
        return np.column_stack([found, memos[:, numbers.size :]])

    def lists(self, source: ListSource) -> Lists:
        """Return the lists that respect the partition, which are equally likely."""
        state = source.state
        return partition(state.order, state.starts, source.n_positions)


def _rank(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    draw_compatible(state.order, state.starts, rng, state.work, ranking)
    n_items = state.block.shape[0]
    for item in range(n_items):
        memo[item] = state.block[item]
    if params.guess > 0:
        memo[n_items] = state.epoch[0]


def _update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    n_items = state.block.shape[0]
    if params.guess > 0 and memo[n_items] != state.epoch[0]:
        return
    clicked = 0
    for position in range(clicks.shape[0]):
        clicked += clicks[position]
    if clicked > 0 and _learn(state, ranking, memo, clicks):
        _divide(state)
    state.rounds[0] += 1
    if params.guess > 0 and state.rounds[0] == params.guess << state.epoch[0]:
        _forget(state)


@inline_kernel
def _learn(state: State, ranking: Ints, memo: Ints, clicks: Ints) -> bool:
    """Count the clicks on a list, and say whether to divide anew."""
    moved = 0
    for item in range(state.block.shape[0]):
        moved |= memo[item] ^ state.block[item]
    crowded = state.crowd[0] > 0 and count_in_crowd(state, ranking, clicks, moved == 0)
    if moved != 0:
        return _count_late(state, ranking, memo, clicks)
    if not crowded:
        _count(state.clicks, state.block, state.disagreement, ranking, clicks)
    changed = False
    for position in range(ranking.shape[0]):
        item = ranking[position]
        if clicks[position] == 1 and state.clicks[item] >= state.due[item]:
            changed |= _compare(state, item)
    return changed


@lean_kernel
def _count(counts: Ints, block: Ints, disagreement: Ints, ranking: Ints, clicks: Ints) -> None:
    """Count the clicks on a list of the present partition."""
    for position in range(ranking.shape[0]):
        if clicks[position] == 0:
            continue
        item = ranking[position]
        counts[item] += 1
        for above in range(position):
            other = ranking[above]
            # |U| = 0, where counting both clicks makes 2.
            if clicks[above] == 1 and block[other] == block[item]:
                disagreement[item, other] -= 2
                disagreement[other, item] -= 2


@lean_kernel
def _compare(state: State, item: int) -> bool:
    """Find the items of its block that an item now beats, and how soon it may beat another one."""
    own = state.clicks[item]
    least_log = 2.0 * math.log(state.scale[0])
    nearest = _FAR
    nearest_s, nearest_n = -_FAR, _FAR
    found = False
    block = state.block[item]
    crowded = state.crowd[0] > 0
    if crowded:
        mark_together(state, item, 1)
    for place in range(state.starts[block], state.starts[block + 1]):
        other = state.order[place]
        s = own - state.clicks[other]
        n = own + state.clicks[other]
        if crowded:
            n -= 2 * state.clicked[other]
        else:
            s += state.difference[item, other]
            n += state.disagreement[item, other]
        if s <= nearest_s and n >= nearest_n:
            continue  # it needs no fewer clicks than the nearest
        # Even with as many more clicks as the nearest needs? The width is at least √(n least_log).
        reach = float(s + nearest)
        if other == item or reach <= 0.0 or reach * reach <= n * least_log:
            continue
        if n > 0 and s >= _width(state, n):
            if crowded:
                note_superior(state, item, other)
                found = True
            elif state.beats[item, other] == 0:
                _add_edge(state, item, other)
                found = True
            continue
        # A click adds 1 to both S and N, and the width grows with N: from below, each of these is
        # not enough clicks.
        need = 1
        for _ in range(6):
            more = math.ceil(_width(state, n + need) * (1.0 - 1e-12) - s)
            if more <= need:
                break
            need = more
        if need < nearest:
            nearest, nearest_s, nearest_n = need, s, n
    if crowded:
        mark_together(state, item, -1)
    state.due[item] = own + nearest
    return found


@lean_kernel
def _width(state: State, n: int) -> float:
    return math.sqrt(2.0 * n * math.log(state.scale[0] * math.sqrt(n)))


@lean_kernel
def _add_edge(state: State, item: int, other: int) -> None:
    state.beats[item, other] = 1
    state.wins[item] += 1
    state.superiors[other] += 1


@lean_kernel
def _count_late(state: State, ranking: Ints, memo: Ints, clicks: Ints) -> bool:
    """Count the clicks on a list of another partition, pair by pair; say whether to divide anew.

    A click is counted for its item too: what the fields hold follows from S, N and all clicks.
    """
    changed = False
    for position in range(ranking.shape[0]):
        state.clicked[ranking[position]] = clicks[position]
    for position in range(ranking.shape[0]):
        if clicks[position] == 0:
            continue
        item = ranking[position]
        state.clicks[item] += 1
        for other in range(state.block.shape[0]):
            if other == item:
                continue
            together = state.block[item] == state.block[other]
            counts = memo[other] == memo[item] and state.clicked[other] == 0
            if together != counts:  # else the matrices stay: the click tells, or it tells nothing
                by = 1 if counts else -1
                state.difference[item, other] += by
                state.difference[other, item] -= by
                state.disagreement[item, other] += by
                state.disagreement[other, item] += by
            if not counts:
                continue
            s = state.difference[item, other]
            n = state.disagreement[item, other]
            if together:
                s += state.clicks[item] - state.clicks[other]
                n += state.clicks[item] + state.clicks[other]
            if state.beats[item, other] == 0 and s >= _width(state, n):
                _add_edge(state, item, other)
                changed |= state.block[other] <= state.block[item]
    for item in ranking:
        state.clicked[item] = 0
    return changed


@lean_kernel
def _divide(state: State) -> None:
    """Make the partition anew."""
    n_items = state.block.shape[0]
    if state.crowd[0] > 0:
        leave_crowd(state)
    else:
        _peel(state)
    # The items by block, and by number within.
    state.starts[:] = 0
    for item in range(n_items):
        state.starts[state.block[item] + 1] += 1
    for block in range(n_items):
        state.starts[block + 1] += state.starts[block]
        state.work[block] = state.starts[block]
    for item in range(n_items):
        state.order[state.work[state.block[item]]] = item
        state.work[state.block[item]] += 1


@lean_kernel
def _peel(state: State) -> None:
    """Take off, again and again, the items that none beats of those left."""
    n_items = state.block.shape[0]
    missing = state.clicked  # superiors not yet placed; borrowed, and all 0 in the end
    queue = state.work
    size = 0
    for item in range(n_items):
        missing[item] = state.superiors[item]
        state.depth[item] = -1
        if missing[item] == 0:
            state.depth[item] = 0
            queue[size] = item
            size += 1
    done = 0
    last = 0
    while done < size:
        item = queue[done]
        done += 1
        last = state.depth[item]
        if state.wins[item] == 0:
            continue
        for other in range(n_items):
            if state.beats[item, other] == 1:
                missing[other] -= 1
                if missing[other] == 0:
                    state.depth[other] = last + 1
                    queue[size] = other
                    size += 1
    if size < n_items:  # a circle
        rest = last + 1 if size > 0 else 0
        for item in range(n_items):
            missing[item] = 0
            if state.depth[item] < 0:
                state.depth[item] = rest
    for item in range(n_items):
        if state.depth[item] != state.block[item]:
            _move(state, item)


@lean_kernel
def _move(state: State, item: int) -> None:
    """Move an item to its new block; S and N of its pairs stay what they are."""
    old = state.block[item]
    new = state.depth[item]
    own = state.clicks[item]
    for other in range(state.block.shape[0]):
        if other == item:
            continue
        if state.block[other] == old:
            sign = 1
        elif state.block[other] == new:
            sign = -1
            state.due[other] = 0
        else:
            continue
        difference = sign * (own - state.clicks[other])
        both = sign * (own + state.clicks[other])
        state.difference[item, other] += difference
        state.difference[other, item] -= difference
        state.disagreement[item, other] += both
        state.disagreement[other, item] += both
    state.block[item] = new
    state.due[item] = 0


@lean_kernel
def _forget(state: State) -> None:
    """Begin the next epoch: twice as long, half the δ, and nothing known."""
    n_items = state.block.shape[0]
    state.epoch[0] += 1
    state.rounds[0] = 0
    state.scale[0] *= 2.0
    state.clicks[:] = 0
    if state.crowd[0] > 0:
        forget_log(state)
    else:
        state.difference[:, :] = 0
        state.disagreement[:, :] = 0
        state.beats[:, :] = 0
    state.crowd[0] = 1 if state.log.shape[0] > 0 else 0
    state.wins[:] = 0
    state.superiors[:] = 0
    state.block[:] = 0
    for item in range(n_items):
        state.order[item] = item
    state.starts[1:] = n_items
    state.due[:] = 0


register(TopRank, State, _rank, _update, lean=True)
