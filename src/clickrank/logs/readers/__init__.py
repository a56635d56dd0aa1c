"""Readers: one module per text format of logs, which yields tables of the one schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa

from clickrank._core.progress import Tick
from clickrank.errors import InvalidValue, unknown
from clickrank.logs.log_report import LogReport
from clickrank.logs.readers import csv_file, kdd_2012, open_bandit, yandex_2011, yandex_2013
from clickrank.logs.readers.text_files import first_lines

Reader = Callable[[str, LogReport, Tick, Mapping[str, str] | None], Iterator[pa.Table]]

#: Readers of text formats, by the name of the format.
READERS: dict[str, Reader] = {
    "csv": csv_file.read,
    "kdd-2012": kdd_2012.read,
    "open-bandit": open_bandit.read,
    "yandex-2011": yandex_2011.read,
    "yandex-2013": yandex_2013.read,
}
_RECOGNISERS = {
    "yandex-2013": yandex_2013.recognised,
    "yandex-2011": yandex_2011.recognised,
    "kdd-2012": kdd_2012.recognised,
    "open-bandit": open_bandit.recognised,
}
#: Formats that the engine reads in place.
IN_PLACE = ("parquet", "service")
FORMATS = (*READERS, *IN_PLACE)


def check_format(name: str) -> str:
    """Return the name of a format, or raise an error if there is none of this name."""
    if name not in FORMATS:
        raise unknown("log format", name, FORMATS)
    return name


def recognise(path: str) -> str:
    """Return the name of the format of a file, recognised by its first bytes and lines."""
    if "://" in path:
        return "parquet"
    with open(path, "rb") as file:
        if file.read(4) == b"PAR1":
            return "parquet"
    first = first_lines(path)
    if not first:
        raise InvalidValue(f"open_log: {path} is empty.")
    return next((name for name, recognised in _RECOGNISERS.items() if recognised(first)), "csv")
