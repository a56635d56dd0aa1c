"""A service killed twenty times under load stores everything that it acknowledged, once."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from clickrank.service.runtime.fold import load_snapshot
from clickrank.service.runtime.verification import verify
from clickrank.service.store.database import Database
from clickrank.service.store.impression_log import StreamRow
from clickrank.service.store.rankers import RankerRow, find_ranker
from clickrank.service.store.tables import clicks, finals, impressions, snapshots, streams
from tests.proof.services import Service, Visitors, services
from tests.service.stores import store_url

pytestmark = pytest.mark.proof

KILLS = int(os.environ.get("CLICKRANK_KILLS", "20"))
N_POSITIONS = 3
WINDOW = 2  # seconds, of the ranker whose clicks are not all final


async def kill_and_restart(workers: list[Service], visitors: Visitors, rng: random.Random) -> None:
    """Kill a worker while it receives requests, and start it again, many times."""
    for _ in range(KILLS):
        await some_visits(visitors)
        await asyncio.sleep(rng.uniform(0.0, 0.3))
        victim = rng.choice(workers)
        await asyncio.to_thread(victim.kill)
        victim.start()
        await asyncio.to_thread(victim.wait)
    await some_visits(visitors)


async def some_visits(visitors: Visitors) -> None:
    before = len(visitors.clicked)
    while len(visitors.clicked) < before + 30:
        await asyncio.sleep(0.02)


async def under_load(workers: list[Service], visitors: Visitors) -> None:
    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(visitors.visit("sure", ["", "red shoes"], final=1.0))
            group.create_task(visitors.visit("unsure", [""], final=0.5))
        await kill_and_restart(workers, visitors, random.Random(7))
        visitors.leaving = True
    await visitors.close()


def wait_until_folded(database: Database) -> None:
    deadline = time.monotonic() + 30.0
    behind = sa.select(sa.func.sum(streams.c.next_seq - 1 - streams.c.folded_seq))
    while time.monotonic() < deadline:
        with database.reading() as connection:
            if connection.scalar(behind) == 0:
                return
        time.sleep(0.2)
    raise AssertionError("not all that has settled was folded")


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def crashed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Database, Visitors]]:
    """Yield the store after the crashes, and the visitors with their answers."""
    url = store_url(request.param, tmp_path)
    count = 1 if request.param == "sqlite" else 3
    with services(url, count, tmp_path) as workers:
        for name, window in (("sure", 1800), ("unsure", WINDOW)):
            items = [f"{name}-{number}" for number in range(8)]
            new = {"name": name, "items": items, "n_positions": N_POSITIONS, "window": window}
            made = httpx.post(
                f"{workers[0].address}/v1/rankers", json=new, trust_env=False, timeout=60.0
            )
            assert made.status_code == 201, made.text
        visitors = Visitors([worker.address for worker in workers], seed=3)
        asyncio.run(under_load(workers, visitors))
        database = Database(url)
        wait_until_folded(database)
        for worker in workers:
            worker.stop()
        for worker in workers:
            assert "Traceback" not in worker.said, worker.said
    yield database, visitors
    database.close()


def test_nothing_is_lost_or_twice(crashed: tuple[Database, Visitors]) -> None:
    database, visitors = crashed
    assert visitors.retries > 0
    assert len(visitors.clicked) > 30 * KILLS
    with database.reading() as connection:
        rankers = {name: find_ranker(connection, name) for name in ("sure", "unsure")}
        logged = connection.execute(sa.select(impressions)).all()
        found_clicks = connection.execute(sa.select(clicks)).all()
        found_finals = connection.execute(sa.select(finals)).all()
        query = sa.select(*(streams.c[name] for name in StreamRow._fields))
        all_streams = [StreamRow(*row) for row in connection.execute(query)]

    # Each impression that was acknowledged, and no other: every request was sent until it was.
    assert len(logged) == len({row.id for row in logged})
    assert {row.id for row in logged} == visitors.shown.keys()
    names: dict[str, list[str]] = {}
    for row in logged:
        ranker = rankers[row.id.partition("-")[0]]
        assert isinstance(ranker, RankerRow)
        numbers = [int(number) for number in row.items.strip("[]").split(",")]
        names[row.id] = [ranker.definition.items[number] for number in numbers]
    assert names == visitors.shown
    for stream in all_streams:
        seqs = sorted(row.seq for row in logged if row.stream_id == stream.id)
        assert seqs == list(range(1, stream.next_seq))
        times = [row.shown_at for row in sorted(logged, key=lambda row: row.seq)
                 if row.stream_id == stream.id]  # fmt: skip
        assert times == sorted(times)

    # Each click that was acknowledged, and none that was refused.
    by_place = {(row.stream_id, row.seq): row.id for row in logged}
    clicked: dict[str, list[str]] = {number: [] for number in visitors.shown}
    for row in found_clicks:
        number = by_place[row.stream_id, row.seq]
        clicked[number].append(names[number][row.position])
    for number, items in visitors.clicked.items():
        assert sorted(clicked[number]) == sorted(items)
    for number in visitors.late:
        assert clicked[number] == []
    assert {by_place[row.stream_id, row.seq] for row in found_finals} <= visitors.final
    assert len(found_clicks) == sum(len(items) for items in visitors.clicked.values())

    # Everything learned follows from the log, and the last snapshot covers all of the log.
    found = verify(database)
    assert found.problems == []
    assert found.impressions == len(logged)
    with database.reading() as connection:
        for stream in all_streams:
            assert stream.folded_seq == stream.next_seq - 1
            ranker = next(r for r in rankers.values() if r and r.id == stream.ranker_id)
            snapshot = load_snapshot(
                connection, ranker.definition, ranker.version, stream, from_base=True
            )
            own = [row for row in found_clicks if row.stream_id == stream.id]
            assert snapshot.state.views.sum() == stream.folded_seq * N_POSITIONS
            assert snapshot.state.clicks.sum() == len(own)
            last = sa.select(sa.func.max(snapshots.c.seq)).where(snapshots.c.stream_id == stream.id)
            assert connection.scalar(last) == stream.folded_seq
