"""Which part of a log is looked at: the filters of the papers."""

from __future__ import annotations

import dataclasses
from typing import Any

from clickrank._core.validate import check_int
from clickrank.logs.query_engine import keep
from clickrank.logs.schema import kind_of


@dataclasses.dataclass(frozen=True)
class Filters:
    """What is kept of a log, in this order.

    Parameters
    ----------
    positions
        The first so many of each list.
    min_displays
        Items that were shown at least so often at every position for their query. Where lists are
        known, those that hold another item are left out.
    min_items
        Queries with at least so many items that are kept.
    top_queries
        The so many most frequent queries; of equally frequent ones the first by text.

    **Source**: lagree2016 and gauthier2022 keep of the KDD Cup 2012 log ads shown at least 1,000
    times at every position, and queries with at least 5 such ads.
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

    def applied(self, rows: Any) -> Any:
        """Return the rows that are kept, as an Ibis table."""
        if self.positions is not None:
            rows = rows.filter(rows.position <= self.positions)
        if self.min_displays is not None or self.min_items is not None:
            rows = self._of_items(rows)
        if self.top_queries is not None:
            counted = rows if kind_of(rows.columns) != "lists" else rows.filter(rows.position == 1)
            often = counted.group_by("query").agg(n=displays(counted))
            most = often.order_by([often.n.desc(), often.query]).limit(self.top_queries)
            rows = rows.semi_join(keep(most.select("query")), "query")
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
        kept = keep(pairs.select("query", "item"))
        if kind_of(rows.columns) != "lists":
            return rows.semi_join(kept, ["query", "item"])
        others = rows.anti_join(kept, ["query", "item"])
        lists = keep(others.select("query", "impression_id").distinct())
        return rows.anti_join(lists, ["query", "impression_id"])


def displays(rows: Any) -> Any:
    """Return the number of displays in rows, as an Ibis expression."""
    return rows.shown.sum() if kind_of(rows.columns) == "counted" else rows.count()
