"""The log of KDD Cup 2012, track 2 (``training.txt``), tab separated, no header.

    Click  Impression  DisplayURL  AdID  AdvertiserID  Depth  Position  QueryID  KeywordID
    TitleID  DescriptionID  UserID

Click and Impression are counts, so that the log is a counted one: an ad is an item, and which ads
were shown together is not known. 1 ≤ Position ≤ Depth ≤ 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from clickrank.errors import invalid
from clickrank.logs.readers.delimited import read_delimited
from clickrank.logs.readers.files import Tick
from clickrank.logs.report import Report

NAMES = (
    "Click",
    "Impression",
    "DisplayURL",
    "AdID",
    "AdvertiserID",
    "Depth",
    "Position",
    "QueryID",
    "KeywordID",
    "TitleID",
    "DescriptionID",
    "UserID",
)
COLUMNS = {
    "query": "QueryID",
    "position": "Position",
    "item": "AdID",
    "shown": "Impression",
    "clicked": "Click",
}
DEEPEST = 3


def recognised(first: list[str]) -> bool:
    """Whether the first lines of a file look like this log."""
    fields = first[0].split("\t")
    return len(fields) == len(NAMES) and all(field.isdigit() for field in fields)


def read(
    path: str, report: Report, tick: Tick, columns: Mapping[str, str] | None = None
) -> Iterator[pa.Table]:
    """Yield the rows of a file."""
    if columns:
        raise invalid("open_log", "columns must be left out for kdd-2012", dict(columns))
    report.first_position = 1
    report.kind = "counted"
    report.columns = dict(COLUMNS)
    yield from read_delimited(
        path,
        report,
        tick,
        names=NAMES,
        columns={**COLUMNS, "depth": "Depth"},
        delimiter="\t",
        header=False,
        quoted=False,
        deepest=DEEPEST,
    )
