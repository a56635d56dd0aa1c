"""What is counted of a log: all that click models are fitted from.

A *pair* is an item for a query: what attracts people who asked for one thing need not attract
others. Pairs are numbered 0, 1, 2 … by query and then by item, so that those of a query are beside
each other.
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

#: In `Sessions.items`, where a list is shorter than others.
NOTHING = -1


@dataclasses.dataclass(frozen=True, eq=False)
class Cells:
    """How often each pair was shown at each position, and clicked there; a row a cell that was.

    Rows are in the order of pairs, then positions.
    """

    pair: Ints
    position: Ints  # from 0 on
    shown: Ints
    clicked: Ints


@dataclasses.dataclass(frozen=True, eq=False)
class Sessions:
    """Lists with the clicks on them, and how often just this was seen; no two rows are the same."""

    items: NDArray[np.int32]  # (n, n_positions), of pairs; NOTHING after the end of a shorter list
    clicks: NDArray[np.uint8]  # (n, n_positions), 0 or 1
    times: Ints  # (n,)


@dataclasses.dataclass(frozen=True, eq=False)
class Counts:
    """A log in numbers.

    Parameters
    ----------
    n_positions
        The length of the longest list.
    queries
        Their names, in order.
    pair_query
        The number of each pair's query; it never falls.
    pair_item
        The name of each pair's item.
    cells
        Displays and clicks by pair and position.
    sessions
        Whole lists with their clicks; None if the log does not say what was shown together.
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
            Numbers of the items shown, a row a list; -1 after the end of a shorter list.
        clicks
            1 where an item was clicked, else 0.
        names
            What the items are called; their numbers if left out.
        query
            What the query is called.

        Examples
        --------
        >>> counts = Counts.of_lists([[0, 1], [0, 1], [1, 0]], [[1, 0], [1, 0], [0, 0]])
        >>> counts.cells.shown, counts.cells.clicked
        (array([2, 1, 1, 2]), array([2, 0, 0, 0]))
        >>> counts.sessions.times
        array([2, 1])
        """
        lists, marks = np.asarray(items, dtype=np.int32), np.asarray(clicks, dtype=np.uint8)
        if lists.ndim != 2 or lists.shape != marks.shape:
            rule = f"items and clicks must have the same two dimensions, items have {lists.shape}"
            raise invalid("Counts", rule, marks.shape)
        n_items = int(lists.max(initial=-1)) + 1 if names is None else len(names)
        if not ((lists >= NOTHING) & (lists < n_items)).all():
            raise invalid("Counts", f"items must be between -1 and {n_items - 1}", lists.max())
        if (marks[lists == NOTHING] > 0).any() or marks.max(initial=0) > 1:
            raise invalid("Counts", "clicks must be 0 or 1, and 0 where no item is", marks)
        called = [str(i) for i in range(n_items)] if names is None else list(names)
        sessions = merged(Sessions(lists, marks, np.ones(lists.shape[0], dtype=np.int64)))
        return cls(
            lists.shape[1],
            texts([query]),
            np.zeros(n_items, dtype=np.int64),
            texts(called),
            cells_of(sessions),
            sessions,
        )

    def of_query(self, query: str) -> Counts:
        """Return the counts of one query alone; its pairs are numbered from 0 on.

        >>> counts = Counts.of_lists([[0, 1]], [[1, 0]], query="shoes")
        >>> counts.of_query("shoes").n_pairs
        2
        """
        found = np.flatnonzero(self.queries == query)
        if not found.size:
            raise invalid("Counts", "query must be one of the log", query)
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
        """Part the log at random: each impression is in the first part with probability ``share``.

        Impressions are lists, or single displays where lists are not known. Both parts have the
        pairs of the whole, so that a model fitted to one can be asked about the other.

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
        """Return counts of these lists, seen so often; those never seen are left out."""
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
    for position in range(sessions.items.shape[1]):  # one at a time: logs may be large
        there = sessions.items[:, position] != NOTHING
        pairs, times = sessions.items[there, position], sessions.times[there]
        shown = np.bincount(pairs, weights=times)  # exact: below 2^53
        clicked = np.bincount(pairs, weights=times * sessions.clicks[there, position])
        pair = np.flatnonzero(shown)
        found.append((pair, np.full(pair.size, position), shown[pair], clicked[pair]))
    columns = [np.concatenate(part).astype(np.int64) for part in zip(*found, strict=True)]
    order = np.lexsort((columns[1], columns[0]))
    pair, at, shown, clicked = (column[order] for column in columns)
    return Cells(pair, at, shown, clicked)


def texts(values: Sequence[str]) -> NDArray[Any]:
    """Return names as an array."""
    return np.array(values, dtype=np.dtypes.StringDType())


def merged(sessions: Sessions) -> Sessions:
    """Merge rows that are the same, in the order in which they come first.

    >>> items, clicks = np.array([[7], [3], [7]], np.int32), np.zeros((3, 1), np.uint8)
    >>> merged(Sessions(items, clicks, np.ones(3, np.int64))).times
    array([2, 1])
    """
    # Rows become numbers, as many columns at a time as 62 bits hold: sorting rows takes ten times
    # as long.
    most = int(sessions.items.max(initial=NOTHING)) + 2
    mark, size = np.zeros(sessions.times.size, dtype=np.int64), 1
    for table, base in ((sessions.clicks, 2), (sessions.items, most)):
        for column in table.T:
            if size * base > 2**62:
                _, mark = np.unique(mark, return_inverse=True)
                size = int(mark.max(initial=0)) + 1
            mark = mark * base + (column.astype(np.int64) % base)
            size *= base
    _, first, where = np.unique(mark, return_index=True, return_inverse=True)
    times = np.bincount(where, sessions.times, first.size).astype(np.int64)
    order = np.argsort(first)
    rows = first[order]
    return Sessions(sessions.items[rows], sessions.clicks[rows], times[order])
