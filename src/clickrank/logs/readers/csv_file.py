"""Reader of text files with a header, separated by commas, tabs, semicolons or bars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from clickrank._core.progress import Tick
from clickrank.errors import InvalidValue, invalid
from clickrank.logs.column_names import map_columns, unused_list_columns
from clickrank.logs.log_report import LogReport
from clickrank.logs.readers.delimited import delimiter_of, fields_of, read_delimited
from clickrank.logs.readers.text_files import first_lines
from clickrank.logs.schema import kind_of


def read(
    path: str, report: LogReport, tick: Tick, columns: Mapping[str, str] | None = None
) -> Iterator[pa.Table]:
    """Yield the rows of a file. Values may be in double quotes, but have no line breaks."""
    head = first_lines(path, 1)
    if not head:
        raise InvalidValue(f"open_log: {path} is empty.")
    delimiter = delimiter_of(head[0])
    names = fields_of(head[0], delimiter)
    if len(set(names)) < len(names):
        raise invalid("open_log", f"the columns of {path} must have different names", names)
    found = map_columns(names, columns, path)
    report.columns = found
    report.kind = kind_of(found)
    report.notes = unused_list_columns(names, found)
    yield from read_delimited(
        path, report, tick, names=names, columns=found, delimiter=delimiter, header=True
    )
