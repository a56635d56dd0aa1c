"""Rows of Parquet files as an Ibis table of the one schema, checked by the engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from clickrank.errors import invalid
from clickrank.logs.column_names import map_columns, unused_list_columns
from clickrank.logs.log_report import EXAMPLES, LogReport
from clickrank.logs.query_engine import require_ibis
from clickrank.logs.row_rules import PROPENSITIES, check_rows, is_probability, position_is_outside
from clickrank.logs.schema import COUNTS, IDS, OPTIONAL, ORDER, kind_of, schema_of
from clickrank.logs.staging import guess_first_position

#: The columns by which an export of the service is recognised.
SERVICE_COLUMNS = ("ranker", "version", "settled", "would_show")
_EXACT = 2**53  # larger whole numbers are not exact in a float64


def check_staged(raw: Any, report: LogReport) -> Any:
    """Return rows that were read from text files, with positions counted from 1.

    Their other columns were checked as they were read; the first position is known only now.
    """
    first = report.first_position
    outside = position_is_outside(raw.position, first)
    bad = raw.filter(outside)
    count = int(bad.count().to_pyarrow().as_py())
    if count:
        _add_problem(bad, "position", count, ", ".join(report.files), report)
        raw = raw.filter(~outside)
    return raw.mutate(position=raw.position + 1) if first == 0 else raw


def check_in_place(
    raw: Any, columns: Mapping[str, str] | None, report: LogReport, file: str
) -> Any:
    """Return the rows of a table with any columns, without those that are refused.

    The engine checks the values in two passes over the file; the rows are not copied.
    """
    names = [name for name in raw.columns if name not in ORDER]
    found = map_columns(names, columns, file)
    report.columns = found
    report.kind = kind_of(found)
    report.notes = unused_list_columns(names, found)
    report.format = "service" if is_service(raw.columns) else "parquet"
    rows = _typed(raw, found)
    if report.first_position is None:
        zeros, ones = _aggregated(rows, [rows.position == 0, rows.position == 1])
        report.first_position = guess_first_position(zeros, ones)
    # A missing number counts as 0 here, so that no comparison is null.
    values = {name: rows[name].fill_null(0) for name in COUNTS if name in rows.columns}
    values |= {name: rows[name] for name in PROPENSITIES if name in rows.columns}
    missing = {name: rows[name].isnull() for name in (*values, *IDS) if name in rows.columns}
    missing["item"] |= (rows.item == "").fill_null(False)
    if "settled" in rows.columns:
        values["settled"] = rows.settled.fill_null(True)
    verdict = check_rows(values, missing, first_position=report.first_position)
    problems = verdict.refused | verdict.corrected
    counts = _aggregated(rows, problems.values())
    for (kind, mask), count in zip(problems.items(), counts, strict=True):
        if count:
            _add_problem(rows.filter(mask), kind, count, file, report)
    return _corrected(rows.filter(~verdict.is_refused), report.first_position)


def _aggregated(rows: Any, masks: Iterable[Any]) -> list[int]:
    """Return in how many rows each mask is true."""
    sums = {f"k{i}": mask.sum() for i, mask in enumerate(masks)}
    return [int(n or 0) for n in rows.aggregate(**sums).to_pyarrow().to_pylist()[0].values()]


def is_service(names: Any) -> bool:
    """Return whether these are the columns of an export of the service."""
    return all(name in names for name in SERVICE_COLUMNS)


def _typed(raw: Any, found: Mapping[str, str]) -> Any:
    """Return the columns of the log, with ids as text and counts as whole numbers."""
    ibis = require_ibis()
    chosen = {}
    for name, column in found.items():
        values = raw[column]
        kind = values.type()
        if name in IDS:
            if kind.is_floating():  # whole numbers, of which some are missing
                whole = (values == values.floor()) & (values.abs() < _EXACT)
                values = ibis.ifelse(
                    whole, values.cast("int64").cast("string"), ibis.null("string")
                )
            chosen[name] = values.cast("string")
        elif name in COUNTS:
            if not (kind.is_numeric() or kind.is_boolean()):
                raise invalid("open_log", f"column {column} ({name}) must hold numbers", str(kind))
            chosen[name] = values.cast("int64")
        elif name == "timestamp":
            chosen[name] = _time(values, column)
        else:
            chosen[name] = values.cast("float64")
    if "query" not in chosen:
        chosen["query"] = ibis.literal("")
    if is_service(raw.columns):
        chosen["settled"] = raw.settled
    return raw.select(**chosen, **{name: raw[name] for name in ORDER})


def _time(values: Any, column: str) -> Any:
    """Return times, from times or from whole seconds since 1970."""
    kind = values.type()
    if kind.is_timestamp() or kind.is_date():
        return values.cast("timestamp('UTC', 6)")
    if kind.is_numeric():
        return values.cast("int64").as_timestamp("s").cast("timestamp('UTC', 6)")
    raise invalid("open_log", f"column {column} (timestamp) must hold times", str(kind))


def _corrected(rows: Any, first_position: int) -> Any:
    """Return rows with corrected values, in the types of the schema and with positions from 1."""
    ibis = require_ibis()
    new = {"position": (rows.position + (1 - first_position)).cast("int32")}
    if "shown" in rows.columns:
        new["clicked"] = ibis.least(rows.clicked, rows.shown)
    else:
        new["click"] = ibis.least(rows.click, 1).cast("int8")
    for name in PROPENSITIES:
        if name in rows.columns:
            known = is_probability(rows[name]).fill_null(False)
            new[name] = ibis.ifelse(known, rows[name], ibis.null("float64"))
    return rows.mutate(**new).select(*schema_of(rows.columns).names, *ORDER)


def _add_problem(rows: Any, kind: str, count: int, file: str, report: LogReport) -> None:
    """Add a problem of these rows to the report, with the first of them as examples."""
    optional = [name for name in (*OPTIONAL, *ORDER, "settled") if name in rows.columns]
    examples = rows.drop(*optional).limit(min(count, EXAMPLES)).to_pyarrow().to_pylist()
    for row in examples[:-1]:
        report.add(kind, file, text=_text(row))
    report.add(kind, file, text=_text(examples[-1]), count=count - len(examples) + 1)


def _text(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in row.items())
