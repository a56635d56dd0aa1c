"""Impression log: reads and writes streams (one per context) and their impressions.

Every function takes a connection inside a transaction; those that write need `Database.writing`.
Locks are always taken in the same order, rankers before streams and both by id, so that workers
cannot deadlock.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from clickrank.service.store.database import Database, Prepared, PreparedInsert, PreparedList
from clickrank.service.store.tables import (
    clicks,
    finals,
    impressions,
    rankers,
    streams,
)

_encode = msgspec.json.Encoder().encode
_numbers = msgspec.json.Decoder(list[int])


class StreamRow(NamedTuple):
    """A row of `streams`."""

    id: int
    ranker_id: int
    context: str
    next_seq: int
    folded_seq: int
    base_seq: int
    last_at: int


class NewImpression(NamedTuple):
    """A list that was chosen, to be logged."""

    id: str
    given: bool  # whether the id comes from the caller, who may send it again
    ranker_id: int
    version: int
    stream_id: int
    state_seq: int
    shown_at: int
    items: list[int]
    memo: list[int]
    would_show: list[int] | None
    exploring: bool
    propensities: bytes | None = None  # see `pack_propensities`


class Recorded(NamedTuple):
    """The result of logging a `NewImpression`: it was logged, now or before, or why not."""

    outcome: str  # "new", "before", "stale", "gone", "taken"
    version: int = 0
    items: list[int] | None = None
    would_show: list[int] | None = None


class ImpressionRow(NamedTuple):
    """An impression in the log, with its clicks."""

    seq: int
    id: str
    version: int
    shown_at: int
    items: list[int]
    memo: list[int]
    would_show: list[int] | None
    exploring: bool
    final: bool
    clicked: list[int]  # positions, from 0 on
    propensities: bytes | None = None


def now_floor(connection: sa.Connection) -> int:
    """Return the latest time in the log; the clock of the service must not go back behind it."""
    return connection.scalar(sa.select(sa.func.max(streams.c.last_at))) or 0


# Streams


def find_stream(connection: sa.Connection, ranker_id: int, context: str) -> StreamRow | None:
    """Return the stream of a context; None if there is none."""
    query = sa.select(*_STREAM).where(
        streams.c.ranker_id == ranker_id, streams.c.context == context
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else StreamRow(*row)


def stream_by_id(connection: sa.Connection, stream_id: int) -> StreamRow | None:
    """Return a stream; None if it was deleted."""
    row = connection.execute(sa.select(*_STREAM).where(streams.c.id == stream_id)).one_or_none()
    return None if row is None else StreamRow(*row)


def make_stream(
    database: Database, connection: sa.Connection, ranker_id: int, context: str
) -> StreamRow | None:
    """Return the stream of a context, creating it if necessary; None without the ranker."""
    if not lock_rankers(connection, [ranker_id]):
        return None
    row = {"ranker_id": ranker_id, "context": context, "next_seq": 1}
    row |= {"folded_seq": 0, "base_seq": 0, "last_at": 0, "folded_at": 0}
    connection.execute(database.insert(streams).values(row).on_conflict_do_nothing())
    return find_stream(connection, ranker_id, context)


def count_streams(connection: sa.Connection, ranker_id: int) -> int:
    """Return the number of contexts of a ranker."""
    query = sa.select(sa.func.count()).where(streams.c.ranker_id == ranker_id)
    return connection.scalar(query) or 0


def lock_rankers(connection: sa.Connection, ids: Iterable[int]) -> dict[int, int]:
    """Lock rankers against changes until the transaction ends, and return their versions."""
    return dict(_LOCK_RANKERS.rows(connection, {*ids}))


def lock_streams(connection: sa.Connection, ids: Collection[int]) -> dict[int, StreamRow]:
    """Lock streams until the transaction ends, and return their rows."""
    rows = _LOCK_STREAMS.rows(connection, {*ids})
    return {row[0]: StreamRow(*row) for row in rows}


_STREAM = [streams.c[name] for name in StreamRow._fields]
_LOCK_STREAMS = PreparedList(
    lambda ids: (
        sa.select(*_STREAM).where(streams.c.id.in_(ids)).order_by(streams.c.id).with_for_update()
    )
)
_LOCK_RANKERS = PreparedList(
    lambda ids: (
        sa.select(rankers.c.id, rankers.c.version)
        .where(rankers.c.id.in_(ids))
        .order_by(rankers.c.id)
        .with_for_update(read=True)
    )
)


# Impressions


def record(connection: sa.Connection, new: Sequence[NewImpression]) -> list[Recorded]:
    """Log impressions, numbered in their order; an id is never logged twice."""
    versions = lock_rankers(connection, {one.ranker_id for one in new})
    rows = lock_streams(connection, {one.stream_id for one in new})
    seen = _recorded(connection, [one for one in new if one.given])
    next_seq = {number: row.next_seq for number, row in rows.items()}
    last_at = {number: row.last_at for number, row in rows.items()}
    found: list[Recorded] = []
    inserts: list[dict[str, Any]] = []
    for one in new:
        before = seen.get(one.id)
        if before is not None:
            same = before[0] == one.stream_id
            found.append(before[1] if same else Recorded("taken"))
            continue
        if one.ranker_id not in versions or one.stream_id not in rows:
            found.append(Recorded("gone"))
            continue
        if versions[one.ranker_id] != one.version:
            found.append(Recorded("stale"))
            continue
        number = one.stream_id
        last_at[number] = max(last_at[number], one.shown_at)
        inserts.append(
            {
                "stream_id": number,
                "seq": next_seq[number],
                "id": one.id,
                "version": one.version,
                "state_seq": one.state_seq,
                "shown_at": last_at[number],
                "items": _encode(one.items).decode(),
                "memo": _encode(one.memo).decode(),
                "would_show": _optional(one.would_show),
                "exploring": one.exploring,
                "propensities": one.propensities,
            }
        )
        next_seq[number] += 1
        found.append(Recorded("new", one.version, one.items, one.would_show))
        if one.given:  # the same id may occur again in this batch
            again = Recorded("before", one.version, one.items, one.would_show)
            seen[one.id] = (number, again)
    if inserts:
        moved = [
            {"stream": number, "next": next_seq[number], "at": last_at[number]}
            for number in sorted({row["stream_id"] for row in inserts})
        ]
        _MOVE_NEXT.each(connection, moved)
        _INSERT_IMPRESSION.each(connection, inserts)
    return found


_MOVE_NEXT = Prepared(
    sa.update(streams)
    .where(streams.c.id == sa.bindparam("stream"))
    .values(next_seq=sa.bindparam("next"), last_at=sa.bindparam("at"))
)
_INSERT_IMPRESSION = PreparedInsert(impressions)


def _recorded(
    connection: sa.Connection, given: Sequence[NewImpression]
) -> dict[str, tuple[int, Recorded]]:
    """Return the impressions that are logged under the callers' ids."""
    found = {}
    for number, version, stream_id, items, would_show in _RECORDED.rows(
        connection, {one.id for one in given}
    ):
        would = None if would_show is None else _numbers.decode(would_show)
        found[number] = (stream_id, Recorded("before", version, _numbers.decode(items), would))
    return found


