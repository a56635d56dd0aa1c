"""Aggregation of rows into counts, written once in Ibis for every engine.

Pairs of query and item are numbered in the order of their text. Lists are assembled for one range
of queries at a time. A range has about `ROWS` rows, so that memory does not grow with the log, and
it has all lists of its queries, so that equal lists are found. Within a range, a list is a row with
one number per position: twice the number of the pair, plus 1 if it was clicked. DuckDB can move
such states of a fixed size to the disk, which it cannot do with lists or text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from clickrank._core.arrays import Ints
from clickrank._core.progress import progress_bar
from clickrank.logs.complete_lists import count_complete, text_of_list
from clickrank.logs.counts import NOTHING, Cells, Counts, Sessions, cells_of
from clickrank.logs.filters import displays
from clickrank.logs.log_report import LogReport, NothingLeft
from clickrank.logs.query_engine import materialise, require_ibis
from clickrank.logs.schema import kind_of

#: The number of rows that are assembled into lists at once.
ROWS = 10_000_000
#: The number of names that are converted to an array at once.
CHUNK = 1_000_000


class Pairs(NamedTuple):
    """The pairs of query and item in a log, and totals of the log."""

    table: Any  # an Ibis table with the columns query, item and pair
    queries: NDArray[Any]  # names of the queries, sorted
    query: Ints  # index of the query of each pair
    item: NDArray[Any]  # name of the item of each pair
    rows: Ints  # number of rows of each pair
    n_items: int  # number of distinct items
    displays: int
    clicks: int


def pairs_of(rows: Any) -> Pairs:
    """Number the pairs in the order of the text of query and item."""
    ibis = require_ibis()
    clicks = rows.clicked.sum() if "clicked" in rows.columns else rows.click.sum()
    each = rows.group_by("query", "item").agg(n=rows.count(), shown=displays(rows), clicked=clicks)
    number = ibis.row_number().over(order_by=[each.query, each.item])
    table = materialise(each.mutate(pair=number.cast("int64")))
    found = table.order_by("pair").to_pyarrow()
    query = found["query"].combine_chunks()
    new = np.ones(len(query), dtype=bool)
    new[1:] = pc.not_equal(query[1:], query[:-1]).to_numpy(zero_copy_only=False)
    return Pairs(
        table.select("query", "item", "pair"),
        _texts(query.filter(pa.array(new))),
        np.cumsum(new) - 1,
        _texts(found["item"].combine_chunks()),
        found["n"].to_numpy().astype(np.int64),
        pc.count_distinct(found["item"]).as_py(),
        int(found["shown"].to_numpy().sum()),
        int(found["clicked"].to_numpy().sum()),
    )


def _texts(column: Any) -> NDArray[Any]:
    found = np.empty(len(column), dtype=np.dtypes.StringDType())
    for start in range(0, len(column), CHUNK):  # Python strings take five times as much memory
        found[start : start + CHUNK] = column[start : start + CHUNK].to_pylist()
    return found


def counts_of(
    rows: Any, pairs: Pairs, report: LogReport, progress: bool | None, with_lists: bool = True
) -> Counts:
    """Count displays and clicks, and lists if the log has them and ``with_lists`` is true.

    Incomplete lists (see `clickrank.logs.complete_lists`) are reported and left out. If
    ``with_lists`` is false, their displays are counted.
    """
    n_positions = int(rows.position.max().to_pyarrow().as_py())
    sessions = None
    if with_lists and kind_of(rows.columns) == "lists":
        sessions = _sessions(rows, pairs, n_positions, report, progress)
        n_positions = sessions.items.shape[1]
        cells = cells_of(sessions)
    else:
        cells = _cells(rows, pairs)
    return Counts(n_positions, pairs.queries, pairs.query, pairs.item, cells, sessions)


def _cells(rows: Any, pairs: Pairs) -> Cells:
    clicked = rows.clicked if "clicked" in rows.columns else rows.click
    counted = rows.group_by("query", "item", "position").agg(
        shown=displays(rows), clicked=clicked.sum()
    )
    found = counted.inner_join(pairs.table, ["query", "item"]).select(
        "pair", "position", "shown", "clicked"
    )
    table = found.to_pyarrow()
    pair, position, shown, clicks = (
        table[name].to_numpy().astype(np.int64) for name in ("pair", "position", "shown", "clicked")
    )
    order = np.lexsort((position, pair))
    return Cells(pair[order], position[order] - 1, shown[order], clicks[order])


def _sessions(
    rows: Any, pairs: Pairs, n_positions: int, report: LogReport, progress: bool | None
) -> Sessions:
    items: list[NDArray[np.int32]] = []
    clicks: list[NDArray[np.uint8]] = []
    times: list[Ints] = []

    def list_text(numbers: NDArray[Any]) -> str:
        return text_of_list(str(pairs.queries[pairs.query[numbers.max()]]), pairs.item, numbers)

    with progress_bar("Counting lists", int(pairs.rows.sum()), progress) as tick:
        for low, high, size in _ranges(pairs):
            code, count, twice = _lists(rows, pairs, low, high, n_positions)
            found = np.where(code < 0, NOTHING, code >> 1).astype(np.int32)
            count = count_complete(found, count, twice, list_text, report)
            good = count > 0
            items.append(found[good])
            clicks.append(((code & 1) * (code >= 0)).astype(np.uint8)[good])
            times.append(count[good])
            tick(size)
    width = max(int((some != NOTHING).any(axis=0).sum()) for some in items)
    if width == 0:
        rule = "the log must have a list without gaps or repeated items"
        raise NothingLeft("log", rule, 0, report.problems)
    return Sessions(
        np.concatenate([some[:, :width] for some in items]),
        np.concatenate([some[:, :width] for some in clicks]),
        np.concatenate(times),
    )


def _ranges(pairs: Pairs) -> Iterator[tuple[str | None, str | None, int]]:
    """Yield ranges of queries with about `ROWS` rows: first query, query after the last, rows."""
    sizes = np.bincount(pairs.query, weights=pairs.rows).astype(np.int64)
    chunk = (np.cumsum(sizes) - sizes) // ROWS
    starts = np.flatnonzero(np.r_[True, chunk[1:] != chunk[:-1]])
    names = [str(name) for name in pairs.queries[starts]]
    for i, size in enumerate(np.add.reduceat(sizes, starts).tolist()):
        yield (names[i] if i else None, names[i + 1] if i + 1 < len(names) else None, size)


def _lists(
    rows: Any, pairs: Pairs, low: str | None, high: str | None, n_positions: int
) -> tuple[NDArray[Any], Ints, Ints]:
    """Return the distinct lists of a range of queries.

    Returns the code at each position (-1 where nothing was shown), how often each list was shown,
    and how many of those impressions had a position twice.
    """

    def within(table: Any) -> Any:
        if low is not None:
            table = table.filter(table.query >= low)
        return table if high is None else table.filter(table.query < high)

    small = 2 * pairs.query.size < 2**31
    joined = within(rows).inner_join(within(pairs.table), ["query", "item"])
    coded = joined.select(
        "query",
        "impression_id",
        "position",
        code=(joined.pair * 2 + joined.click.cast("int64")).cast("int32" if small else "int64"),
    )
    names = [f"at_{k}" for k in range(1, n_positions + 1)]
    lists = coded.group_by("query", "impression_id").agg(
        n=coded.count(),
        **{
            name: coded.code.max(where=coded.position == k) for k, name in enumerate(names, start=1)
        },
    )
    full = sum(lists[name].notnull().cast("int64") for name in names)
    plain = lists.select(
        **{name: lists[name].fill_null(-1) for name in names},
        twice=(lists.n > full).cast("int64"),
    )
    found = plain.group_by(names).agg(times=plain.count(), twice=plain.twice.sum())
    table = found.order_by(names).to_pyarrow()
    code = np.stack([table[name].to_numpy() for name in names], axis=1)
    return (
        code,
        table["times"].to_numpy().astype(np.int64),
        table["twice"].to_numpy().astype(np.int64),
    )
