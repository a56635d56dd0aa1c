"""Which rankers and contexts are in memory; the rest is in the store."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping

import sqlalchemy as sa

from clickrank.service.runtime.fold import load_snapshot
from clickrank.service.runtime.refusals import Refused
from clickrank.service.runtime.store_executor import StoreExecutor
from clickrank.service.runtime.streams import LoadedRanker, Stream
from clickrank.service.store.database import Database
from clickrank.service.store.impression_log import count_streams, find_stream, make_stream
from clickrank.service.store.rankers import RankerRow, find_ranker, ranker_by_id

#: Contexts that a ranker may have.
MOST_CONTEXTS = 100_000


class RankerCache:
    """Rankers and streams, loaded when they are first asked for; the least used are let go.

    All but `loaded` and `numbers`, which other threads may call, is for the event loop's thread.

    Parameters
    ----------
    most_bytes
        What the streams may take, about.
    """

    def __init__(self, database: Database, most_bytes: int) -> None:
        """Begin with nothing."""
        self.store = StoreExecutor(database, self.numbers)
        self._most_bytes = most_bytes
        self._bytes = 0
        self._rankers: dict[str, LoadedRanker] = {}
        self._by_id: dict[int, LoadedRanker] = {}
        # What was used last is at the end.
        self._streams: OrderedDict[int, tuple[LoadedRanker, Stream]] = OrderedDict()
        self._loading: dict[tuple[int, str], asyncio.Task[Stream | None]] = {}

    def loaded(self, stream_id: int) -> Stream | None:
        """Return a stream if it is in memory."""
        found = self._streams.get(stream_id)
        return None if found is None else found[1]

    def numbers(self, connection: sa.Connection, ranker_id: int, version: int) -> Mapping[str, int]:
        """Return the items of a ranker by id, at least as new as this version."""
        known = self._by_id.get(ranker_id)
        if known is None or known.row.version < version:
            row = ranker_by_id(connection, ranker_id)
            if row is None:
                raise Refused("unknown_impression", "Clicks: the ranker was deleted.", 404)
            if known is None:
                known = self._by_id.setdefault(ranker_id, LoadedRanker(row))
            else:
                known.take(row)
        return known.current.numbers

    def names(self, ranker_id: int) -> list[str]:
        """Return the items of a ranker whose `numbers` were asked for."""
        known = self._by_id.get(ranker_id)
        if known is None:
            raise Refused("unknown_impression", "Clicks: the ranker was deleted.", 404)
        return known.row.definition.items

    async def row(self, name: str) -> RankerRow:
        """Return a ranker as the store has it now."""
        found = await self.store.read(lambda connection: find_ranker(connection, name))
        if found is None:
            raise unknown_ranker(name)
        return found

    async def ranker(self, name: str) -> LoadedRanker:
        """Return a ranker as it is in memory, where it is loaded to."""
        return self._rankers.get(name) or await self.newest(name)

    async def newest(self, name: str) -> LoadedRanker:
        """Return a ranker in memory that is as new as the store's."""
        try:
            row = await self.row(name)
        except Refused:
            self.forget(name)
            raise
        known = self._rankers.get(name)
        if known is not None and known.row.id != row.id:
            self.forget(name)
            known = None
        if known is None:
            known = self._by_id.setdefault(row.id, LoadedRanker(row))
            self._rankers[name] = known
        self.take(row)
        return known

    def take(self, row: RankerRow) -> None:
        """Take over a newer version of a ranker, if it is in memory."""
        known = self._by_id.get(row.id)
        if known is not None and known.row.version < row.version:
            known.take(row)

    async def stream(self, ranker: LoadedRanker, context: str) -> Stream | None:
        """Return a stream up to date with its ranker, made if need be; None: the ranker is gone."""
        found = ranker.streams.get(context)
        if found is None or found.snapshot.version < ranker.row.version:
            found = await self._load_once(ranker, context)
        if found is not None and found.id in self._streams:
            self._streams.move_to_end(found.id)
        return found

    async def _load_once(self, ranker: LoadedRanker, context: str) -> Stream | None:
        key = (ranker.row.id, context)
        task = self._loading.get(key)
        if task is None:
            task = asyncio.ensure_future(self._load(ranker, context))
            self._loading[key] = task
            task.add_done_callback(lambda _: self._loading.pop(key, None))
        return await asyncio.shield(task)  # whoever asked first may go; others wait too

    async def _load(self, ranker: LoadedRanker, context: str) -> Stream | None:
        row, database = ranker.row, self.store.database
        old = ranker.streams.get(context)
        if old is not None:
            stale = old
            await self.store.in_thread(lambda: stale.catch_up(database, row))
            return old
        found = await self.store.read(lambda c: find_stream(c, row.id, context))
        if found is None:
            if await self.store.read(lambda c: count_streams(c, row.id)) >= MOST_CONTEXTS:
                rule = f"a ranker may have {MOST_CONTEXTS:,} contexts"
                raise Refused("too_many_contexts", f"{row.name}: {rule}, got one more.")
            found = await self.store.write(lambda c: make_stream(database, c, row.id, context))
        if found is None:
            self.forget(row.name)
            return None
        known = found
        stream = await self.store.read(
            lambda c: Stream(known, load_snapshot(c, row.definition, row.version, known))
        )
        ranker.streams[context] = stream
        self._streams[stream.id] = (ranker, stream)
        self._bytes += stream.size
        while self._bytes > self._most_bytes and len(self._streams) > 1:
            _, (other, least_used) = self._streams.popitem(last=False)
            other.streams.pop(least_used.context, None)
            self._bytes -= least_used.size
        return stream

    def forget(self, name: str) -> None:
        """Let a ranker go with its streams."""
        known = self._rankers.pop(name, None)
        if known is None:
            return
        self._by_id.pop(known.row.id, None)
        for stream in known.streams.values():
            if self._streams.pop(stream.id, None):
                self._bytes -= stream.size


def unknown_ranker(name: str) -> Refused:
    """Build the error for a ranker that is not there."""
    return Refused("unknown_ranker", f"Service: there is no ranker {name!r}.", 404)
