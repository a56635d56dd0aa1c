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

from clickrank.errors import invalid
from clickrank.types import Ints, number

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

    def seen(self) -> Cells:
        """Return those that were shown."""
        rows = self.shown > 0
        return Cells(self.pair[rows], self.position[rows], self.shown[rows], self.clicked[rows])


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
        both, times = np.unique(np.hstack([lists, marks]), axis=0, return_counts=True)
        width = lists.shape[1]
        sessions = Sessions(
            np.ascontiguousarray(both[:, :width]),
            np.ascontiguousarray(both[:, width:]).astype(np.uint8),
            times.astype(np.int64),
        )
        return cls(
            width,
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
        """Part the log in two at random, list by list; the second part has this share of it.

        Both have all queries and pairs of the log, so that what is fitted to one can be scored on
        the other. Where lists are not known, displays are parted one by one.

        >>> counts = Counts.of_lists([[0, 1]] * 1000, [[1, 0]] * 1000)
        >>> [part.n_impressions for part in counts.split(0.25)]
        [731, 269]
        """
        part = number("Counts", "share", share, 0.0, 1.0)
        rng = np.random.default_rng(seed)
        if self.sessions is not None:
            times = self.sessions.times
            drawn = rng.binomial(times, part)
            return self._with_times(times - drawn), self._with_times(drawn)
        cells = self.cells
        shown = rng.binomial(cells.shown, part)
        # Of displays taken at random, so many have a click.
        clicked = rng.hypergeometric(cells.clicked, cells.shown - cells.clicked, shown)
        rest = Cells(cells.pair, cells.position, cells.shown - shown, cells.clicked - clicked)
        return (
            dataclasses.replace(self, cells=rest.seen()),
            dataclasses.replace(
                self, cells=dataclasses.replace(cells, shown=shown, clicked=clicked).seen()
            ),
        )

    def _with_times(self, times: Ints) -> Counts:
        """Return the log with lists seen so often; those never seen are left out."""
        assert self.sessions is not None
        rows = np.flatnonzero(times)
        kept = Sessions(self.sessions.items[rows], self.sessions.clicks[rows], times[rows])
        return dataclasses.replace(self, sessions=kept, cells=cells_of(kept))


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
