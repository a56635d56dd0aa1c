"""Yandex's log of the relevance prediction challenge (2011), tab separated, no header.

    SessionID  TimePassed  Q  QueryID  RegionID  URL …
    SessionID  TimePassed  C  URLID

The lines of a session follow each other. Lists have no id: a click belongs to the session's last
list that holds the url. Some clicks name urls that were never shown, and some files pad lines of
clicks with empty fields. Times count from the beginning of a session and have no unit: they are
not kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from clickrank._core.progress import Tick
from clickrank.errors import invalid
from clickrank.logs.log_report import Report
from clickrank.logs.readers.session_lists import Gathering, Shown, clicked, good_items
from clickrank.logs.readers.text_files import lines


def recognised(first: list[str]) -> bool:
    """Whether the first lines of a file look like this log."""
    fields = first[0].split("\t")
    return len(fields) > 5 and fields[2] == "Q" and "," not in first[0]


def read(
    path: str, report: Report, tick: Tick, columns: Mapping[str, str] | None = None
) -> Iterator[pa.Table]:
    """Yield the rows of a file."""
    if columns:
        raise invalid("open_log", "columns must be left out for yandex-2011", dict(columns))
    report.first_position = 1  # given by the order
    rows = Gathering(with_user=False)
    session: str | None = None
    lists: list[Shown] = []
    shown_here = 0  # lists of the session, those not to count too
    for number, text in lines(path, report, tick):
        line = text.rstrip("\r\n\t ")
        if not line:
            continue
        fields = line.split("\t")
        if fields[0] != session:
            for shown in lists:
                rows.add(shown)
            if rows.full:
                yield rows.taken()
            session, lists, shown_here = fields[0], [], 0
        kind = fields[2] if len(fields) > 2 else ""
        if kind == "C":
            if len(fields) != 4:
                report.add("fields", path, number, line)
                continue
            item = fields[3]
            holding = (shown for shown in reversed(lists) if item in shown.items)
            found = next(holding, None)
            if found is not None:
                clicked(found, item, report, path, number, line)
            else:
                kind = "click not shown" if shown_here else "click on no list"
                report.add(kind, path, number, line)
        elif kind == "Q":
            if len(fields) < 4 or not fields[3]:
                report.add("fields", path, number, line)
                continue
            shown_here += 1
            items = fields[5:]
            if good_items(items, report, path, number, line):
                lists.append(Shown(f"{session}-{shown_here}", fields[3], items))
        else:
            report.add("record", path, number, line)
    for shown in lists:
        rows.add(shown)
    yield rows.taken()
