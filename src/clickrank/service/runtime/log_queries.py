"""Log queries: contexts, activity over time, last impressions, reports and exports."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import sqlalchemy as sa

from clickrank.service.runtime import context_report as reports
from clickrank.service.runtime.propensity_cache import unpack_propensities
from clickrank.service.runtime.ranker_cache import LoadedStream
from clickrank.service.schemas.answers import (
    Activity,
    Bucket,
    ContextEntry,
    ContextPage,
    LoggedImpression,
    LoggedImpressions,
    Report,
)
from clickrank.service.store import impression_log as log_store
from clickrank.service.store.database import Database
from clickrank.service.store.frontier import BUCKET
from clickrank.service.store.impression_log import StreamRow, read
from clickrank.service.store.rankers import RankerRow
from clickrank.service.store.tables import activity as activity_table
from clickrank.service.store.tables import impressions as impressions_table
from clickrank.service.store.tables import streams

_DAY = 24 * 3600 * 1_000_000
#: Approximate number of buckets if their duration is not given.
_POINTS = 120
#: Number of last impressions from which exploration and shadow mode are computed.
_RECENT = 1_000
_AT_ONCE = 2_000


def contexts(
    connection: sa.Connection, ranker_id: int, after: str | None, limit: int
) -> ContextPage:
    """Return at most ``limit`` contexts whose names come after ``after``, sorted by name."""
    query = sa.select(streams.c.context, streams.c.next_seq, streams.c.folded_seq)
    query = query.where(streams.c.ranker_id == ranker_id)
    if after is not None:
        query = query.where(streams.c.context > after)
    rows = connection.execute(query.order_by(streams.c.context).limit(limit + 1)).all()
    some = [ContextEntry(row.context, row.next_seq - 1, row.folded_seq) for row in rows[:limit]]
    return ContextPage(some, some[-1].context if len(rows) > limit else None)


def activity(connection: sa.Connection, stream_id: int, seconds: int | None) -> Activity:
    """Return the numbers of settled impressions and clicks, in buckets of ``seconds``."""
    own = activity_table.c.stream_id == stream_id
    ends = sa.select(sa.func.min(activity_table.c.bucket), sa.func.max(activity_table.c.bucket))
    first, last = connection.execute(ends.where(own)).one()
    if first is None:
        return Activity(seconds or BUCKET // 1_000_000, None, [])
    if seconds is None:
        smallest = (last - first) / _POINTS
        lengths = (10, 60, 300, 900, 3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600)
        seconds = next((n for n in lengths if n * 1e6 >= smallest), lengths[-1])
    length = max(seconds * 1_000_000 // BUCKET, 1) * BUCKET
    begin = activity_table.c.bucket - activity_table.c.bucket % length
    names = ("impressions", "clicked", "clicks", "exploring")
    sums = [sa.func.sum(activity_table.c[name]).label(name) for name in names]
    rows = connection.execute(
        sa.select(begin.label("at"), *sums).where(own).group_by(begin).order_by(begin)
    )
    buckets = [Bucket(row.at / 1e6, *(int(row[i + 1]) for i in range(4))) for row in rows]
    day = connection.execute(
        sa.select(*sums).where(own, activity_table.c.bucket < first + _DAY)
    ).one()
    first_day = Bucket(first / 1e6, *(int(value) for value in day))
    return Activity(length // 1_000_000, first_day, buckets)


def impressions(
    connection: sa.Connection, row: RankerRow, context: str | None, limit: int, now: int
) -> LoggedImpressions:
    """Return the last impressions of one context or of all, newest first."""
    newest = sa.select(streams.c.id).where(streams.c.ranker_id == row.id)
    if context is not None:
        newest = newest.where(streams.c.context == context)
    # The contexts used last, and at most ``limit`` impressions of each.
    newest = newest.order_by(streams.c.last_at.desc()).limit(limit)
    last = sa.select(impressions_table.c.stream_id, impressions_table.c.seq)
    last = last.join(streams, streams.c.id == impressions_table.c.stream_id).where(
        streams.c.id.in_(newest), impressions_table.c.seq >= streams.c.next_seq - limit
    )
    order = (impressions_table.c.shown_at.desc(), impressions_table.c.seq.desc())
    first: dict[int, int] = {}
    for stream_id, seq in connection.execute(last.order_by(*order).limit(limit)):
        first[stream_id] = min(seq, first.get(stream_id, seq))
    found: list[tuple[int, LoggedImpression]] = []
    names = row.definition.items
    for number, seq in first.items():
        stream = log_store.stream_by_id(connection, number)
        if stream is None:
            continue
        for one in read(connection, number, seq - 1, stream.next_seq - 1, newest_first=True):
            settled = one.final or one.seq <= stream.folded_seq or one.shown_at + row.window <= now
            entry = LoggedImpression(
                id=one.id,
                context=stream.context,
                shown_at=one.shown_at / 1e6,
                items=[names[number] for number in one.items],
                clicked=[names[one.items[position]] for position in one.clicked],
                settled=settled,
                exploring=one.exploring,
                version=one.version,
                would_show=_named(names, one.would_show),
            )
            found.append((one.shown_at, entry))
    found.sort(key=lambda pair: -pair[0])
    return LoggedImpressions([entry for _, entry in found[:limit]])


def report(connection: sa.Connection, row: RankerRow, stream: LoadedStream) -> Report:
    """Return the report on a stream."""
    snapshot, definition = stream.snapshot, row.definition
    found = log_store.stream_by_id(connection, stream.id)
    n_logged = snapshot.seq if found is None else found.next_seq - 1
    clicked = connection.scalar(
        sa.select(sa.func.sum(activity_table.c.clicked)).where(
            activity_table.c.stream_id == stream.id
        )
    )
    recent = read(connection, stream.id, max(n_logged - _RECENT, 0), n_logged)
    shadow = [one for one in recent if one.would_show is not None]
    own_views = page_views = None
    if shadow:
        places = np.arange(definition.n_positions)
        own_views = np.zeros((len(definition.items), definition.n_positions), dtype=np.int64)
        page_views = np.zeros_like(own_views)
        for one in shadow:
            own_views[one.would_show, places] += 1
            page_views[one.items, places] += 1
    counts = reports.ContextCounts(
        views=snapshot.state.views.astype(np.int64),
        clicks=snapshot.state.clicks.astype(np.int64),
        impressions=n_logged,
        settled=snapshot.seq,
        clicked=int(clicked or 0),
        recent=len(recent),
        exploring=sum(one.exploring for one in recent),
        own_views=own_views,
        page_views=page_views,
        same_items=sum(len({*one.items} & {*(one.would_show or [])}) for one in shadow),
    )
    retired = np.zeros(len(definition.items), dtype=np.bool_)
    retired[definition.retired] = True
    return reports.report(row.name, stream.context, definition.items, retired, counts)


def export(database: Database, row: RankerRow, now: int) -> Iterator[bytes]:
    """Yield the log of a ranker as a Parquet file, context by context, in shown order."""
    from clickrank.service.store.export import (  # takes a while to import
        ExportedImpression,
        parquet,
    )

    def logged() -> Iterator[ExportedImpression]:
        names = row.definition.items
        with database.reading() as connection:
            query = sa.select(*(streams.c[name] for name in StreamRow._fields))
            query = query.where(streams.c.ranker_id == row.id).order_by(streams.c.id)
            all_streams = [StreamRow(*found) for found in connection.execute(query)]
        for stream in all_streams:
            for first in range(stream.base_seq, stream.next_seq - 1, _AT_ONCE):
                last = min(first + _AT_ONCE, stream.next_seq - 1)
                with (
                    database.reading() as connection
                ):  # short transactions, so that SQLite's WAL file can shrink
                    some = read(connection, stream.id, first, last)
                for one in some:
                    closed = one.final or one.seq <= stream.folded_seq
                    packed = one.propensities
                    chances = (None, None) if packed is None else unpack_propensities(packed)
                    yield ExportedImpression(
                        id=one.id,
                        context=stream.context,
                        shown_at=one.shown_at,
                        version=one.version,
                        items=[names[number] for number in one.items],
                        clicked=one.clicked,
                        settled=closed or one.shown_at + row.window <= now,
                        exploring=one.exploring,
                        would_show=_named(names, one.would_show),
                        propensity=chances[0],
                        prefix_propensity=chances[1],
                    )

    return parquet(row.name, logged())


def _named(names: list[str], numbers: list[int] | None) -> list[str] | None:
    return None if numbers is None else [names[number] for number in numbers]
