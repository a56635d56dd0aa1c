"""Verification: checks that folding the log gives the stored snapshots, bit for bit."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import NamedTuple

import sqlalchemy as sa

from clickrank.errors import InvalidValue
from clickrank.learning.packing import pack
from clickrank.service.runtime.fold import ImpressionsMissing, load_snapshot, stored_state
from clickrank.service.store.database import Database
from clickrank.service.store.impression_log import StreamRow
from clickrank.service.store.rankers import ranker_by_id
from clickrank.service.store.tables import clicks, impressions, snapshots, streams


class Verified(NamedTuple):
    """The numbers of rows that were checked, and the problems found."""

    streams: int
    impressions: int
    snapshots: int
    problems: list[str]


def verify(database: Database) -> Verified:
    """Fold every stream from its beginning, and compare the result with each snapshot."""
    n_streams = n_impressions = n_snapshots = 0
    problems: list[str] = []
    with database.reading() as connection:
        numbers = connection.scalars(sa.select(streams.c.id).order_by(streams.c.id)).all()
    for number in numbers:
        with database.reading() as connection:
            query = sa.select(*(streams.c[name] for name in StreamRow._fields))
            found = connection.execute(query.where(streams.c.id == number)).one_or_none()
            if found is None:
                continue
            stream = StreamRow(*found)
            n_streams += 1
            n_impressions += stream.next_seq - 1 - stream.base_seq
            problems += _gaps(connection, stream)
            for problem in _snapshots(connection, stream):
                n_snapshots += 1
                problems += [problem] if problem else []
    return Verified(n_streams, n_impressions, n_snapshots, problems)


def _gaps(connection: sa.Connection, stream: StreamRow) -> list[str]:
    problems = []
    own = sa.and_(impressions.c.stream_id == stream.id, impressions.c.seq > stream.base_seq)
    count = connection.scalar(sa.select(sa.func.count()).where(own)) or 0
    expected = stream.next_seq - 1 - stream.base_seq
    if count != expected:
        problems.append(f"stream {stream.id}: {expected} impressions expected, {count} found.")
    matched = sa.and_(
        impressions.c.stream_id == clicks.c.stream_id, impressions.c.seq == clicks.c.seq
    )
    joined = clicks.outerjoin(impressions, matched)
    lost = connection.scalar(
        sa.select(sa.func.count())
        .select_from(joined)
        .where(clicks.c.stream_id == stream.id, impressions.c.seq.is_(None))
    )
    if lost:
        problems.append(f"stream {stream.id}: {lost} clicks on impressions that are missing.")
    return problems


def _snapshots(connection: sa.Connection, stream: StreamRow) -> Iterator[str | None]:
    ranker = ranker_by_id(connection, stream.ranker_id)
    if ranker is None:
        yield f"stream {stream.id}: its ranker is missing."
        return
    definition = ranker.definition
    folded_to = functools.partial(
        load_snapshot, connection, definition, ranker.version, stream, from_base=True
    )
    try:
        folded_to(until=stream.base_seq)
    except (InvalidValue, ImpressionsMissing) as error:
        yield str(error)
        return
    own = sa.and_(
        snapshots.c.stream_id == stream.id,
        snapshots.c.version >= definition.since,
        snapshots.c.seq > stream.base_seq,
    )
    for row in connection.execute(sa.select(snapshots).where(own)).all():
        try:
            stored = stored_state(definition, row.statistics)
        except InvalidValue as error:
            what = "cannot be read, and the log is folded again instead"
            yield f"stream {stream.id}: the snapshot at {row.seq} {what}: {error}"
            continue
        if stored is None:
            yield f"stream {stream.id}: the snapshot at {row.seq} cannot be carried over."
            continue
        same = False
        with contextlib.suppress(ImpressionsMissing):
            folded = folded_to(until=row.seq)
            same = pack(stored.statistics()) == pack(folded.state.statistics())
        what = f"stream {stream.id}: the fold up to {row.seq} differs from the snapshot."
        yield None if same else what
