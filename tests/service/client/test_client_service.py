"""The clients with the service itself, on SQLite, over a network that loses answers."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pyarrow.parquet as pq
import pytest
import uvicorn

from clickrank.client import AsyncClient, Client, ServiceError
from clickrank.service.api import server
from clickrank.service.api.routes import ROUTES
from clickrank.service.client import retries
from clickrank.service.client.calls import Call, CallMethod, Calls
from clickrank.service.schemas import answers, requests

ITEMS = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    store = f"sqlite:///{tmp_path_factory.mktemp('store') / 'store.db'}"
    app = server.app_of(server.Settings(store, False))
    config = uvicorn.Config(app, ws="none", lifespan="on", log_level="error")
    with server.bind("127.0.0.1", 0) as listener:
        service = uvicorn.Server(config)
        thread = threading.Thread(target=service.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not service.started:
                assert thread.is_alive()
                time.sleep(0.01)
            yield server.address_of(listener)
        finally:
            service.should_exit = True
            thread.join(60)
            assert not thread.is_alive()


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_WAIT", 0.001)


class Losing(httpx.HTTPTransport):
    """A network that loses the first answer to each request, after the service handled it."""

    def __init__(self) -> None:
        super().__init__()
        self.lost = 0
        self._seen: set[tuple[str, bytes, bytes]] = set()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        what = (request.method, request.url.raw_path, request.read())
        if what not in self._seen:
            self._seen.add(what)
            self.lost += 1
            response.read()
            response.close()
            raise httpx.ReadError("connection reset", request=request)
        return response


def test_every_answer_is_lost_once_and_nothing_is_done_twice(address: str, tmp_path: Path) -> None:
    network = Losing()
    with Client(address, transport=network) as client:
        made = client.create_ranker("lossy", ITEMS, 2, policy="uniform")
        assert (made.name, made.version, made.n_items) == ("lossy", 1, 4)
        shown = [client.rank("lossy", context="q") for _ in range(5)]
        batch = client.rank_batch("lossy", [requests.RankRequest(context="q") for _ in range(3)])
        ids = [one.id for one in shown + batch.impressions]
        for one in shown:
            feedback = client.click(one.id, one.items[:1], final=True)
            assert feedback == answers.Feedback(one.id, one.items[:1], True)
        clicks = [requests.ClicksOf([], True, id=one.id) for one in batch.impressions]
        assert all(entry.error is None for entry in client.click_batch(clicks).results)
        logged = client.impressions("lossy", context="q", limit=100).impressions
        assert [one.id for one in logged] == ids[::-1]
        assert sum(len(one.clicked) for one in logged) == 5

        changed = client.add_items("lossy", ["e"])
        assert (changed.n_items, changed.version) == (5, 2)
        assert client.retire_items("lossy", ["a"]).n_retired == 1
        window = client.change_ranker("lossy", window=60)
        assert (window.window, window.version) == (60, 4)
        assert [entry.item for entry in client.items("lossy").items] == [*ITEMS, "e"]
        assert [entry.context for entry in client.contexts("lossy").contexts] == ["q"]

        deadline = time.monotonic() + 120.0  # another thread folds
        while (report := client.report("lossy", "q")).settled < 8:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert (report.impressions, report.clicks) == (8, 5)
        assert [entry.retired for entry in report.items] == [True] + [False] * 4
        assert client.activity("lossy", "q").first_day is not None

        target = tmp_path / "log.parquet"
        client.export_log("lossy", target)
        table = pq.read_table(target)
        assert table["impression_id"].unique().to_pylist() == ids
        assert table["click"].to_pylist().count(1) == 5

        client.delete_ranker("lossy")
        with pytest.raises(ServiceError) as gone:
            client.report("lossy", "q")
        assert gone.value.status == 404
    assert network.lost > 20


def test_the_async_client_says_the_same(address: str) -> None:
    async def shop() -> None:
        async with AsyncClient(address) as client:
            await client.create_ranker("async", ITEMS, 2, policy="uniform")
            shown = await asyncio.gather(*(client.rank("async") for _ in range(20)))
            assert len({one.id for one in shown}) == 20
            again = await client.rank("async", id=shown[0].id)
            assert again == shown[0]
            await client.click(shown[0].id, shown[0].items)
            with pytest.raises(ServiceError) as wrong:
                await client.click(shown[0].id, ["nothing of ours"])
            assert wrong.value.status == 422
            assert "nothing of ours" in str(wrong.value)
            page = await client.rankers(limit=1)
            assert [ranker.name for ranker in page.rankers] == ["async"]
            assert "uniform" in {policy.name for policy in (await client.policies()).policies}
            await client.delete_ranker("async")

    asyncio.run(shop())


def test_keys(address: str) -> None:
    with Client(address) as client:
        made = client.make_key("ci", "rank")
        assert made.id in [key.id for key in client.keys().keys]
        assert client.revoke_key(made.id).revoked is not None
        assert client.revoke_key(made.id).revoked is not None  # again


def test_every_route_has_a_method() -> None:
    arguments = {
        "create_ranker": ("shop", ITEMS, 2), "rankers": (), "policies": (), "keys": (),
        "click": ("{id}",), "click_batch": ([],), "make_key": ("ci", "rank"),
        "revoke_key": ("{key}",), "rank_batch": ("{name}", []), "add_items": ("{name}", []),
        "retire_items": ("{name}", []), "export_log": ("{name}", "log.parquet"),
    }  # fmt: skip
    sent = set()
    for name, route in vars(Calls).items():
        if isinstance(route, CallMethod):
            call: Call[object] = route.call(*arguments.get(name, ("{name}",)))
            path = re.sub("%7B(.*?)%7D", r"{\1}", call.path)
            sent.add((call.method, path))
            (answer,) = {r.answer for r in ROUTES if (r.method, r.path) == (call.method, path)}
            if isinstance(answer, type):
                assert call.answer is answer
    assert sent == {(route.method, route.path) for route in ROUTES if route.path.startswith("/v1/")}
