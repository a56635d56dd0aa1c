"""Counts of a log, from which click models are fitted.

A *pair* is a query and an item: an item may attract people who asked one query and not those who
asked another. Pairs are numbered 0, 1, 2 … by query and then by item, so that the pairs of a query
have consecutive numbers.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clickrank._core.arrays import Ints
from clickrank._core.validate import check_float, check_int
from clickrank.errors import invalid

#: Stands in `Sessions.items` for positions after the end of a list that is shorter than others.
NOTHING = -1


@dataclasses.dataclass(frozen=True, eq=False)
class Cells:
    """How often each pair was shown and clicked at each position.

    There is one entry per pair and position that occurs, sorted by pair and then by position.
    """

    pair: Ints
    position: Ints  # counted from 0
    shown: Ints
    clicked: Ints


@dataclasses.dataclass(frozen=True, eq=False)
class Sessions:
    """Distinct combinations of a list and the clicks on it, and how often each one occurs."""

    items: NDArray[np.int32]  # (n, n_positions), numbers of pairs, or NOTHING
    clicks: NDArray[np.uint8]  # (n, n_positions), 0 or 1
    times: Ints  # (n,)


@dataclasses.dataclass(frozen=True, eq=False)
class Counts:
    """The counts of a log.

    Parameters
    ----------
    n_positions
        The length of the longest list.
    queries
        The names of the queries, sorted.
    pair_query
        The index of the query of each pair, in ascending order.
    pair_item
        The name of the item of each pair.
    cells
        Displays and clicks by pair and position.
    sessions
        The lists with their clicks; None if the log does not say which rows were shown together.
    """

    n_positions: int
    queries: NDArray[Any]
    pair_query: Ints
    pair_item: NDArray[Any]
    cells: Cells
    sessions: Sessions | None

    @property
    def n_pairs(self) -> int:
        """How many pairs of query and item there are."""
        return self.pair_query.size

    @functools.cached_property
    def n_impressions(self) -> int:
        """How many lists were shown; displays of items if lists are not known."""
        return int((self.cells.shown if self.sessions is None else self.sessions.times).sum())

    @classmethod
    def of_lists(
        cls,
        items: ArrayLike,
        clicks: ArrayLike,
        *,
        names: Sequence[str] | None = None,
        query: str = "",
    ) -> Counts:
        """Count the lists of one query.

        Parameters
        ----------
        items
            Numbers of the items shown, one row per list; -1 after the end of a shorter list.
        clicks
            1 where an item was clicked, otherwise 0.
        names
            The names of the items; by default their numbers.
        query
            The name of the query.

        Examples
        --------
        >>> counts = Counts.of_lists([[0, 1], [0, 1], [1, 0]], [[1, 0], [1, 0], [0, 0]])
        >>> counts.cells.shown, counts.cells.clicked
        (array([2, 1, 1, 2]), array([2, 0, 0, 0]))
        >>> counts.sessions.times
        array([2, 1])
        """
        lists, clicked = np.asarray(items, dtype=np.int32), np.asarray(clicks, dtype=np.uint8)
        if lists.ndim != 2 or lists.shape != clicked.shape:
            rule = f"items and clicks must have the same two dimensions, items have {lists.shape}"
            raise invalid("Counts", rule, clicked.shape)
        n_items = int(lists.max(initial=-1)) + 1 if names is None else len(names)
        if not ((lists >= NOTHING) & (lists < n_items)).all():
            raise invalid("Counts", f"items must be between -1 and {n_items - 1}", lists.max())
        if (clicked[lists == NOTHING] > 0).any() or clicked.max(initial=0) > 1:
            raise invalid("Counts", "clicks must be 0 or 1, and 0 where there is no item", clicked)
        called = [str(i) for i in range(n_items)] if names is None else list(names)
        sessions = merge_equal_lists(
            Sessions(lists, clicked, np.ones(lists.shape[0], dtype=np.int64))
        )
        return cls(
            lists.shape[1],
            texts([query]),
            np.zeros(n_items, dtype=np.int64),
            texts(called),
            cells_of(sessions),
            sessions,
        )

    def of_query(self, query: str) -> Counts:
        """Return the counts of one query; its pairs are numbered from 0.

        >>> counts = Counts.of_lists([[0, 1]], [[1, 0]], query="shoes")
        >>> counts.of_query("shoes").n_pairs
        2
        """
        found = np.flatnonzero(self.queries == query)
        if not found.size:
            raise invalid("Counts", "query must be one of the queries of the log", query)
        first, end = np.searchsorted(self.pair_query, [found[0], found[0] + 1])
        cells = self.cells
        mine = (cells.pair >= first) & (cells.pair < end)
        kept = Cells(
            cells.pair[mine] - first,
            cells.position[mine],
            cells.shown[mine],
            cells.clicked[mine],
        )
        sessions = None
        if self.sessions is not None:
            whose = self.sessions.items[:, 0]
            rows = (whose >= first) & (whose < end)
            lists = self.sessions.items[rows]
            lists[lists != NOTHING] -= np.int32(first)
            sessions = Sessions(lists, self.sessions.clicks[rows], self.sessions.times[rows])
        return Counts(
            self.n_positions,
            self.queries[found],
            np.zeros(end - first, dtype=np.int64),
            self.pair_item[first:end],
            kept,
            sessions,
        )

    def split(self, share: float, seed: int = 0) -> tuple[Counts, Counts]:
        """Split the log at random: each impression is in the first part with probability ``share``.

        Impressions are lists, or single displays where lists are not known. Both parts have all
        pairs of the log, so that a model fitted to one part can predict the other.

        >>> counts = Counts.of_lists([[0, 1]] * 1000, [[1, 0]] * 1000)
        >>> train, test = counts.split(0.75, seed=1)
        >>> train.n_impressions + test.n_impressions
        1000
        """
        chance = check_float("Counts.split", "share", share, 0.0, 1.0)
        rng = np.random.default_rng(check_int("Counts.split", "seed", seed, 0))
        if self.sessions is not None:
            taken = rng.binomial(self.sessions.times, chance)
            return (
                self._with_sessions(self.sessions, taken),
                self._with_sessions(self.sessions, self.sessions.times - taken),
            )
        cells = self.cells
        clicked = rng.binomial(cells.clicked, chance)
        shown = clicked + rng.binomial(cells.shown - cells.clicked, chance)
        return (
            self._with_cells(shown, clicked),
            self._with_cells(cells.shown - shown, cells.clicked - clicked),
        )

    def _with_sessions(self, sessions: Sessions, times: Ints) -> Counts:
        """Return the counts of these lists, each as often as ``times`` says."""
        seen = times > 0
        kept = Sessions(sessions.items[seen], sessions.clicks[seen], times[seen])
        return dataclasses.replace(self, cells=cells_of(kept), sessions=kept)

    def _with_cells(self, shown: Ints, clicked: Ints) -> Counts:
        seen = shown > 0
        cells = self.cells
        kept = Cells(cells.pair[seen], cells.position[seen], shown[seen], clicked[seen])
        return dataclasses.replace(self, cells=kept)


def cells_of(sessions: Sessions) -> Cells:
    """Count displays and clicks by pair and position."""
    found = []
    for position in range(sessions.items.shape[1]):  # one position at a time, to save memory
        there = sessions.items[:, position] != NOTHING
        pairs, times = sessions.items[there, position], sessions.times[there]
        shown = np.bincount(pairs, weights=times)  # exact: below 2^53
        clicked = np.bincount(pairs, weights=times * sessions.clicks[there, position])
        pair = np.flatnonzero(shown)
        found.append((pair, np.full(pair.size, position), shown[pair], clicked[pair]))
    columns = [np.concatenate(part).astype(np.int64) for part in zip(*found, strict=True)]
    order = np.lexsort((columns[1], columns[0]))
    return Cells(*(column[order] for column in columns))


def texts(values: Sequence[str]) -> NDArray[Any]:
    """Return names as a NumPy array of strings of variable length."""
    return np.array(values, dtype=np.dtypes.StringDType())


def merge_equal_lists(sessions: Sessions) -> Sessions:
    """Merge equal rows, in the order of their first occurrence.

    >>> items, clicks = np.array([[7], [3], [7]], np.int32), np.zeros((3, 1), np.uint8)
    >>> merge_equal_lists(Sessions(items, clicks, np.ones(3, np.int64))).times
    array([2, 1])
    """
    # Rows are turned into numbers, with as many columns at a time as 62 bits hold, because sorting
    # whole rows takes ten times as long.
    most = int(sessions.items.max(initial=NOTHING)) + 2
    code, size = np.zeros(sessions.times.size, dtype=np.int64), 1
    for table, base in ((sessions.clicks, 2), (sessions.items, most)):
        for column in table.T:
            if size * base > 2**62:
                _, code = np.unique(code, return_inverse=True)
                size = int(code.max(initial=0)) + 1
            code = code * base + (column.astype(np.int64) % base)
            size *= base
    _, first, where = np.unique(code, return_index=True, return_inverse=True)
    times = np.bincount(where, sessions.times, first.size).astype(np.int64)
    order = np.argsort(first)
    rows = first[order]
    return Sessions(sessions.items[rows], sessions.clicks[rows], times[order])