_RECORDED = PreparedList(
    lambda ids: sa.select(
        *(impressions.c[name] for name in ("id", "version", "stream_id", "items", "would_show"))
    ).where(impressions.c.id.in_(ids))
)


def _optional(numbers: list[int] | None) -> str | None:
    return None if numbers is None else _encode(numbers).decode()


def read(
    connection: sa.Connection, stream_id: int, after: int, until: int, newest_first: bool = False
) -> list[ImpressionRow]:
    """Return the impressions of a stream with ``after`` < seq ≤ ``until``, with their clicks."""
    here = sa.and_(
        impressions.c.stream_id == stream_id,
        impressions.c.seq > after,
        impressions.c.seq <= until,
    )
    order = impressions.c.seq.desc() if newest_first else impressions.c.seq
    query = (
        sa.select(
            *(impressions.c[name] for name in _READ),
            finals.c.seq.is_not(None).label("final"),
        )
        .select_from(
            impressions.outerjoin(
                finals,
                sa.and_(
                    finals.c.stream_id == impressions.c.stream_id,
                    finals.c.seq == impressions.c.seq,
                ),
            )
        )
        .where(here)
        .order_by(order)
    )
    clicked = _clicked(connection, stream_id, after, until)
    return [
        ImpressionRow(
            row.seq,
            row.id,
            row.version,
            row.shown_at,
            _numbers.decode(row.items),
            _numbers.decode(row.memo),
            None if row.would_show is None else _numbers.decode(row.would_show),
            row.exploring,
            bool(row.final),
            clicked.get(row.seq, []),
            row.propensities,
        )
        for row in connection.execute(query)
    ]


_READ = [name for name in ImpressionRow._fields if name not in ("final", "clicked")]


def _clicked(
    connection: sa.Connection, stream_id: int, after: int, until: int
) -> dict[int, list[int]]:
    query = sa.select(clicks.c.seq, clicks.c.position).where(
        clicks.c.stream_id == stream_id, clicks.c.seq > after, clicks.c.seq <= until
    )
    found: dict[int, list[int]] = {}
    for seq, position in connection.execute(query.order_by(clicks.c.seq, clicks.c.position)):
        found.setdefault(seq, []).append(position)
    return found
