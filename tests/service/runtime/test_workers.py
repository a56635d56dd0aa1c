"""Workers that get in each other's way, callers that leave, streams that cannot be folded."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from clickrank.errors import InvalidValue
from clickrank.learning.packing import pack
from clickrank.service.runtime import settler
from clickrank.service.runtime.compaction import compact
from clickrank.service.runtime.definitions import define
from clickrank.service.runtime.engine import Engine
from clickrank.service.runtime.fold import load_snapshot
from clickrank.service.runtime.refusals import Refused
from clickrank.service.schemas.requests import Clicks, NewItems, NewKey, RankerChange, RankRequest
from clickrank.service.store.database import Database, StoreUnavailable
from clickrank.service.store.frontier import settled_after
from clickrank.service.store.impression_log import stream_by_id
from clickrank.service.store.rankers import ranker_by_id
from tests.service.runtime.test_engine import folded, new, problems, run
from tests.service.stores import store_url


@pytest.fixture
def url(tmp_path: Path) -> str:
    return store_url("sqlite", tmp_path)


def stream_of(engine: Engine) -> Any:
    return engine._cache._rankers["shop"].streams[""]


def is_fold(engine: Engine) -> bool:
    """Tell whether what is in memory is what follows from the log."""
    stream = stream_of(engine)
    with engine._store.database.reading() as connection:
        row = stream_by_id(connection, stream.id)
        assert row is not None
        ranker = ranker_by_id(connection, row.ranker_id)
        assert ranker is not None
        fresh = load_snapshot(connection, ranker.definition, ranker.version, row, from_base=True)
    ours, theirs = stream.snapshot.state, fresh.state
    return stream.snapshot.seq == fresh.seq and pack(ours.statistics()) == pack(theirs.statistics())


def test_a_caller_that_leaves_does_not_stop_the_writer(url: str) -> None:
    async def test(engine: Engine) -> None:
        await engine.create(new())
        leaves = asyncio.create_task(engine.make_key(NewKey("one", "rank")))
        await asyncio.sleep(0)
        leaves.cancel()
        await asyncio.wait_for(engine.rank("shop", RankRequest()), 10)

    run(url, test)


def test_a_change_while_folding_is_folded_by_the_new_policy(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, changed = threading.Event(), threading.Event()

    def slow(*given: Any) -> Any:
        step = settled_after(*given)
        if step.logged:
            read.set()
            changed.wait(300)
        return step

    async def test(engine: Engine) -> None:
        await engine.create(new(policy="uniform"))
        shown = await engine.rank("shop", RankRequest())
        monkeypatch.setattr(settler, "settled_after", slow)
        await engine.click(shown.id, Clicks(shown.items[:1], final=True))
        await asyncio.get_running_loop().run_in_executor(None, read.wait, 300)
        await engine.change("shop", RankerChange(policy="grab"))
        await engine.rank("shop", RankRequest())
        changed.set()
        while stream_of(engine).snapshot.seq < 1:
            await asyncio.sleep(0.02)
        assert is_fold(engine)

    run(url, test)


def test_one_stream_does_not_hold_up_the_others(url: str) -> None:
    async def test(engine: Engine) -> None:
        await engine.create(new("broken", window=1))
        await engine.create(new(window=1))
        await engine.rank("broken", RankRequest())
        await engine.rank("shop", RankRequest())
        with engine._store.database.writing() as connection:
            connection.execute(sa.text("UPDATE impressions SET items = '[0]' WHERE stream_id = 1"))
        await folded(engine, 1)

    async def main() -> None:
        engine = await Engine.open(url)
        await test(engine)
        await engine.close()

    asyncio.run(main())


def test_a_final_is_folded_after_the_database_was_gone(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(engine: Engine) -> None:
        await engine.create(new())
        shown = await engine.rank("shop", RankRequest())
        while not engine.settler._due:  # from now on it waits for the window
            await asyncio.sleep(0.02)

        def gone(*_: Any) -> Any:
            monkeypatch.undo()
            raise StoreUnavailable("Store: gone.")

        monkeypatch.setattr(settler, "moved_since", gone)
        engine.settler._looked_at = 0.0
        await engine.click(shown.id, Clicks(final=True))
        await folded(engine, 1)

    run(url, test)


def test_a_shorter_window_holds_for_lists_that_were_shown(url: str) -> None:
    async def test(engine: Engine) -> None:
        await engine.create(new())
        await engine.rank("shop", RankRequest())
        while not engine.settler._due:
            await asyncio.sleep(0.02)
        await engine.change("shop", RankerChange(window=1))
        await folded(engine, 1)

    run(url, test)


def test_a_worker_does_not_refuse_by_what_was(url: str) -> None:
    async def test(engine: Engine) -> None:
        other = await Engine.open(url)
        await engine.create(new())
        await other.rank("shop", RankRequest())
        await engine.add_items("shop", NewItems(["fresh"]))
        candidates = ["fresh", "item-0", "item-1"]
        shown = await other.rank("shop", RankRequest(candidates=candidates))
        assert sorted(shown.items) == candidates
        await other.close()

    run(url, test)


def test_what_was_compacted_before_it_was_folded_here_is_not_passed_over(url: str) -> None:
    async def test(engine: Engine) -> None:
        await engine.create(new(policy="pb-mhb"))
        shown = await engine.rank("shop", RankRequest())
        slow = await Engine.open(url)
        await slow.rank("shop", RankRequest())
        slow.settler._stopping.set()
        slow.settler._thread.join()
        before = stream_of(slow).snapshot.seq
        await engine.click(shown.id, Clicks(shown.items[:1], final=True))
        await folded(engine, 1)
        database = Database(url)
        assert compact(database, 10**18).impressions == 1
        database.close()
        assert before == stream_of(slow).snapshot.seq == 0
        await folded(slow, 1)
        assert is_fold(slow)
        await slow.close()

    run(url, test)


@pytest.mark.postgres
def test_lists_and_clicks_of_two_workers_do_not_wait_in_a_circle(tmp_path: Path) -> None:
    url = store_url("postgresql", tmp_path)

    async def test(engine: Engine) -> None:
        other = await Engine.open(url)
        await engine.create(new())

        async def visit(worker: Engine, mine: str, yours: str) -> None:
            for _ in range(40):
                shown = await worker.rank("shop", RankRequest(context=yours))
                await asyncio.gather(
                    worker.rank("shop", RankRequest(context=mine)),
                    worker.click(shown.id, Clicks(shown.items[:1])),
                )

        await asyncio.gather(visit(engine, "1", "2"), visit(other, "2", "1"))
        await other.close()

    run(url, test)


@pytest.mark.postgres
def test_one_id_in_two_contexts_at_once(tmp_path: Path) -> None:
    url = store_url("postgresql", tmp_path)

    async def test(engine: Engine) -> None:
        other = await Engine.open(url)
        await engine.create(new())
        for number in range(20):
            found = await asyncio.gather(
                engine.rank("shop", RankRequest(id=f"visit-{number:03}", context="1")),
                other.rank("shop", RankRequest(id=f"visit-{number:03}", context="2")),
                return_exceptions=True,
            )
            refused = [one for one in found if isinstance(one, BaseException)]
            assert [type(one) for one in refused] == [Refused]
        await other.close()

    run(url, test)
    assert problems(url) == []


def test_settings_of_strange_shapes_are_refused() -> None:
    with pytest.raises(InvalidValue, match="settings must have values that 'oracle' supports"):
        define(new(policy="oracle", settings={"best_ranking": [[0], [1, 2]]}))
