"""The service without HTTP: rankers in memory, their log in the store."""

from __future__ import annotations

import asyncio
import functools
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any, TypeVar, cast

import numpy as np
import sqlalchemy as sa

from clickrank._core.arrays import Ints
from clickrank.errors import ClickRankError, InvalidValue, UnknownName, invalid
from clickrank.service.runtime import definitions, views
from clickrank.service.runtime.clock import Clock
from clickrank.service.runtime.fold import Snapshot, initial_state
from clickrank.service.runtime.propensity_cache import PropensityCache
from clickrank.service.runtime.ranker_cache import RankerCache, unknown_ranker
from clickrank.service.runtime.refusals import Refused, Unavailable
from clickrank.service.runtime.settler import Settler
from clickrank.service.runtime.streams import LoadedRanker, RankerVersion, Stream
from clickrank.service.schemas.answers import (
    Activity,
    ContextPage,
    Feedback,
    FeedbackBatch,
    FeedbackOf,
    Impression,
    ImpressionBatch,
    ItemEntry,
    ItemPage,
    Key,
    Keys,
    LoggedImpressions,
    MadeKey,
    Problem,
    Ranker,
    RankerPage,
    Report,
)
from clickrank.service.schemas.fields import Role
from clickrank.service.schemas.requests import (
    ClickBatch,
    Clicks,
    NewItems,
    NewKey,
    NewRanker,
    RankBatch,
    RankerChange,
    RankRequest,
    RetiredItems,
)
from clickrank.service.store import api_keys as key_store
from clickrank.service.store import rankers as ranker_store
from clickrank.service.store.database import Database, StoreUnavailable
from clickrank.service.store.feedback import Answer, NewFeedback
from clickrank.service.store.impression_log import (
    NewImpression,
    Recorded,
    StreamRow,
    find_stream,
    now_floor,
)
from clickrank.service.store.rankers import Definition, RankerRow

T = TypeVar("T")

#: Bytes of what was learned that are kept in memory; what is used least is let go.
MEMORY = 2 * 2**30
_TRIES = 10
#: Lists of a batch that are chosen at once.
_TOGETHER = 50


