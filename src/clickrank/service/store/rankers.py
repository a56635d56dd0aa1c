"""Rankers on record: made, read, changed, deleted. Every change is a version, and is kept."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from clickrank.service.store.definition import Definition, decode, encode
from clickrank.service.store.tables import (
    activity,
    changes,
    clicks,
    finals,
    impressions,
    rankers,
    snapshots,
    streams,
)


class RankerRow(NamedTuple):
    """A ranker as it is on record."""

    id: int
    name: str
    version: int
    window: int  # microseconds
    definition: Definition
    created_at: int
    changed_at: int


def _row(row: Any) -> RankerRow:
    return RankerRow(
        row.id,
        row.name,
        row.version,
        row.window,
        decode(row.definition),
        row.created_at,
        row.changed_at,
    )


def find_ranker(connection: sa.Connection, name: str, change: bool = False) -> RankerRow | None:
    """Return the ranker of that name, held for a ``change`` until the transaction ends."""
    query = sa.select(rankers).where(rankers.c.name == name)
    row = connection.execute(query.with_for_update() if change else query).one_or_none()
    return None if row is None else _row(row)


def ranker_by_id(connection: sa.Connection, ranker_id: int) -> RankerRow | None:
    """Return a ranker, unless it was deleted."""
    row = connection.execute(sa.select(rankers).where(rankers.c.id == ranker_id)).one_or_none()
    return None if row is None else _row(row)


def list_rankers(connection: sa.Connection, after: str, limit: int) -> list[RankerRow]:
    """Return rankers by name, those after a name."""
    query = sa.select(rankers).where(rankers.c.name > after)
    rows = connection.execute(query.order_by(rankers.c.name).limit(limit))
    return [_row(row) for row in rows]


def insert_ranker(
    connection: sa.Connection, name: str, window: int, definition: Definition, at: int
) -> RankerRow:
    """Make a ranker."""
    row = {"name": name, "version": 1, "window": window, "definition": encode(definition)}
    made = sa.insert(rankers).values(**row, created_at=at, changed_at=at)
    number = connection.execute(made.returning(rankers.c.id)).scalar_one()
    _note(connection, number, 1, at, {"made": definition, "window": window})
    return RankerRow(number, name, 1, window, definition, at, at)


def change_ranker(
    connection: sa.Connection,
    row: RankerRow,
    window: int,
    definition: Definition,
    at: int,
    change: dict[str, Any],
) -> RankerRow:
    """Make the next version of a ranker, which must be held."""
    version = row.version + 1
    connection.execute(
        sa.update(rankers)
        .where(rankers.c.id == row.id)
        .values(version=version, window=window, definition=encode(definition), changed_at=at)
    )
    _note(connection, row.id, version, at, change)
    return row._replace(version=version, window=window, definition=definition, changed_at=at)


def _note(
    connection: sa.Connection, ranker_id: int, version: int, at: int, change: dict[str, Any]
) -> None:
    text = msgspec.json.encode(change).decode()
    row = {"ranker_id": ranker_id, "version": version, "at": at, "change": text}
    connection.execute(sa.insert(changes).values(row))


def delete_ranker(connection: sa.Connection, ranker_id: int) -> None:
    """Remove a ranker with all its log."""
    own = sa.select(streams.c.id).where(streams.c.ranker_id == ranker_id)
    # Held like everybody holds them, so that nothing is added meanwhile.
    connection.execute(own.order_by(streams.c.id).with_for_update())
    for table in (activity, snapshots, finals, clicks, impressions):
        connection.execute(sa.delete(table).where(table.c.stream_id.in_(own)))
    connection.execute(sa.delete(streams).where(streams.c.ranker_id == ranker_id))
    connection.execute(sa.delete(changes).where(changes.c.ranker_id == ranker_id))
    connection.execute(sa.delete(rankers).where(rankers.c.id == ranker_id))
