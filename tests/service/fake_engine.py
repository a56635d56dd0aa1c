"""An engine in memory, for tests of the HTTP API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import httpx

from clickrank.errors import invalid
from clickrank.service.api import examples as e
from clickrank.service.runtime.refusals import Refused, Unavailable
from clickrank.service.schemas import answers, fields, requests
from clickrank.service.store.database import StoreUnavailable

SECRETS: dict[str, fields.Role] = {"a-rank-key": "rank", "an-admin-key": "admin"}


class FakeEngine:
    """Answers with examples; some names of rankers make it raise certain errors."""

    def __init__(self) -> None:
        self.writer = SimpleNamespace(waiting=3)
        self.settler = SimpleNamespace(folded=7)
        self.closed = False
        self.asked_roles = 0
        self.problem: str | None = None
        self.calls: list[tuple[Any, ...]] = []

    async def close(self) -> None:
        self.closed = True

    async def ready(self) -> str | None:
        return self.problem

    def _find(self, name: str) -> None:
        if name == "refused":
            raise Refused("unknown_ranker", "There is no ranker 'refused'.", 404)
        if name == "unavailable":
            raise Unavailable("The database is gone.", 7)
        if name == "store":
            raise StoreUnavailable("Store: no connection came free in time.")
        if name == "invalid":
            raise invalid("PBMHB", "n_steps must be at least 1", 0)
        if name == "broken":
            raise RuntimeError("a secret detail")

    async def create(self, new: requests.NewRanker) -> tuple[answers.RankerInfo, bool]:
        self._find(new.name)
        self.calls.append(("create", new))
        return e.RANKER, new.name != "old"

    async def ranker(self, name: str) -> answers.RankerInfo:
        self._find(name)
        return e.RANKER

    async def rankers(self, after: str, limit: int) -> answers.RankerPage:
        self.calls.append(("rankers", after, limit))
        return e.RANKER_PAGE

    async def change(self, name: str, change: requests.RankerChange) -> answers.RankerInfo:
        self._find(name)
        return e.RANKER

    async def delete(self, name: str) -> None:
        self._find(name)

    async def add_items(self, name: str, new: requests.NewItems) -> answers.RankerInfo:
        self._find(name)
        return e.RANKER

    async def retire_items(self, name: str, items: requests.RetiredItems) -> answers.RankerInfo:
        self._find(name)
        return e.RANKER

    async def items(self, name: str, after: int, limit: int) -> answers.ItemPage:
        self.calls.append(("items", name, after, limit))
        return e.ITEM_PAGE

    async def contexts(self, name: str, after: str | None, limit: int) -> answers.ContextPage:
        self.calls.append(("contexts", name, after, limit))
        return e.CONTEXT_PAGE

    async def rank(self, name: str, request: requests.RankRequest) -> answers.Impression:
        if name == "slow":
            print("asked", flush=True)
            await asyncio.sleep(1.0)
            print("answers", flush=True)
        self._find(name)
        self.calls.append(("rank", name, request))
        return e.IMPRESSION

    async def rank_batch(self, name: str, batch: requests.RankBatch) -> answers.ImpressionBatch:
        self._find(name)
        return e.IMPRESSION_BATCH

    async def click(self, impression_id: str, clicks: requests.Clicks) -> answers.Feedback:
        if impression_id.startswith("late"):
            raise Refused("late", "The impression is settled.", 409)
        return e.FEEDBACK

    async def click_batch(self, batch: requests.ClickBatch) -> answers.FeedbackBatch:
        wrong = answers.FeedbackOf(
            "unknown0", error=answers.Problem("unknown_impression", "There is no such impression.")
        )
        return answers.FeedbackBatch([*e.FEEDBACK_BATCH.results, wrong])

    async def report(self, name: str, context: str) -> answers.Report:
        self._find(name)
        return e.REPORT

    async def activity(self, name: str, context: str, seconds: int | None) -> answers.Activity:
        self.calls.append(("activity", name, context, seconds))
        return e.ACTIVITY

    async def impressions(
        self, name: str, context: str | None, limit: int
    ) -> answers.LoggedImpressions:
        self.calls.append(("impressions", name, context, limit))
        return e.LOGGED

    async def export(self, name: str) -> AsyncIterator[bytes]:
        self._find(name)
        for chunk in (b"PAR1", b"rows", b"PAR1"):
            yield chunk

    async def keys(self) -> answers.Keys:
        return e.KEYS

    async def make_key(self, new: requests.NewKey) -> answers.MadeKey:
        return e.MADE_KEY

    async def revoke_key(self, key_id: int) -> answers.Key:
        if key_id != 1:
            raise Refused("unknown_key", f"There is no key {key_id}.", 404)
        return e.KEY

    async def role_of(self, secret: str) -> fields.Role | None:
        self.asked_roles += 1
        return SECRETS.get(secret)


def slow_app() -> Any:
    """Return the application with this engine, for a server in another process."""
    from clickrank.service.api.application import make_app

    async def opened() -> Any:
        engine = FakeEngine()
        close = engine.close

        async def say_closed() -> None:
            await close()
            print("closed", flush=True)

        engine.close = say_closed  # type: ignore[method-assign]
        return engine

    return make_app(opened)


class Client:
    """A client of an application in this process, which it starts and stops."""

    def __init__(self, app: Any) -> None:
        self._runner = asyncio.Runner()
        self._app = app
        self._lifespan = app.lifespan()
        self._client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://localhost"
        )

    def __enter__(self) -> Client:
        self._runner.run(self._lifespan.__aenter__())
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._client.aclose())
        self._runner.run(self._lifespan.__aexit__(None, None, None))
        self._runner.close()

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        return self._runner.run(self._client.request(method, path, **options))

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)

    def head(self, path: str) -> httpx.Response:
        return self.request("HEAD", path)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.request("POST", path, **options)

    def delete(self, path: str) -> httpx.Response:
        return self.request("DELETE", path)

    def ask(
        self, receive: Callable[[], Awaitable[dict[str, Any]]], path: str, method: str = "POST"
    ) -> list[dict[str, Any]]:
        """Send a request as ASGI messages, as a server does; return the answer's messages."""
        sent: list[dict[str, Any]] = []

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        scope = {"type": "http", "method": method, "path": path, "query_string": b""}
        self._runner.run(self._app({**scope, "headers": headers}, receive, send))
        return sent
