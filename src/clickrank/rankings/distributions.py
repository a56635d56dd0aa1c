"""Distributions over rankings: the base class, mixtures of lists, drawn lists, uniform lists."""

from __future__ import annotations

import abc
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clickrank._core.arrays import Floats, Ints, bounded_vector, rankings_of
from clickrank._core.validate import check_shape
from clickrank.errors import CannotEvaluate, invalid
from clickrank.rankings.enumeration import all_rankings, number_prefixes

#: A distribution with at most this many lists is written out in full; otherwise lists are drawn.
MOST_LISTS = 100_000


class RankingDistribution(abc.ABC):
    """A distribution over lists of distinct items.

    Policies state the distribution of their next list with one, and `clickrank.evaluate` estimates
    what a policy with that distribution would earn.
    """

    n_items: int
    n_positions: int
    #: Number of lists that the probabilities were estimated from; 0 if the probabilities are exact.
    n_draws: int = 0
    #: The names of the items, if they are known.
    names: NDArray[Any] | None = None
    #: Sentences on how the distribution was made, for reports.
    notes: tuple[str, ...] = ()

    @abc.abstractmethod
    def marginals(self) -> Floats:
        """Return the probability of each item at each position, (n_items, n_positions)."""

    @abc.abstractmethod
    def prefixes(self, ranking: Ints) -> Floats:
        """Return, for each position, the probability that a list agrees with this one up to it."""

    def prefix_probabilities(self, rankings: Ints) -> Floats:
        """Return `prefixes` of many rankings, one per row."""
        different, of = np.unique(rankings, axis=0, return_inverse=True)
        found = np.array([self.prefixes(ranking) for ranking in different])
        return np.asarray(found[of.ravel()])

    def item_probabilities(self, ranking: Ints) -> Floats:
        """Return the probability of each item of a ranking at its position."""
        return np.asarray(self.marginals()[ranking, np.arange(self.n_positions)])

    @property
    def exact(self) -> bool:
        """Whether the probabilities are exact, not shares of lists that were drawn."""
        return self.n_draws == 0

    def standard_error(self) -> float:
        """Return the largest standard error of `marginals`; 0 if they are exact."""
        return 0.0

    def as_mixture(self, seed: int = 0) -> Mixture:
        """Return all lists with their probabilities; lists drawn with ``seed`` if too many."""
        if math.perm(self.n_items, self.n_positions) > MOST_LISTS:
            raise CannotEvaluate(f"There are more than {MOST_LISTS:,} lists to write out.")
        lists = all_rankings(self.n_items, self.n_positions)
        found = self.prefix_probabilities(lists)[:, -1]
        possible = found > 0.0
        return Mixture(lists[possible], self.n_items, found[possible] / found.sum())


