"""Snapshots: stores the statistics of streams as bytes."""

from __future__ import annotations

import sqlalchemy as sa

from clickrank.service.store.database import Database
from clickrank.service.store.impression_log import lock_streams
from clickrank.service.store.tables import snapshots, streams


def newest_snapshot(
    connection: sa.Connection, stream_id: int, first: int, last: int
) -> tuple[int, int, bytes] | None:
    """Return the seq, version and bytes of the last snapshot from one impression to another."""
    query = sa.select(snapshots.c.seq, snapshots.c.version, snapshots.c.statistics).where(
        snapshots.c.stream_id == stream_id, snapshots.c.seq.between(first, last)
    )
    order = (snapshots.c.version.desc(), snapshots.c.seq.desc())
    row = connection.execute(query.order_by(*order).limit(1)).one_or_none()
    return None if row is None else (row.seq, row.version, row.statistics)


def write_snapshot(
    database: Database,
    connection: sa.Connection,
    stream_id: int,
    seq: int,
    version: int,
    at: int,
    statistics: bytes,
) -> None:
    """Write a snapshot, replacing one of the same seq and version."""
    row = {"stream_id": stream_id, "seq": seq, "version": version, "at": at}
    added = database.insert(snapshots).values(**row, statistics=statistics)
    key = [snapshots.c.stream_id, snapshots.c.seq, snapshots.c.version]
    connection.execute(
        added.on_conflict_do_update(index_elements=key, set_={"statistics": statistics})
    )


def put_snapshot(
    database: Database,
    connection: sa.Connection,
    stream_id: int,
    seq: int,
    version: int,
    at: int,
    statistics: bytes,
) -> None:
    """Add a snapshot, and delete older ones; the last two and the base remain."""
    if not lock_streams(connection, [stream_id]):
        return  # deleted meanwhile
    write_snapshot(database, connection, stream_id, seq, version, at, statistics)
    kept = (
        sa.select(snapshots.c.seq)
        .where(snapshots.c.stream_id == stream_id)
        .order_by(snapshots.c.seq.desc())
        .limit(1)
        .offset(1)
        .scalar_subquery()
    )
    base = sa.select(streams.c.base_seq).where(streams.c.id == stream_id).scalar_subquery()
    connection.execute(
        sa.delete(snapshots).where(
            snapshots.c.stream_id == stream_id,
            snapshots.c.seq < kept,
            snapshots.c.seq != base,
        )
    )
