"""What is to be evaluated: a distribution over the lists of one query."""

from __future__ import annotations

import abc
import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clickrank._core.arrays import Floats, Ints, bounded_vector, rankings_of
from clickrank._core.validate import check_shape
from clickrank.errors import CannotEvaluate, invalid
from clickrank.logs import Impressions

#: A target with no more lists than this is evaluated exactly, else by as many draws.
MOST_LISTS = 100_000


class Target(abc.ABC):
    """How likely each list is shown: a fixed list, a mixture of lists, or a policy as it stands."""

    n_items: int
    n_positions: int
    #: What the items are called, where that is known: checked against those of the log.
    names: NDArray[Any] | None = None
    #: What is worth knowing of how it was made.
    notes: tuple[str, ...] = ()

    @abc.abstractmethod
    def prefix_probabilities(self, rankings: Ints) -> Floats:
        """Return how likely a list begins as each of these does, down to each position."""

    @abc.abstractmethod
    def marginals(self) -> Floats:
        """Return the probability of each item at each position, (n_items, n_positions)."""

    @abc.abstractmethod
    def as_lists(self, seed: int = 0) -> Mixture:
        """Return the same target list by list; draws of it if there are too many."""


@dataclasses.dataclass(frozen=True, eq=False)
class Mixture(Target):
    """Some lists, each with its probability: one list that is always shown, or a mixture.

    Parameters
    ----------
    rankings
        The lists, a row each; a list may come several times.
    n_items
        How many items there are to choose from.
    probabilities
        Of each list; all the same if left out.
    drawn
        Whether these are draws of a target that has too many lists.
    names
        What the items are called; a log whose items are called otherwise is then refused.
    notes
        What is worth knowing of how it was made.

    Examples
    --------
    >>> target = Mixture([[2, 0], [2, 1]], n_items=3, probabilities=[0.25, 0.75])
    >>> target.prefix_probabilities(np.array([[2, 1], [0, 1]]))
    array([[1.  , 0.75], [0.  , 0.  ]])
    >>> target.marginals()
    array([[0.  , 0.25], [0.  , 0.75], [1.  , 0.  ]])
    """

    rankings: Ints
    probabilities: Floats
    n_items: int
    drawn: bool
    names: NDArray[Any] | None
    notes: tuple[str, ...]

    def __init__(
        self,
        rankings: ArrayLike,
        n_items: int,
        probabilities: ArrayLike | None = None,
        drawn: bool = False,
        names: NDArray[Any] | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        """Check and copy."""
        width = np.asarray(rankings).shape[-1:] or (0,)
        items, positions = check_shape("Mixture", n_items, int(width[0]))
        lists = rankings_of("Mixture", np.atleast_2d(np.asarray(rankings)), items, positions)
        if not len(lists):
            raise invalid("Mixture", "there must be a list", 0)
        chances: Floats = np.full(len(lists), 1.0 / len(lists))
        if probabilities is not None:
            chances = bounded_vector("Mixture", "probabilities", probabilities, 0.0, 1.0)
            if chances.size != len(lists) or abs(chances.sum() - 1.0) > 1e-9:
                rule = f"probabilities must be {len(lists)} numbers that sum to 1"
                raise invalid("Mixture", rule, (chances.size, float(chances.sum())))
        object.__setattr__(self, "rankings", lists)
        object.__setattr__(self, "probabilities", chances)
        object.__setattr__(self, "n_items", items)
        object.__setattr__(self, "drawn", bool(drawn))
        object.__setattr__(self, "names", _names_of("Mixture", names, items))
        object.__setattr__(self, "notes", notes)

    @property
    def n_positions(self) -> int:  # type: ignore[override]
        """The length of the lists."""
        return int(self.rankings.shape[1])

    def prefix_probabilities(self, rankings: Ints) -> Floats:
        """Return how likely a list begins as each of these does, down to each position."""
        (own, other), sizes = prefix_numbers(self.n_items, self.rankings, rankings)
        found = np.zeros(rankings.shape)
        for k, size in enumerate(sizes):
            chances = np.bincount(own[:, k], weights=self.probabilities, minlength=size + 1)
            found[:, k] = chances[other[:, k]]
        return found

    def marginals(self) -> Floats:
        """Return the probability of each item at each position, (n_items, n_positions)."""
        return table_of(self.n_items, self.rankings, self.probabilities)

    def as_lists(self, seed: int = 0) -> Mixture:
        """Return itself."""
        return self


@dataclasses.dataclass(frozen=True, eq=False)
class UniformLists(Target):
    """Every list of distinct items is as likely.

    >>> UniformLists(n_items=4, n_positions=2).marginals()[0]
    array([0.25, 0.25])
    """

    n_items: int
    n_positions: int

    def __post_init__(self) -> None:
        """Check the shape."""
        check_shape("UniformLists", self.n_items, self.n_positions)

    def prefix_probabilities(self, rankings: Ints) -> Floats:
        """Return how likely a list begins as each of these does, down to each position."""
        steps = 1.0 / np.arange(self.n_items, self.n_items - self.n_positions, -1.0)
        return np.broadcast_to(np.cumprod(steps), rankings.shape)

    def marginals(self) -> Floats:
        """Return the probability of each item at each position, (n_items, n_positions)."""
        return np.full((self.n_items, self.n_positions), 1.0 / self.n_items)

    def as_lists(self, seed: int = 0) -> Mixture:
        """Return all lists, or draws if there are too many."""
        if math.perm(self.n_items, self.n_positions) <= MOST_LISTS:
            return Mixture(all_lists(self.n_items, self.n_positions), self.n_items)
        rng = np.random.default_rng(seed)
        # As many as a matrix of keys may have entries, or the memory goes.
        count = min(MOST_LISTS, 20_000_000 // self.n_items)
        keys = rng.random((count, self.n_items))
        lists = np.argsort(keys, axis=1)[:, : self.n_positions]
        return Mixture(lists, self.n_items, drawn=True)


@dataclasses.dataclass(frozen=True, eq=False)
class Marginals(Target):
    """A policy of which only the probability of each item at each position is known.

    Enough where a click depends on the item and its position alone; lists are refused.

    Parameters
    ----------
    table
        (n_items, n_positions); columns sum to 1.
    names
        As of `Mixture`.
    """

    table: Floats
    names: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        """Check the table."""
        table = np.array(self.table, dtype=np.float64)
        if table.ndim != 2 or not table.size:
            rule = "table must have a row an item and a column a position"
            raise invalid("Marginals", rule, table.shape)
        if not (table >= 0.0).all() or np.abs(table.sum(axis=0) - 1.0).max() > 1e-6:
            raise invalid("Marginals", "columns must be probabilities that sum to 1", self.table)
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "names", _names_of("Marginals", self.names, len(table)))

    @property
    def n_items(self) -> int:  # type: ignore[override]
        """How many items there are to choose from."""
        return int(self.table.shape[0])

    @property
    def n_positions(self) -> int:  # type: ignore[override]
        """The length of the lists."""
        return int(self.table.shape[1])

    def prefix_probabilities(self, rankings: Ints) -> Floats:
        """Refuse."""
        raise CannotEvaluate(_NO_LISTS)

    def marginals(self) -> Floats:
        """Return the table."""
        return self.table

    def as_lists(self, seed: int = 0) -> Mixture:
        """Refuse."""
        raise CannotEvaluate(_NO_LISTS)


_NO_LISTS = "Of the policy only items at positions are known, and not its lists."


def shown_in(log: Impressions, names: NDArray[Any] | None = None) -> Target:
    """Return the policy that chose a log's lists, by their frequencies: today's, on average.

    Parameters
    ----------
    log
        The log of the policy.
    names
        The items of the log that it is to be evaluated on, if that is another: items are numbered
        by them, and one that is not among them is refused.

    Examples
    --------
    >>> log = Impressions.of_arrays([[0, 1]], [[0, 0]], names=["b", "c"])
    >>> shown_in(log, names=np.array(["a", "b", "c"])).marginals().argmax(axis=0)
    array([1, 2])
    """
    rankings, called = log.rankings, log.items
    if names is not None:
        shown = np.flatnonzero(np.bincount(rankings[rankings >= 0], minlength=len(called)))
        numbers = np.full(len(called) + 1, -1, dtype=np.int64)  # the last: where nothing is
        numbers[shown] = _numbers(called[shown].tolist(), names)
        rankings, called = numbers[rankings], names
    if (rankings >= 0).all():
        return Mixture(rankings, len(called), names=called)
    return Marginals(table_of(len(called), rankings), called)


def fixed_list(items: Sequence[Any], names: NDArray[Any]) -> Mixture:
    """Return the target that always shows one list, given by the names of its items.

    >>> fixed_list(["c", "a"], np.array(["a", "b", "c"])).rankings
    array([[2, 0]])
    """
    return Mixture([_numbers(items, names)], len(names), names=names)


def _numbers(items: Sequence[Any], names: NDArray[Any]) -> list[int]:
    """Return the number of each item among the names, or refuse."""
    numbers = {str(name): number for number, name in enumerate(names.tolist())}
    for item in items:
        if str(item) not in numbers:
            raise CannotEvaluate(f"No overlap: the log never shows the item {str(item)!r}.")
    return [numbers[str(item)] for item in items]


def _names_of(owner: str, names: NDArray[Any] | None, n_items: int) -> NDArray[Any] | None:
    if names is None:
        return None
    if np.shape(names) != (n_items,):
        raise invalid(owner, f"there must be a name an item ({n_items})", np.shape(names))
    return np.asarray(names)


def check_of_log(target: Target, log: Impressions, owner: str) -> None:
    """Check that a target has the items and positions of a log."""
    n_items, width = len(log.items), log.rankings.shape[1]
    if (target.n_items, target.n_positions) != (n_items, width):
        rule = f"the policy must have the log's {n_items} items and {width} positions"
        raise invalid(owner, rule, (target.n_items, target.n_positions))
    if target.names is None or target.names is log.items:
        return
    pairs = zip(target.names.tolist(), log.items.tolist(), strict=True)
    for number, (mine, other) in enumerate(pairs):
        if str(mine) != str(other):
            rule = f"item {number} of the policy must be the log's, {str(other)!r} (see names)"
            raise invalid(owner, rule, str(mine))


def all_lists(n_items: int, n_positions: int) -> Ints:
    """Return every list of distinct items, one a row, in order.

    >>> all_lists(3, 2).tolist()
    [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]]
    """
    lists: Ints = np.zeros((1, 0), dtype=np.int64)
    for _ in range(n_positions):
        longer = np.repeat(lists, n_items, axis=0)
        last = np.tile(np.arange(n_items), len(lists))
        fits = (longer != last[:, None]).all(axis=1)
        lists = np.hstack([longer[fits], last[fits, None]])
    return lists


def table_of(n_items: int, rankings: Ints, weights: Floats | None = None) -> Floats:
    """Return the share of each item at each position, among the items known there (not -1)."""
    columns = []
    for column in rankings.T:
        known = column >= 0
        share = None if weights is None else weights[known]
        counted = np.bincount(column[known], weights=share, minlength=n_items)
        columns.append(counted / max(counted.sum(), 1e-300))
    return np.stack(columns, axis=1)


def prefix_numbers(
    n_items: int, known: Ints, *others: Ints
) -> tuple[tuple[NDArray[np.int64], ...], list[int]]:
    """Number what lists begin with, position by position.

    The first lists decide the numbers: at each position from 0 on, in order. Beginnings of other
    lists that none of them has get the number after the last.

    Returns
    -------
    numbers, sizes
        For each array of lists the numbers, in its shape; and for each position how many there are.
    """
    every = (known, *others)
    numbers = tuple(np.empty(lists.shape, dtype=np.int64) for lists in every)
    last = [np.zeros(len(lists), dtype=np.int64) for lists in every]
    sizes: list[int] = []
    for k in range(known.shape[1]):
        keys = [
            before * n_items + lists[:, k]
            for before, lists in zip(last, (known, *others), strict=True)
        ]
        room = n_items * (sizes[-1] + 1 if sizes else 1)
        if room <= 8 * (sum(map(len, keys)) + 1000):  # a table is faster than a search
            there = np.zeros(room, dtype=bool)
            there[keys[0]] = True
            size = int(there.sum())
            number = np.where(there, np.cumsum(there) - 1, size)
            last = [number[key] for key in keys]
        else:
            found = np.unique(keys[0])
            size = found.size
            last = []
            for key in keys:
                place = np.minimum(np.searchsorted(found, key), size - 1)
                last.append(np.where(found[place] == key, place, size))
        sizes.append(size)
        for array, column in zip(numbers, last, strict=True):
            array[:, k] = column
    return numbers, sizes
