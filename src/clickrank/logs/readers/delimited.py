"""Lines of fields parted by a character, many at once; damaged blocks line by line."""

from __future__ import annotations

import csv
import functools
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa
from pyarrow import csv as arrow_csv

from clickrank._core.progress import Tick
from clickrank.logs.log_report import Report
from clickrank.logs.readers.text_files import blocks, without_bad_lines
from clickrank.logs.row_rules import LARGEST_POSITION
from clickrank.logs.text_values import typed_rows

DELIMITERS = "\t,;|"


def delimiter_of(line: str) -> str:
    r"""Return what parts the fields of a line.

    >>> delimiter_of("query;item,position;click")
    ';'
    """
    return max(DELIMITERS, key=line.count)


def fields_of(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line, without quotes."""
    return next(csv.reader([line], delimiter=delimiter), [])


def read_delimited(
    path: str,
    report: Report,
    tick: Tick,
    *,
    names: Sequence[str],
    columns: Mapping[str, str],
    delimiter: str,
    header: bool,
    quoted: bool = True,
    deepest: int = LARGEST_POSITION,
) -> Iterator[pa.Table]:
    """Yield the rows of a file.

    Parameters
    ----------
    names
        All columns of the file, in order.
    columns
        Those of them to read, by what they are in the log.
    delimiter, header, quoted
        What parts fields, whether the first line names them, and whether they may be in quotes.
    deepest
        The last position that there can be.
    """
    before = 0  # lines
    for block in blocks(path, report, tick):
        with report.lines_at_once():
            clean = without_bad_lines(block, path, before, report)
            parsed = _fast(clean, names, columns.values(), delimiter, quoted)
            rows: Sequence[int] | None = None
            if parsed is None:
                parsed, rows = _slow(
                    clean, names, columns.values(), delimiter, quoted, path, before, report, header
                )
            elif header and before == 0:
                parsed = parsed.slice(1)
                rows = range(2, parsed.num_rows + 2)
            where = _Where(path, clean, before, rows)
            raw = {name: parsed.column(column) for name, column in columns.items()}
            table = typed_rows(raw, where, report, deepest) if parsed.num_rows else None
        before += block.count(b"\n")
        if table is not None:
            yield table


class _Where:
    """Says which line a row was."""

    def __init__(self, path: str, block: bytes, before: int, rows: Sequence[int] | None) -> None:
        self._path = path
        self._block = block
        self._before = before
        self._rows = rows

    @functools.cached_property
    def _lines(self) -> list[bytes]:
        return self._block.split(b"\n")

    def __call__(self, row: int) -> tuple[str, int | None, str]:
        line = row + 1 if self._rows is None else self._rows[row]  # in the block, from 1 on
        text = self._lines[line - 1].decode().rstrip("\r")
        return self._path, self._before + line, text


def _fast(
    block: bytes, names: Sequence[str], wanted: Any, delimiter: str, quoted: bool
) -> pa.Table | None:
    """Parse a block at once; None if any line of it has not all fields, or none at all."""
    if block.startswith((b"\n", b"\r\n")) or b"\n\n" in block or b"\n\r\n" in block:
        return None  # to Arrow an empty line is a row of empty values
    odd = False

    def handle(row: Any) -> Literal["skip"]:
        nonlocal odd
        odd = True
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
    except pa.ArrowInvalid:  # among others, a quote that is not closed
        return None
    n_lines = block.count(b"\n") + (not block.endswith(b"\n"))
    return None if odd or table.num_rows != n_lines else table


def _slow(
    block: bytes,
    names: Sequence[str],
    wanted: Any,
    delimiter: str,
    quoted: bool,
    path: str,
    before: int,
    report: Report,
    header: bool,
) -> tuple[pa.Table, list[int]]:
    """Parse a block line by line; return its rows and the line of each, in the block."""
    texts = block.decode().split("\n")
    kept: list[list[str]] = []
    rows: list[int] = []
    for line, text in enumerate(texts, 1):
        bare = text.rstrip("\r")
        if not bare.strip() or (header and before == 0 and line == 1):
            continue
        fields = fields_of(bare, delimiter) if quoted else bare.split(delimiter)
        if len(fields) == len(names):
            kept.append(fields)
            rows.append(line)
        else:
            report.add("fields", path, before + line, bare)
    index = {name: i for i, name in enumerate(names)}
    columns = {
        name: pa.array([fields[index[name]] for fields in kept], pa.string())
        for name in dict.fromkeys(wanted)
    }
    return pa.table(columns), rows
