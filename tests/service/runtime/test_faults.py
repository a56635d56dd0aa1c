"""When things go wrong: nothing acknowledged is lost, errors are clear, and it recovers alone."""

from __future__ import annotations

import asyncio
import contextlib
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from clickrank.learning.packing import pack
from clickrank.service.runtime.engine import Engine
from clickrank.service.runtime.refusals import Refused, Unavailable
from clickrank.service.runtime.verification import verify
from clickrank.service.runtime.writer import Clock
from clickrank.service.schemas.requests import Clicks, NewRanker, RankRequest, RetiredItems
from clickrank.service.store import database
from clickrank.service.store.database import Database
from clickrank.service.store.tables import impressions, streams
from tests.service.stores import postgres_url, start_postgres, stop_postgres

ITEMS = [f"item-{number}" for number in range(6)]


@contextlib.asynccontextmanager
async def opened(url: str, **options: Any) -> AsyncIterator[Engine]:
    engine = await Engine.open(url, **options)
    try:
        yield engine
    finally:
        await engine.close()


def new_ranker(**other: Any) -> NewRanker:
    return NewRanker("shop", ITEMS, n_positions=3, policy="uniform", **other)


async def visit(engine: Engine, number: str, clicked: int = 1) -> None:
    shown = await engine.rank("shop", RankRequest(id=number))
    await engine.click(number, Clicks(shown.items[:clicked], final=True))


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120.0
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


def on_record(url: str) -> list[str]:
    """Return the ids in the log in shown order, having checked that they are numbered densely."""
    store = Database(url)
    with store.reading() as connection:
        query = sa.select(impressions.c.seq, impressions.c.id).order_by(impressions.c.seq)
        rows = connection.execute(query).all()
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    assert verify(store).problems == []
    store.close()
    return [row.id for row in rows]


def folded(url: str) -> int:
    store = Database(url)
    with store.reading() as connection:
        found = connection.scalar(sa.select(sa.func.sum(streams.c.folded_seq))) or 0
    store.close()
    return int(found)


def test_a_full_disk(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    # SQLite says the same of its own limit as of a disk's. Each connection has one, those too that
    # the writer holds all the time.
    limit = 2**30
    seen: dict[int, Any] = {}

    def checked_out(connection: Any, *_: Any) -> None:
        seen[id(connection)] = connection
        connection.execute(f"PRAGMA max_page_count = {limit}").close()

    def set_limit(pages: int) -> None:
        nonlocal limit
        limit = pages
        for connection in [*seen.values()]:
            with contextlib.suppress(sqlite3.ProgrammingError):  # it was closed
                checked_out(connection)

    async def scene() -> list[str]:
        async with opened(url) as engine:
            store = engine._store.database
            for connections in (store.engine, store.at_once):
                event.listen(connections, "checkout", checked_out)
            await engine.create(new_ranker())
            await visit(engine, "before-the-disk-is-full")
            done = ["before-the-disk-is-full"]

            def fill(connection: sa.Connection) -> None:
                set_limit(connection.exec_driver_sql("PRAGMA page_count").scalar_one() + 2)

            await asyncio.wrap_future(engine.writer.run(fill))

            async def visit_until_full() -> None:
                for number in range(10_000):
                    await visit(engine, f"full-{number:05d}")
                    done.append(f"full-{number:05d}")

            with pytest.raises(Unavailable, match="full"):
                await visit_until_full()
            assert "full" in str(await engine.ready())
            await asyncio.wrap_future(engine.writer.run(lambda _: set_limit(2**30)))
            for number in range(20):
                await visit(engine, f"after-{number:05d}")
            assert await engine.ready() is None
            return [*done, *(f"after-{number:05d}" for number in range(20))]

    done = asyncio.run(scene())
    logged = on_record(url)
    # The impression whose click found no room is there too, without it.
    assert set(done) <= set(logged)
    assert len(logged) <= len(done) + 1


def test_a_commit_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"

    def fail(held: database.HeldConnection) -> None:
        raise sa.exc.OperationalError("COMMIT", None, OSError("disk I/O error"))

    async def scene() -> None:
        async with opened(url) as engine:
            await engine.create(new_ranker())
            await visit(engine, "before")
            with monkeypatch.context() as now:
                now.setattr(database.HeldConnection, "commit", fail)
                with pytest.raises(Unavailable, match="disk I/O error"):
                    await engine.rank("shop", RankRequest(id="not-promised"))
                assert "disk I/O error" in str(await engine.ready())
            await visit(engine, "after")
            assert await engine.ready() is None

    asyncio.run(scene())
    assert on_record(url) == ["before", "after"]


def test_lists_and_longer_writes_take_turns(tmp_path: Path) -> None:
    """Neither waits in the database for the other, who would wait for it: that takes 30 seconds."""
    url = f"sqlite:///{tmp_path / 'store.db'}"

    async def scene() -> int:
        async with opened(url) as engine:
            await engine.create(new_ranker())
            ended = False

            async def visits(name: str) -> int:
                count = 0
                while not ended:
                    await visit(engine, f"{name}-{count:05d}")
                    count += 1
                return count

            visitors = [asyncio.ensure_future(visits(f"visitor-{i}")) for i in range(4)]
            began = time.monotonic()
            for _ in range(50):
                await asyncio.wrap_future(engine.writer.run(lambda _: time.sleep(0.002)))
            assert time.monotonic() - began < 20.0
            ended = True
            return sum(await asyncio.gather(*visitors))

    shown = asyncio.run(scene())
    assert len(on_record(url)) == shown


def test_a_locked_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.3)
    file = tmp_path / "store.db"
    code = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); "
        "c.execute('BEGIN EXCLUSIVE'); print('locked', flush=True); input()"
    )

    async def scene() -> None:
        async with opened(f"sqlite:///{file}") as engine:
            await engine.create(new_ranker())
            await visit(engine, "before-the-lock")
            command = [sys.executable, "-c", code, str(file)]
            with subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            ) as other:
                assert other.stdout is not None
                assert other.stdout.readline() == "locked\n"
                with pytest.raises(Unavailable, match="locked"):
                    await engine.rank("shop", RankRequest(id="while-locked"))
                assert "locked" in str(await engine.ready())
                other.communicate("\n", timeout=10)
            await visit(engine, "while-locked")
            assert await engine.ready() is None

    asyncio.run(scene())
    assert on_record(f"sqlite:///{file}") == ["before-the-lock", "while-locked"]


