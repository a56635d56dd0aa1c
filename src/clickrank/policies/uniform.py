"""Uniform: shows a random list in every round, the baseline that learns nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import IntParticle, Ints, IntStatistic
from clickrank.numerics.shuffling import swap_at_random
from clickrank.policies.capabilities import ExactLists, ItemsComeAndGo
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy
from clickrank.policies.registration import register
from clickrank.rankings.closed_form import ListSource
from clickrank.rankings.distributions import RankingDistribution, UniformLists


class State(NamedTuple):
    """Nothing is learned; the rounds are counted."""

    rounds: IntStatistic  # (1,), settled rounds


class Params(NamedTuple):
    """Constants."""

    n_items: int


class ShuffledItems(NamedTuple):
    """The order in which the last shuffle left the items; the next shuffle starts from it."""

    items: IntParticle  # (n_items,), a permutation


@dataclass(frozen=True)
class Uniform(Policy, ItemsComeAndGo, ExactLists):
    """Uniform shows a uniformly random list in every round.

    It is the baseline for learning, and the best exploration for off-policy evaluation.

    P(ranking) = (n_items - n_positions)! / n_items!

    **Assumes**: nothing.

    **Source**: folklore.

    **Differences**: none.

    **Complexity**: O(n_positions) per round.

    **Guarantee**: none; the regret is linear unless all rankings are equally good.

    Examples
    --------
    >>> import clickrank as cr
    >>> learner = cr.Learner(cr.policies.Uniform(), n_items=5, n_positions=3)
    >>> len(set(learner.rank()[0].tolist()))
    3
    """

    name = "uniform"
    is_uniform = True
    assumes = Assumes()
    by_item = ()
    beats_uniform = False

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        return Params(n_items)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(rounds=np.zeros(1, dtype=np.int64))

    def lists(self, source: ListSource) -> RankingDistribution:
        """Return the uniform distribution over all lists."""
        return UniformLists(source.n_items, source.n_positions)


def build(params: Params, state: State) -> ShuffledItems:
    """Return the items in the order of their numbers."""
    return ShuffledItems(np.arange(params.n_items))


def rank(
    params: Params,
    state: State,
    cache: ShuffledItems,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Write the first steps of a Fisher–Yates shuffle, which may start from any permutation."""
    for position in range(ranking.shape[0]):
        swap_at_random(rng, cache.items, position, position, params.n_items)
        ranking[position] = cache.items[position]


def update(
    params: Params, state: State, cache: ShuffledItems, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count the round; clicks change nothing."""
    state.rounds[0] += 1


register(Uniform, State, rank, update, cache=ShuffledItems, build=build)
