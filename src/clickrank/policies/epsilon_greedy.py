"""ε_n-greedy: the best list by a rank-one fit of the click rates, with random items thrown in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._jit import lean_kernel
from clickrank._select import place, renew_top_k
from clickrank.numerics.rank_one import leading_vector
from clickrank.policies.base import Assumes, Policy
from clickrank.policies.contract import Request, register
from clickrank.rankings.lists import Blocks, Lists, ListSource, Replaced
from clickrank.types import FloatScratch, FloatStatistic, Ints, IntScratch, IntStatistic, number


class Params(NamedTuple):
    """Constants."""

    exploration: float  # c


class State(NamedTuple):
    """Click rates by item and position, and the factors of the rank-one fit."""

    rounds: IntStatistic  # (1,), t - 1
    clicks: IntStatistic  # (n_items, n_positions)
    views: IntStatistic  # (n_items, n_positions)
    rates: FloatStatistic  # (n_items, n_positions), clicks / views, 0 without a view
    gram: FloatScratch  # (n_positions, n_positions), product of rates with themselves
    guess: FloatScratch  # (n_positions,); this and the next: see numerics.rank_one
    powers: FloatScratch  # (2, n_positions, n_positions)
    attraction: FloatScratch  # (n_items,), estimated θ, up to a factor
    examination: FloatScratch  # (n_positions,), estimated κ, up to a factor
    best: IntScratch  # (n_positions,), items by decreasing estimate
    order: IntScratch  # (n_positions,), positions by decreasing estimate
    replaced: IntScratch  # (n_positions,), 1 where a random item is shown, else 0
    pool: IntScratch  # (n_items,), in its first places the items that may be drawn
    kept: IntScratch  # (n_items,), 1 for items of the list that stay, else 0; all 0 between rounds


@dataclass(frozen=True)
class EpsilonGreedy(Policy):
    """ε_n-greedy shows the list that looks best, each of its items replaced now and then.

    Nothing need be known of the positions: what looks best follows from the rank-one matrix that
    is closest to the click rates of all items at all positions.

    (θ̂, κ̂) are the leading singular vectors of the matrix of clicks/views. The item of the largest
    θ̂ goes to the position of the largest κ̂, and so on. Each position then shows a random item
    instead with probability ε(t) = min(1, c/t).

    **Assumes**: position-based clicks. Examination is learned. No horizon.

    **Source**: gauthier2022, section 3.4.

    **Differences**: the text has one paragraph on this policy, so: 1. An item never shown at a
    position has rate 0 there. 2. All positions to be replaced are chosen first, then filled one by
    one with items drawn uniformly from those that are not in the list; an item may so come back.
    With c ≥ t the list is uniformly random. 3. Singular vectors are taken without negative entries;
    κ̂ is rounded to 8 digits, and ties are broken at random. Where the largest singular value is
    not single, κ̂ is the limit of power iteration from the vector of ones. 4. t is one more than
    the rounds that have come back.

    **Complexity**: O(n_items · n_positions²) a round for the Gram matrix of the rates, whose
    leading vector takes a few multiplications from that of the last round; nothing of this if all
    positions are replaced. The rounded vector is the same from any start.

    **Guarantee**: none proved. With c too small it may settle on a wrong list; the regret of
    exploration is about c · log(T/c) times that of a random item at each position, after c random
    lists.

    Parameters
    ----------
    exploration
        c ≥ 0. In the source the best values are 1000 with attractions close to 1, 10,000 on the
        Yandex data and 100,000 with attractions close to 0; the first c rounds are random.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.6, 0.4, 0.2], [0.9, 0.5])
    >>> cr.simulate("epsilon-greedy", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "epsilon-greedy"
    assumes = Assumes(click_models=("pbm",))
    by_item = ("clicks", "views", "rates")

    exploration: float = 1000.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        number("EpsilonGreedy", "exploration", self.exploration, 0.0)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the kernels' constants."""
        return Params(float(self.exploration))

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            rounds=np.zeros(1, dtype=np.int64),
            clicks=np.zeros((n_items, n_positions), dtype=np.int64),
            views=np.zeros((n_items, n_positions), dtype=np.int64),
            rates=np.zeros((n_items, n_positions)),
            gram=np.zeros((n_positions, n_positions)),
            guess=np.full(n_positions, n_positions**-0.5),
            powers=np.zeros((2, n_positions, n_positions)),
            attraction=np.zeros(n_items),
            examination=np.zeros(n_positions),
            best=np.zeros(n_positions, dtype=np.int64),
            order=np.zeros(n_positions, dtype=np.int64),
            replaced=np.zeros(n_positions, dtype=np.int64),
            pool=np.zeros(n_items, dtype=np.int64),
            kept=np.zeros(n_items, dtype=np.int64),
        )

    def lists(self, source: ListSource) -> Lists | None:
        """Return the best list with positions replaced; None where several are equally good."""
        n_items, n_positions = source.n_items, source.n_positions
        epsilon = self.exploration / (int(source.state.rounds[0]) + 1.0)
        if epsilon >= 1.0:
            return Blocks([np.arange(n_items)], [0] * n_positions)
        base, _ = source.probe(source.params._replace(exploration=0.0))
        best = np.sort(source.state.attraction)[::-1][: n_positions + 1]
        ties = [*np.diff(best), *np.diff(np.sort(source.state.examination))]
        return None if 0.0 in ties else Replaced(base, epsilon, n_items)


def _rank(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    n_positions = ranking.shape[0]
    epsilon = params.exploration / (state.rounds[0] + 1.0)
    changes = 0
    for position in range(n_positions):
        state.replaced[position] = 1 if rng.random() < epsilon else 0
        changes += state.replaced[position]
    if changes < n_positions:
        _fit(state)
        renew_top_k(state.attraction, rng, state.best)
        renew_top_k(state.examination, rng, state.order)
        place(state.best, state.order, ranking)
    if changes > 0:
        _replace(state, rng, ranking)


@lean_kernel
def _fit(state: State) -> None:
    """Estimate θ and κ, each up to a factor."""
    rates, gram = state.rates, state.gram
    n_items, n_positions = rates.shape
    for k in range(n_positions):
        for j in range(k + 1):
            total = 0.0
            for i in range(n_items):
                total += rates[i, k] * rates[i, j]
            gram[k, j] = total
            gram[j, k] = total
    leading_vector(gram, state.guess, state.powers, state.examination)
    for i in range(n_items):
        total = 0.0
        for k in range(n_positions):
            total += rates[i, k] * state.examination[k]
        state.attraction[i] = total


@lean_kernel
def _replace(state: State, rng: np.random.Generator, ranking: Ints) -> None:
    """Fill the positions to be replaced with items that are at none of the others."""
    kept, pool, replaced = state.kept, state.pool, state.replaced
    for position in range(ranking.shape[0]):
        if replaced[position] == 0:
            kept[ranking[position]] = 1
    size = 0
    for item in range(kept.shape[0]):
        if kept[item] == 0:
            pool[size] = item
            size += 1
        kept[item] = 0
    for position in range(ranking.shape[0]):
        if replaced[position] == 1:
            drawn = int(rng.random() * size)
            ranking[position] = pool[drawn]
            size -= 1
            pool[drawn] = pool[size]


def _update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    state.rounds[0] += 1
    for position in range(ranking.shape[0]):
        item = ranking[position]
        state.clicks[item, position] += clicks[position]
        state.views[item, position] += 1
        rate = state.clicks[item, position] / state.views[item, position]
        state.rates[item, position] = rate


register(EpsilonGreedy, State, _rank, _update, lean=True)
