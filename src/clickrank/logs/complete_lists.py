"""Which lists are whole: one item at each position down to the last, and each item once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import Ints
from clickrank.logs.counts import NOTHING
from clickrank.logs.log_report import Report


def times_whole(
    lists: NDArray[Any],
    times: Ints,
    twice: Ints,
    spelled: Callable[[NDArray[Any]], str],
    report: Report,
) -> Ints:
    """Return how often each list was seen whole, and note why others are left out.

    Parameters
    ----------
    lists
        Numbers of items, a row a list; -1 where there is none.
    times
        How often each was seen.
    twice
        How many of those had a position twice.
    spelled
        What a list is called in examples; see `spelling`.
    report
        Where problems are noted.
    """
    there = lists != NOTHING
    gap = (there[:, 1:] & ~there[:, :-1]).any(axis=1)
    ordered = np.sort(lists, axis=1)
    again = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != NOTHING)).any(axis=1)
    left = times.copy()
    for kind, bad in (
        ("repeated position", twice),
        ("gap", np.where(gap, left - twice, 0)),
        ("repeated item", np.where(again & ~gap, left - twice, 0)),
    ):
        rows = np.flatnonzero(bad)
        for i, row in enumerate(rows.tolist()):
            if not report.wants_example(kind):
                report.add(kind, "log", count=int(bad[rows[i:]].sum()))
                break
            text = spelled(lists[row])
            report.add(kind, "log", text=text, count=int(bad[row]))
        left -= bad
    return left


def spelling(query: str, items: NDArray[Any], numbers: NDArray[Any]) -> str:
    """Return a list by the names of its query and its items.

    >>> spelling("shoes", np.array(["a", "b"]), np.array([1, -1, 0, -1]))
    'query shoes: b, –, a'
    """
    last = np.flatnonzero(numbers != NOTHING).max() + 1
    names = (str(items[i]) if i != NOTHING else "–" for i in numbers[:last])
    return f"query {query}: {', '.join(names)}"