class Engine:
    """A worker of the service. Its methods are awaited in one event loop; see `open`."""

    def __init__(
        self, database: Database, clock: Clock, memory: int, *, seed: int | None = None
    ) -> None:
        """Start the threads; the tables must be up to date."""
        self.clock = clock
        self._cache = RankerCache(database, memory)
        self._store = self._cache.store
        self.writer = self._store.writer
        self.settler = Settler(database, self.writer, clock, self._cache.loaded)
        self._rng = np.random.default_rng(seed)
        self._propensities = PropensityCache()

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        memory: int = MEMORY,
        clock: Clock | None = None,
        seed: int | None = None,
    ) -> Engine:
        """Bring the tables up to date, and start to work.

        A ``seed`` makes the lists repeatable, as far as they do not depend on when clicks are
        learned from; without one, no two workers draw the same.
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
        """Fold what has settled, write snapshots, and end."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self.settler.close)
        await loop.run_in_executor(None, self._store.close)

    async def ready(self) -> str | None:
        """Return why it cannot work just now, None if it can."""
        try:
            await self._store.read(lambda connection: connection.scalar(sa.select(1)))
        except Unavailable as error:
            return str(error)
        return self.writer.trouble  # one may be able to read and not to write: a full disk

    # Rankers

    async def create(self, new: NewRanker) -> tuple[Ranker, bool]:
        """Make a ranker; the same again is no error, and makes none."""
        definition = await self._store.slowly(functools.partial(definitions.define, new))
        window = new.window * 1_000_000
        # Compiles the policy's kernels, if need be: now, not when the first visitor comes.
        await self._store.slowly(functools.partial(_warm_up, new.name, definition))
        at = self.clock.now()

        def insert(connection: sa.Connection) -> tuple[RankerRow, bool]:
            row = ranker_store.find_ranker(connection, new.name)
            if row is not None:
                return row, False
            return (
                ranker_store.insert_ranker(connection, new.name, window, definition, at),
                True,
            )

        try:
            row, made = await self._store.write(insert)
        except sa.exc.IntegrityError:  # another worker was faster
            row, made = await self._store.write(insert)
        if not made and (row.version != 1 or (row.window, row.definition) != (window, definition)):
            text = f"{new.name}: there is a ranker of that name, and it is not the same."
            raise Refused("name_taken", text, 409)
        return definitions.described(row), made

    async def ranker(self, name: str) -> Ranker:
        """Return a ranker as it is."""
        return definitions.described(await self._cache.row(name))

    async def rankers(self, after: str, limit: int) -> RankerPage:
        """Return rankers by name, those after a name."""
        rows = await self._store.read(lambda c: ranker_store.list_rankers(c, after, limit + 1))
        more = len(rows) > limit
        rows = rows[:limit]
        return RankerPage(
            [definitions.described(row) for row in rows], rows[-1].name if more else None
        )

    async def change(self, name: str, change: RankerChange) -> Ranker:
        """Change window, mode, policy or settings."""
        return await self._change(
            name, lambda row: definitions.changed(row, change), {"set": change}
        )

    async def add_items(self, name: str, new: NewItems) -> Ranker:
        """Add items."""
        return await self._change(
            name, lambda row: (row.window, definitions.with_items(row, new)), {"add": new}
        )

    async def retire_items(self, name: str, retired: RetiredItems) -> Ranker:
        """Retire items: they are not shown again."""
        return await self._change(
            name,
            lambda row: (row.window, definitions.without_items(row, retired)),
            {"retire": retired},
        )

    async def _change(
        self,
        name: str,
        change: Callable[[RankerRow], tuple[int, Any]],
        note: dict[str, Any],
    ) -> Ranker:
        # Made first outside of the transaction, which holds up all others: it may compile.
        row = await self._cache.row(name)
        _, definition = await self._store.slowly(functools.partial(change, row))
        if definition.since != row.definition.since:
            await self._store.slowly(functools.partial(_warm_up, name, definition))
        at = self.clock.now()

        def write(connection: sa.Connection) -> RankerRow | None:
            held = ranker_store.find_ranker(connection, name, change=True)
            if held is None:
                return None
            window, definition = change(held)
            if (window, definition) == (held.window, held.definition):
                return held
            other_policy = definition.policy_since > held.definition.policy_since
            if other_policy and held.version != row.version:
                text = f"{name}: it was changed while the policy was made ready; try again."
                raise Refused("changed_meanwhile", text, 409)
            return ranker_store.change_ranker(connection, held, window, definition, at, note)

        changed = await self._store.write(write)
        if changed is None:
            raise unknown_ranker(name)
        self._cache.take(changed)
        return definitions.described(changed)

    async def delete(self, name: str) -> None:
        """Remove a ranker with all its log."""

        def write(connection: sa.Connection) -> bool:
            held = ranker_store.find_ranker(connection, name, change=True)
            if held is not None:
                ranker_store.delete_ranker(connection, held.id)
            return held is not None

        found = await self._store.write(write)
        self._cache.forget(name)
        if not found:
            raise unknown_ranker(name)

    async def items(self, name: str, after: int, limit: int) -> ItemPage:
        """Return items in the order they were added, from the number ``after`` on."""
        row = await self._cache.row(name)
        retired = frozenset(row.definition.retired)
        some = row.definition.items[after : after + limit]
        entries = [ItemEntry(item, after + i in retired) for i, item in enumerate(some)]
        more = after + limit < len(row.definition.items)
        return ItemPage(entries, after + limit if more else None)

    async def contexts(self, name: str, after: str | None, limit: int) -> ContextPage:
        """Return contexts by name, those after one."""
        row = await self._cache.row(name)
        return await self._store.read(lambda c: views.contexts(c, row.id, after, limit))

    # Lists and clicks

    async def rank(self, name: str, request: RankRequest) -> Impression:
        """Choose a list and put it on record."""
        sure = False
        for _ in range(_TRIES):
            loaded = await self._cache.ranker(name)
            stream = await self._cache.stream(loaded, request.context)
            known = loaded.current
            if stream is None or stream.snapshot.version > known.row.version:
                await self._cache.newest(name)  # of which the folder heard first
                continue
            try:
                new = await self._choose(known, stream, request)
            except (InvalidValue, UnknownName):
                if sure or (await self._cache.newest(name)).current is known:
                    raise
                sure = True  # another worker changed the ranker: once more, by what it is now
                continue
            recorded = await self.writer.record(new)
            found = self._shown(known, request.context, new, recorded)
            if found is not None:
                return found
            # The ranker is gone, or another by now.
            await self._cache.newest(name)
        raise Unavailable(f"{name}: it is being changed all the time; try again later.")

    async def rank_batch(self, name: str, batch: RankBatch) -> ImpressionBatch:
        """Choose a list for each request: all or, if one cannot be, none that was not before."""
        known = (await self._cache.newest(name)).current
        for request in batch.requests:  # what can be said at once is said before any is recorded
            self._candidates(known, request)
            self._page_list(known, request)
        found: list[Impression] = []
        for first in range(0, len(batch.requests), _TOGETHER):  # others want to be heard too
            some = batch.requests[first : first + _TOGETHER]
            found += await _all_of([self.rank(name, request) for request in some])
        return ImpressionBatch(found)

    async def click(self, impression_id: str, clicks: Clicks) -> Feedback:
        """Put clicks on record."""
        new = NewFeedback(impression_id, clicks.clicked, clicks.final, self.clock.now())
        return self._answered(impression_id, await self.writer.feedback(new))

    async def click_batch(self, batch: ClickBatch) -> FeedbackBatch:
        """Put clicks on many impressions on record; each gets its own answer."""
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

    async def _choose(
        self, known: RankerVersion, stream: Stream, request: RankRequest
    ) -> NewImpression:
        candidates = self._candidates(known, request)
        page = self._page_list(known, request)
        # Of a list that the page chose itself nobody knows.
        logs = known.row.definition.log_propensities and page is None
        odds = self._propensities if logs else None
        # Propensities may take thousands of lists. While a thread draws them, no other list of the
        # stream may be chosen, with or without them.
        if stream.is_slow or known.row.definition.log_propensities:
            async with stream.turns:
                rng = self._rng.spawn(1)[0]  # threads must not share a generator
                chosen = await self._store.in_thread(lambda: stream.choose(rng, candidates, odds))
        else:
            chosen = stream.choose(self._rng, candidates, odds)
        snapshot, own, memo, propensities = chosen
        shown = own if page is None else page
        now = self.clock.now()
        given = isinstance(request.id, str)
        return NewImpression(
            request.id if isinstance(request.id, str) else _new_id(now),
            given,
            known.row.id,
            snapshot.version,
            stream.id,
            snapshot.seq,
            now,
            shown,
            memo if page is None else [],
            None if page is None else own,
            not stream.is_best(own, candidates),
            propensities,
        )

    def _candidates(self, known: RankerVersion, request: RankRequest) -> Ints | None:
        if request.candidates is None:
            return None
        return np.array(self._distinct(known, "candidates", request.candidates), dtype=np.int64)

    def _page_list(self, known: RankerVersion, request: RankRequest) -> list[int] | None:
        """Return the list that the page shows itself, in shadow mode."""
        if known.row.definition.mode == "live":
            return None
        owner, n_positions = known.row.name, known.row.definition.n_positions
        if request.current is None:
            rule = "in shadow mode a request must give the page's own list as current"
            raise invalid(owner, rule, None)
        if len(request.current) != n_positions:
            rule = f"current must hold {n_positions} items"
            raise invalid(owner, rule, len(request.current))
        return self._distinct(known, "current", request.current)

    def _distinct(self, known: RankerVersion, field: str, items: Sequence[str]) -> list[int]:
        numbers = [known.number(item) for item in items]
        if len(set(numbers)) < len(numbers):
            raise invalid(known.row.name, f"{field} must hold distinct items", list(items))
        return numbers

    def _shown(
        self, known: RankerVersion, context: str, new: NewImpression, recorded: Recorded
    ) -> Impression | None:
        if recorded.outcome == "taken":
            text = f"{known.row.name}: id is that of an impression elsewhere, got {new.id!r}."
            raise Refused("id_taken", text, 409)
        if recorded.items is None:
            return None
        names = known.row.definition.items
        if recorded.version > known.row.version:
            return None  # recorded by another worker, maybe with items that are not known here yet
        would = recorded.would_show
        return Impression(
            new.id,
            [names[number] for number in recorded.items],
            context,
            recorded.version,
            None if would is None else [names[number] for number in would],
        )

    def _answered(self, impression_id: str, answer: Answer) -> Feedback:
        if answer.refused == "unknown":
            text = f"Clicks: there is no impression {impression_id!r}."
            raise Refused("unknown_impression", text, 404)
        if answer.refused == "impossible":
            text = f"Clicks: item must be one that impression {impression_id!r} showed"
            raise Refused("not_shown", f"{text}, got {answer.wrong!r}.", 422)
        if answer.refused == "late":
            text = f"Clicks: impression {impression_id!r} has settled, and takes no more clicks."
            raise Refused("late", text, 409)
        shown = answer.shown
        assert shown is not None
        if answer.settled:
            self.settler.news(shown.stream_id)
        names = self._cache.names(shown.ranker_id)
        clicked = [names[shown.items[position]] for position in answer.clicked]
        return Feedback(impression_id, clicked, answer.settled)

    # What has been learned

    async def report(self, name: str, context: str) -> Report:
        """Return what a ranker has learned in a context."""
        loaded, stream = await self._learned(name, context)
        return await self._store.read(lambda c: views.report(c, loaded.row, stream))

    async def activity(self, name: str, context: str, seconds: int | None) -> Activity:
        """Return settled impressions over time."""
        _, stream = await self._learned(name, context)
        return await self._store.read(lambda c: views.activity(c, stream.id, seconds))

    async def impressions(self, name: str, context: str | None, limit: int) -> LoggedImpressions:
        """Return the last impressions, newest first."""
        row = await self._cache.row(name)
        now = self.clock.now()
        return await self._store.read(lambda c: views.impressions(c, row, context, limit, now))

    async def export(self, name: str) -> AsyncIterator[bytes]:
        """Yield the log as a Parquet file."""
        row = await self._cache.row(name)
        now = self.clock.now()
        chunks = views.export(self._store.database, row, now)
        while chunk := await self._store.in_thread(lambda: next(chunks, b"")):
            yield chunk

    async def _learned(self, name: str, context: str) -> tuple[LoadedRanker, Stream]:
        loaded = await self._cache.newest(name)
        row = loaded.row
        if not await self._store.read(lambda c: find_stream(c, row.id, context)):
            if context:
                raise Refused("unknown_context", f"{name}: there is no context {context!r}.", 404)
            return loaded, _unused_stream(row)
        stream = await self._cache.stream(loaded, context)
        if stream is None:
            raise unknown_ranker(name)
        database = self._store.database
        await self._store.in_thread(lambda: stream.catch_up(database, loaded.row))
        return loaded, stream

    # Keys

    async def keys(self) -> Keys:
        """Return all keys, without their secrets."""
        return Keys([_key(row) for row in await self._store.read(key_store.list_keys)])

    async def make_key(self, new: NewKey) -> MadeKey:
        """Make a key."""
        row, secret = await self._store.write(lambda c: key_store.make_key(c, new.name, new.role))
        key = _key(row)
        return MadeKey(key.id, key.name, key.role, key.created, key.revoked, secret)

    async def revoke_key(self, key_id: int) -> Key:
        """Revoke a key."""
        row = None
        if 0 < key_id < 2**31:
            row = await self._store.write(lambda c: key_store.revoke_key(c, key_id))
        if row is None:
            raise Refused("unknown_key", f"Keys: there is no key {key_id}.", 404)
        return _key(row)

    async def role_of(self, secret: str) -> Role | None:
        """Return the role of a secret, None if no valid key has it."""
        found = await self._store.read(lambda c: key_store.role_of(c, secret))
        return cast("Role | None", found)

    async def has_admin(self) -> bool:
        """Tell whether anyone could get in with a key of role admin."""
        return await self._store.read(key_store.has_admin)


