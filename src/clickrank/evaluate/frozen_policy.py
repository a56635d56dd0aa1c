"""Policies that no longer learn, as targets of an evaluation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import Floats, Ints
from clickrank.errors import CannotEvaluate
from clickrank.evaluate.usable_impressions import usable
from clickrank.learning import Learner
from clickrank.learning.chooser import Chooser
from clickrank.learning.policy_propensities import propensities
from clickrank.logs import Impressions
from clickrank.policies import Policy
from clickrank.policies.contract import kernels_of, new_cache
from clickrank.rankings.distributions import (
    MOST_LISTS,
    DrawnRankings,
    Mixture,
    RankingDistribution,
)

#: Largest standard error of a target's probabilities if lists must be drawn: 40,000 draws.
ACCURACY = 0.0025


class FrozenPolicy(RankingDistribution):
    """The distribution of a policy's next list, and further lists drawn from the same state.

    Parameters
    ----------
    policy, state, cache
        The policy with its statistics and its cache; None for the cache after a restart.
    distribution
        The distribution of the next list.
    names, notes
        See `clickrank.evaluate.Mixture`.
    """

    def __init__(
        self,
        policy: Policy,
        distribution: RankingDistribution,
        state: Any,
        names: NDArray[Any] | None = None,
        notes: tuple[str, ...] = (),
        cache: Any = None,
    ) -> None:
        """Store the policy and the distribution of its next list."""
        self.n_items, self.n_positions = distribution.n_items, distribution.n_positions
        self.names, self.notes = names, notes
        self._policy, self._state, self._cache = policy, state, cache
        self._distribution = distribution

    def prefixes(self, ranking: Ints) -> Floats:
        """Return, for each position, the probability that a list agrees with this one up to it."""
        return self._distribution.prefixes(ranking)

    def marginals(self) -> Floats:
        """Return the probability of each item at each position, (n_items, n_positions)."""
        return self._distribution.marginals()

    def as_mixture(self, seed: int = 0) -> Mixture:
        """Return all lists with their probabilities, or drawn lists if there are too many."""
        if math.perm(self.n_items, self.n_positions) <= MOST_LISTS:
            return super().as_mixture(seed)
        params = self._policy.params(self.n_items, self.n_positions)
        size = self.n_items, self.n_positions
        cache = self._cache
        if cache is None:
            cache = new_cache(kernels_of(self._policy, self._state), params, self._state, *size)
        chooser = Chooser(self._policy, *size, params, self._state, cache)
        drawn = chooser.draw(np.random.default_rng(seed), MOST_LISTS)
        return DrawnRankings(drawn, self.n_items)


def frozen(
    policy: Policy,
    n_items: int,
    n_positions: int,
    state: Any = None,
    seed: int = 0,
    accuracy: float = ACCURACY,
    cache: Any = None,
) -> RankingDistribution:
    """Return the distribution of a policy's next list, by default before it has learned anything.

    ``state`` and ``cache`` are those of a learner. Without the cache it is the next list after a
    restart.

    Examples
    --------
    >>> from clickrank.policies import Uniform
    >>> frozen(Uniform(), n_items=4, n_positions=2).prefix_probabilities(np.array([[3, 0]]))
    array([[0.25      , 0.08333333]])
    """
    learner = Learner(policy, n_items, n_positions)
    state = learner.state if state is None else state
    found = propensities(policy, n_items, n_positions, state, seed, accuracy, cache)
    return _target(policy, state, found.distribution, cache=cache)


def _target(
    policy: Policy,
    state: Any,
    found: RankingDistribution,
    names: NDArray[Any] | None = None,
    notes: tuple[str, ...] = (),
    cache: Any = None,
) -> RankingDistribution:
    """Return the distribution of a policy's next list with names and notes."""
    if isinstance(found, DrawnRankings):
        return DrawnRankings(found.rankings, found.n_items, names, notes)
    if isinstance(found, Mixture):
        return Mixture(found.rankings, found.n_items, found.probabilities, names, notes)
    return FrozenPolicy(policy, found, state, names, notes, cache)


def learned(policy: Policy, log: Impressions, seed: int = 0) -> RankingDistribution:
    """Return the distribution of a policy's next list after it has learned from another's log.

    Policies with a memo are refused, as they learn only from lists that they chose themselves.
    """
    n_items, n_positions = len(log.items), log.rankings.shape[1]
    learner = Learner(policy, n_items, n_positions, seed)
    if learner.memo_size:
        raise CannotEvaluate(
            f"{policy.name} learns only from lists that it has chosen itself; use replay instead."
        )
    notes: tuple[str, ...] = ()
    if len(log.rankings):
        log, about = usable(log, "estimated", lists=True)
        notes = tuple(f"In what the policy learned from: {note}" for note in about)
    learner.update_many(log.rankings, np.zeros((len(log.rankings), 0), dtype=np.int64), log.clicks)
    found = propensities(policy, n_items, n_positions, learner.state, seed, ACCURACY, learner.cache)
    return _target(policy, learner.state, found.distribution, log.items, notes, learner.cache)
