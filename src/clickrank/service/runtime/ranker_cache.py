"""RankerCache: the rankers and contexts (streams) in memory, from which lists are chosen."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa

from clickrank._core.arrays import Ints
from clickrank.learning.catalogue import Catalogue
from clickrank.service.runtime.context_report import Best
from clickrank.service.runtime.definitions import catalogue_of
from clickrank.service.runtime.fold import (
    Snapshot,
    carried_over,
    fold_impressions,
    fold_log,
    load_snapshot,
)
from clickrank.service.runtime.propensity_cache import PropensityCache, pack_propensities
from clickrank.service.runtime.refusals import Refused, quoted
from clickrank.service.runtime.store_executor import StoreExecutor
from clickrank.service.store.database import Database
from clickrank.service.store.impression_log import (
    ImpressionRow,
    StreamRow,
    count_streams,
    find_stream,
    make_stream,
    stream_by_id,
)
from clickrank.service.store.rankers import RankerRow, find_ranker, ranker_by_id

#: Maximum number of contexts per ranker.
MOST_CONTEXTS = 100_000
#: Seconds between two estimates of the best list, which changes slowly and takes time to find.
ESTIMATE_SECONDS = 1.0
#: Maximum number of lists drawn at once, and the time it may take: other requests wait meanwhile.
_MOST_DRAWN = 16
_DRAW_SECONDS = 0.0002
#: If two lists in a row take longer than this, the context is ranked in a thread from then on.
_SLOW_SECONDS = 0.005


class Chosen(NamedTuple):
    """A list that was chosen, and the snapshot that it was chosen from."""

    snapshot: Snapshot
    ranking: list[int]
    memo: list[int]
    propensities: bytes | None  # if asked for


class LoadedStream:
    """A context of a ranker: its newest snapshot, and an estimate of its best list.

    The snapshot is replaced and never changed, so that one thread can rank from it while another
    makes the next one.
    """

    def __init__(self, row: StreamRow, snapshot: Snapshot) -> None:
        """Prepare to rank from a snapshot."""
        self.id = row.id
        self.context = row.context
        self.changing = threading.Lock()  # held by the thread that makes the next snapshot
        # The sequence number and time of the last snapshot written. It starts at 0, so that a
        # service that is killed often still writes snapshots.
        self.saved_seq = 0
        self.saved_at = time.monotonic()
        self.snapshot = snapshot
        self.size = snapshot.state.nbytes  # when it was loaded
        self._looked_at = 0.0
        self._best: Best | None = None
        self._has_candidates = False
        # These four are used only by the thread that ranks.
        self._drawn_from: Snapshot | None = None
        self._drawn: list[tuple[list[int], list[int]]] = []
        self._draw = 1
        self._slow_in_a_row = 0
        self.turns = asyncio.Lock()  # of requests that rank in a thread
        snapshot.state.prepare()
        self.estimate_best()

    @property
    def is_slow(self) -> bool:
        """Whether lists take so long that they are chosen in a thread; once true, it stays true."""
        return self._slow_in_a_row >= 2

    def choose(
        self,
        rng: np.random.Generator,
        candidates: Ints | None,
        propensities: PropensityCache | None = None,
    ) -> Chosen:
        """Choose a list, and compute its propensities if a cache for these is given.

        While the snapshot stays the same, several lists of all items are drawn at once.
        Propensities hold for the state just before the list is drawn.
        """
        snapshot = self.snapshot
        began = time.perf_counter()
        if candidates is not None or propensities is not None:
            packed = found = None
            if propensities is not None:
                found = propensities.of(self.id, snapshot, rng, candidates)
            ranking, memo = snapshot.state.rank(rng, candidates)
            if found is not None:
                packed = pack_propensities(*found.of_shown(ranking))
            self._note_duration(time.perf_counter() - began)
            return Chosen(snapshot, ranking.tolist(), memo.tolist(), packed)
        if self._drawn_from is not snapshot:
            self._drawn_from, self._drawn, self._draw = snapshot, [], 1
        if not self._drawn:
            rankings, memos = snapshot.state.rank_many(rng, self._draw)
            self._drawn = list(zip(rankings.tolist(), memos.tolist(), strict=True))
            self._drawn.reverse()
            seconds = time.perf_counter() - began
            self._note_duration(seconds)
            if seconds < _DRAW_SECONDS:
                self._draw = min(2 * self._draw, _MOST_DRAWN)
        return Chosen(snapshot, *self._drawn.pop(), None)

    def _note_duration(self, seconds: float) -> None:
        if not self.is_slow:
            self._slow_in_a_row = self._slow_in_a_row + 1 if seconds > _SLOW_SECONDS else 0

    def replace(self, snapshot: Snapshot) -> None:
        """Go on from another snapshot."""
        other_items = snapshot.version != self.snapshot.version
        self.snapshot = snapshot
        if other_items or time.monotonic() >= self._looked_at + ESTIMATE_SECONDS:
            self.estimate_best()

    def estimate_best(self) -> None:
        """Estimate which list is best."""
        best = _best_of(self.snapshot)
        self.best: list[int] = best.among(self.snapshot.state.active).tolist()
        # The estimates take as much memory as the state, and only candidates need them.
        self._best = best if self._has_candidates else None
        self._looked_at = time.monotonic()

    def is_best(self, shown: list[int], candidates: Ints | None) -> bool:
        """Return whether a list is the best by the estimates, of the candidates if given."""
        if candidates is None:
            return shown == self.best
        self._has_candidates = True
        best = self._best
        if best is None:
            best = self._best = _best_of(self.snapshot)
        allowed = np.zeros(best.n_items, dtype=np.bool_)
        if candidates.max() >= best.n_items:
            return False  # items that were added after the estimate
        allowed[candidates] = True
        found: list[int] = best.among(allowed).tolist()
        return shown == found

    def fold_settled(
        self, row: RankerRow, before: int, logged: list[ImpressionRow], last: int
    ) -> bool:
        """Fold in impressions that follow ``before``; False if the snapshot is not at that one."""
        with self.changing:
            snapshot = self.snapshot
            if snapshot.seq != before or snapshot.version != row.version:
                return False
            self.replace(fold_impressions(row.definition, snapshot, logged, last))
            return True

    def catch_up(self, database: Database, row: RankerRow) -> None:
        """Fold in the logged impressions up to the frontier, for this version of the ranker."""
        with self.changing, database.reading() as connection:
            found = stream_by_id(connection, self.id)
            if found is None:
                return
            snapshot = self.snapshot
            if row.version < snapshot.version:  # the ranker changed since the caller read it
                newest = ranker_by_id(connection, found.ranker_id)
                if newest is None:
                    return
                row = newest
            definition, version = row.definition, row.version
            if snapshot.version < version:
                snapshot = carried_over(row, snapshot) or load_snapshot(
                    connection, definition, version, found
                )
            if snapshot.seq < found.base_seq:  # compacted away before it was folded here
                snapshot = load_snapshot(connection, definition, version, found)
            if snapshot.seq < found.folded_seq:
                snapshot = fold_log(connection, definition, snapshot, self.id, found.folded_seq)
            if snapshot is not self.snapshot:
                self.replace(snapshot)


def _best_of(snapshot: Snapshot) -> Best:
    state = snapshot.state
    return Best(state.views.astype(np.int64), state.clicks.astype(np.int64))


class RankerVersion(NamedTuple):
    """A ranker at one version, with its catalogue."""

    row: RankerRow
    catalogue: Catalogue[str]


class LoadedRanker:
    """A ranker with those of its contexts that are in memory."""

    def __init__(self, row: RankerRow) -> None:
        """Start without contexts."""
        self.streams: dict[str, LoadedStream] = {}
        self.take(row)

    def take(self, row: RankerRow) -> None:
        """Change to a new version; each stream follows when it is next used."""
        self.current = RankerVersion(row, catalogue_of(row))

    @property
    def row(self) -> RankerRow:
        """The row of the current version."""
        return self.current.row


class RankerCache:
    """Rankers and streams, loaded when first used; the least recently used streams are dropped.

    Other threads may call `loaded` and `numbers`; everything else belongs to the event loop's
    thread.

    Parameters
    ----------
    most_bytes
        The approximate maximum size of all streams in memory.
    """

    def __init__(self, database: Database, most_bytes: int) -> None:
        """Start empty."""
        self.store = StoreExecutor(database, self.numbers)
        self._most_bytes = most_bytes
        self._bytes = 0
        self._rankers: dict[str, LoadedRanker] = {}
        self._by_id: dict[int, LoadedRanker] = {}
        # The most recently used streams are at the end.
        self._streams: OrderedDict[int, tuple[LoadedRanker, LoadedStream]] = OrderedDict()
        self._loading: dict[tuple[int, str], asyncio.Task[LoadedStream | None]] = {}

    def loaded(self, stream_id: int) -> LoadedStream | None:
        """Return a stream if it is in memory."""
        found = self._streams.get(stream_id)
        return None if found is None else found[1]

    def numbers(self, connection: sa.Connection, ranker_id: int, version: int) -> Mapping[str, int]:
        """Return the numbers of a ranker's items by id, for this version or a later one."""
        ranker = self._by_id.get(ranker_id)
        if ranker is None or ranker.row.version < version:
            row = ranker_by_id(connection, ranker_id)
            if row is None:
                raise Refused(
                    "unknown_impression", "The ranker of this impression was deleted.", 404
                )
            if ranker is None:
                ranker = self._by_id.setdefault(ranker_id, LoadedRanker(row))
            else:
                ranker.take(row)
        return ranker.current.catalogue.numbers

    def names(self, ranker_id: int) -> list[str]:
        """Return the items of a ranker for which `numbers` was called before."""
        ranker = self._by_id.get(ranker_id)
        if ranker is None:
            raise Refused("unknown_impression", "The ranker of this impression was deleted.", 404)
        return ranker.row.definition.items

    async def row(self, name: str) -> RankerRow:
        """Return the present row of a ranker in the store."""
        found = await self.store.read(lambda connection: find_ranker(connection, name))
        if found is None:
            raise unknown_ranker(name)
        return found

    async def ranker(self, name: str) -> LoadedRanker:
        """Return a ranker from memory, or load it."""
        return self._rankers.get(name) or await self.newest(name)

    async def newest(self, name: str) -> LoadedRanker:
        """Return a ranker after bringing it to the version in the store."""
        try:
            row = await self.row(name)
        except Refused:
            self.forget(name)
            raise
        ranker = self._rankers.get(name)
        if ranker is not None and ranker.row.id != row.id:
            self.forget(name)
            ranker = None
        if ranker is None:
            ranker = self._by_id.setdefault(row.id, LoadedRanker(row))
            self._rankers[name] = ranker
        self.take(row)
        return ranker

    def take(self, row: RankerRow) -> None:
        """Change a ranker to a newer version, if it is in memory."""
        ranker = self._by_id.get(row.id)
        if ranker is not None and ranker.row.version < row.version:
            ranker.take(row)

    async def stream(self, ranker: LoadedRanker, context: str) -> LoadedStream | None:
        """Return a stream at the version of its ranker, creating it if it does not exist.

        None means that the ranker was deleted.
        """
        found = ranker.streams.get(context)
        if found is None or found.snapshot.version < ranker.row.version:
            found = await self._load_once(ranker, context)
        if found is not None and found.id in self._streams:
            self._streams.move_to_end(found.id)
        return found

    async def _load_once(self, ranker: LoadedRanker, context: str) -> LoadedStream | None:
        key = (ranker.row.id, context)
        task = self._loading.get(key)
        if task is None:
            task = asyncio.ensure_future(self._load(ranker, context))
            self._loading[key] = task
            task.add_done_callback(lambda _: self._loading.pop(key, None))
        return await asyncio.shield(task)  # the first caller may give up; others wait too

    async def _load(self, ranker: LoadedRanker, context: str) -> LoadedStream | None:
        row, database = ranker.row, self.store.database
        old = ranker.streams.get(context)
        if old is not None:
            stale = old
            await self.store.in_thread(lambda: stale.catch_up(database, row))
            return old
        found = await self.store.read(lambda c: find_stream(c, row.id, context))
        if found is None:
            if await self.store.read(lambda c: count_streams(c, row.id)) >= MOST_CONTEXTS:
                rule = f"A ranker may have at most {MOST_CONTEXTS:,} contexts."
                raise Refused("too_many_contexts", rule)
            found = await self.store.write(lambda c: make_stream(database, c, row.id, context))
        if found is None:
            self.forget(row.name)
            return None
        stream_row = found
        stream = await self.store.read(
            lambda c: LoadedStream(
                stream_row, load_snapshot(c, row.definition, row.version, stream_row)
            )
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
        """Drop a ranker with its streams from memory."""
        ranker = self._rankers.pop(name, None)
        if ranker is None:
            return
        self._by_id.pop(ranker.row.id, None)
        for stream in ranker.streams.values():
            if self._streams.pop(stream.id, None):
                self._bytes -= stream.size


def unknown_ranker(name: str) -> Refused:
    """Return the error for a ranker that does not exist."""
    return Refused("unknown_ranker", f"There is no ranker {quoted(name)}.", 404)
