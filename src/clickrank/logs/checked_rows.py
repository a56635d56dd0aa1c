"""The rows of a log as an Ibis table of the one schema, wherever they are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clickrank.errors import invalid
from clickrank.logs.column_names import mapped, notes_on
from clickrank.logs.log_report import EXAMPLES, LARGEST_POSITION, Report
from clickrank.logs.query_engine import require_ibis
from clickrank.logs.schema import COUNTS, IDS, OPTIONAL, ORDER, kind_of, schema_of
from clickrank.logs.staging import first_of

#: Columns of a service's export that tell it from other files.
SERVICE = ("ranker", "version", "settled", "would_show")
_EXACT = 2**53  # whole numbers beyond are not exact in a float64


def staged(raw: Any, report: Report) -> Any:
    """Return rows that were checked as they were read; positions from 1 on."""
    first = report.first_position
    if first == 0:
        return raw.mutate(position=raw.position + 1)
    bad = raw.filter(raw.position < 1)
    count = int(bad.count().to_pyarrow().as_py())
    if count:
        _note(bad, "position", count, ", ".join(report.files), report)
    return raw.filter(raw.position >= 1) if count else raw


def in_place(raw: Any, columns: Mapping[str, str] | None, report: Report, file: str) -> Any:
    """Return the good rows of a table of any columns, and note the others.

    Values are looked at by the engine, in two passes, and copied nowhere.
    """
    ibis = require_ibis()
    names = [name for name in raw.columns if name not in ORDER]
    found = mapped(names, columns, file)
    report.columns = found
    report.kind = kind_of(found)
    report.notes = notes_on(names, found)
    report.format = "service" if is_service(raw.columns) else "parquet"
    rows = _typed(raw, found)
    if report.first_position is None:
        zeros, ones = (
            rows.aggregate(zeros=(rows.position == 0).sum(), ones=(rows.position == 1).sum())
            .to_pyarrow()
            .to_pylist()[0]
            .values()
        )
        report.first_position = first_of(zeros or 0, ones or 0)
    problems = _problems(rows, report)
    masks: dict[str, Any] = {}
    bad: Any = ibis.literal(False)
    for kind, mask in problems:
        masks[kind] = mask & ~bad
        bad = bad | mask
    notes = _clipped(rows, bad)
    sums = {f"k{i}": m.sum() for i, m in enumerate((*masks.values(), *notes.values()))}
    counts = rows.aggregate(**sums).to_pyarrow().to_pylist()[0].values()
    for (kind, mask), count in zip({**masks, **notes}.items(), counts, strict=True):
        if count:
            _note(rows.filter(mask), kind, int(count), file, report)
    return _clean(rows.filter(~bad), report.first_position)


def is_service(names: Any) -> bool:
    """Whether these are columns of a service's export."""
    return all(name in names for name in SERVICE)


def _typed(raw: Any, found: Mapping[str, str]) -> Any:
    """Return the columns of the log, ids as text and counts as whole numbers."""
    ibis = require_ibis()
    chosen = {}
    for name, column in found.items():
        values = raw[column]
        kind = values.type()
        if name in IDS:
            if kind.is_floating():  # a column of whole numbers where some are missing
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
    """Return a time, of a time or of whole seconds since 1970."""
    kind = values.type()
    if kind.is_timestamp() or kind.is_date():
        return values.cast("timestamp('UTC', 6)")
    if kind.is_numeric():
        return values.cast("int64").as_timestamp("s").cast("timestamp('UTC', 6)")
    raise invalid("open_log", f"column {column} (timestamp) must hold times", str(kind))


def _problems(rows: Any, report: Report) -> list[tuple[str, Any]]:
    """Return what makes a row be left out, with masks that are never null."""
    first = report.first_position or 0
    counts = [name for name in COUNTS if name in rows.columns]
    ids = [name for name in IDS if name in rows.columns and name != "user"]
    found = []
    if "settled" in rows.columns:
        found.append(("not settled", ~rows.settled))
    found.append(("number", _any(rows[name].isnull() for name in counts)))
    found.append(("id", _any(rows[name].isnull() for name in ids) | (rows.item == "")))
    outside = (rows.position < first) | (rows.position >= LARGEST_POSITION + first)
    found.append(("position", outside))
    if report.kind == "counted":
        found.append(("shown", rows.shown < 1))
    clicks = rows.clicked if report.kind == "counted" else rows.click
    found.append(("click", clicks < 0))
    return [(kind, mask.fill_null(False)) for kind, mask in found]


def _any(masks: Any) -> Any:
    first, *others = masks
    for mask in others:
        first = first | mask
    return first


def _clipped(rows: Any, bad: Any) -> dict[str, Any]:
    """Return what is put right in rows that are kept."""
    if "shown" in rows.columns:
        found = {"clicks above displays": rows.clicked > rows.shown}
    else:
        found = {"several clicks": rows.click > 1}
    odd = [
        ~((rows[name] > 0) & (rows[name] <= 1)).fill_null(True)
        for name in ("propensity", "prefix_propensity")
        if name in rows.columns
    ]
    if odd:
        found["propensity"] = _any(odd)
    return {kind: (mask & ~bad).fill_null(False) for kind, mask in found.items()}


def _clean(rows: Any, first: int) -> Any:
    """Return rows with nothing left to put right, typed as the schema says."""
    ibis = require_ibis()
    new = {"position": (rows.position + (1 - first)).cast("int32")}
    if "shown" in rows.columns:
        new["clicked"] = ibis.least(rows.clicked, rows.shown)
    else:
        new["click"] = ibis.least(rows.click, 1).cast("int8")
    for name in ("propensity", "prefix_propensity"):
        if name in rows.columns:
            inside = (rows[name] > 0) & (rows[name] <= 1)
            new[name] = ibis.ifelse(inside.fill_null(False), rows[name], ibis.null("float64"))
    return rows.mutate(**new).select(*schema_of(rows.columns).names, *ORDER)


def _note(rows: Any, kind: str, count: int, file: str, report: Report) -> None:
    """Note rows, with the first of them as examples."""
    optional = [name for name in (*OPTIONAL, *ORDER, "settled") if name in rows.columns]
    examples = rows.drop(*optional).limit(min(count, EXAMPLES)).to_pyarrow().to_pylist()
    for row in examples[:-1]:
        report.add(kind, file, text=_text(row))
    report.add(kind, file, text=_text(examples[-1]), count=count - len(examples) + 1)


def _text(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in row.items())
