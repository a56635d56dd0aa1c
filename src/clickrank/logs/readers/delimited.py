"""Reader of lines with separated fields, for text files with and without a header.

Arrow parses a block of lines at once; a block with a malformed line is parsed line by line.

DuckDB's ``read_csv`` with ``store_rejects`` needs 0.6 s of processor time for a million rows (0.8 s
here, and 4.1 s if each block has malformed lines), but it reads neither bzip2 nor xz, loses a
truncated file, rounds 1.5 to 2, and ignores all quotes in a file where one is not closed.
"""

from __future__ import annotations

import csv
import functools
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa
from pyarrow import csv as arrow_csv

from clickrank._core.progress import Tick
from clickrank.logs.log_report import LogReport
from clickrank.logs.readers.text_files import blocks, without_bad_lines
from clickrank.logs.row_rules import LARGEST_POSITION
from clickrank.logs.text_values import typed_rows

DELIMITERS = "\t,;|"


def delimiter_of(line: str) -> str:
    r"""Return the character that separates the fields of a line.

    >>> delimiter_of("query;item,position;click")
    ';'
    """
    return max(DELIMITERS, key=line.count)


def fields_of(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line, without quotes."""
    return next(csv.reader([line], delimiter=delimiter), [])


def read_delimited(
    path: str,
    report: LogReport,
    tick: Tick,
    *,
    names: Sequence[str],
    columns: Mapping[str, str],
    delimiter: str,
    header: bool,
    quoted: bool = True,
    largest_position: int = LARGEST_POSITION,
) -> Iterator[pa.Table]:
    """Yield the rows of a file.

    Parameters
    ----------
    names
        The names of all columns of the file, in order.
    columns
        The names in the file of the columns of the log.
    delimiter, header, quoted
        The character between fields, whether the first line names the columns, and whether values
        may be in quotes.
    largest_position
        The largest position that is possible.
    """
    lines_before = 0  # the block
    for block in blocks(path, report, tick):
        with report.first_error_by_line():
            clean = without_bad_lines(block, path, lines_before, report)
            parsed = _fast(clean, names, columns.values(), delimiter, quoted)
            rows: Sequence[int] | None = None
            if parsed is None:
                parsed, rows = _slow(
                    clean,
                    names,
                    columns.values(),
                    delimiter,
                    quoted,
                    path,
                    lines_before,
                    report,
                    header,
                )
            elif header and lines_before == 0:
                parsed = parsed.slice(1)
                rows = range(2, parsed.num_rows + 2)
            locate = _Locator(path, clean, lines_before, rows)
            raw = {name: parsed.column(column) for name, column in columns.items()}
            table = typed_rows(raw, locate, report, largest_position) if parsed.num_rows else None
        lines_before += block.count(b"\n")
        if table is not None:
            yield table


class _Locator:
    """Returns the file, the line number and the text of a row of a block."""

    def __init__(
        self, path: str, block: bytes, lines_before: int, rows: Sequence[int] | None
    ) -> None:
        self._path = path
        self._block = block
        self._lines_before = lines_before
        self._rows = rows

    @functools.cached_property
    def _lines(self) -> list[bytes]:
        return self._block.split(b"\n")

    def __call__(self, row: int) -> tuple[str, int | None, str]:
        line = row + 1 if self._rows is None else self._rows[row]  # in the block, counted from 1
        text = self._lines[line - 1].decode().rstrip("\r")
        return self._path, self._lines_before + line, text


def _fast(
    block: bytes, names: Sequence[str], wanted: Any, delimiter: str, quoted: bool
) -> pa.Table | None:
    """Parse a block at once; return None if a line is empty or does not have all fields."""
    if block.startswith((b"\n", b"\r\n")) or b"\n\n" in block or b"\n\r\n" in block:
        return None  # Arrow reads an empty line as a row of empty values
    malformed = False

    def handle(row: Any) -> Literal["skip"]:
        nonlocal malformed
        malformed = True
        return "skip"

    wanted = list(dict.fromkeys(wanted))
    try:
        table = arrow_csv.read_csv(
            io.BytesIO(block),
            read_options=arrow_csv.ReadOptions(column_names=list(names), block_size=1 << 20),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter,
                quote_char='"' if quoted else False,
                ignore_empty_lines=False,
                invalid_row_handler=handle,
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(wanted, pa.string()),
                include_columns=wanted,
                strings_can_be_null=False,
                check_utf8=False,
            ),
        )
    except pa.ArrowInvalid:  # for example, a quote that is not closed
        return None
    n_lines = block.count(b"\n") + (not block.endswith(b"\n"))
    return None if malformed or table.num_rows != n_lines else table


def _slow(
    block: bytes,
    names: Sequence[str],
    wanted: Any,
    delimiter: str,
    quoted: bool,
    path: str,
    lines_before: int,
    report: LogReport,
    header: bool,
) -> tuple[pa.Table, list[int]]:
    """Parse a block line by line; return its rows and the line number of each in the block."""
    texts = block.decode().split("\n")
    good: list[list[str]] = []
    rows: list[int] = []
    for line, text in enumerate(texts, 1):
        bare = text.rstrip("\r")
        if not bare.strip() or (header and lines_before == 0 and line == 1):
            continue
        fields = fields_of(bare, delimiter) if quoted else bare.split(delimiter)
        if len(fields) == len(names):
            good.append(fields)
            rows.append(line)
        else:
            report.add("fields", path, lines_before + line, bare)
    index = {name: i for i, name in enumerate(names)}
    columns = {
        name: pa.array([fields[index[name]] for fields in good], pa.string())
        for name in dict.fromkeys(wanted)
    }
    return pa.table(columns), rows
