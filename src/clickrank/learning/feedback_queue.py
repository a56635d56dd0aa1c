"""FeedbackQueue: passes feedback on in the order in which the lists were shown."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import Ints

#: Default for the number of lists with feedback that may wait for earlier lists of their context.
MOST_WAITING = 100


class Pending(NamedTuple):
    """A list that was shown, with its clicks once the feedback has come."""

    context: str
    ranking: Ints
    memo: Ints
    version: int  # of the catalogue
    clicks: Ints | None = None


class FeedbackQueue:
    """Holds lists with feedback back until the feedback on all earlier lists has come.

    At most ``most`` lists are held back. If there are more, the earliest list without feedback is
    skipped: the others no longer wait for it, and if its feedback does come, it is passed on
    immediately.
    """

    def __init__(self, most: int) -> None:
        """Start without lists."""
        self._most = most
        self._open: dict[
            int, None
        ] = {}  # lists without feedback that others wait for, in shown order
        self._order: list[int] = []  # a heap of the numbers in `held`
        self.held: dict[int, Pending] = {}

    def shown(self, number: int) -> None:
        """Add a list that was shown; its number must be larger than all before."""
        self._open[number] = None

    def waits_for(self, number: int) -> bool:
        """Return whether later lists wait for this one."""
        return number in self._open

    def answered(self, number: int, pending: Pending) -> Iterator[Pending]:
        """Take the feedback on a list, and yield the lists to learn from now, in shown order."""
        if number not in self._open:
            yield pending
            return
        del self._open[number]
        self.hold(number, pending)
        yield from self._released()

    def hold(self, number: int, pending: Pending) -> None:
        """Hold back a list with feedback."""
        heapq.heappush(self._order, number)
        self.held[number] = pending

    def gone(self, number: int) -> Iterator[Pending]:
        """Remove a list that gets no feedback, and yield the lists to learn from now."""
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


def pending_arrays(
    lists: Mapping[int, Pending], contexts: Sequence[str], n_positions: int, prefix: str
) -> dict[str, NDArray[Any]]:
    """Return lists as arrays; a context is stored as its index in ``contexts``."""
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


def pending_from_arrays(
    arrays: Mapping[str, NDArray[Any]], contexts: Sequence[str], prefix: str, clicks: bool
) -> Iterable[tuple[int, Pending]]:
    """Yield the numbers and lists that were given to `pending_arrays`."""
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