def _warm_up(name: str, definition: Definition) -> None:
    """Compile what is needed, which also shows whether the policy can work with its settings."""
    try:
        initial_state(definition).prepare()
    except ClickRankError:
        raise
    except (ValueError, ArithmeticError) as error:
        raise InvalidValue(f"{name}: settings of {definition.policy!r}: {error}.") from error


async def _all_of(calls: Sequence[Awaitable[T]]) -> list[T]:
    """Wait for all, and raise the first error if there is one: none is left behind."""
    found = await asyncio.gather(*calls, return_exceptions=True)
    done = []
    for one in found:
        if isinstance(one, BaseException):
            raise one
        done.append(one)
    return done


def _unused_stream(row: RankerRow) -> Stream:
    """Return what a ranker without visitors knows; looking at it leaves nothing behind."""
    nowhere = StreamRow(0, row.id, "", 1, 0, 0, 0)
    return Stream(nowhere, Snapshot(initial_state(row.definition), 0, row.version))


def _key(row: key_store.KeyRow) -> Key:
    revoked = None if row.revoked_at is None else row.revoked_at / 1e6
    role: Any = row.role
    return Key(row.id, row.name, role, row.created_at / 1e6, revoked)


def _random_texts() -> Iterator[str]:
    """Yield texts that nobody can guess; asking the system for one at a time takes longer."""
    while True:
        many = secrets.token_hex(9 * 256)
        yield from (many[i : i + 18] for i in range(0, len(many), 18))


_texts = _random_texts()


def _new_id(now: int) -> str:
    # The time comes first: an index takes ids in their order best.
    return f"{now:014x}{next(_texts)}"
