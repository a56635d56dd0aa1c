"""The service without HTTP: its answers to callers, and what it learns from them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

from clickrank.errors import ClickRankError, InvalidValue, UnknownName
from clickrank.service.runtime import ranker_cache as memory
from clickrank.service.runtime.engine import Engine
from clickrank.service.runtime.refusals import Refused
from clickrank.service.runtime.verification import verify
from clickrank.service.runtime.writer import Clock
from clickrank.service.schemas.requests import (
    ClickBatch,
    Clicks,
    ClicksOf,
    NewItems,
    NewKey,
    NewRanker,
    Prior,
    RankBatch,
    RankerChange,
    RankRequest,
    RetiredItems,
    Start,
)
from clickrank.service.store.database import Database
from tests.service.stores import BACKENDS, store_url

T = TypeVar("T")
ITEMS = [f"item-{i}" for i in range(6)]


@pytest.fixture(params=BACKENDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return store_url(request.param, tmp_path)


class Hands:
    """A clock set by hand, in seconds."""

    def __init__(self) -> None:
        self.seconds = 1_000_000.0

    def __call__(self) -> int:
        return int(self.seconds * 1e9)


def run(url: str, test: Callable[[Engine], Awaitable[T]], clock: Clock | None = None) -> T:
    """Run a test on an engine, and check the store afterwards."""

    async def main() -> T:
        engine = await Engine.open(url, clock=clock, seed=1)
        try:
            return await test(engine)
        finally:
            await engine.close()

    found = asyncio.run(main())
    assert problems(url) == []
    return found


def problems(url: str) -> list[str]:
    database = Database(url)
    try:
        return verify(database).problems
    finally:
        database.close()


def new(name: str = "shop", policy: str = "uniform", **other: Any) -> NewRanker:
    fields: dict[str, Any] = {"items": list(ITEMS), "n_positions": 3, "policy": policy}
    return NewRanker(name, **{**fields, **other})


def test_a_ranker_warns_of_the_default_for_dependent_clicks(url: str) -> None:
    async def test(engine: Engine) -> None:
        settings = {"click_model": "dcm"}
        ranker, _ = await engine.create(new("one", "thompson", settings=settings))
        assert 'observe="first-click"' in ranker.warnings[0]
        assert (await engine.ranker("one")).warnings == ranker.warnings
        better = {**settings, "observe": "first-click"}
        assert (await engine.change("one", RankerChange(settings=better))).warnings == []
        assert (await engine.create(new("two")))[0].warnings == []

    run(url, test)


async def folded(engine: Engine, settled: int, name: str = "shop", context: str = "") -> Any:
    """Wait until that many impressions are folded, and return the report."""
    deadline = time.monotonic() + 120.0
    report = await engine.report(name, context)
    while report.settled < settled and time.monotonic() < deadline:
        await asyncio.sleep(0.02)
        report = await engine.report(name, context)
    assert report.settled == settled
    return report


def test_rank_click_learn(url: str) -> None:
    async def test(engine: Engine) -> None:
        made, fresh = await engine.create(new(policy="pb-mhb"))
        assert (made.name, made.version, fresh) == ("shop", 1, True)
        rng = np.random.default_rng(0)
        for _ in range(40):
            shown = await engine.rank("shop", RankRequest())
            assert len(set(shown.items)) == 3
            clicked = [item for item in shown.items if item == "item-2" and rng.random() < 0.9]
            answer = await engine.click(shown.id, Clicks(clicked, final=True))
            assert (answer.clicked, answer.settled) == (clicked, True)
        report = await folded(engine, 40)
        assert "item-2" in report.best
        assert report.items[2].estimate == max(item.estimate or 0.0 for item in report.items)
        assert report.impressions == 40
        assert sum(item.shown for item in report.items) == 120
        assert 0 < report.exploration <= 1
        activity = await engine.activity("shop", "", None)
        assert sum(bucket.impressions for bucket in activity.buckets) == 40
        assert activity.first_day is not None
        assert activity.first_day.clicks == report.clicks
        last = await engine.impressions("shop", None, 5)
        assert len(last.impressions) == 5
        assert last.impressions[0].shown_at >= last.impressions[-1].shown_at

    run(url, test)


def test_what_was_learned_survives_a_restart(url: str) -> None:
    async def learn(engine: Engine) -> Any:
        await engine.create(new(policy="pb-mhb"))
        for _ in range(30):
            shown = await engine.rank("shop", RankRequest(context="red"))
            await engine.click(shown.id, Clicks(shown.items[:1], final=True))
        return await folded(engine, 30, context="red")

    async def look(engine: Engine) -> Any:
        shown = await engine.rank("shop", RankRequest(context="red"))
        await engine.click(shown.id, Clicks([], final=True))
        return await folded(engine, 31, context="red")

    before, after = run(url, learn), run(url, look)
    assert after.clicks == before.clicks == 30


def test_an_impression_id_is_used_once(url: str) -> None:
    async def test(engine: Engine) -> None:
        await engine.create(new())
        await engine.create(new("other"))
        first = await engine.rank("shop", RankRequest(id="visit-0001"))
        assert await engine.rank("shop", RankRequest(id="visit-0001")) == first
        both = await asyncio.gather(
            *(engine.rank("shop", RankRequest(id="visit-0002")) for _ in range(5))
        )
        assert len({tuple(one.items) for one in both}) == 1
        with pytest.raises(Refused, match="belongs to an impression of another") as found:
            await engine.rank("other", RankRequest(id="visit-0001"))
        assert found.value.status == 409
        assert (await engine.report("shop", "")).impressions == 2

    run(url, test)


def test_a_window_closes(url: str) -> None:
    hands = Hands()

    async def test(engine: Engine) -> None:
        await engine.create(new(window=60))
        first = await engine.rank("shop", RankRequest())
        second = await engine.rank("shop", RankRequest())
        await engine.click(first.id, Clicks(first.items[:1]))
        await engine.click(second.id, Clicks([], final=True))
        await asyncio.sleep(0.3)
        assert (await engine.report("shop", "")).settled == 0  # the first might get more clicks
        hands.seconds -= 3600  # set back: that is nobody's hour
        hands.seconds += 0.001
        third = await engine.rank("shop", RankRequest())
        steady.seconds += 61
        await folded(engine, 3)
        report = await engine.report("shop", "")
        assert report.clicks == 1
        with pytest.raises(Refused, match="has settled") as found:
            await engine.click(first.id, Clicks(first.items[1:2]))
        assert (found.value.code, found.value.status) == ("late", 409)
        with pytest.raises(Refused, match="has settled"):
            await engine.click(third.id, Clicks(third.items[:1]))
        assert (await engine.click(first.id, Clicks(first.items[:1]))).settled  # again: no change

    steady = Hands()
    run(url, test, Clock(wall=hands, steady=steady))


def test_clicks_that_are_refused(url: str) -> None:
    async def test(engine: Engine) -> None:
        await engine.create(new())
        shown = await engine.rank("shop", RankRequest())
        other = next(item for item in ITEMS if item not in shown.items)
        with pytest.raises(Refused, match='There is no impression "nothing-1"') as found:
            await engine.click("nothing-1", Clicks())
        assert (found.value.code, found.value.status) == ("unknown_impression", 404)
        with pytest.raises(Refused, match=f'got "{other}"') as found:
            await engine.click(shown.id, Clicks([shown.items[0], other]))
        assert (found.value.code, found.value.status) == ("not_shown", 422)
        batch = ClickBatch(
            [
                ClicksOf(shown.items[:1], id=shown.id),
                ClicksOf([other], id=shown.id),
                ClicksOf(id="no-such-id"),
            ]
        )
        results = (await engine.click_batch(batch)).results
        assert results[0].feedback is not None
        assert results[0].feedback.clicked == shown.items[:1]
        assert [one.error and one.error.code for one in results] == [
            None,
            "not_shown",
            "unknown_impression",
        ]

    run(url, test)


@pytest.mark.parametrize("policy", ["pb-mhb", "toprank"])
def test_items_come_and_go(url: str, policy: str) -> None:
    settings = {"horizon": 1000} if policy == "toprank" else {}

    async def test(engine: Engine) -> None:
        await engine.create(new(policy=policy, settings=settings))
        before = await engine.rank("shop", RankRequest())
        changed = await engine.add_items("shop", NewItems(["new", "item-0"]))
        assert (changed.version, changed.n_items, changed.n_retired) == (2, 7, 0)
        assert (await engine.add_items("shop", NewItems(["new"]))).version == 2  # nothing new
        changed = await engine.retire_items("shop", RetiredItems(ITEMS[:3]))
        assert (changed.version, changed.n_items, changed.n_retired) == (3, 4, 3)
        assert (await engine.retire_items("shop", RetiredItems(ITEMS[:1]))).version == 3
        seen = set()
        for _ in range(40):
            seen |= {*(await engine.rank("shop", RankRequest())).items}
        assert seen == {"new", *ITEMS[3:]}
        # What was shown before may still be clicked.
        answer = await engine.click(before.id, Clicks(before.items, final=True))
        assert answer.clicked == before.items
        page = await engine.items("shop", 0, 4)
        assert [entry.retired for entry in page.items] == [True, True, True, False]
        assert page.next == 4
        assert [entry.item for entry in (await engine.items("shop", 4, 10)).items][-1] == "new"
        with pytest.raises(InvalidValue, match="n_positions must be between 1"):
            await engine.retire_items("shop", RetiredItems(["item-3", "item-4"]))
        with pytest.raises(UnknownName, match=r"items must be among .* got 'nonsense'"):
            await engine.retire_items("shop", RetiredItems(["nonsense"]))
        back = await engine.add_items("shop", NewItems(["item-0"]))
        assert (back.n_items, back.n_retired) == (5, 2)

    run(url, test)


def test_items_that_were_dropped_leave_what_was_learned(url: str) -> None:
    """RecurRank goes on; when an item goes that it still shows, it starts again without it."""

    async def visits(engine: Engine, count: int, until: int) -> dict[str, Any]:
        for _ in range(count):
            shown = await engine.rank("shop", RankRequest())
            liked = [item for item in shown.items if item in ITEMS[:3]]
            await engine.click(shown.id, Clicks(liked, final=True))
        await folded(engine, until)
        learned = engine._cache._rankers["shop"].streams[""].snapshot.state
        return learned.statistics()

    async def test(engine: Engine) -> None:
        settings = {"features": np.eye(6).tolist(), "failure": 1.0}
        await engine.create(new(policy="recurrank", settings=settings))
        before = await visits(engine, 80, 80)
        assert (before["order"] >= 0).sum() == 3
        await engine.retire_items("shop", RetiredItems([ITEMS[4]]))
        after = await visits(engine, 10, 90)
        assert after["views"].sum() == before["views"].sum() + 10
        assert after["began.with"].tolist() == list(range(6))
        await engine.retire_items("shop", RetiredItems([ITEMS[0]]))
        again = await visits(engine, 10, 100)
        assert again["began.with"].tolist() == [1, 2, 3, 5]
        assert (again["phase"].max(), again["views"].sum()) == (1, 10)

    run(url, test)


def test_a_policy_that_must_be_refolded(url: str) -> None:
    async def test(engine: Engine) -> None:
        await engine.create(
            new(policy="bubblerank", settings={"horizon": 1000}, start=Start(ITEMS[:3]))
        )
        shown = await engine.rank("shop", RankRequest())
        assert {*shown.items} <= {*ITEMS[:4]}  # near the list that it began with
        await engine.click(shown.id, Clicks(shown.items[:1], final=True))
        await engine.add_items("shop", NewItems(["new"]))
        for _ in range(5):
            shown = await engine.rank("shop", RankRequest())
            await engine.click(shown.id, Clicks(shown.items[:1], final=True))
        await folded(engine, 6)
        with pytest.raises(InvalidValue, match="cannot choose from candidates; those that can"):
            await engine.rank("shop", RankRequest(candidates=ITEMS[:3]))
        # Another policy learns from the log.
        changed = await engine.change("shop", RankerChange(policy="pb-mhb"))
        assert (changed.policy, changed.settings, changed.version) == ("pb-mhb", {}, 3)
        assert (await engine.report("shop", "")).clicks == 6

    run(url, test)


def test_candidates(url: str) -> None:
    async def test(engine: Engine) -> None:
        await engine.create(new(policy="pb-mhb"))
        for _ in range(10):
            shown = await engine.rank("shop", RankRequest(candidates=ITEMS[2:]))
            assert {*shown.items} <= {*ITEMS[2:]}
        for wrong, text in (
            (["item-0", "item-1"], "at least n_positions"),
            (
                ["item-0", "item-1", "what"],
                "candidates must be among the items of the ranker, got 'what'",
            ),
            (["item-0", "item-1", "item-1"], "distinct"),
        ):
            with pytest.raises(ClickRankError, match=text):
                await engine.rank("shop", RankRequest(candidates=wrong))
        await engine.retire_items("shop", RetiredItems(["item-0"]))
        with pytest.raises(UnknownName, match=r"candidates must not be retired, got \['item-0'\]"):
            await engine.rank("shop", RankRequest(candidates=ITEMS[:4]))

    run(url, test)


def test_shadow_mode(url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "clickrank.serve")

    async def test(engine: Engine) -> None:
        await engine.create(new(policy="pb-mhb", mode="shadow"))
        page = ITEMS[:3]
        for number in range(1, 21):
            shown = await engine.rank("shop", RankRequest(current=page))
            assert shown.items == page
            assert shown.would_show is not None
            assert len(shown.would_show) == 3
            await engine.click(shown.id, Clicks(page[1:2], final=True))
            if number % 5 == 0:  # PB-MHB takes some lists to come to what the clicks say
                await folded(engine, number)
        report = await folded(engine, 20)
        assert report.shadow is not None
        assert report.shadow.impressions == 20
        assert {item.item for item in report.items if item.shown} == {*page}
        assert report.best[0] == page[1]
        for wrong, text in ((None, "must give the page's own list"), (page[:2], "hold 3 items")):
            with pytest.raises(InvalidValue, match=text):
                await engine.rank("shop", RankRequest(current=wrong))
        await engine.change("shop", RankerChange(mode="live"))  # it takes over
        shown = await engine.rank("shop", RankRequest(current=page))
        assert shown.would_show is None
        await engine.rank("shop", RankRequest(current=["unknown"]))  # as a page may go on to send
        ignored = [r.getMessage() for r in caplog.records if "ignores current" in r.getMessage()]
        assert ignored == ['"shop" is in live mode and ignores current.']
        lists = [(await engine.rank("shop", RankRequest())).items for _ in range(40)]
        # What it learned in the shadow: by chance alone it would be in half of the lists.
        assert sum(page[1] in items for items in lists) > 30

    run(url, test)


@pytest.mark.parametrize("policy", ["pb-mhb", "thompson"])
def test_start_from_a_ranking(url: str, policy: str) -> None:
    settings = {"click_model": "cascade"} if policy == "thompson" else {}

    async def from_ranking(engine: Engine) -> None:
        order = ITEMS[::-1]
        await engine.create(new(policy=policy, settings=settings, start=Start(order, 1000)))
        lists = [(await engine.rank("shop", RankRequest())).items for _ in range(20)]
        # PB-MHB does not know yet which position is looked at most: its best item may be anywhere.
        shown = [order[0] in items[: 1 if policy == "thompson" else None] for items in lists]
        assert sum(shown) > 10

    async def from_prior(engine: Engine) -> None:
        prior = Prior([1.0] * 6, [99.0] * 5 + [1.0])
        await engine.create(new("prior", policy=policy, settings=settings, prior=prior))
        lists = [(await engine.rank("prior", RankRequest())).items for _ in range(20)]
        shown = [ITEMS[5] in items[: 1 if policy == "thompson" else None] for items in lists]
        assert sum(shown) > 15
        await engine.add_items("prior", NewItems(["new"], prior=Prior([500.0], [1.0])))
        for _ in range(5):
            assert "new" in (await engine.rank("prior", RankRequest())).items

    # In engines of their own: each begins with the seed, however many lists the other drew ahead.
    # Without one, Thompson sampling misses the item in 2.25 % of lists, in 5 of 20 by bad luck once
    # in 16,000 runs.
    run(url, from_ranking)
    run(url, from_prior)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"items": ["a", "b", "c", "b"]}, "items must be distinct, got 'b'"),
        ({"n_positions": 7}, "n_positions must be between 1"),
        ({"policy": "pb-mhbb"}, "Did you mean 'pb-mhb'"),
        ({"settings": {"what": 1}}, "unknown setting 'what'"),
        ({"settings": {"prior": 1}}, "settings must not contain prior"),
        ({"policy": "pb-mhb", "settings": {"steps": 10**9}}, "steps must be at most"),
        ({"policy": "pb-mhb", "settings": {"width": "x"}}, "width must be a number"),
        ({"policy": "pbm-ts"}, "examination must be given"),
        ({"policy": "pbm-ts", "settings": {"examination": {}}}, "examination"),
        ({"policy": "unirank", "items": [f"i{k}" for k in range(60_000)]}, "at most 268,435,456 b"),
        ({"policy": "pmed", "items": [f"i{k}" for k in range(99)]}, "pmed supports at most"),
        ({"prior": Prior([1.0], [1.0])}, "prior must be left out, unless the policy is one of"),
        ({"policy": "pb-mhb", "prior": Prior([1.0], [1.0])}, "prior.alpha must have one number"),
        ({"start": Start(["item-1"])}, "start must be left out, unless the policy is one of"),
        ({"policy": "pb-mhb", "start": Start(["item-9"])}, "start.ranking must be among"),
    ],
)  # fmt: skip
def test_rankers_that_cannot_be(tmp_path: Path, changes: dict[str, Any], text: str) -> None:
    async def test(engine: Engine) -> None:
        with pytest.raises(ClickRankError, match=text):
            await engine.create(new(**changes))
        assert (await engine.rankers("", 10)).rankers == []

    run(store_url("sqlite", tmp_path), test)


def test_rankers_are_made_once(url: str) -> None:
    async def test(engine: Engine) -> None:
        made = await asyncio.gather(*(engine.create(new()) for _ in range(4)))
        assert sum(fresh for _, fresh in made) == 1
        with pytest.raises(Refused, match="different ranker") as found:
            await engine.create(new(n_positions=2))
        assert found.value.status == 409
        for name in ("b", "a", "c"):
            await engine.create(new(name))
        page = await engine.rankers("", 2)
        assert ([ranker.name for ranker in page.rankers], page.next) == (["a", "b"], "b")
        page = await engine.rankers("b", 2)
        assert ([ranker.name for ranker in page.rankers], page.next) == (["c", "shop"], None)
        await engine.rank("shop", RankRequest())
        await engine.delete("shop")
        for call in (
            engine.delete("shop"),
            engine.ranker("shop"),
            engine.report("shop", ""),
            engine.rank("shop", RankRequest()),
        ):
            with pytest.raises(Refused, match='There is no ranker "shop"'):
                await call
        await engine.create(new(n_positions=2))  # the name is free again
        assert len((await engine.rank("shop", RankRequest())).items) == 2

    run(url, test)


def test_contexts_learn_for_themselves(url: str) -> None:
    async def test(engine: Engine) -> None:
        await engine.create(new())
        for context, count in (("red", 3), ("", 2), ("blue", 1)):
            for _ in range(count):
                shown = await engine.rank("shop", RankRequest(context=context))
                await engine.click(shown.id, Clicks([], final=True))
            await folded(engine, count, context=context)
        page = await engine.contexts("shop", None, 2)
        assert [(entry.context, entry.impressions) for entry in page.contexts] == [
            ("", 2),
            ("blue", 1),
        ]
        rest = await engine.contexts("shop", page.next, 2)
        assert [entry.context for entry in rest.contexts] == ["red"]
        with pytest.raises(Refused, match='There is no context "green"'):
            await engine.report("shop", "green")
        assert len((await engine.impressions("shop", "red", 10)).impressions) == 3
        assert len((await engine.impressions("shop", None, 10)).impressions) == 6

    run(url, test)


def test_only_so_many_contexts(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_CONTEXTS", 2)

    async def test(engine: Engine) -> None:
        await engine.create(new())
        for context in ("a", "b"):
            await engine.rank("shop", RankRequest(context=context))
        with pytest.raises(Refused, match="may have at most 2 contexts") as found:
            await engine.rank("shop", RankRequest(context="c"))
        assert found.value.status == 422

    run(url, test)


def test_what_is_not_used_leaves_the_memory(url: str) -> None:
    async def main() -> None:
        engine = await Engine.open(url, memory=1)
        await engine.create(new())
        for i in range(12):
            shown = await engine.rank("shop", RankRequest(context=f"context-{i % 3}"))
            await engine.click(shown.id, Clicks(shown.items[:1], final=True))
        assert (await folded(engine, 4, context="context-0")).clicks == 4
        await engine.close()

    asyncio.run(main())
    assert problems(url) == []


def test_batches(url: str) -> None:
    async def test(engine: Engine) -> None:
        await engine.create(new())
        requests = [RankRequest(id=f"visit-000{i}", context="abc"[i % 3]) for i in range(6)]
        first = await engine.rank_batch("shop", RankBatch(requests))
        assert [one.id for one in first.impressions] == [one.id for one in requests]
        assert await engine.rank_batch("shop", RankBatch(requests)) == first
        requests.append(RankRequest(candidates=["item-1", "what", "item-2"]))
        with pytest.raises(UnknownName, match=r"candidates must be among .* got 'what'"):
            await engine.rank_batch("shop", RankBatch(requests))

    run(url, test)


def test_keys_of_the_service(url: str) -> None:
    async def test(engine: Engine) -> None:
        assert not await engine.has_admin()
        made = await engine.make_key(NewKey("me", "admin"))
        assert await engine.role_of(made.secret) == "admin"
        assert await engine.has_admin()
        assert [key.revoked for key in (await engine.keys()).keys] == [None]
        assert (await engine.revoke_key(made.id)).revoked is not None
        assert await engine.role_of(made.secret) is None
        for number in (99, -1, 2**70):
            with pytest.raises(Refused, match="There is no key"):
                await engine.revoke_key(number)

    run(url, test)


def test_export(url: str, tmp_path: Path) -> None:
    import pyarrow.parquet

    async def test(engine: Engine) -> None:
        await engine.create(new())
        for i in range(5):
            shown = await engine.rank("shop", RankRequest(context="ab"[i % 2]))
            await engine.click(shown.id, Clicks(shown.items[:1], final=i < 3))
        path = tmp_path / "log.parquet"
        path.write_bytes(b"".join([chunk async for chunk in engine.export("shop")]))
        rows = pyarrow.parquet.read_table(path).to_pylist()
        assert len(rows) == 15
        assert sum(row["click"] for row in rows) == 5
        assert {row["query"] for row in rows} == {"a", "b"}
        assert sum(row["settled"] for row in rows) == 9

    run(url, test)


def test_time_does_not_go_back() -> None:
    wall, steady = Hands(), Hands()
    clock = Clock(wall=wall, steady=steady)
    first = clock.now()
    wall.seconds -= 100
    steady.seconds += 1
    assert clock.now() == first + 1_000_000
    steady.seconds += 1
    wall.seconds += 200
    assert clock.now() == first + 100_000_000  # it follows the machine's clock forward
    assert Clock(floor=10**18, wall=wall, steady=steady).now() == 10**18
