"""ε_n-greedy: the best list by a rank-one fit of the click rates, with random replacements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clickrank._compile.jit import kernel
from clickrank._core.arrays import Floats, Ints, IntStatistic
from clickrank._core.validate import check_float
from clickrank.numerics.shuffling import swap_at_random
from clickrank.numerics.singular_vector import leading_singular_vectors
from clickrank.policies.capabilities import ExactLists, ItemsComeAndGo
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy
from clickrank.policies.registration import register
from clickrank.rankings.closed_form import ListSource, RandomReplacements
from clickrank.rankings.distributions import RankingDistribution, UniformLists
from clickrank.rankings.selection import place, top_k


class State(NamedTuple):
    """Clicks and views by item and position."""

    rounds: IntStatistic  # (1,), t - 1
    clicks: IntStatistic  # (n_items, n_positions)
    views: IntStatistic  # (n_items, n_positions)


class Params(NamedTuple):
    """Constants."""

    exploration: float  # c


@dataclass(frozen=True)
class EpsilonGreedy(Policy, ItemsComeAndGo, ExactLists):
    """ε_n-greedy shows the list that looks best, and replaces each item with probability ε(t).

    Positions need not be known: the best list follows from the rank-one matrix that is closest to
    the click rates of all items at all positions.

    (θ̂, κ̂) are the leading singular vectors of the matrix of clicks/views. The item with the
    largest θ̂ goes to the position with the largest κ̂, and so on. Each position then shows a
    random item instead with probability ε(t) = min(1, c/t).

    **Assumes**: position-based clicks. Examination is learned. No horizon.

    **Source**: gauthier2022, section 3.4.

    **Differences**: the source has one paragraph on this policy. 1. An item never shown at a
    position has rate 0 there. 2. All positions to be replaced are chosen first, then filled one by
    one with items drawn uniformly from those that are not in the list; a replaced item may come
    back in this way. With c ≥ t the list is uniformly random. 3. Singular vectors are taken without
    negative entries; κ̂ is rounded to 8 digits, and ties are broken at random. If the largest
    singular value is not simple, κ̂ is the limit of power iteration from the vector of ones. 4. t
    is one more than the number of rounds that have come back.

    **Complexity**: O(n_items · n_positions²) per round for the Gram matrix of the rates, and a few
    multiplications with it for its leading vector; none of this if all positions are replaced.

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
    by_item = ("clicks", "views")

    exploration: float = 1000.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_float("EpsilonGreedy", "exploration", self.exploration, 0.0)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        return Params(float(self.exploration))

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            rounds=np.zeros(1, dtype=np.int64),
            clicks=np.zeros((n_items, n_positions), dtype=np.int64),
            views=np.zeros((n_items, n_positions), dtype=np.int64),
        )

    def lists(self, source: ListSource) -> RankingDistribution | None:
        """Return the best list with positions replaced; None if several are equally good."""
        n_items, n_positions = source.n_items, source.n_positions
        epsilon = self.exploration / (int(source.state.rounds[0]) + 1.0)
        if epsilon >= 1.0:
            return UniformLists(n_items, n_positions)
        base, _ = source.probe(source.params._replace(exploration=0.0))
        attraction, examination = np.empty(n_items), np.empty(n_positions)
        fit(source.state.clicks, source.state.views, attraction, examination)
        best = np.sort(attraction)[::-1][: n_positions + 1]
        ties = [*np.diff(best), *np.diff(np.sort(examination))]
        return None if 0.0 in ties else RandomReplacements(base, epsilon, n_items)


def rank(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Write the list that looks best, with some items replaced at random."""
    n_items, n_positions = state.clicks.shape
    epsilon = params.exploration / (state.rounds[0] + 1.0)
    replaced = np.empty(n_positions, dtype=np.bool_)
    for position in range(n_positions):
        replaced[position] = rng.random() < epsilon
    if not replaced.all():
        attraction, examination = np.empty(n_items), np.empty(n_positions)
        fit(state.clicks, state.views, attraction, examination)
        best, order = np.empty_like(ranking), np.empty_like(ranking)
        top_k(attraction, rng, best)
        top_k(examination, rng, order)
        place(best, order, ranking)
    replace_items(n_items, replaced, rng, ranking)


@kernel
def fit(clicks: Ints, views: Ints, attraction: Floats, examination: Floats) -> None:
    """Write θ̂ and κ̂, each up to a factor: the leading singular vectors of the click rates."""
    n_items, n_positions = clicks.shape
    rates = np.zeros((n_items, n_positions))
    for i in range(n_items):
        for k in range(n_positions):
            if views[i, k] > 0:
                rates[i, k] = clicks[i, k] / views[i, k]
    leading_singular_vectors(rates, attraction, examination)


@kernel
def replace_items(
    n_items: int, replaced: NDArray[np.bool_], rng: np.random.Generator, ranking: Ints
) -> None:
    """Fill the positions to be replaced with items drawn from those not in the rest of the list."""
    free = np.ones(n_items, dtype=np.bool_)
    free[ranking[~replaced]] = False
    pool = np.flatnonzero(free)
    size = pool.shape[0]
    for position in np.flatnonzero(replaced):
        size -= 1
        swap_at_random(rng, pool, size, 0, size + 1)
        ranking[position] = pool[size]


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count clicks and views by item and position."""
    state.rounds[0] += 1
    for position in range(ranking.shape[0]):
        item = ranking[position]
        state.clicks[item, position] += clicks[position]
        state.views[item, position] += 1


register(EpsilonGreedy, State, rank, update)
