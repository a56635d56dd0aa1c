"""The Open Bandit Dataset: one row a slot of a page with three.

Each row is an impression with one known position: the data do not say which rows were one page,
so that lists are not known, and what stood at the other two positions neither. All rows are of one
query, which is called "". ``propensity_score`` is the probability that the logger showed the item
at this position.

**Source**: saito2021.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from clickrank._core.progress import Tick
from clickrank.logs.log_report import Report
from clickrank.logs.readers.csv_file import read as read_csv

COLUMNS = {
    "position": "position",
    "item": "item_id",
    "click": "click",
    "propensity": "propensity_score",
    "timestamp": "timestamp",
}


def recognised(first: list[str]) -> bool:
    """Whether the first lines of a file look like this log."""
    return set(COLUMNS.values()) <= set(first[0].split(","))


def read(
    path: str, report: Report, tick: Tick, columns: Mapping[str, str] | None = None
) -> Iterator[pa.Table]:
    """Yield the rows of a file."""
    yield from read_csv(path, report, tick, {**COLUMNS, **(columns or {})})
