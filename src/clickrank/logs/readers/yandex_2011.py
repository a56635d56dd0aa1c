"""Reader of the log of Yandex's relevance prediction challenge (2011).

Lines are tab-separated, without a header:

    SessionID  TimePassed  Q  QueryID  RegionID  URL …
    SessionID  TimePassed  C  URLID

The lines of a session are consecutive. Lists have no id: a click belongs to the last list of the
session that has the URL. Some clicks are on URLs that were never shown, and some files pad lines of
clicks with empty fields. Times are dropped, because they are relative to the start of the session
and have no unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from clickrank._core.progress import Tick
from clickrank.errors import invalid
from clickrank.logs.log_report import LogReport
from clickrank.logs.readers.session_lists import RowBuffer, ShownList, add_click, check_items
from clickrank.logs.readers.text_files import lines


def recognised(first: list[str]) -> bool:
    """Return whether the first lines of a file are in this format."""
    fields = first[0].split("\t")
    return len(fields) > 5 and fields[2] == "Q" and "," not in first[0]


def read(
    path: str, report: LogReport, tick: Tick, columns: Mapping[str, str] | None = None
) -> Iterator[pa.Table]:
    """Yield the rows of a file."""
    if columns:
        raise invalid(
            "open_log", "columns must be left out for the format yandex-2011", dict(columns)
        )
    report.first_position = 1  # positions follow from the order of the items
    rows = RowBuffer(with_user=False)
    session: str | None = None
    lists: list[ShownList] = []
    n_shown = 0  # lists of the session, including those that are skipped
    for number, text in lines(path, report, tick):
        line = text.rstrip("\r\n\t ")
        if not line:
            continue
        fields = line.split("\t")
        if fields[0] != session:
            for shown in lists:
                rows.add(shown)
            if rows.full:
                yield rows.take_table()
            session, lists, n_shown = fields[0], [], 0
        kind = fields[2] if len(fields) > 2 else ""
        if kind == "C":
            if len(fields) != 4:
                report.add("fields", path, number, line)
                continue
            item = fields[3]
            holding = (shown for shown in reversed(lists) if item in shown.items)
            found = next(holding, None)
            if found is not None:
                add_click(found, item, report, path, number, line)
            else:
                kind = "click not shown" if n_shown else "click on no list"
                report.add(kind, path, number, line)
        elif kind == "Q":
            if len(fields) < 4 or not fields[3]:
                report.add("fields", path, number, line)
                continue
            n_shown += 1
            items = fields[5:]
            if check_items(items, report, path, number, line):
                lists.append(ShownList(f"{session}-{n_shown}", fields[3], items))
        else:
            report.add("record", path, number, line)
    for shown in lists:
        rows.add(shown)
    yield rows.take_table()
