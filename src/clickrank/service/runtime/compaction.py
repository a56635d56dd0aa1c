"""Compaction: removes old, settled impressions that a snapshot replaces."""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sa

from clickrank.learning.packing import pack
from clickrank.service.runtime.fold import load_snapshot
from clickrank.service.store.database import Database
from clickrank.service.store.impression_log import lock_rankers, lock_streams, stream_by_id
from clickrank.service.store.rankers import ranker_by_id
from clickrank.service.store.snapshots import write_snapshot
from clickrank.service.store.tables import activity, clicks, finals, impressions, snapshots, streams

_HOUR = 3600 * 1_000_000
#: Number of impressions removed per transaction.
_BATCH_SIZE = 5_000


class Compacted(NamedTuple):
    """The numbers of streams and impressions that were compacted."""

    streams: int
    impressions: int


def compact(database: Database, before: int) -> Compacted:
    """Remove impressions shown before a time (microseconds since 1970) that a snapshot covers.

    Each stream keeps a snapshot of the state after the removed impressions. Folding the rest of the
    log into it gives the same state as folding the whole log did. The removed impressions are no
    longer part of exports, and a policy that must fold its log again after a change of its ranker
    cannot learn from them.
    """
    with database.reading() as connection:
        numbers = connection.scalars(sa.select(streams.c.id).order_by(streams.c.id)).all()
    done = [_compact_stream(database, number, before) for number in numbers]
    return Compacted(sum(count > 0 for count in done), sum(done))


def _compact_stream(database: Database, number: int, before: int) -> int:
    with database.reading() as connection:
        stream = stream_by_id(connection, number)
        ranker = stream and ranker_by_id(connection, stream.ranker_id)
        if stream is None or ranker is None:
            return 0
        last = connection.scalar(
            sa.select(sa.func.max(impressions.c.seq)).where(
                impressions.c.stream_id == number,
                impressions.c.seq > stream.base_seq,
                impressions.c.seq <= stream.folded_seq,
                impressions.c.shown_at < before,
            )
        )
        if last is None:
            _remove(
                database, number, stream.base_seq
            )  # rows that an interrupted run did not remove
            return 0
        snapshot = load_snapshot(connection, ranker.definition, ranker.version, stream, until=last)
    packed = pack(snapshot.state.statistics())
    with database.writing() as connection:
        versions = lock_rankers(connection, [ranker.id])
        held = lock_streams(connection, [number]).get(number)
        if held is None or versions != {ranker.id: ranker.version}:
            return 0  # deleted or changed meanwhile; the next run compacts it
        if held.base_seq != stream.base_seq:
            return 0  # another run compacted it meanwhile
        write_snapshot(database, connection, number, last, ranker.version, held.last_at, packed)
        connection.execute(sa.update(streams).where(streams.c.id == number).values(base_seq=last))
        old = sa.and_(snapshots.c.stream_id == number, snapshots.c.seq < last)
        connection.execute(sa.delete(snapshots).where(old))
        _coarsen(connection, number, before)
    _remove(database, number, last)
    return int(last) - stream.base_seq


def _remove(database: Database, number: int, last: int) -> None:
    """Delete the rows up to the base in short transactions, since a service may be writing."""
    with database.reading() as connection:
        own = impressions.c.stream_id == number
        first = connection.scalar(sa.select(sa.func.min(impressions.c.seq)).where(own))
    if first is None:
        return
    for begin in range(first, last + 1, _BATCH_SIZE):
        end = min(begin + _BATCH_SIZE - 1, last)
        with database.writing() as connection:
            for table in (clicks, finals, impressions):
                old = sa.and_(table.c.stream_id == number, table.c.seq.between(begin, end))
                connection.execute(sa.delete(table).where(old))


def _coarsen(connection: sa.Connection, number: int, before: int) -> None:
    """Merge old rows of activity into one per hour."""
    own = sa.and_(activity.c.stream_id == number, activity.c.bucket < before - before % _HOUR)
    hour = activity.c.bucket - activity.c.bucket % _HOUR
    names = ("impressions", "clicked", "clicks", "exploring")
    sums = [sa.func.sum(activity.c[name]).label(name) for name in names]
    query = sa.select(hour.label("bucket"), *sums).where(own).group_by(hour)
    rows = [dict(row._mapping) for row in connection.execute(query)]
    connection.execute(sa.delete(activity).where(own))
    if rows:
        kept = [{"stream_id": number, **{k: int(v) for k, v in row.items()}} for row in rows]
        connection.execute(sa.insert(activity), kept)
