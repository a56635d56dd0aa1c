"""BatchRank: explores batches of items evenly, and splits and thins them out in stages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import kernel
from clickrank._core.arrays import Ints, IntStatistic
from clickrank._core.validate import check_int
from clickrank.numerics.kl_bounds import exploration_budget, kl_lower, kl_upper
from clickrank.numerics.shuffling import shuffle
from clickrank.policies._shared.batch_rank_items import STAGES, BatchRankItems
from clickrank.policies._shared.deck import Deck, begin_deck, deal, no_deck
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy
from clickrank.policies.registration import register


class State(NamedTuple):
    """Batches, as parts of one order of the items, and the counts of their current stages.

    Neighbouring positions with the same `number` form a batch. Its items are at the same indices of
    `order`; the lowest batch also has all items after them.
    """

    order: IntStatistic  # (n_items,), items by batch: B_1, B_2, …; -1 in place of eliminated ones
    number: IntStatistic  # (n_positions,), number of the position's batch and stage, from 1
    stage: IntStatistic  # (n_positions,), stage of the position's batch, ℓ_b
    clicks: IntStatistic  # (n_items,), c_{b,ℓ}: clicks in the current stage of the item's batch
    views: IntStatistic  # (n_items,), n_{b,ℓ}


class Params(NamedTuple):
    """Constants."""

    needed: Ints  # (STAGES,), n_ℓ, views per item that end stage ℓ
    delta: float  # log T + 3 log log T


@dataclass(frozen=True)
class BatchRank(Policy, BatchRankItems):
    """BatchRank divides the items into batches, each of which owns neighbouring positions.

    Each batch shows its items equally often, in random order, through stages of growing length. At
    the end of a stage the batch is split in two if, with confidence, its upper items are better
    than the lower ones; otherwise items that do not belong on the page are eliminated.

    Stage ℓ of a batch ends when each item has n_ℓ = ⌈16 · 4^ℓ log T⌉ views. With KL the divergence
    of Bernoulli distributions, an item with c clicks has bounds U and L: the largest and smallest q
    with n_ℓ KL(c/n_ℓ, q) ≤ log T + 3 log log T. Sort the items so that L(d_1) ≥ L(d_2) ≥ …. The
    batch is split after the last d_s, s below its number of positions, with L(d_s) > U of all items
    after it; both parts begin at stage 0. Without such an s, the items whose U is below L(d_m) are
    eliminated, where m is the number of positions of the batch, and stage ℓ + 1 begins.

    **Assumes**: position-based or cascade clicks, or any click model with the properties that the
    paper assumes; the first positions are examined most. The horizon is known.

    **Source**: zoghi2017, Algorithms 1 to 4.

    **Differences**: 1. As printed, a view counts only for items that were shown less often than
    others of the batch, not for those that fill up the list. With late feedback the counts do not
    show which items these are, so the memo does: it holds the number of the batch's stage, or 0 if
    the view does not count. 2. The lists made decide which items were shown less often, so that
    items take turns in the same way when feedback is late; after a restart of the process, feedback
    decides. Views beyond n_ℓ, or of a stage that has ended, are dropped: late feedback prolongs
    every stage by the delay. Whether a view counts never depends on clicks. 3. A batch with as many
    items as positions that was not split goes on to the next stage, too. 4. A batch of one item is
    not counted, because there is nothing to learn. 5. log T is at least log 2 in n_ℓ, and log log T
    is 0 up to T = e. 6. Eliminated items may be retired, and learning continues. Any other change
    of the items starts the policy again: counts belong to one stage of one batch, and all items of
    a batch must have equally many views.

    **Complexity**: O(n_items · n_positions) per round, and as much again at the end of a stage,
    plus sorting.

    **Guarantee**: regret O(K³ L log T / ((1 - p_max) Δ_min)) for L items on K positions, where
    p_max is the largest attraction and Δ_min the smallest gap between neighbours among the best K +
    1 (zoghi2017). Items of equal attraction are never separated, which costs nothing.

    Parameters
    ----------
    horizon
        Number of rounds T.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.6, 0.4, 0.2], [0.9, 0.5])
    >>> cr.simulate("batchrank", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "batchrank"
    assumes = Assumes(click_models=("pbm", "cascade"), horizon=True, positions="decreasing")
    rank_remembers = True

    horizon: int

    def __post_init__(self) -> None:
        """Check the horizon."""
        object.__setattr__(self, "horizon", check_int("BatchRank", "horizon", self.horizon, 1))

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        log_t = math.log(max(self.horizon, 2))
        needed = [math.ceil(16 * 4**stage * log_t) for stage in range(STAGES)]
        return Params(np.array(needed, dtype=np.int64), exploration_budget(float(self.horizon)))

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round: one batch of all items."""
        return State(
            order=np.arange(n_items),
            number=np.ones(n_positions, dtype=np.int64),
            stage=np.zeros(n_positions, dtype=np.int64),
            clicks=np.zeros(n_items, dtype=np.int64),
            views=np.zeros(n_items, dtype=np.int64),
        )

    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return one integer per position: the stage that the view counts for, or 0."""
        return n_positions


def build(params: Params, state: State) -> Deck:
    """Return an empty deck: at first, feedback decides which items were shown less often."""
    return no_deck(state.order.size)


def rank(
    params: Params,
    state: State,
    cache: Deck,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Show the items of each batch in random order; in the lowest, those whose turn it is."""
    first = 0
    while first < ranking.shape[0]:
        items, end = _batch_at(state, first)
        number = state.number[first]
        if items.shape[0] > end - first:
            if cache.dealing[0] != number:
                cache.dealing[0] = number
                begin_deck(items, state.views, cache.deck, cache.to_deal)
            deck = cache.deck[: items.shape[0]]
            deal(deck, cache.to_deal, rng, ranking, memo, first, number)
        else:
            ranking[first:end] = items
            memo[first:end] = number if items.shape[0] > 1 else 0
            shuffle(rng, ranking, first, end)
        first = end


@kernel
def _batch_at(state: State, first: int) -> tuple[Ints, int]:
    """Return the items of the batch that begins at a position, and the end of its positions."""
    n_positions = state.number.shape[0]
    end = first + 1
    while end < n_positions and state.number[end] == state.number[first]:
        end += 1
    places = end if end < n_positions else np.count_nonzero(state.order >= 0)
    return state.order[first:places], end


def update(
    params: Params, state: State, cache: Deck, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks and views, and end the stages of batches whose items all have enough views."""
    first = 0
    while first < ranking.shape[0]:
        items, end = _batch_at(state, first)
        needed = params.needed[state.stage[first]]
        waiting = 0  # number of items of this batch that need more views
        for item in items:
            for position in range(ranking.shape[0]):
                counts = ranking[position] == item and memo[position] == state.number[first]
                if counts and state.views[item] < needed:
                    state.clicks[item] += clicks[position]
                    state.views[item] += 1
            waiting += needed - state.views[item]
        if waiting == 0:
            _end_stage(params, state, items, first, end)
        first = end


@kernel
def _end_stage(params: Params, state: State, items: Ints, first: int, end: int) -> None:
    """Split a batch, or eliminate items from it; either way new stages begin."""
    size = end - first
    upper, lower = np.empty(items.shape[0]), np.empty(items.shape[0])
    for i in range(items.shape[0]):
        item = items[i]
        misses = state.views[item] - state.clicks[item]
        upper[i] = kl_upper(state.clicks[item], misses, params.delta)
        lower[i] = kl_lower(state.clicks[item], misses, params.delta)
        state.clicks[item] = 0
        state.views[item] = 0
    best = np.argsort(-lower, kind="mergesort")  # d_1, d_2, …
    split = 0
    for s in range(1, size):
        if lower[best[s - 1]] > upper[best[s:]].max():
            split = s
    newest = state.number.max()  # the largest number so far, which never decreases
    if split > 0:  # d_1, …, d_s come first; the others keep their order
        after = np.ones(items.shape[0], dtype=np.bool_)
        after[best[:split]] = False
        items[:] = np.concatenate((items[best[:split]], items[after]))
        state.stage[first:end] = 0
        state.number[first : first + split] = newest + 1
        state.number[first + split : end] = newest + 2
        return
    left = items[upper >= lower[best[size - 1]]]
    items[:] = -1
    items[: left.shape[0]] = left
    state.stage[first:end] += 1
    state.number[first:end] = newest + 1


register(BatchRank, State, rank, update, cache=Deck, build=build)