class Hands:
    """Clocks that are set by hand, in seconds."""

    def __init__(self) -> None:
        self.wall, self.steady = 1_000_000.0, 50.0

    def clock(self) -> Clock:
        return Clock(0, lambda: int(self.wall * 1e9), lambda: int(self.steady * 1e9))

    def tick(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


def test_a_clock_that_steps_back(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    hands = Hands()

    async def scene() -> None:
        async with opened(url, clock=hands.clock()) as engine:
            await engine.create(new_ranker(window=10))
            first = await engine.rank("shop", RankRequest(id="first-one"))
            hands.wall -= 3600.0
            hands.tick(4.0)
            second = await engine.rank("shop", RankRequest(id="second-one"))
            await engine.click("first-one", Clicks(first.items[:1]))
            hands.tick(7.0)  # the window of the first closes, 11 s after it was shown
            await until(lambda: engine.settler.folded == 1)
            with pytest.raises(Refused, match="has settled"):
                await engine.click("first-one", Clicks(first.items[1:2]))
            await engine.click("second-one", Clicks(second.items[:1]))
            hands.tick(4.0)
            await until(lambda: engine.settler.folded == 2)

    asyncio.run(scene())
    assert on_record(url) == ["first-one", "second-one"]


def test_a_clock_that_is_behind_the_log(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    hands = Hands()
    hands.wall = time.time() + 3600.0

    async def ahead() -> None:
        async with opened(url, clock=hands.clock()) as engine:
            await engine.create(new_ranker(window=1))
            await engine.rank("shop", RankRequest(id="from-the-future"))

    async def behind() -> None:
        async with opened(url) as engine:
            await engine.rank("shop", RankRequest(id="of-today"))
            await until(lambda: engine.settler.folded == 2)

    asyncio.run(ahead())
    asyncio.run(behind())  # windows close after their length, not after an hour
    assert on_record(url) == ["from-the-future", "of-today"]


@pytest.mark.postgres
def test_two_workers_fold_one_ranker() -> None:
    url = postgres_url()

    async def visitor(engines: list[Engine], name: str, rng: random.Random) -> None:
        for number in range(60):
            one, other = rng.choice(engines), rng.choice(engines)
            shown = await one.rank("shop", RankRequest(id=f"{name}-{number:05d}"))
            if rng.random() < 0.5:
                await other.click(shown.id, Clicks(shown.items[:1]))
            clicked = [item for item in shown.items if rng.random() < 0.3]
            await other.click(shown.id, Clicks(clicked, final=True))

    async def scene() -> None:
        async with opened(url) as one, opened(url) as two:
            await one.create(NewRanker("shop", ITEMS, n_positions=3, policy="pb-mhb"))
            rng = random.Random(1)
            visitors = (visitor([one, two], f"visitor-{i}", rng) for i in range(8))
            await asyncio.gather(*visitors)
            await until(lambda: one.settler.folded + two.settler.folded >= 480)
            found = []
            for engine in (one, two):
                await engine.report("shop", "")  # catches up
                loaded = await engine._cache.ranker("shop")
                snapshot = loaded.streams[""].snapshot
                assert snapshot.seq == 480
                found.append(pack(snapshot.state.statistics()))
            assert found[0] == found[1]
            assert one.settler.folded + two.settler.folded == 480  # nothing by both
            assert min(one.settler.folded, two.settler.folded) > 0

    asyncio.run(scene())
    assert len(on_record(url)) == 480


@pytest.mark.postgres
def test_workers_do_not_wait_for_each_other_in_a_circle() -> None:
    url = postgres_url()

    async def visitor(engines: list[Engine], name: str, rng: random.Random) -> None:
        for number in range(60):
            request = RankRequest(id=f"{name}-{number:05d}", context=rng.choice("abc"))
            shown = await rng.choice(engines).rank("shop", request)
            await rng.choice(engines).click(shown.id, Clicks(shown.items[:1], final=True))

    async def scene() -> None:
        async with opened(url) as one, opened(url) as two:
            await one.create(new_ranker())
            rng = random.Random(1)
            await asyncio.gather(*(visitor([one, two], f"visitor-{i:02d}", rng) for i in range(16)))

    asyncio.run(scene())  # of a circle the database would break one part, which gets an error


@pytest.mark.postgres
def test_what_one_worker_retires_no_other_shows() -> None:
    url = postgres_url()

    async def scene() -> None:
        async with opened(url) as one, opened(url) as two:
            await one.create(new_ranker())
            gone: set[str] = set()
            over = False
            looks = 0

            async def look() -> None:
                nonlocal looks
                while not over:
                    before = set(gone)  # what had been retired when the request was sent
                    shown = await two.rank("shop", RankRequest())
                    assert not before & set(shown.items)
                    looks += 1

            async def look_more() -> None:
                enough = looks + 20
                await until(lambda: looks > enough or any(one.done() for one in looking))

            looking = [asyncio.ensure_future(look()) for _ in range(4)]
            for item in ITEMS[:3]:
                await look_more()
                await one.retire_items("shop", RetiredItems([item]))
                gone.add(item)
            await look_more()
            over = True
            await asyncio.gather(*looking)

    asyncio.run(scene())
    on_record(url)


@pytest.mark.postgres
def test_a_database_that_goes_and_comes_back() -> None:
    url = postgres_url()
    done: list[str] = []
    sorry: list[str] = []

    async def scene() -> None:
        async with opened(url) as engine:
            await engine.create(new_ranker())
            over = False

            async def keep_visiting(name: str) -> None:
                number = 0
                while not over:
                    try:
                        await visit(engine, f"{name}-{number:05d}")
                    except Unavailable as error:
                        sorry.append(str(error))
                        await asyncio.sleep(0.05)
                        continue  # again, with the same id
                    done.append(f"{name}-{number:05d}")
                    number += 1

            visitors = [asyncio.ensure_future(keep_visiting(f"visitor-{i}")) for i in range(4)]
            await until(lambda: len(done) > 50)
            for _ in range(2):
                await asyncio.to_thread(stop_postgres)
                before = len(sorry)
                await until(lambda: len(sorry) > before + 10)  # noqa: B023
                assert "database cannot be used" in str(await engine.ready())
                await asyncio.to_thread(start_postgres)
                count = len(done)
                await until(lambda: len(done) > count + 50)  # noqa: B023
                assert await engine.ready() is None
            over = True
            await asyncio.gather(*visitors)
            await until(lambda: folded(url) == len(done))

    asyncio.run(scene())
    assert sorted(on_record(url)) == sorted(done)
    assert all("database cannot be used" in text for text in sorry)
