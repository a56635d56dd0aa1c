"""Skeleton: a small complete policy to copy. Rename it, then change the idea."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank.kernels import Ints, IntStatistic, check_float, top_k
from clickrank.policies import Assumes, HasMemo, Policy, Request, register


class Params(NamedTuple):
    """Constants that the kernels read. There is at least one field."""

    epsilon: float  # ε


class State(NamedTuple):
    """What is learned: arrays of int64 or float64."""

    clicks: IntStatistic  # (n_items,), clicks in random lists, S_k
    views: IntStatistic  # (n_items,), random lists that showed the item, N_k


@dataclass(frozen=True)
class Skeleton(Policy, HasMemo):
    """Skeleton sometimes shows a random list, and otherwise the items clicked most in random lists.

    A random list shows every item at every position equally often. Click rates in random lists
    therefore compare items fairly although positions are unknown; those in other lists do not.

    With probability ε the list is uniform; else items are sorted by S_k / N_k, counted in uniform
    lists only.

    **Assumes**: that upper positions get more clicks, so that the best item belongs on top. No
    horizon.

    **Source**: folklore (ε-greedy).

    **Differences**: 1. An item that no random list has shown yet comes first. 2. Ties are broken
    at random.

    **Complexity**: O(n_items) per round.

    **Guarantee**: none; the regret grows by a constant in each random list, so it is linear.

    Parameters
    ----------
    epsilon
        Share of random lists ε, between 0 and 1.

    Examples
    --------
    >>> import clickrank as cr
    >>> model = cr.clickmodels.PBM([0.6, 0.4, 0.2], [0.9, 0.5])
    >>> table = cr.compare(["skeleton", "uniform"], model, horizon=2000, runs=4, seed=0)
    >>> [row.policy for row in table.summary()]
    ['skeleton', 'uniform']
    """

    name = "skeleton"
    assumes = Assumes(positions="decreasing")

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_float("Skeleton", "epsilon", self.epsilon, 0.0, 1.0)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        return Params(float(self.epsilon))

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(
            clicks=np.zeros(n_items, dtype=np.int64),
            views=np.zeros(n_items, dtype=np.int64),
        )

    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return 1: the memo holds whether the list is random."""
        return 1

    def memo_limit(self, n_items: int) -> int:
        """Return the upper bound of that number, which is 0 or 1."""
        return 2


def rank(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    """Show a random list, or the items with the largest click rates."""
    memo[0] = 1 if rng.random() < params.epsilon else 0
    score = np.empty(state.views.size)
    for item in range(score.size):
        if memo[0] == 1:
            score[item] = rng.random()
        elif state.views[item] == 0:
            score[item] = math.inf
        else:
            score[item] = state.clicks[item] / state.views[item]
    top_k(score, rng, ranking)


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Learn from random lists only."""
    if memo[0] == 1:
        for position in range(ranking.shape[0]):
            state.clicks[ranking[position]] += clicks[position]
            state.views[ranking[position]] += 1


register(Skeleton, State, rank, update)
