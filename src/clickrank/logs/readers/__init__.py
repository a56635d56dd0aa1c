"""Readers of log formats, one file each: from a file to tables of the one schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa

from clickrank._core.progress import Tick
from clickrank.errors import invalid, unknown
from clickrank.logs.log_report import Report
from clickrank.logs.readers import csv_file, kdd_2012, open_bandit, yandex_2011, yandex_2013
from clickrank.logs.readers.text_files import first_lines

Reader = Callable[[str, Report, Tick, Mapping[str, str] | None], Iterator[pa.Table]]

#: Formats of text, by name.
READERS: dict[str, Reader] = {
    "csv": csv_file.read,
    "kdd-2012": kdd_2012.read,
    "open-bandit": open_bandit.read,
    "yandex-2011": yandex_2011.read,
    "yandex-2013": yandex_2013.read,
}
_BY_LOOKS = {
    "yandex-2013": yandex_2013.recognised,
    "yandex-2011": yandex_2011.recognised,
    "kdd-2012": kdd_2012.recognised,
    "open-bandit": open_bandit.recognised,
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
    first = first_lines(path)
    if not first:
        raise invalid("open_log", f"{path} must hold lines", "none")
    return next((name for name, looks in _BY_LOOKS.items() if looks(first)), "csv")
