"""Filters that select a part of a log, as the papers do."""

from __future__ import annotations

import dataclasses
from typing import Any

from clickrank._core.validate import check_int
from clickrank.logs.query_engine import materialise
from clickrank.logs.schema import kind_of


@dataclasses.dataclass(frozen=True)
class Filters:
    """The part of a log that is used; filters are applied in this order.

    Parameters
    ----------
    positions
        The number of positions of each list that are used, from the top.
    min_displays
        The number of times that an item must have been shown at every position for its query. Where
        lists are known, lists with any other item are left out.
    min_items
        The number of such items that a query must have.
    top_queries
        The number of queries that are used, the most frequent first; ties are broken by their text.

    **Source**: of the KDD Cup 2012 log, lagree2016 and gauthier2022 use the ads that were shown at
    least 1,000 times at every position, and the queries with at least 5 such ads.
    """

    positions: int | None = None
    min_displays: int | None = None
    min_items: int | None = None
    top_queries: int | None = None

    def __post_init__(self) -> None:
        for name, value in dataclasses.asdict(self).items():
            if value is not None:
                check_int("Filters", name, value, 1)

    def __bool__(self) -> bool:
        return any(value is not None for value in dataclasses.asdict(self).values())

    def apply(self, rows: Any) -> Any:
        """Return the selected rows of an Ibis table."""
        if self.positions is not None:
            rows = rows.filter(rows.position <= self.positions)
        if self.min_displays is not None or self.min_items is not None:
            rows = self._of_items(rows)
        if self.top_queries is not None:
            counted = rows if kind_of(rows.columns) != "lists" else rows.filter(rows.position == 1)
            often = counted.group_by("query").agg(n=displays(counted))
            most = often.order_by([often.n.desc(), often.query]).limit(self.top_queries)
            rows = rows.semi_join(materialise(most.select("query")), "query")
        return rows

    def _of_items(self, rows: Any) -> Any:
        cells = rows.group_by("query", "item", "position").agg(n=displays(rows))
        enough = cells.filter(cells.n >= (self.min_displays or 1))
        pairs = enough.group_by("query", "item").agg(places=enough.count())
        if self.min_displays is not None:
            longest = rows.position.max().to_pyarrow().as_py()
            pairs = pairs.filter(pairs.places == (0 if longest is None else int(longest)))
        if self.min_items is not None:
            each = pairs.group_by("query").agg(n=pairs.count())
            pairs = pairs.semi_join(each.filter(each.n >= self.min_items), "query")
        selected = materialise(pairs.select("query", "item"))
        if kind_of(rows.columns) != "lists":
            return rows.semi_join(selected, ["query", "item"])
        others = rows.anti_join(selected, ["query", "item"])
        lists = materialise(others.select("query", "impression_id").distinct())
        return rows.anti_join(lists, ["query", "impression_id"])


def displays(rows: Any) -> Any:
    """Return the number of displays in rows, as an Ibis expression."""
    return rows.shown.sum() if kind_of(rows.columns) == "counted" else rows.count()
