"""Lists of a session, with the clicks on them, and their conversion to tables of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from clickrank.logs.log_report import LogReport
from clickrank.logs.schema import schema_of

#: The number of rows in a table.
ROWS = 200_000


class ShownList:
    """A list that was shown, and the clicks on its items."""

    __slots__ = ("clicks", "impression_id", "items", "query")

    def __init__(self, impression_id: str, query: str, items: list[str]) -> None:
        self.impression_id = impression_id
        self.query = query
        self.items = items
        self.clicks = [0] * len(items)


class RowBuffer:
    """Collects the rows of lists until there are enough for a table."""

    def __init__(self, with_user: bool) -> None:
        names = ["impression_id", "query", "position", "item", "click"]
        self._schema = schema_of([*names, "user"] if with_user else names)
        self._clear()

    def _clear(self) -> None:
        self._ids: list[str] = []
        self._queries: list[str] = []
        self._users: list[str | None] = []
        self._lengths: list[int] = []
        self._items: list[str] = []
        self._clicks: list[int] = []

    def add(self, shown: ShownList, user: str | None = None) -> None:
        """Add the rows of a list."""
        self._ids.append(shown.impression_id)
        self._queries.append(shown.query)
        self._users.append(user)
        self._lengths.append(len(shown.items))
        self._items += shown.items
        self._clicks += shown.clicks

    @property
    def full(self) -> bool:
        """Whether there are enough rows for a table."""
        return len(self._items) >= ROWS

    def take_table(self) -> pa.Table:
        """Return the rows as a table, and empty the buffer."""
        lengths = np.array(self._lengths, dtype=np.int64)
        of = np.repeat(np.arange(lengths.size), lengths)
        first = np.cumsum(lengths) - lengths

        def each(values: list[Any]) -> Any:
            return pa.array(values, pa.string()).take(pa.array(of, pa.int64()))

        columns = [
            each(self._ids),
            each(self._queries),
            pa.array(np.arange(of.size) - first[of] + 1, pa.int32()),
            pa.array(self._items, pa.string()),
            pa.array(self._clicks, pa.int8()),
        ]
        if "user" in self._schema.names:
            columns.append(each(self._users))
        self._clear()
        return pa.table(columns, schema=self._schema)


def add_click(
    shown: ShownList, item: str, report: LogReport, path: str, line: int, text: str
) -> None:
    """Add a click to a list; report it if the item was not shown or already clicked."""
    try:
        where = shown.items.index(item)
    except ValueError:
        report.add("click not shown", path, line, text)
        return
    if shown.clicks[where]:
        report.add("several clicks", path, line, text)
    shown.clicks[where] = 1


def check_items(items: list[str], report: LogReport, path: str, line: int, text: str) -> bool:
    """Return whether a list has items, each with an id and only once; if not, report it."""
    kind = None
    if not items:
        kind = "empty list"
    elif "" in items:
        kind = "id"
    elif len(set(items)) < len(items):
        kind = "repeated item"
    if kind is None:
        return True
    report.add(kind, path, line, text)
    return False
