"""Propensities: the probability of each item at each position in a policy's next list.

They hold for the state and the cache just before a list is chosen. If `rank` changes the cache (a
particle that walks, a deck of lists to show), they may differ after the next list. They are exact
if no random number is drawn, or if the policy knows the distribution of its lists (`ExactLists`);
otherwise they are shares of drawn lists.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from clickrank._compile.jit import tell_apart
from clickrank._core.arrays import Floats, Ints, ranking_of
from clickrank._core.validate import check_float, check_int, check_shape
from clickrank.errors import invalid
from clickrank.learning.chooser import Chooser
from clickrank.policies._shared.packed_states import first_state
from clickrank.policies.capabilities import ExactLists
from clickrank.policies.contract import kernels_of, new_cache, scores_items
from clickrank.policies.policy_spec import Policy
from clickrank.rankings.closed_form import ShuffledBlocks
from clickrank.rankings.distributions import DrawnRankings, Mixture, RankingDistribution

#: Default for the maximum standard error of a probability.
ACCURACY = 0.01


@dataclasses.dataclass(frozen=True)
class Propensities:
    """The probability of each item at each position, and of each prefix of a list.

    Parameters
    ----------
    distribution
        The distribution of the policy's next list: exact, or lists drawn from it.
    n_items, n_positions
        Rows and columns of `marginals`.
    numbers
        The catalogue's number of each item of the distribution, if they are numbered differently.
        Items of the catalogue that are not among them cannot be shown.
    """

    distribution: RankingDistribution
    n_items: int
    n_positions: int
    numbers: Ints | None = None

    @property
    def exact(self) -> bool:
        """Whether these are exact probabilities, not shares of lists that were drawn."""
        return self.distribution.exact

    @property
    def draws(self) -> int:
        """Number of lists that were drawn; 0 if the probabilities are exact."""
        return self.distribution.n_draws

    @property
    def marginals(self) -> Floats:
        """Probability of each item (row) at each position (column); each column sums to 1."""
        if self.numbers is None:
            return self.distribution.marginals()
        found = np.zeros((self.n_items, self.n_positions))
        found[self.numbers] = self.distribution.marginals()
        return found

    @property
    def error(self) -> float:
        """The largest standard error of `marginals`; 0 if the probabilities are exact."""
        return self.distribution.standard_error()

    def of(self, ranking: ArrayLike) -> tuple[Floats, Floats]:
        """Return the propensities of a list, by item and by prefix.

        The first array has the probability of each item at its position. The second has, for each
        position, the probability that a list agrees with this one up to it; its last entry is the
        probability of the whole list.
        """
        shown = ranking_of("Propensities", ranking, self.n_items, self.n_positions)
        if self.numbers is None:
            return self.distribution.item_probabilities(shown), self.distribution.prefixes(shown)
        known = np.full(self.n_items, -1, dtype=np.int64)
        known[self.numbers] = np.arange(self.numbers.size)
        shown = known[shown]
        possible = shown >= 0
        # Items that cannot be shown are replaced by any other, and their probability is 0.
        shown = np.where(possible, shown, 0)
        single, prefix = (
            self.distribution.item_probabilities(shown),
            self.distribution.prefixes(shown),
        )
        begins = np.logical_and.accumulate(possible)
        return np.where(possible, single, 0.0), np.where(begins, prefix, 0.0)

    def of_shown(self, ranking: ArrayLike) -> tuple[Floats, Floats]:
        """Return what `of` returns, for the log of a list that was shown: no probability is 0.

        A list that was shown is itself a draw from the distribution. If the distribution is known
        from n draws, of which k agree, the shown list is counted as one more: (k + 1) / (n + 1). If
        the true probability is p, this has the mean p + (1 - p) / (n + 1). Its inverse, which
        importance weights use, has the mean (1 - (1 - p)^(n + 1)) / p: weights are too small by a
        share of (1 - p)^(n + 1), which is below 1 % from p = 4.6 / (n + 1) on.
        """
        single, prefix = self.of(ranking)
        if self.exact:
            return single, prefix
        n = self.draws
        return (n * single + 1.0) / (n + 1.0), (n * prefix + 1.0) / (n + 1.0)


def propensities(
    policy: Policy,
    n_items: int,
    n_positions: int,
    state: Any = None,
    seed: int | np.random.Generator = 0,
    accuracy: float = ACCURACY,
    cache: Any = None,
) -> Propensities:
    """Return the probability of each item at each position, for the policy's next list.

    Parameters
    ----------
    policy, n_items, n_positions
        The policy, the number of items and the length of a list.
    state
        The state of the policy, which does not change; by default the one before the first round.
    seed
        The seed with which lists are drawn, or a generator.
    accuracy
        The maximum standard error of a probability: 0.25 / accuracy² lists are drawn.
    cache
        The `Learner.cache` of a learner, which does not change. Without it, the probabilities are
        those after a restart, when no list waits for feedback and a particle has not started yet.

    Examples
    --------
    >>> import clickrank as cr
    >>> found = propensities(cr.policies.Uniform(), n_items=4, n_positions=2)
    >>> found.exact, float(found.marginals[0, 0])
    (True, 0.25)
    >>> marginal, prefix = found.of([2, 0])
    >>> prefix.tolist()  # 1/4, and 1/4 · 1/3
    [0.25, 0.08333333333333333]
    """
    if not isinstance(policy, Policy):
        raise invalid("propensities", "policy must be a Policy, as from clickrank.policy", policy)
    n_items, n_positions = check_shape(type(policy).__name__, n_items, n_positions)
    params = policy.params(n_items, n_positions)
    tell_apart(type(params))
    if state is None:
        state = first_state(policy, n_items, n_positions)
    if cache is None:
        cache = new_cache(kernels_of(policy, state), params, state, n_items, n_positions)
    chooser = Chooser(policy, n_items, n_positions, params, state, cache)
    lists = lists_of(chooser, generator(seed), draws_for(accuracy))
    return Propensities(lists, n_items, n_positions)


def generator(seed: int | np.random.Generator) -> np.random.Generator:
    """Return a generator for a seed, or the given generator."""
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(check_int("propensities", "seed", seed, 0))


def draws_for(accuracy: float) -> int:
    """Return the number n of draws for this standard error: √(p (1 - p) / n) ≤ 0.5 / √n.

    >>> draws_for(0.01)
    2500
    """
    least = check_float("propensities", "accuracy", accuracy, 1e-5, 0.5)
    return math.ceil(0.25 / (least * least) - 1e-9)


def lists_of(chooser: Chooser, rng: np.random.Generator, draws: int) -> RankingDistribution:
    """Return the distribution of the next list, or lists drawn from it."""
    if isinstance(chooser.policy, ExactLists):
        known = chooser.policy.lists(chooser)
        if known is not None:
            return known
    ranking, lucky = chooser.probe()
    if not lucky:
        return Mixture.unchecked(ranking, chooser.n_items)
    return _sorted_lists(chooser) or DrawnRankings(chooser.draw(rng, draws), chooser.n_items)


def _sorted_lists(chooser: Chooser) -> RankingDistribution | None:
    """Return the distribution of lists by decreasing score, if the scores are not random."""
    # A particle may stay where it is in both draws, and is still random.
    if not scores_items(chooser.policy) or chooser.policy.rank_remembers:
        return None
    plain = chooser.with_plain_kernels()
    found = []
    for seed in (0, 1):
        plain.draw(np.random.default_rng(seed), 1)
        found.append((plain.cache.items.copy(), plain.cache.positions.copy()))
    (items, positions), (again, positions_again) = found
    if not (np.array_equal(items, again) and np.array_equal(positions, positions_again)):
        return None
    if np.unique(positions).size < positions.size:  # tied positions, for which there is no formula
        return None
    if plain.request.candidates.size > 0:
        left_out = np.setdiff1d(np.arange(items.size), plain.request.candidates)
        items[left_out] = -np.inf
    return ShuffledBlocks.of_scores(items, np.argsort(-positions))
