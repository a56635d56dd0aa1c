"""Reader of the log of KDD Cup 2012, track 2 (``training.txt``).

Lines are tab-separated, without a header:

    Click  Impression  DisplayURL  AdID  AdvertiserID  Depth  Position  QueryID  KeywordID
    TitleID  DescriptionID  UserID

Items are ads. Click and Impression are counts, and which ads were shown together is not known.
1 ≤ Position ≤ Depth ≤ 3. With ``columns={"click": "Click"}``, each line is one display that was
clicked or not, whatever its Impression; gauthier2022 counts like this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from clickrank._core.progress import Tick
from clickrank.logs.column_names import map_columns
from clickrank.logs.log_report import LogReport
from clickrank.logs.readers.delimited import read_delimited
from clickrank.logs.schema import kind_of

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
_WITHOUT_COUNTS = {name: COLUMNS[name] for name in ("query", "position", "item")}
LARGEST_DEPTH = 3


def recognised(first: list[str]) -> bool:
    """Return whether the first lines of a file are in this format."""
    fields = first[0].split("\t")
    return len(fields) == len(NAMES) and all(field.isdigit() for field in fields)


def read(
    path: str, report: LogReport, tick: Tick, columns: Mapping[str, str] | None = None
) -> Iterator[pa.Table]:
    """Yield the rows of a file."""
    known = COLUMNS if "click" not in (columns or {}) else _WITHOUT_COUNTS
    found = map_columns(NAMES, {**known, **(columns or {})}, path)
    report.first_position = 1
    report.kind = kind_of(found)
    report.columns = found
    yield from read_delimited(
        path,
        report,
        tick,
        names=NAMES,
        columns={**found, "depth": "Depth"},
        delimiter="\t",
        header=False,
        quoted=False,
        largest_position=LARGEST_DEPTH,
    )
