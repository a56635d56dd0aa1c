"""Values of a table of text, made numbers; rows that have none are noted and left out."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from clickrank.logs.log_report import LARGEST_POSITION, Report
from clickrank.logs.schema import COUNTS, FIELDS, kind_of, schema_of

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_FAR = 1e11  # seconds: beyond, a number is no time
_WHOLE = r"^\s*[+-]?[0-9]{1,18}(\.0*)?\s*$"
_TRUTH = r"^\s*(?i:true|false)\s*$"
_REAL = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"

Bools = NDArray[np.bool_]
#: Says of a row of the table which line of which file it was, and what it said.
Where = Callable[[int], tuple[str, int | None, str]]


def checked(
    raw: Mapping[str, Any], where: Where, report: Report, deepest: int = LARGEST_POSITION
) -> pa.Table:
    """Return the rows of the log that these columns of text make; ``where`` is for examples.

    Positions are left as they are: which is the first is known only at the end of the file. A
    column ``depth`` says how long the page was, which is at most ``deepest``.
    """
    size = len(next(iter(raw.values())))
    notes = _Notes(size, where, report)
    kept: dict[str, Any] = {}
    for name, values in raw.items():
        if name in COUNTS or name == "depth":
            kept[name] = _whole(_zeros_and_ones(values) if name == "click" else values, notes)
        elif name in ("propensity", "prefix_propensity"):
            kept[name] = _propensity(values, notes)
        elif name == "timestamp":
            kept[name] = _times(values, notes)
        else:
            if name != "user":
                notes.skip("id", _equal(values, ""))
            kept[name] = values
    position = kept["position"]
    low = report.first_position or 0
    notes.skip("position", (position < low) | (position > deepest))
    if "depth" in kept:
        depth = kept.pop("depth")
        notes.skip("depth", (position > depth) | (depth > deepest))
    if kind_of(raw) == "counted":
        notes.skip("shown", kept["shown"] < 1)
        notes.skip("click", kept["clicked"] < 0)
        notes.note("clicks above displays", kept["clicked"] > kept["shown"])
        kept["clicked"] = np.minimum(kept["clicked"], kept["shown"])
    else:
        notes.skip("click", kept["click"] < 0)
        notes.note("several clicks", kept["click"] > 1)
        kept["click"] = np.minimum(kept["click"], 1)
    if "query" not in kept:
        kept["query"] = pa.repeat("", size)
    schema = schema_of(kept)
    table = pa.table([_typed(kept[name], name) for name in schema.names], schema=schema)
    return table.filter(pa.array(~notes.bad)) if notes.bad.any() else table


def _typed(values: Any, name: str) -> Any:
    kind = FIELDS[name].type
    if isinstance(values, np.ndarray) and values.dtype.kind == "i":
        with np.errstate(all="ignore"):  # rows to be left out may not fit
            values = values.astype(kind.to_pandas_dtype())
    return pa.array(values, kind) if isinstance(values, np.ndarray) else values.cast(kind)


class _Notes:
    """What is wrong with the rows of a table."""

    def __init__(self, size: int, where: Where, report: Report) -> None:
        self.bad: Bools = np.zeros(size, dtype=bool)
        self._where = where
        self._report = report

    def skip(self, kind: str, mask: Bools) -> None:
        """Note rows, which are left out."""
        if mask.any():
            self.note(kind, mask)
            self.bad |= mask

    def note(self, kind: str, mask: Bools) -> None:
        """Note rows, unless they were left out before."""
        rows = np.flatnonzero(mask & ~self.bad)
        for i, row in enumerate(rows.tolist()):
            if not self._report.wants_example(kind):
                self._report.add(kind, "", count=rows.size - i)
                break
            self._report.add(kind, *self._where(row))


def _equal(values: Any, text: str) -> Bools:
    found = pc.equal(values, pa.scalar(text))
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _matches(values: Any, pattern: str) -> Bools:
    found = pc.match_substring_regex(values, pattern)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)


def _zeros_and_ones(values: Any) -> Any:
    """Return text with 1 for true and 0 for false, whatever the case of their letters."""
    if not _matches(values, _TRUTH).any():
        return values
    bare = pc.utf8_lower(pc.utf8_trim_whitespace(values))
    numbers = pc.if_else(pa.array(_equal(bare, "false")), "0", values)
    return pc.if_else(pa.array(_equal(bare, "true")), "1", numbers)


def _whole(values: Any, notes: _Notes) -> NDArray[np.int64]:
    try:
        found = values.cast(pa.int64())
    except pa.ArrowInvalid:
        good = _matches(values, _WHOLE)
        notes.skip("number", ~good)
        trimmed = pc.replace_substring_regex(pc.utf8_trim_whitespace(values), r"\.0*$|^\+", "")
        found = pc.if_else(pa.array(good), trimmed, "0").cast(pa.int64())
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)


def _propensity(values: Any, notes: _Notes) -> Any:
    """Read probabilities; those missing or out of range are unknown."""
    try:
        found = values.cast(pa.float64())
        empty = np.zeros(len(values), dtype=bool)
    except pa.ArrowInvalid:
        empty = _matches(values, r"^\s*$")
        good = pa.array(_matches(values, _REAL))
        found = pc.if_else(good, pc.utf8_trim_whitespace(values), "nan").cast(pa.float64())
    numbers = np.asarray(found.to_numpy(zero_copy_only=False))
    inside = (numbers > 0.0) & (numbers <= 1.0)
    notes.note("propensity", ~inside & ~empty)
    return pa.array(numbers, pa.float64(), mask=~inside)


def _times(values: Any, notes: _Notes) -> Any:
    """Read times: seconds since 1970, or ISO 8601 (of no zone: UTC); others are unknown."""
    kind = pa.timestamp("us", tz="UTC")
    try:
        seconds = np.asarray(values.cast(pa.float64()).to_numpy(zero_copy_only=False))
        if (np.abs(seconds) < _FAR).all():
            return pa.array((seconds * 1e6).round().astype(np.int64)).cast(kind)
    except pa.ArrowInvalid:
        pass
    try:
        zoned = pc.match_substring_regex(values, r"(Z|[+-]\d\d:?\d\d)$")
        utc = pc.binary_join_element_wise(values, pa.scalar("Z"), pa.scalar(""))
        return pc.if_else(zoned, values, utc).cast(kind)
    except pa.ArrowInvalid:
        texts = values.to_pylist()
        found = [_time(text.strip()) for text in texts]
        odd = [t is None and bool(text.strip()) for t, text in zip(found, texts, strict=True)]
        notes.note("time", np.array(odd))
        return pa.array(found, pa.int64()).cast(kind)


def _time(text: str) -> int | None:
    """Return microseconds since 1970; None for what is no time.

    >>> _time("1.5"), _time("1970-01-02"), _time("1970-01-01T00:00:01+00:00"), _time("noon")
    (1500000, 86400000000, 1000000, None)
    """
    try:
        seconds = float(text)
        return round(seconds * 1e6) if abs(seconds) < _FAR else None
    except ValueError:
        pass
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    if time.tzinfo is None:
        time = time.replace(tzinfo=datetime.UTC)
    return (time - _EPOCH) // datetime.timedelta(microseconds=1)
