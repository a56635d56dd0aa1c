"""The schema of logs: one row per position of a list that was shown.

Ids are text, so that unsigned 64-bit hashes are preserved by every engine. There are three kinds of
logs:

lists
    ``impression_id`` says which rows were shown together, and ``click`` is 0 or 1.
slots
    There is no ``impression_id``. Each row is one display, and the rest of its list is unknown.
counted
    ``shown`` and ``clicked`` count displays and clicks; they replace ``click``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pyarrow as pa

from clickrank.errors import invalid


def _field(name: str, kind: Any, meaning: str, nullable: bool = False) -> pa.Field[Any]:
    return pa.field(name, kind, nullable=nullable, metadata={"description": meaning})


FIELDS: dict[str, pa.Field[Any]] = {
    field.name: field
    for field in (
        _field("impression_id", pa.string(), "The id of the list that was shown."),
        _field(
            "query",
            pa.string(),
            "The query, or the page on which the list was shown.",
        ),
        _field("position", pa.int32(), "The position in the list, counted from 1."),
        _field("item", pa.string(), "The id of the item at this position."),
        _field("click", pa.int8(), "1 if the item was clicked, otherwise 0."),
        _field("shown", pa.int64(), "How often the item was shown at this position."),
        _field("clicked", pa.int64(), "How often the item was clicked at this position."),
        _field(
            "propensity",
            pa.float64(),
            "The probability of showing the item at this position.",
            True,
        ),
        _field(
            "prefix_propensity",
            pa.float64(),
            "The probability of the items from the first position down to this one.",
            True,
        ),
        _field("timestamp", pa.timestamp("us", tz="UTC"), "When the list was shown.", True),
        _field("user", pa.string(), "The user who saw the list.", True),
    )
}

#: The file and the row number of a row: columns of the rows of an open log, never of a file.
ORDER = ("clickrank_file", "clickrank_row")
#: Columns that are read as text, even if they hold numbers.
IDS = ("impression_id", "query", "item", "user")
COUNTS = ("position", "click", "shown", "clicked")
OPTIONAL = ("propensity", "prefix_propensity", "timestamp", "user")
_REQUIRED = {
    "lists": ("impression_id", "query", "position", "item", "click"),
    "slots": ("query", "position", "item", "click"),
    "counted": ("query", "position", "item", "shown", "clicked"),
}


def kind_of(names: Collection[str]) -> str:
    """Return the kind of a log with these columns: lists, slots or counted.

    >>> kind_of(["query", "position", "item", "shown", "clicked"])
    'counted'
    """
    if "shown" in names:
        return "counted"
    return "lists" if "impression_id" in names else "slots"


def check_columns(names: Collection[str], of_file: Collection[str], file: str) -> None:
    """Raise an error if columns that a log needs are missing.

    A log without ``query`` has one query. ``of_file`` are all columns of the file.
    """
    missing = [n for n in _REQUIRED[kind_of(names)] if n not in names and n != "query"]
    if missing:
        rule = f"{', '.join(missing)} must be among the columns of {file}"
        hint = f"If one has another name there, pass columns={{{missing[0]!r}: 'NAME'}}."
        raise invalid("open_log", rule, list(of_file), hint)


def schema_of(names: Collection[str]) -> pa.Schema:
    """Return the schema of a log with these columns, in the order of `FIELDS`."""
    names_of_log = {*_REQUIRED[kind_of(names)], *(name for name in OPTIONAL if name in names)}
    return pa.schema(
        [field for name, field in FIELDS.items() if name in names_of_log],
        metadata={"description": "A click log, one row per position.", "clickrank.log": "1"},
    )
