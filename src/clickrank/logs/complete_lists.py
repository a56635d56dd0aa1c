"""Complete lists: those with one item at each position down to the last, and each item once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import Ints
from clickrank.logs.counts import NOTHING
from clickrank.logs.log_report import LogReport


def count_complete(
    lists: NDArray[Any],
    times: Ints,
    twice: Ints,
    list_text: Callable[[NDArray[Any]], str],
    report: LogReport,
) -> Ints:
    """Return how often each list was shown complete, and report why other impressions are not.

    Parameters
    ----------
    lists
        Numbers of items, one row per list; -1 where there is no item.
    times
        How often each list was shown.
    twice
        How many of those impressions had a position twice.
    list_text
        Returns the text of a list for examples, as `text_of_list` does.
    report
        The report to which problems are added.
    """
    there = lists != NOTHING
    gap = (there[:, 1:] & ~there[:, :-1]).any(axis=1)
    ordered = np.sort(lists, axis=1)
    again = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != NOTHING)).any(axis=1)
    complete = times.copy()
    for kind, bad in (
        ("repeated position", twice),
        ("gap", np.where(gap, complete - twice, 0)),
        ("repeated item", np.where(again & ~gap, complete - twice, 0)),
    ):
        rows = np.flatnonzero(bad)
        for i, row in enumerate(rows.tolist()):
            if not report.wants_example(kind):
                report.add(kind, "log", count=int(bad[rows[i:]].sum()))
                break
            text = list_text(lists[row])
            report.add(kind, "log", text=text, count=int(bad[row]))
        complete -= bad
    return complete


def text_of_list(query: str, items: NDArray[Any], numbers: NDArray[Any]) -> str:
    """Return the names of the query and of the items of a list.

    >>> text_of_list("shoes", np.array(["a", "b"]), np.array([1, -1, 0, -1]))
    'query shoes: b, –, a'
    """
    last = np.flatnonzero(numbers != NOTHING).max() + 1
    names = (str(items[i]) if i != NOTHING else "–" for i in numbers[:last])
    return f"query {query}: {', '.join(names)}"
