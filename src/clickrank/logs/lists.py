"""The single lists of a query, from its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank.errors import invalid
from clickrank.logs.counts import NOTHING
from clickrank.logs.impressions import Impressions
from clickrank.logs.report import Report
from clickrank.types import Floats, Ints


def impressions_of(rows: Any, query: str, report: Report) -> Impressions:
    """Return the lists that these rows of one query make, in the order they were shown.

    That is the order of their times, or of the file if it has none. Lists that are not whole are
    left out, as where lists are counted.
    """
    table = rows.to_pyarrow()
    if not table.num_rows:
        raise invalid("impressions", "query must be one of the log", query)
    names, item = _numbered(table["item"])
    if "impression_id" in table.column_names:
        _, of = _numbered(table["impression_id"])
    else:
        of = np.arange(table.num_rows)
    n, width = int(of.max()) + 1, int(table["position"].to_numpy().max())
    position = table["position"].to_numpy().astype(np.int64) - 1
    rankings = np.full((n, width), NOTHING, dtype=np.int64)
    rankings[of, position] = item
    clicks = np.zeros((n, width), dtype=np.uint8)
    clicks[of, position] = table["click"].to_numpy()
    first = np.full(n, table.num_rows)
    np.minimum.at(first, of, np.arange(table.num_rows))
    times = None
    if "timestamp" in table.column_names and table["timestamp"].null_count == 0:
        times = table["timestamp"].cast("int64").to_numpy()[first]
    good = np.ones(n, dtype=bool)
    if "impression_id" in table.column_names:
        good = _whole(rankings) & (
            np.bincount(of, minlength=n) == (rankings != NOTHING).sum(axis=1)
        )
    # By time where it is known; otherwise, and among equals, as in the file.
    order = np.lexsort((first,) if times is None else (first, times))
    order = order[good[order]]
    probability = {
        name: _spread(table, name, of, position, rankings.shape, order)
        for name in ("propensity", "prefix_propensity")
    }
    return Impressions(
        names,
        rankings[order],
        clicks[order],
        **probability,
        timestamp=None if times is None else times[order],
    )


def _numbered(column: Any) -> tuple[NDArray[Any], Ints]:
    """Return the different texts of a column in order, and the number of each row's."""
    coded = column.combine_chunks().dictionary_encode()
    texts = np.array(coded.dictionary.to_pylist(), dtype=np.dtypes.StringDType())
    order = np.argsort(texts)
    rank = np.empty(order.size, dtype=np.int64)
    rank[order] = np.arange(order.size)
    return texts[order], rank[coded.indices.to_numpy()]


def _whole(rankings: Ints) -> NDArray[np.bool_]:
    """Return which lists have no gap and no item twice."""
    there = rankings != NOTHING
    gap = (there[:, 1:] & ~there[:, :-1]).any(axis=1)
    ordered = np.sort(rankings, axis=1)
    again = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != NOTHING)).any(axis=1)
    return np.asarray(~gap & ~again)


def _spread(
    table: Any, name: str, of: Ints, position: Ints, shape: tuple[int, ...], order: Ints
) -> Floats | None:
    """Return a column by list and position; None if the log knows none of it."""
    if name not in table.column_names or table[name].null_count == table.num_rows:
        return None
    found = np.full(shape, np.nan)
    found[of, position] = table[name].to_numpy()
    return found[order]
