"""Columns of text turned into typed columns of a log; rows that break a rule are reported."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clickrank._core.arrays import Bools, Floats, Ints
from clickrank.logs.log_report import LogReport
from clickrank.logs.row_rules import LARGEST_POSITION, PROPENSITIES, check_rows, is_probability
from clickrank.logs.schema import COUNTS, FIELDS, schema_of

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_LARGEST_TIME = 1e11  # seconds since 1970; a larger number is not a time
_INTEGER = r"^\s*[+-]?[0-9]{1,18}(\.0*)?\s*$"
_BOOLEAN = r"^\s*(?i:true|false)\s*$"
_DECIMAL = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"

#: Returns the file, the line number and the text of a row of the table.
Locate = Callable[[int], tuple[str, int | None, str]]


def typed_rows(
    texts: Mapping[str, Any],
    locate: Locate,
    report: LogReport,
    largest_position: int = LARGEST_POSITION,
) -> pa.Table:
    """Return the rows that these columns of text hold, without those that are refused.

    Problems are added to ``report``, with examples found by ``locate``. Positions stay as they are
    in the file, because its first position may be known only after the last line. A column
    ``depth``, the length of the page, is checked and dropped.
    """
    size = len(next(iter(texts.values())))
    values: dict[str, Any] = {}
    missing: dict[str, Bools] = {}
    unreadable_times = None
    for name, column in texts.items():
        if name in COUNTS or name == "depth":
            numbers = _zeros_and_ones(column) if name == "click" else column
            values[name], missing[name] = _integers(numbers)
        elif name in PROPENSITIES:
            values[name], missing[name] = _decimals(column)
        elif name == "timestamp":
            values[name], unreadable_times = _times(column)
        else:
            values[name], missing[name] = column, _equal(column, "")
    verdict = check_rows(
        values,
        missing,
        first_position=report.first_position,
        largest_position=largest_position,
        unreadable_times=unreadable_times,
    )
    for kind, mask in (verdict.refused | verdict.corrected).items():
        _add_problems(kind, mask, locate, report)
    if "shown" in values:
        values["clicked"] = np.minimum(values["clicked"], values["shown"])
    else:
        values["click"] = np.minimum(values["click"], 1)
    for name in PROPENSITIES:
        if name in values:
            values[name] = pa.array(values[name], mask=~is_probability(values[name]))
    if "query" not in values:
        values["query"] = pa.repeat("", size)
    schema = schema_of(values)
    table = pa.table([_cast(values[name], name) for name in schema.names], schema=schema)
    return table.filter(pa.array(~verdict.is_refused)) if verdict.is_refused.any() else table


def _cast(values: Any, name: str) -> Any:
    kind = FIELDS[name].type
    if isinstance(values, np.ndarray):
        with np.errstate(all="ignore"):  # numbers of refused rows may not fit
            return pa.array(values.astype(kind.to_pandas_dtype()), kind)
    return values.cast(kind)


def _add_problems(kind: str, mask: Bools, locate: Locate, report: LogReport) -> None:
    rows = np.flatnonzero(mask)
    for i, row in enumerate(rows.tolist()):
        if not report.wants_example(kind):
            report.add(kind, "", count=rows.size - i)
            break
        report.add(kind, *locate(row))


def _equal(values: Any, text: str) -> Bools:
    found = pc.equal(values, pa.scalar(text))
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)


def _matches(values: Any, pattern: str) -> Bools:
    found = pc.match_substring_regex(values, pattern)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)


def _zeros_and_ones(values: Any) -> Any:
    """Replace true by 1 and false by 0, in upper or lower case."""
    if not _matches(values, _BOOLEAN).any():
        return values
    bare = pc.utf8_lower(pc.utf8_trim_whitespace(values))
    numbers = pc.if_else(pa.array(_equal(bare, "false")), "0", values)
    return pc.if_else(pa.array(_equal(bare, "true")), "1", numbers)


def _integers(texts: Any) -> tuple[Ints, Bools]:
    """Return whole numbers, and which rows have none; those are 0."""
    try:
        found = texts.cast(pa.int64())
        missing = np.zeros(len(texts), dtype=bool)
    except pa.ArrowInvalid:
        missing = ~_matches(texts, _INTEGER)
        trimmed = pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), r"\.0*$|^\+", "")
        found = pc.if_else(pa.array(missing), "0", trimmed).cast(pa.int64())
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64), missing


def _decimals(texts: Any) -> tuple[Floats, Bools]:
    """Return numbers, and which rows are empty; these and what is not a number are NaN."""
    try:
        found = texts.cast(pa.float64())
        empty = np.zeros(len(texts), dtype=bool)
    except pa.ArrowInvalid:
        empty = _matches(texts, r"^\s*$")
        good = pa.array(_matches(texts, _DECIMAL))
        found = pc.if_else(good, pc.utf8_trim_whitespace(texts), "nan").cast(pa.float64())
    return np.asarray(found.to_numpy(zero_copy_only=False)), empty


def _times(texts: Any) -> tuple[Any, Bools]:
    """Return times, null where there is none, and which rows hold something else.

    A time is a number of seconds since 1970, or in ISO 8601; without a zone it is in UTC.
    """
    kind = pa.timestamp("us", tz="UTC")
    all_good = np.zeros(len(texts), dtype=bool)
    try:
        seconds = np.asarray(texts.cast(pa.float64()).to_numpy(zero_copy_only=False))
        if (np.abs(seconds) < _LARGEST_TIME).all():
            return pa.array((seconds * 1e6).round().astype(np.int64)).cast(kind), all_good
    except pa.ArrowInvalid:
        pass
    try:
        zoned = pc.match_substring_regex(texts, r"(Z|[+-]\d\d:?\d\d)$")
        utc = pc.binary_join_element_wise(texts, pa.scalar("Z"), pa.scalar(""))
        return pc.if_else(zoned, texts, utc).cast(kind), all_good
    except pa.ArrowInvalid:
        bare = [text.strip() for text in texts.to_pylist()]
        found = [_time(text) for text in bare]
        odd = [time is None and text != "" for time, text in zip(found, bare, strict=True)]
        return pa.array(found, pa.int64()).cast(kind), np.array(odd)


def _time(text: str) -> int | None:
    """Return microseconds since 1970; None if the text is not a time.

    >>> _time("1.5"), _time("1970-01-02"), _time("1970-01-01T00:00:01+00:00"), _time("noon")
    (1500000, 86400000000, 1000000, None)
    """
    try:
        seconds = float(text)
        return round(seconds * 1e6) if abs(seconds) < _LARGEST_TIME else None
    except ValueError:
        pass
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    if time.tzinfo is None:
        time = time.replace(tzinfo=datetime.UTC)
    return (time - _EPOCH) // datetime.timedelta(microseconds=1)
