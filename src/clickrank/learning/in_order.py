"""Lists of one context, learned from in the order shown though clicks come in any order."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import Ints

#: How many lists with clicks may wait for earlier lists of their context, unless stated otherwise.
MOST_WAITING = 100


class Pending(NamedTuple):
    """A list that was shown, and its clicks once they have come."""

    context: str
    ranking: Ints
    memo: Ints
    version: int  # of the catalogue
    clicks: Ints | None = None


class InOrder:
    """Holds lists with clicks back until those of all earlier lists have come.

    At most ``most`` lists are held back. One more, and the earliest list without clicks is passed
    over: the others wait for it no longer, and if its clicks do come, they are given out at once.
    """

    def __init__(self, most: int) -> None:
        """Begin without lists."""
        self._most = most
        self._open: dict[int, None] = {}  # lists without clicks that others wait for, as shown
        self._order: list[int] = []  # a heap of the lists that are held back
        self.held: dict[int, Pending] = {}

    def shown(self, number: int) -> None:
        """Note a list that was shown; numbers only grow."""
        self._open[number] = None

    def waits_for(self, number: int) -> bool:
        """Return whether later lists wait for this one."""
        return number in self._open

    def answered(self, number: int, pending: Pending) -> Iterator[Pending]:
        """Take in the clicks on a list; yields the lists to learn from now, in order."""
        if number not in self._open:
            yield pending
            return
        del self._open[number]
        self.hold(number, pending)
        yield from self._released()

    def hold(self, number: int, pending: Pending) -> None:
        """Hold a list back."""
        heapq.heappush(self._order, number)
        self.held[number] = pending

    def gone(self, number: int) -> Iterator[Pending]:
        """Wait no longer for a list whose clicks will not come; yields what to learn from now."""
        self._open.pop(number, None)
        yield from self._released()

    def _released(self) -> Iterator[Pending]:
        while self._order:
            first = next(iter(self._open), None)
            if first is not None and first < self._order[0]:
                if len(self._order) <= self._most:
                    return
                del self._open[first]
                continue
            yield self.held.pop(heapq.heappop(self._order))


def packed(
    lists: Mapping[int, Pending], contexts: Sequence[str], n_positions: int, prefix: str
) -> dict[str, NDArray[Any]]:
    """Return lists as arrays; the context is the place among ``contexts``."""
    rows = list(lists.values())
    place = {name: i for i, name in enumerate(contexts)}
    columns = [(place[row.context], row.version, row.memo.size) for row in rows]
    none = np.zeros(n_positions, dtype=np.int64)
    arrays = {
        "number": np.array(list(lists), dtype=np.int64),
        "columns": np.array(columns, dtype=np.int64).reshape(-1, 3),
        "rankings": np.array([r.ranking for r in rows], dtype=np.int64).reshape(-1, n_positions),
        "clicks": np.array(
            [none if r.clicks is None else r.clicks for r in rows], dtype=np.int64
        ).reshape(-1, n_positions),
        "memos": np.concatenate([np.zeros(0, dtype=np.int64), *(row.memo for row in rows)]),
    }
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def unpacked(
    arrays: Mapping[str, NDArray[Any]], contexts: Sequence[str], prefix: str, clicks: bool
) -> Iterable[tuple[int, Pending]]:
    """Yield the lists that `packed` was given, with their numbers."""
    columns, memos = arrays[f"{prefix}.columns"], arrays[f"{prefix}.memos"]
    ends = np.cumsum(columns[:, 2])
    for row, number in enumerate(arrays[f"{prefix}.number"].tolist()):
        context, version, size = columns[row].tolist()
        yield (
            number,
            Pending(
                contexts[context],
                arrays[f"{prefix}.rankings"][row],
                memos[ends[row] - size : ends[row]],
                version,
                arrays[f"{prefix}.clicks"][row] if clicks else None,
            ),
        )
