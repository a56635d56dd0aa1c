"""Rankers in the store: their definitions, versions and changes.

Each change to a ranker makes a new version; the table `changes` keeps them all.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import msgspec
import sqlalchemy as sa

from clickrank.errors import InvalidValue
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


class Definition(msgspec.Struct, frozen=True):
    """The policy, settings and items of a ranker at one version.

    Items are numbered by their place in ``items``. New items are added at the end, and retired
    items keep their numbers.
    """

    policy: str
    settings: dict[str, Any]
    n_positions: int
    mode: Literal["live", "shadow"]
    items: list[str]
    retired: list[int] = []
    alpha: list[float] | None = None  # of the prior, one per item
    beta: list[float] | None = None
    start: list[int] | None = None  # the list to start from, for policies that improve one
    since: int = 1  # the first version whose state can be carried over to this one
    policy_since: int = 1  # the first version with this policy and these settings
    log_propensities: bool = False
    #: For a policy that can go on without items it has dropped: the items retired at each version
    #: after ``since``.
    retirements: list[tuple[int, list[int]]] = []

    def retired_at(self, version: int) -> set[int]:
        """Return the items that were retired at a version, which must not be before ``since``."""
        later = {item for when, gone in self.retirements if when > version for item in gone}
        return set(self.retired) - later

    def first_items(self, n_items: int) -> Definition:
        """Return the definition with its first ``n_items`` items, as before the others came."""
        if n_items == len(self.items):
            return self
        settings = dict(self.settings)
        if "features" in settings:
            settings["features"] = settings["features"][:n_items]
        return msgspec.structs.replace(
            self,
            settings=settings,
            items=self.items[:n_items],
            retired=[number for number in self.retired if number < n_items],
            alpha=None if self.alpha is None else self.alpha[:n_items],
            beta=None if self.beta is None else self.beta[:n_items],
        )


class RankerRow(NamedTuple):
    """A row of the table `rankers`."""

    id: int
    name: str
    version: int
    window: int  # microseconds
    definition: Definition
    created_at: int
    changed_at: int


_definitions = msgspec.json.Decoder(Definition)


def _row(row: Any) -> RankerRow:
    try:
        definition = _definitions.decode(row.definition)
    except msgspec.ValidationError as error:
        raise InvalidValue(f"Store: a ranker's definition must be readable: {error}.") from error
    return RankerRow(
        row.id,
        row.name,
        row.version,
        row.window,
        definition,
        row.created_at,
        row.changed_at,
    )


def _encoded(definition: Definition) -> str:
    return msgspec.json.encode(definition).decode()


def find_ranker(connection: sa.Connection, name: str, change: bool = False) -> RankerRow | None:
    """Return the ranker of that name; with ``change``, lock it until the transaction ends."""
    query = sa.select(rankers).where(rankers.c.name == name)
    row = connection.execute(query.with_for_update() if change else query).one_or_none()
    return None if row is None else _row(row)


def ranker_by_id(connection: sa.Connection, ranker_id: int) -> RankerRow | None:
    """Return a ranker, or None if it was deleted."""
    row = connection.execute(sa.select(rankers).where(rankers.c.id == ranker_id)).one_or_none()
    return None if row is None else _row(row)


def list_rankers(connection: sa.Connection, after: str, limit: int) -> list[RankerRow]:
    """Return at most ``limit`` rankers whose names come after ``after``, sorted by name."""
    query = sa.select(rankers).where(rankers.c.name > after)
    rows = connection.execute(query.order_by(rankers.c.name).limit(limit))
    return [_row(row) for row in rows]


def insert_ranker(
    connection: sa.Connection, name: str, window: int, definition: Definition, at: int
) -> RankerRow:
    """Insert a ranker at version 1."""
    row = {"name": name, "version": 1, "window": window, "definition": _encoded(definition)}
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
    """Write the next version of a ranker, which the caller must have locked."""
    version = row.version + 1
    connection.execute(
        sa.update(rankers)
        .where(rankers.c.id == row.id)
        .values(version=version, window=window, definition=_encoded(definition), changed_at=at)
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
    """Delete a ranker with its whole log."""
    own = sa.select(streams.c.id).where(streams.c.ranker_id == ranker_id)
    # Locked as every writer locks them, so that nothing is added meanwhile.
    connection.execute(own.order_by(streams.c.id).with_for_update())
    for table in (activity, snapshots, finals, clicks, impressions):
        connection.execute(sa.delete(table).where(table.c.stream_id.in_(own)))
    connection.execute(sa.delete(streams).where(streams.c.ranker_id == ranker_id))
    connection.execute(sa.delete(changes).where(changes.c.ranker_id == ranker_id))
    connection.execute(sa.delete(rankers).where(rankers.c.id == ranker_id))
