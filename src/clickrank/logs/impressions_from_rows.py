"""Impressions of a query, assembled from the rows of a log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clickrank._core.arrays import Floats, Ints
from clickrank.logs.aggregate import Pairs
from clickrank.logs.complete_lists import count_complete, text_of_list
from clickrank.logs.counts import NOTHING
from clickrank.logs.impressions import Impressions
from clickrank.logs.log_report import LogReport
from clickrank.logs.schema import ORDER

#: The number of rows that are read at once, if there are several queries.
ROWS = 1_000_000


def sorted_rows(rows: Any) -> pa.Table:
    """Return the rows of an Ibis table, sorted by query and then by their order in the log."""
    found: pa.Table = rows.order_by("query", *ORDER).drop("query", *ORDER).to_pyarrow()
    return found


def tables_by_query(
    rows: Any, pairs: Pairs, given: Sequence[str] | None
) -> Iterator[tuple[list[str], list[int], pa.Table]]:
    """Yield the rows of a few queries at a time, with the names of these and their row counts."""
    sizes = np.bincount(pairs.query, weights=pairs.rows).astype(np.int64)
    names = pairs.queries
    if given is not None:
        chosen = np.searchsorted(names, np.array(given, dtype=names.dtype))
        names, sizes = names[chosen], sizes[chosen]
    ends = np.cumsum(sizes)
    start = 0
    while start < names.size:
        most = ends[start] - sizes[start] + ROWS
        stop = max(int(np.searchsorted(ends, most, side="right")), start + 1)
        some = [str(name) for name in names[start:stop]]
        part = rows.filter((rows.query >= some[0]) & (rows.query <= some[-1]))
        if given is not None:
            part = part.filter(part.query.isin(some))
        yield some, sizes[start:stop].tolist(), sorted_rows(part)
        start = stop


def impressions_of(table: pa.Table, query: str, report: LogReport) -> Impressions:
    """Return the impressions in these rows of one query, in the order in which they were shown.

    That is the order of their times, or of their rows unless all have a time. Incomplete lists are
    reported and left out.
    """
    rows = np.arange(table.num_rows)
    names, item = _numbered(table["item"])
    known = "impression_id" in table.column_names
    # Lists are numbered in the order of their first rows.
    of = _coded(table["impression_id"])[1] if known else rows
    n, width = int(of.max()) + 1, int(table["position"].to_numpy().max())
    position = table["position"].to_numpy().astype(np.int64) - 1
    rankings = np.full((n, width), NOTHING, dtype=np.int64)
    rankings[of, position] = item
    clicks = np.zeros((n, width), dtype=np.uint8)
    clicks[of, position] = table["click"].to_numpy()
    times = None
    if "timestamp" in table.column_names and table["timestamp"].null_count == 0:
        first = np.full(n, table.num_rows)
        np.minimum.at(first, of, rows)
        times = table["timestamp"].cast(pa.int64()).to_numpy()[first]
    order = np.arange(n) if times is None else np.argsort(times, kind="stable")
    if known:
        twice = np.bincount(of, minlength=n) > (rankings != NOTHING).sum(axis=1)
        complete = count_complete(
            rankings,
            np.ones(n, dtype=np.int64),
            twice.astype(np.int64),
            lambda numbers: text_of_list(query, names, numbers),
            report,
        )
        order = order[complete[order] > 0]
        width = int((rankings[order] != NOTHING).any(axis=0).sum())
    probability = {
        name: _by_list_and_position(table, name, of, position, rankings.shape, order, width)
        for name in ("propensity", "prefix_propensity")
    }
    return Impressions(
        names,
        rankings[order, :width],
        clicks[order, :width],
        **probability,
        timestamp=None if times is None else times[order],
    )


def _coded(column: Any) -> tuple[Any, Ints]:
    """Return the distinct texts of a column in order of appearance, and the index of each row."""
    coded = column.combine_chunks().dictionary_encode()
    return coded.dictionary, coded.indices.to_numpy().astype(np.int64)


def _numbered(column: Any) -> tuple[NDArray[Any], Ints]:
    """Return the distinct texts of a column, sorted, and the index of each row."""
    found, number = _coded(column)
    texts = np.array(found.to_pylist(), dtype=np.dtypes.StringDType())
    order = np.argsort(texts)
    rank = np.empty(order.size, dtype=np.int64)
    rank[order] = np.arange(order.size)
    return texts[order], rank[number]


def _by_list_and_position(
    table: Any,
    name: str,
    of: Ints,
    position: Ints,
    shape: tuple[int, ...],
    order: Ints,
    width: int,
) -> Floats | None:
    """Return a column as a matrix, one row per list; None if all of its values are unknown."""
    if name not in table.column_names or table[name].null_count == table.num_rows:
        return None
    found = np.full(shape, np.nan)
    found[of, position] = table[name].to_numpy()
    return found[order, :width]
