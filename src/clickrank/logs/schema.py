"""The one schema of logs: a row a position of a list that was shown.

Ids are text, so that unsigned hashes of 64 bits survive on every engine. Three kinds of logs:

lists
    ``impression_id`` says which rows were shown together, and ``click`` is 0 or 1.
slots
    As lists, but without ``impression_id``: each row is a display of its own, what stood around it
    is not known.
counted
    ``shown`` and ``clicked`` count displays and clicks, instead of ``click``.
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
        _field("query", pa.string(), "What was asked for, or where the list was shown."),
        _field("position", pa.int32(), "The place in the list, from 1 on."),
        _field("item", pa.string(), "The id of the item shown there."),
        _field("click", pa.int8(), "1 if it was clicked, else 0."),
        _field("shown", pa.int64(), "How often it was shown there."),
        _field("clicked", pa.int64(), "How often it was clicked there."),
        _field("propensity", pa.float64(), "The probability that it was shown there.", True),
        _field(
            "prefix_propensity",
            pa.float64(),
            "The probability that the list began as it did, down to here.",
            True,
        ),
        _field("timestamp", pa.timestamp("us", tz="UTC"), "When the list was shown.", True),
        _field("user", pa.string(), "Who saw it.", True),
    )
}

#: Where a row stands in the files: columns of an open log's rows, never of a file.
ORDER = ("clickrank_file", "clickrank_row")
#: Text, and numbers that nobody counts with.
IDS = ("impression_id", "query", "item", "user")
COUNTS = ("position", "click", "shown", "clicked")
OPTIONAL = ("propensity", "prefix_propensity", "timestamp", "user")
_NEEDED = {
    "lists": ("impression_id", "query", "position", "item", "click"),
    "slots": ("query", "position", "item", "click"),
    "counted": ("query", "position", "item", "shown", "clicked"),
}


def kind_of(names: Collection[str]) -> str:
    """Return which kind of log has these columns.

    >>> kind_of(["query", "position", "item", "shown", "clicked"])
    'counted'
    """
    if "shown" in names:
        return "counted"
    return "lists" if "impression_id" in names else "slots"


def check_columns(names: Collection[str], of_file: Collection[str], file: str) -> None:
    """Raise unless these columns make a log; a log without ``query`` is one query's.

    ``of_file`` are those that the file has, whatever they are for.
    """
    missing = [n for n in _NEEDED[kind_of(names)] if n not in names and n != "query"]
    if missing:
        rule = f"{', '.join(missing)} must be among the columns of {file}"
        hint = f"If one has another name there, pass columns={{{missing[0]!r}: 'NAME'}}."
        raise invalid("open_log", rule, list(of_file), hint)


def schema_of(names: Collection[str]) -> pa.Schema:
    """Return the schema of a log with these columns, in the usual order."""
    kept = {*_NEEDED[kind_of(names)], *(name for name in OPTIONAL if name in names)}
    return pa.schema(
        [field for name, field in FIELDS.items() if name in kept],
        metadata={"description": "A click log, a row a position.", "clickrank.log": "1"},
    )
