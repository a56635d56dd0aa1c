"""Greedy: sorts items by the mean of their prior, and learns nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Floats, Ints, IntStatistic
from clickrank.errors import invalid
from clickrank.policies.capabilities import HasPrior, ItemsComeAndGo
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy
from clickrank.policies.registration import register
from clickrank.stats.beta_prior import UNIFORM, Beta


class State(NamedTuple):
    """Nothing is learned; the rounds are counted."""

    rounds: IntStatistic  # (1,), settled rounds


class Params(NamedTuple):
    """Constants."""

    mean: Floats  # (n_items,), α_i/(α_i + β_i)


@dataclass(frozen=True)
class Greedy(Policy, ItemsComeAndGo, HasPrior):
    """Greedy shows the items with the largest prior mean in every round, and learns nothing.

    It is the baseline that exploration must beat. Without a prior it shows random lists.

    A_t = the items with the largest α/(α + β), best first.

    **Assumes**: positions of decreasing prominence. Any clicks, which it ignores.

    **Source**: kveton2022, section 7.1.

    **Differences**: 1. It uses the mean of the prior, where the paper has its mode, which is not
    defined for α, β ≤ 1; with the priors there, all with β = 10, the order is the same.
    2. Items of equal mean are ordered at random, again in each round.

    **Complexity**: O(n_items) per round.

    **Guarantee**: none; the regret is linear unless the prior gives the best order.

    Parameters
    ----------
    prior
        A `clickrank.priors.Beta`.

    Examples
    --------
    >>> import clickrank as cr
    >>> policy = cr.policies.Greedy(cr.priors.Beta([1, 8, 3], [9, 2, 3]))
    >>> cr.Learner(policy, n_items=3, n_positions=2).rank()[0]
    array([1, 2])
    """

    name = "greedy"
    assumes = Assumes(priors=True, positions="decreasing")
    by_item = ()
    beats_uniform = False  # without a prior

    prior: Beta = UNIFORM

    def __post_init__(self) -> None:
        """Check the parameters."""
        if not isinstance(self.prior, Beta):
            raise invalid("Greedy", "prior must be a clickrank.priors.Beta", self.prior)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        alpha, beta = self.prior.for_items(n_items, "Greedy")
        return Params(alpha / (alpha + beta))

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(rounds=np.zeros(1, dtype=np.int64))


def score(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    items: Floats,
    positions: Floats,
) -> None:
    """Write the prior mean of each item."""
    for item in range(items.shape[0]):
        items[item] = params.mean[item]


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Count the round; clicks change nothing."""
    state.rounds[0] += 1


register(Greedy, State, score=score, update=update, lean=True)
