"""Reader of the log of Yandex's personalised web search challenge (Kaggle, 2013).

Lines are tab-separated, without a header:

    SessionID  M  Day  UserID
    SessionID  TimePassed  Q|T  SERPID  QueryID  term,term,…  url,domain …
    SessionID  TimePassed  C  SERPID  URLID

The lines of a session are consecutive. A SERPID identifies a list within a session, so the id of an
impression consists of both ids. The lists of test queries (T) are left out, because their clicks
were withheld. Times are dropped, because they are relative to the start of the session and have no
unit.
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
    for line in first:
        fields = line.split("\t")
        if len(fields) == 4 and fields[1] == "M":
            return True
        if len(fields) > 6 and fields[2] in ("Q", "T") and "," in fields[6]:
            return True
    return False


def read(
    path: str, report: LogReport, tick: Tick, columns: Mapping[str, str] | None = None
) -> Iterator[pa.Table]:
    """Yield the rows of a file."""
    if columns:
        raise invalid(
            "open_log", "columns must be left out for the format yandex-2013", dict(columns)
        )
    report.first_position = 1  # positions follow from the order of the items
    rows = RowBuffer(with_user=True)
    session: str | None = None
    user: str | None = None
    lists: dict[str, ShownList | None] = {}  # by SERPID; None for a list that is skipped
    for number, text in lines(path, report, tick):
        line = text.rstrip("\r\n")
        if not line:
            continue
        fields = line.split("\t")
        if fields[0] != session:
            for shown in lists.values():
                if shown is not None:
                    rows.add(shown, user)
            if rows.full:
                yield rows.take_table()
            session, user, lists = fields[0], None, {}
        if len(fields) == 4 and fields[1] == "M":
            user = fields[3]
            continue
        kind = fields[2] if len(fields) > 2 else ""
        if kind == "C":
            if len(fields) != 5 or not fields[4]:
                report.add("fields", path, number, line)
            elif fields[3] not in lists:
                report.add("click on no list", path, number, line)
            else:
                found = lists[fields[3]]
                if found is not None:
                    add_click(found, fields[4], report, path, number, line)
        elif kind in ("Q", "T"):
            if len(fields) < 6:
                report.add("fields", path, number, line)
                continue
            serp, query = fields[3], fields[4]
            if serp in lists:
                report.add("repeated list", path, number, line)
                continue
            items = [pair.partition(",")[0] for pair in fields[6:]]
            lists[serp] = None
            if kind == "T":
                report.add("test query", path, number, line)
            elif not query:
                report.add("id", path, number, line)
            elif check_items(items, report, path, number, line):
                lists[serp] = ShownList(f"{session}-{serp}", query, items)
        else:
            report.add("record", path, number, line)
    for shown in lists.values():
        if shown is not None:
            rows.add(shown, user)
    yield rows.take_table()
