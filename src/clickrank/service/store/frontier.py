"""Frontier: the last impression of a stream up to which all have settled and are folded in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from clickrank.errors import InvalidValue
from clickrank.service.store.database import Database
from clickrank.service.store.impression_log import ImpressionRow, StreamRow, lock_streams, read
from clickrank.service.store.tables import activity, clicks, rankers, streams

#: Duration of a bucket of `activity`, in microseconds.
BUCKET = 10_000_000


class Step(NamedTuple):
    """Settled impressions after the frontier, and when the next one will settle."""

    until: int
    logged: list[ImpressionRow]
    closes_at: int | None  # None: there is no other impression, or it was not read


def settled_after(
    connection: sa.Connection, stream: StreamRow, window: int, now: int, most: int
) -> Step:
    """Return the settled impressions that follow the frontier, at most ``most`` of them."""
    last = min(stream.next_seq - 1, stream.folded_seq + most)
    found: list[ImpressionRow] = []
    for one in read(connection, stream.id, stream.folded_seq, last):
        if one.seq != stream.folded_seq + len(found) + 1:
            rule = f"impression {stream.folded_seq + len(found) + 1} of stream {stream.id}"
            raise InvalidValue(f"Store: {rule} must be in the log, got {one.seq}.")
        if not one.final and one.shown_at + window > now:
            return Step(stream.folded_seq + len(found), found, one.shown_at + window)
        found.append(one)
    return Step(stream.folded_seq + len(found), found, None)


def move_frontier(
    database: Database, connection: sa.Connection, stream: StreamRow, step: Step, now: int
) -> bool:
    """Move the frontier over the impressions of a step, which then take no more clicks.

    False means that the impressions have changed since they were read. The state follows from the
    log alone, whichever worker moves the frontier.
    """
    row = lock_streams(connection, [stream.id]).get(stream.id)
    if row is None or row.folded_seq != stream.folded_seq:
        return False
    counted = sa.select(sa.func.count()).where(
        clicks.c.stream_id == stream.id,
        clicks.c.seq > stream.folded_seq,
        clicks.c.seq <= step.until,
    )
    if connection.scalar(counted) != sum(len(one.clicked) for one in step.logged):
        return False  # a click came in between
    connection.execute(
        sa.update(streams)
        .where(streams.c.id == stream.id)
        .values(folded_seq=step.until, folded_at=now)
    )
    _count_activity(database, connection, stream.id, step.logged)
    return True


def _count_activity(
    database: Database,
    connection: sa.Connection,
    stream_id: int,
    logged: Sequence[ImpressionRow],
) -> None:
    buckets: dict[int, list[int]] = {}
    for one in logged:
        counts = buckets.setdefault(one.shown_at - one.shown_at % BUCKET, [0, 0, 0, 0])
        counts[0] += 1
        counts[1] += bool(one.clicked)
        counts[2] += len(one.clicked)
        counts[3] += one.exploring
    names = ("impressions", "clicked", "clicks", "exploring")
    rows = [
        {"stream_id": stream_id, "bucket": bucket, **dict(zip(names, counts, strict=True))}
        for bucket, counts in sorted(buckets.items())
    ]
    added = database.insert(activity)
    changed = {name: activity.c[name] + added.excluded[name] for name in names}
    connection.execute(
        added.on_conflict_do_update(index_elements=["stream_id", "bucket"], set_=changed), rows
    )


def lagging(connection: sa.Connection) -> list[tuple[int, int]]:
    """Return the ids of streams with impressions to fold, with the versions of their rankers."""
    query = sa.select(streams.c.id, rankers.c.version)
    query = query.join_from(streams, rankers, rankers.c.id == streams.c.ranker_id)
    query = query.where(streams.c.next_seq > streams.c.folded_seq + 1)
    return [(row.id, row.version) for row in connection.execute(query)]


def moved_since(connection: sa.Connection, since: int) -> list[tuple[int, int, int]]:
    """Return the streams whose frontier has moved since a time: id, ranker and frontier."""
    query = sa.select(streams.c.id, streams.c.ranker_id, streams.c.folded_seq)
    rows = connection.execute(query.where(streams.c.folded_at >= since))
    return [(row.id, row.ranker_id, row.folded_seq) for row in rows]
