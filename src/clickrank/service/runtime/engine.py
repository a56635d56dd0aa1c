"""Engine: one worker of the service, without HTTP. It ranks, takes feedback and reports."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import sqlalchemy as sa

from clickrank._core.arrays import Ints
from clickrank.errors import InvalidValue, UnknownName, invalid
from clickrank.service.runtime import log_queries
from clickrank.service.runtime.administration import Administration
from clickrank.service.runtime.fold import Snapshot, initial_state
from clickrank.service.runtime.propensity_cache import PropensityCache
from clickrank.service.runtime.ranker_cache import (
    LoadedRanker,
    LoadedStream,
    RankerCache,
    RankerVersion,
    unknown_ranker,
)
from clickrank.service.runtime.refusals import Refused, Unavailable, quoted
from clickrank.service.runtime.settler import Settler
from clickrank.service.runtime.writer import Clock
from clickrank.service.schemas.answers import (
    Activity,
    ContextPage,
    Feedback,
    FeedbackBatch,
    FeedbackOf,
    Impression,
    ImpressionBatch,
    LoggedImpressions,
    Problem,
    Report,
)
from clickrank.service.schemas.requests import ClickBatch, Clicks, RankBatch, RankRequest
from clickrank.service.store.database import Database, StoreUnavailable
from clickrank.service.store.feedback import Answer, NewFeedback
from clickrank.service.store.impression_log import (
    NewImpression,
    Recorded,
    StreamRow,
    find_stream,
    now_floor,
)
from clickrank.service.store.rankers import RankerRow

T = TypeVar("T")

_log = logging.getLogger("clickrank.serve")

#: Default for the maximum number of bytes of all states in memory.
MEMORY = 2 * 2**30
_TRIES = 10
#: Number of requests of a batch that are answered at the same time.
_TOGETHER = 50


class Engine(Administration):
    """A worker of the service. Its methods are awaited in one event loop; see `open`."""

    def __init__(
        self, database: Database, clock: Clock, memory: int, *, seed: int | None = None
    ) -> None:
        """Start the threads; the tables must be up to date."""
        super().__init__(RankerCache(database, memory), clock)
        self.writer = self._store.writer
        self.settler = Settler(database, self.writer, clock, self._cache.loaded)
        self._rng = np.random.default_rng(seed)
        self._propensities = PropensityCache()
        self._given_current: set[int] = set()  # rankers in live mode of which the log says so

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        memory: int = MEMORY,
        clock: Clock | None = None,
        seed: int | None = None,
    ) -> Engine:
        """Upgrade the tables if necessary, and start an engine.

        With a ``seed``, lists are repeatable as far as they do not depend on the time at which
        impressions are folded. Without one, each worker draws differently.
        """
        database = Database(url)

        def prepare() -> int:
            database.upgrade()
            with database.reading() as connection:
                return now_floor(connection)

        try:
            floor = await asyncio.get_running_loop().run_in_executor(None, prepare)
        except StoreUnavailable as error:
            raise Unavailable(str(error)) from error
        return cls(database, clock or Clock(floor), memory, seed=seed)

    async def close(self) -> None:
        """Fold the impressions that have settled, write snapshots and stop the threads."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self.settler.close)
        await loop.run_in_executor(None, self._store.close)

    async def ready(self) -> str | None:
        """Return None if the service can answer requests, otherwise the reason why it cannot."""
        try:
            await self._store.read(lambda connection: connection.scalar(sa.select(1)))
        except Unavailable as error:
            return str(error)
        return self.writer.trouble  # with a full disk, reading works and writing fails

    # Rank

    async def rank(self, name: str, request: RankRequest) -> Impression:
        """Choose a list and log it."""
        newest = False
        for _ in range(_TRIES):
            loaded = await self._cache.ranker(name)
            stream = await self._cache.stream(loaded, request.context)
            ranker = loaded.current
            if stream is None or stream.snapshot.version > ranker.row.version:
                await self._cache.newest(name)  # the settler has seen a newer version
                continue
            try:
                new = await self._choose(ranker, stream, request)
            except (InvalidValue, UnknownName):
                if newest or (await self._cache.newest(name)).current is ranker:
                    raise
                newest = True  # another worker changed the ranker; try its new version once
                continue
            recorded = await self.writer.record(new)
            found = self._shown(ranker, request.context, new, recorded)
            if found is not None:
                return found
            await self._cache.newest(name)  # the ranker was changed or deleted
        raise Unavailable(f"Ranker {quoted(name)} changes too often; try again later.")

    async def rank_batch(self, name: str, batch: RankBatch) -> ImpressionBatch:
        """Choose a list for each request; if one request is refused, no new list is logged."""
        ranker = (await self._cache.newest(name)).current
        for request in batch.requests:  # checked before any list is logged
            self._candidates(ranker, request)
            self._page_list(ranker, request)
        found: list[Impression] = []
        for first in range(0, len(batch.requests), _TOGETHER):  # other requests get their turn
            some = batch.requests[first : first + _TOGETHER]
            found += await _all_of([self.rank(name, request) for request in some])
        return ImpressionBatch(found)

    async def _choose(
        self, ranker: RankerVersion, stream: LoadedStream, request: RankRequest
    ) -> NewImpression:
        candidates = self._candidates(ranker, request)
        page = self._page_list(ranker, request)
        # The propensities of a list that the page chose are unknown.
        logs = ranker.row.definition.log_propensities and page is None
        propensities = self._propensities if logs else None
        # Computing propensities may draw thousands of lists in a thread. Meanwhile no other list of
        # the stream may be chosen, with propensities or without.
        if stream.is_slow or ranker.row.definition.log_propensities:
            async with stream.turns:
                rng = self._rng.spawn(1)[0]  # threads must not share a generator
                chosen = await self._store.in_thread(
                    lambda: stream.choose(rng, candidates, propensities)
                )
        else:
            chosen = stream.choose(self._rng, candidates, propensities)
        snapshot, ranking, memo, packed = chosen
        now = self.clock.now()
        given = isinstance(request.id, str)
        return NewImpression(
            request.id if isinstance(request.id, str) else _new_id(now),
            given,
            ranker.row.id,
            snapshot.version,
            stream.id,
            snapshot.seq,
            now,
            ranking if page is None else page,
            memo if page is None else [],
            None if page is None else ranking,
            not stream.is_best(ranking, candidates),
            packed,
        )

    def _candidates(self, ranker: RankerVersion, request: RankRequest) -> Ints | None:
        if request.candidates is None:
            return None
        numbers = ranker.catalogue.active_numbers(request.candidates, "candidates")
        return np.array(numbers, dtype=np.int64)

    def _page_list(self, ranker: RankerVersion, request: RankRequest) -> list[int] | None:
        """Return the list that the page shows itself; None unless the ranker is in shadow mode."""
        if ranker.row.definition.mode == "live":
            if request.current is not None and ranker.row.id not in self._given_current:
                self._given_current.add(ranker.row.id)
                _log.info("%s is in live mode and ignores current.", quoted(ranker.row.name))
            return None
        owner, n_positions = ranker.catalogue.owner, ranker.row.definition.n_positions
        if request.current is None:
            rule = "in shadow mode a request must give the page's own list as current"
            raise invalid(owner, rule, None)
        if len(request.current) != n_positions:
            rule = f"current must hold {n_positions} items"
            raise invalid(owner, rule, len(request.current))
        return ranker.catalogue.active_numbers(request.current, "current")

    def _shown(
        self, ranker: RankerVersion, context: str, new: NewImpression, recorded: Recorded
    ) -> Impression | None:
        """Return the impression that was logged; None if it must be chosen again."""
        if recorded.outcome == "taken":
            text = f"The id {quoted(new.id)} belongs to an impression of another ranker or context."
            raise Refused("id_taken", text, 409)
        if recorded.items is None:
            return None
        names = ranker.row.definition.items
        if recorded.version > ranker.row.version:
            return None  # logged by another worker, maybe with items that are unknown here
        would = recorded.would_show
        return Impression(
            new.id,
            [names[number] for number in recorded.items],
            context,
            recorded.version,
            None if would is None else [names[number] for number in would],
        )

    # Feedback

    async def click(self, impression_id: str, clicks: Clicks) -> Feedback:
        """Log the clicks on an impression."""
        new = NewFeedback(impression_id, clicks.clicked, clicks.final, self.clock.now())
        return self._answered(impression_id, await self.writer.feedback(new))

    async def click_batch(self, batch: ClickBatch) -> FeedbackBatch:
        """Log the clicks on many impressions; each gets its own answer."""
        now = self.clock.now()
        answers = await _all_of(
            [
                self.writer.feedback(NewFeedback(one.id, one.clicked, one.final, now))
                for one in batch.clicks
            ]
        )
        results = []
        for one, answer in zip(batch.clicks, answers, strict=True):
            try:
                results.append(FeedbackOf(one.id, self._answered(one.id, answer)))
            except Refused as error:
                results.append(FeedbackOf(one.id, error=Problem(error.code, str(error))))
        return FeedbackBatch(results)

    def _answered(self, impression_id: str, answer: Answer) -> Feedback:
        if answer.refused == "unknown":
            text = f"There is no impression {quoted(impression_id)}."
            raise Refused("unknown_impression", text, 404)
        if answer.refused == "impossible":
            text = f"The clicked item must be one that impression {quoted(impression_id)} showed"
            raise Refused("not_shown", f"{text}, got {quoted(answer.wrong)}.", 422)
        if answer.refused == "late":
            text = f"Impression {quoted(impression_id)} has settled and accepts no more clicks."
            raise Refused("late", text, 409)
        shown = answer.shown
        assert shown is not None
        if answer.settled:
            self.settler.notify(shown.stream_id)
        names = self._cache.names(shown.ranker_id)
        clicked = [names[shown.items[position]] for position in answer.clicked]
        return Feedback(impression_id, clicked, answer.settled)

    # Reports

    async def contexts(self, name: str, after: str | None, limit: int) -> ContextPage:
        """Return at most ``limit`` contexts whose names come after ``after``, sorted by name."""
        row = await self._cache.row(name)
        return await self._store.read(lambda c: log_queries.contexts(c, row.id, after, limit))

    async def report(self, name: str, context: str) -> Report:
        """Return what a ranker has learned in a context."""
        loaded, stream = await self._caught_up(name, context)
        return await self._store.read(lambda c: log_queries.report(c, loaded.row, stream))

    async def activity(self, name: str, context: str, seconds: int | None) -> Activity:
        """Return the numbers of settled impressions and clicks over time."""
        _, stream = await self._caught_up(name, context)
        return await self._store.read(lambda c: log_queries.activity(c, stream.id, seconds))

    async def impressions(self, name: str, context: str | None, limit: int) -> LoggedImpressions:
        """Return the last impressions, newest first."""
        row = await self._cache.row(name)
        now = self.clock.now()
        return await self._store.read(
            lambda c: log_queries.impressions(c, row, context, limit, now)
        )

    async def export(self, name: str) -> AsyncIterator[bytes]:
        """Yield the log as a Parquet file."""
        row = await self._cache.row(name)
        now = self.clock.now()
        chunks = log_queries.export(self._store.database, row, now)
        while chunk := await self._store.in_thread(lambda: next(chunks, b"")):
            yield chunk

    async def _caught_up(self, name: str, context: str) -> tuple[LoadedRanker, LoadedStream]:
        """Return a ranker and a stream in which everything up to the frontier is folded in."""
        loaded = await self._cache.newest(name)
        row = loaded.row
        if not await self._store.read(lambda c: find_stream(c, row.id, context)):
            if context:
                raise Refused("unknown_context", f"There is no context {quoted(context)}.", 404)
            return loaded, _unused_stream(row)
        stream = await self._cache.stream(loaded, context)
        if stream is None:
            raise unknown_ranker(name)
        database = self._store.database
        await self._store.in_thread(lambda: stream.catch_up(database, loaded.row))
        return loaded, stream


async def _all_of(calls: Sequence[Awaitable[T]]) -> list[T]:
    """Wait until all calls have ended, then raise the first error if there is one."""
    found = await asyncio.gather(*calls, return_exceptions=True)
    done = []
    for one in found:
        if isinstance(one, BaseException):
            raise one
        done.append(one)
    return done


def _unused_stream(row: RankerRow) -> LoadedStream:
    """Return the stream of a ranker without visitors, which is not stored."""
    nowhere = StreamRow(0, row.id, "", 1, 0, 0, 0)
    return LoadedStream(nowhere, Snapshot(initial_state(row.definition), 0, row.version))


def _random_texts() -> Iterator[str]:
    """Yield random texts that nobody can guess; asking the system for many at once is faster."""
    while True:
        many = secrets.token_hex(9 * 256)
        yield from (many[i : i + 18] for i in range(0, len(many), 18))


_texts = _random_texts()


def _new_id(now: int) -> str:
    # The time comes first, because an index is fastest if ids are inserted in increasing order.
    return f"{now:014x}{next(_texts)}"