class Mixture(RankingDistribution):
    """Lists with their probabilities. A single list is a policy that always shows it.

    Parameters
    ----------
    rankings
        The lists, one per row. A list may occur several times.
    n_items
        Number of items to choose from.
    probabilities
        Probability of each list; by default all are equally likely.
    names
        The names of the items. A log whose items have other names is then refused.
    notes
        Sentences on how the distribution was made, for reports.

    Examples
    --------
    >>> mixture = Mixture([[2, 0], [2, 1]], n_items=3, probabilities=[0.25, 0.75])
    >>> mixture.prefix_probabilities(np.array([[2, 1], [0, 1]]))
    array([[1.  , 0.75], [0.  , 0.  ]])
    >>> mixture.marginals()
    array([[0.  , 0.25], [0.  , 0.75], [1.  , 0.  ]])
    """

    _rankings: NDArray[Any]
    _probabilities: Floats

    def __init__(
        self,
        rankings: ArrayLike,
        n_items: int,
        probabilities: ArrayLike | None = None,
        names: NDArray[Any] | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        """Check and copy the arguments."""
        width = np.asarray(rankings).shape[-1:] or (0,)
        items, positions = check_shape("Mixture", n_items, int(width[0]))
        lists = rankings_of("Mixture", np.atleast_2d(np.asarray(rankings)), items, positions)
        if not len(lists):
            raise invalid("Mixture", "rankings must contain at least one list", 0)
        weights: Floats = np.full(len(lists), 1.0 / len(lists))
        if probabilities is not None:
            weights = bounded_vector("Mixture", "probabilities", probabilities, 0.0, 1.0)
            if weights.size != len(lists) or abs(weights.sum() - 1.0) > 1e-9:
                rule = f"probabilities must be {len(lists)} numbers that sum to 1"
                raise invalid("Mixture", rule, (weights.size, float(weights.sum())))
        self._rankings, self._probabilities = lists, weights
        self.n_items, self.n_positions = items, positions
        self.names, self.notes = names_of("Mixture", names, items), notes

    @classmethod
    def unchecked(
        cls, rankings: ArrayLike, n_items: int, probabilities: ArrayLike | None = None
    ) -> Mixture:
        """Return a mixture without checking it, for policies, which ask in every round.

        >>> Mixture.unchecked([[2, 0], [2, 1]], n_items=3).prefixes(np.array([2, 1]))
        array([1. , 0.5])
        """
        made = cls.__new__(cls)
        made._rankings = np.atleast_2d(np.asarray(rankings, dtype=np.int64))
        count, made.n_positions = made._rankings.shape
        made.n_items = n_items
        made._probabilities = (
            np.full(count, 1.0 / count)
            if probabilities is None
            else np.asarray(probabilities, np.float64)
        )
        return made

    @property
    def rankings(self) -> Ints:
        """The lists, one per row."""
        return self._rankings

    @property
    def probabilities(self) -> Floats:
        """The probability of each list."""
        return self._probabilities

    def marginals(self) -> Floats:
        """Return the probability of each item at each position, (n_items, n_positions)."""
        shape = self.n_items, self.n_positions
        cells = (self.rankings * self.n_positions + np.arange(self.n_positions)).ravel()
        weights = np.repeat(self.probabilities, self.n_positions)
        sums = np.bincount(cells, weights, shape[0] * shape[1]).reshape(shape)
        found: Floats = sums / sums.sum(axis=0)  # so that rounding does not add up over many lists
        return found

    def prefixes(self, ranking: Ints) -> Floats:
        """Return, for each position, the probability that a list agrees with this one up to it."""
        found: Floats = self.probabilities @ self._agreeing(ranking)
        return found

    def _agreeing(self, ranking: Ints) -> NDArray[np.bool_]:
        """Return which lists agree with a ranking up to each position."""
        return np.logical_and.accumulate(self._rankings == ranking, axis=1)

    def prefix_probabilities(self, rankings: Ints) -> Floats:
        """Return `prefixes` of many rankings, one per row."""
        (ours, theirs), sizes = number_prefixes(self.n_items, self.rankings, rankings)
        found = np.zeros(rankings.shape)
        for k, size in enumerate(sizes):
            weights = np.bincount(ours[:, k], weights=self.probabilities, minlength=size + 1)
            found[:, k] = weights[theirs[:, k]]
        return found

    def as_mixture(self, seed: int = 0) -> Mixture:
        """Return this mixture."""
        return self


class DrawnRankings(Mixture):
    """Lists that were drawn from a distribution: their shares estimate the probabilities.

    Parameters
    ----------
    rankings
        The lists, one per row. They are stored in as few bytes as the item numbers need.
    n_items
        Number of items to choose from.
    names, notes
        See `Mixture`.
    """

    def __init__(
        self,
        rankings: Ints,
        n_items: int,
        names: NDArray[Any] | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        """Copy the lists, which are not checked."""
        self._rankings = rankings.astype(np.min_scalar_type(int(rankings.max(initial=0))))
        self.n_draws, self.n_positions = rankings.shape
        self.n_items = n_items
        self.names, self.notes = names, notes

    @property
    def rankings(self) -> Ints:
        """The lists, one per row."""
        return self._rankings.astype(np.int64)

    @property
    def probabilities(self) -> Floats:
        """The share of each list that was drawn."""
        return np.full(self.n_draws, 1.0 / self.n_draws)

    def _counts(self) -> Ints:
        """Return how often each item was at each position."""
        shape = self.n_items, self.n_positions
        cells = (self.rankings * self.n_positions + np.arange(self.n_positions)).ravel()
        return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)

    def marginals(self) -> Floats:
        """Return the share of each item at each position, (n_items, n_positions)."""
        shares: Floats = self._counts() / self.n_draws
        return shares

    def prefixes(self, ranking: Ints) -> Floats:
        """Return, for each position, the share of lists that agree with this one up to it."""
        shares: Floats = np.count_nonzero(self._agreeing(ranking), axis=0) / self.n_draws
        return shares

    def item_probabilities(self, ranking: Ints) -> Floats:
        """Return the share of each item of a ranking at its position."""
        shares: Floats = np.count_nonzero(self._rankings == ranking, axis=0) / self.n_draws
        return shares

    def standard_error(self) -> float:
        """Return the largest standard error of `marginals`.

        By Laplace's rule, each item counts as drawn once more and as not drawn once more: an item
        that was never drawn at a position need not have probability 0 there.
        """
        share = (self._counts() + 1.0) / (self.n_draws + 2.0)
        return float(np.sqrt(share * (1.0 - share) / self.n_draws).max())


class UniformLists(RankingDistribution):
    """Every list of distinct items is equally likely.

    >>> uniform = UniformLists(n_items=4, n_positions=2)
    >>> uniform.marginals()[0]
    array([0.25, 0.25])
    >>> uniform.prefixes(np.array([3, 0]))
    array([0.25      , 0.08333333])
    """

    def __init__(self, n_items: int, n_positions: int) -> None:
        """Check the shape."""
        self.n_items, self.n_positions = check_shape("UniformLists", n_items, n_positions)

    def marginals(self) -> Floats:
        """Return the probability of each item at each position, (n_items, n_positions)."""
        return np.full((self.n_items, self.n_positions), 1.0 / self.n_items)

    def prefixes(self, ranking: Ints) -> Floats:
        """Return, for each position, the probability that a list agrees with this one up to it."""
        steps = np.arange(self.n_items, self.n_items - self.n_positions, -1.0)
        found: Floats = np.divide.accumulate(np.append(1.0, steps))[1:]
        return found

    def prefix_probabilities(self, rankings: Ints) -> Floats:
        """Return `prefixes` of many rankings, one per row."""
        return np.broadcast_to(self.prefixes(rankings[:1]), rankings.shape)

    def as_mixture(self, seed: int = 0) -> Mixture:
        """Return all lists, or lists drawn with ``seed`` if there are too many."""
        if math.perm(self.n_items, self.n_positions) <= MOST_LISTS:
            return Mixture(all_rankings(self.n_items, self.n_positions), self.n_items)
        rng = np.random.default_rng(seed)
        # With many items fewer lists are drawn, so that the matrix of random keys fits into memory.
        count = min(MOST_LISTS, 20_000_000 // self.n_items)
        keys = rng.random((count, self.n_items))
        lists = np.argsort(keys, axis=1)[:, : self.n_positions]
        return DrawnRankings(lists, self.n_items)


class Marginals(RankingDistribution):
    """A policy of which only the probability of each item at each position is known.

    This is enough where a click depends on the item and its position alone. Probabilities of whole
    lists are refused.

    Parameters
    ----------
    table
        Probability of each item at each position, (n_items, n_positions). Columns sum to 1.
    names
        See `Mixture`.
    """

    def __init__(self, table: ArrayLike, names: NDArray[Any] | None = None) -> None:
        """Check and copy the table."""
        self.table: Floats = np.array(table, dtype=np.float64)
        if self.table.ndim != 2 or not self.table.size:
            rule = "table must have one row per item and one column per position"
            raise invalid("Marginals", rule, self.table.shape)
        sums = self.table.sum(axis=0)
        if not (self.table >= 0.0).all() or np.abs(sums - 1.0).max() > 1e-6:
            raise invalid("Marginals", "columns must be probabilities that sum to 1", table)
        self.n_items, self.n_positions = self.table.shape
        self.names = names_of("Marginals", names, self.n_items)

    def marginals(self) -> Floats:
        """Return the table."""
        return self.table

    def prefixes(self, ranking: Ints) -> Floats:
        """Refuse, as probabilities of lists are not known."""
        raise CannotEvaluate(_NO_LISTS)

    def prefix_probabilities(self, rankings: Ints) -> Floats:
        """Refuse, as probabilities of lists are not known."""
        raise CannotEvaluate(_NO_LISTS)

    def as_mixture(self, seed: int = 0) -> Mixture:
        """Refuse, as probabilities of lists are not known."""
        raise CannotEvaluate(_NO_LISTS)


_NO_LISTS = (
    "Only the probability of each item at each position is known of the policy, not which lists "
    "it shows."
)


def names_of(owner: str, names: NDArray[Any] | None, n_items: int) -> NDArray[Any] | None:
    """Check that there is one name per item."""
    if names is None:
        return None
    if np.shape(names) != (n_items,):
        raise invalid(owner, f"names must contain one name per item ({n_items})", np.shape(names))
    return np.asarray(names)
