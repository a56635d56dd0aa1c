"""Readers of log formats, one file each: from a file to tables of the one schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa

from clickrank.errors import unknown
from clickrank.logs.readers import csv_file
from clickrank.logs.readers.files import Tick, first_lines
from clickrank.logs.report import Report

Reader = Callable[[str, Report, Tick, Mapping[str, str] | None], Iterator[pa.Table]]

#: Formats of text, by name.
READERS: dict[str, Reader] = {
    "csv": csv_file.read,
}
#: Formats that engines open where they are.
IN_PLACE = ("parquet", "service")
FORMATS = (*READERS, *IN_PLACE)


def check_format(name: str) -> str:
    """Return the name of a format, or raise."""
    if name not in FORMATS:
        raise unknown("log format", name, FORMATS)
    return name


def recognise(path: str) -> str:
    """Return the name of the format that a file has, by its first bytes and lines."""
    if "://" in path:
        return "parquet"
    with open(path, "rb") as file:
        if file.read(4) == b"PAR1":
            return "parquet"
    first_lines(path)
    return "csv"
