"""Reader of the Open Bandit Dataset: one row per slot of a page with three slots.

The data do not say which rows were on one page. Each row is therefore an impression with one known
position. All rows belong to one query, whose name is empty. ``propensity_score`` is the probability
with which the logging policy showed the item at this position.

**Source**: saito2021.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from clickrank._core.progress import Tick
from clickrank.logs.log_report import LogReport
from clickrank.logs.readers.csv_file import read as read_csv

COLUMNS = {
    "position": "position",
    "item": "item_id",
    "click": "click",
    "propensity": "propensity_score",
    "timestamp": "timestamp",
}


def recognised(first: list[str]) -> bool:
    """Return whether the first lines of a file are in this format."""
    return set(COLUMNS.values()) <= set(first[0].split(","))


def read(
    path: str, report: LogReport, tick: Tick, columns: Mapping[str, str] | None = None
) -> Iterator[pa.Table]:
    """Yield the rows of a file."""
    yield from read_csv(path, report, tick, {**COLUMNS, **(columns or {})})
