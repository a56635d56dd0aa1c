"""The HTTP API on an engine in memory: routes, wrong requests, access control and shutdown."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from clickrank.service.api.application import make_app
from clickrank.service.api.routes import ROUTES, Route
from clickrank.service.schemas.parameters import PATH_PARAMETERS
from tests.service.fake_engine import Client, FakeEngine

RANK = "/v1/rankers/shop/rank"
JSON = {"content-type": "application/json"}


class Served:
    """A client of the service, and the engine behind it."""

    def __init__(self, keys_required: bool = False) -> None:
        self.engine = FakeEngine()
        self.app = make_app(self._open, keys_required)
        self.client = Client(self.app)

    async def _open(self) -> Any:
        return self.engine


@pytest.fixture
def served() -> Iterator[Served]:
    found = Served()
    with found.client:
        yield found


@pytest.fixture
def guarded() -> Iterator[Served]:
    found = Served(keys_required=True)
    with found.client:
        yield found


def path_of(route: Route) -> str:
    return re.sub(r"{(\w+)}", lambda m: PATH_PARAMETERS[m[1]].example, route.path)


def call(client: Client, route: Route, headers: dict[str, bytes] | None = None) -> Any:
    return client.request(route.method, path_of(route), json=route.example, headers=headers)


def problem(answer: Any, status: int, code: str) -> str:
    """Check that an answer has the form of all errors; return its message."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    assert list(body) == ["error"]
    assert sorted(body["error"]) == ["code", "message"]
    assert body["error"]["code"] == code
    message: str = body["error"]["message"]
    assert message
    return message


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.label)
def test_every_route_answers_its_example(served: Served, route: Route) -> None:
    answer = call(served.client, route)
    assert answer.status_code == route.statuses[0], answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
    if route.method == "GET":
        head = served.client.head(path_of(route))
        assert head.status_code == 200
        assert head.content == b""
        assert head.headers["content-type"] == answer.headers["content-type"]


def test_what_the_engine_is_asked(served: Served) -> None:
    client, calls = served.client, served.engine.calls
    assert client.post(RANK, json={"context": "é", "candidates": ["a"]}).status_code == 200
    assert calls.pop()[2].context == "é"
    assert client.get("/v1/rankers?after=b&limit=2").status_code == 200
    assert calls.pop() == ("rankers", "b", 2)
    assert client.get("/v1/rankers/shop/items").status_code == 200
    assert calls.pop() == ("items", "shop", 0, 1000)
    assert client.get("/v1/rankers/shop/contexts?after=").status_code == 200
    assert calls.pop() == ("contexts", "shop", "", 100)
    assert client.get("/v1/rankers/shop/contexts").status_code == 200
    assert calls.pop() == ("contexts", "shop", None, 100)
    assert client.get("/v1/rankers/shop/activity?context=a%20b&seconds=60").status_code == 200
    assert calls.pop() == ("activity", "shop", "a b", 60)
    assert client.get("/v1/rankers/shop/activity").status_code == 200
    assert calls.pop() == ("activity", "shop", "", None)
    assert client.get("/v1/rankers/shop/impressions").status_code == 200
    assert calls.pop() == ("impressions", "shop", None, 20)
    assert client.get("/v1/rankers/shop/impressions?context=").status_code == 200
    assert calls.pop() == ("impressions", "shop", "", 20)
    new = {"name": "old", "items": ["a"], "n_positions": 1}
    assert client.post("/v1/rankers", json=new).status_code == 200
    assert client.post("/v1/rankers", json={**new, "name": "new"}).status_code == 201
    log = client.get("/v1/rankers/shop/log.parquet")
    assert log.content == b"PAR1rowsPAR1"
    assert log.headers["content-disposition"] == 'attachment; filename="shop.parquet"'
    gone = client.delete("/v1/rankers/shop")
    assert (gone.status_code, gone.content) == (204, b"")


DEEP = b'{"name": "a", "items": ["a"], "n_positions": 1, "settings": {"a": %s}}'
BODIES = [
    (b"", 400, "malformed_json"),
    (b"{", 400, "malformed_json"),
    (b"{} {}", 400, "malformed_json"),
    (b"\xef\xbb\xbf{}", 400, "malformed_json"),
    (b'{"context": "\xff"}', 400, "malformed_json"),
    (b'{"context": "\\ud800"}', 400, "malformed_json"),
    (b'{"context": NaN}', 400, "malformed_json"),
    (b'{"context": "\x00"}', 400, "malformed_json"),
    (b'{"context": "\\u0000"}', 422, "invalid_body"),
    (b'{"context": "\\\\\\u0000"}', 422, "invalid_body"),
    (b"[]", 422, "invalid_body"),
    (b"null", 422, "invalid_body"),
    (b'{"context": 1}', 422, "invalid_body"),
    (b'{"contexts": ""}', 422, "invalid_body"),
    (b'{"id": "short"}', 422, "invalid_body"),
    (b'{"id": "long-enough\\n"}', 422, "invalid_body"),
    (b'{"candidates": []}', 422, "invalid_body"),
    (b'{"candidates": [""]}', 422, "invalid_body"),
    (b'{"context": "' + 201 * b"a" + b'"}', 422, "invalid_body"),
]
NEW_BODIES = [
    (DEEP % (b"[" * 9 + b"]" * 9), 422, "invalid_body"),
    (DEEP % (b"[" * 100_000), 400, "malformed_json"),
    (DEEP % b"123456789012345678901234567890", 422, "invalid_body"),
    (DEEP % b"1e999", 422, "invalid_body"),
    (DEEP % (b"9" * 5000), 422, "invalid_body"),
    (b'{"name": "a\\n", "items": ["a"], "n_positions": 1}', 422, "invalid_body"),
    (b'{"name": "a", "items": ["a"], "n_positions": 1e999}', 422, "invalid_body"),
    (b'{"name": "a", "items": ["a"], "n_positions": 1.5}', 422, "invalid_body"),
    (b'{"name": "a", "items": ["a"], "n_positions": 101}', 422, "invalid_body"),
    (b'{"name": "a", "items": ["a"], "n_positions": 1, "mode": "off"}', 422, "invalid_body"),
]


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [(RANK, *row) for row in BODIES] + [("/v1/rankers", *row) for row in NEW_BODIES],
)
def test_bad_bodies(served: Served, path: str, body: bytes, status: int, code: str) -> None:
    problem(served.client.post(path, content=body, headers=JSON), status, code)
    assert not served.engine.calls


def test_an_escaped_backslash_is_no_nul(served: Served) -> None:
    answer = served.client.post(RANK, content=rb'{"context": "\\u0000"}', headers=JSON)
    assert answer.status_code == 200
    assert served.engine.calls[0][2].context == r"\u0000"


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("limit=0", 422),
        ("limit=1001", 422),
        ("limit=x", 422),
        ("limit=", 422),
        ("limit=99999999999999999999999", 422),
        ("limit=1&limit=2", 422),
        ("after=%00", 422),
        ("after=" + "a" * 201, 422),
        ("color=red", 422),
        ("after=%ff", 400),
        ("after=%ed%a0%80", 400),  # a lone surrogate
        ("&".join(f"a{i}=1" for i in range(21)), 400),
    ],
)
def test_bad_queries(served: Served, query: str, status: int) -> None:
    problem(served.client.get(f"/v1/rankers?{query}"), status, "invalid_query")
    assert not served.engine.calls


def test_a_query_where_there_is_none(served: Served) -> None:
    problem(served.client.post(f"{RANK}?context=a", json={}), 422, "invalid_query")
    assert served.client.get("/healthz?from=balancer").status_code == 200


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/v2/rankers", "unknown_path"),
        ("/v1/rankers/", "unknown_path"),
        ("/v1/rankers/a/b", "unknown_path"),
        ("/healthz/", "unknown_path"),
        ("/static/nothing.js", "unknown_path"),
        ("/static/..%2fapp.py", "unknown_path"),
        ("/v1/rankers/a%2Fb", "unknown_ranker"),
        ("/v1/rankers/a%2fb/report", "unknown_ranker"),
        ("/v1/rankers/%2E%2E", "unknown_ranker"),
        ("/v1%2Frankers", "unknown_path"),
        ("/v1/rankers/a%0A", "unknown_ranker"),
        ("/v1/rankers/%00", "unknown_ranker"),
        ("/v1/rankers/%ff", "unknown_ranker"),
        ("/v1/rankers/%zz", "unknown_ranker"),
        ("/v1/rankers/-a", "unknown_ranker"),
        ("/v1/rankers/" + "a" * 101, "unknown_ranker"),
    ],
)
def test_paths_that_lead_nowhere(served: Served, path: str, code: str) -> None:
    problem(served.client.get(path), 404, code)


def test_ids_that_lead_nowhere(served: Served) -> None:
    client = served.client
    for name in ("short", "a%2Fb%2Fc%2Fd%2Fe", "%2E%2E"):
        path = f"/v1/impressions/{name}/clicks"
        problem(client.post(path, json={}), 404, "unknown_impression")
    for key in ("0", "x", "-1", "99999999999999999999", "1%0A"):
        problem(client.delete(f"/v1/keys/{key}"), 404, "unknown_key")
    problem(client.delete("/v1/keys/2"), 404, "unknown_key")


def test_wrong_methods(served: Served) -> None:
    for path, allowed in [
        ("/v1/rankers/shop", "DELETE, GET, HEAD, PATCH"),
        (RANK, "POST"),
        ("/healthz", "GET, HEAD"),
        ("/", "GET, HEAD"),
    ]:
        for method in ("PUT", "OPTIONS", "TRACE", "FOO"):
            answer = served.client.request(method, path)
            problem(answer, 405, "wrong_method")
            assert answer.headers["allow"] == allowed


@pytest.mark.parametrize(
    "media", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "json"]
)
def test_only_json_is_taken(served: Served, media: str) -> None:
    answer = served.client.post(RANK, content=b"{}", headers={"content-type": media})
    problem(answer, 415, "wrong_type")


def test_json_may_say_its_encoding(served: Served) -> None:
    headers = {"content-type": "Application/JSON; charset=utf-8"}
    assert served.client.post(RANK, content=b"{}", headers=headers).status_code == 200


def test_what_the_engine_says_no_to(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    client = served.client
    assert "no ranker" in problem(client.get("/v1/rankers/refused"), 404, "unknown_ranker")
    assert "n_steps" in problem(client.get("/v1/rankers/invalid"), 422, "invalid_value")
    gone = client.get("/v1/rankers/unavailable")
    problem(gone, 503, "unavailable")
    assert gone.headers["retry-after"] == "7"
    problem(client.get("/v1/rankers/store/report"), 503, "unavailable")
    problem(client.get("/v1/rankers/refused/log.parquet"), 404, "unknown_ranker")
    assert not caplog.records
    assert "secret" not in problem(client.get("/v1/rankers/broken"), 500, "internal")
    assert "a secret detail" in caplog.text


def test_long_messages_are_cut(served: Served) -> None:
    answer = served.client.get("/v1/rankers/" + "é" * 5000)
    assert len(problem(answer, 404, "unknown_ranker")) == 500


def test_bodies_have_a_limit(served: Served) -> None:
    client = served.client
    answer = client.post(RANK, content=b" " * (1 << 20) + b"{}", headers=JSON)
    problem(answer, 413, "too_large")
    assert answer.headers["connection"] == "close"
    large = b" " * (2 << 20) + b'{"requests": [{}]}'
    assert client.post(f"{RANK}/batch", content=large, headers=JSON).status_code == 200
    headers = {**JSON, "content-length": "9" * 30}
    problem(client.post(RANK, content=b"{}", headers=headers), 413, "too_large")
    headers["content-length"] = "-5"
    problem(client.post(RANK, content=b"{}", headers=headers), 400, "bad_length")


def ask(client: Client, messages: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """Send ASGI messages; return the answers and the number of messages that were read."""
    read = 0

    async def receive() -> dict[str, Any]:
        nonlocal read
        read += 1
        return messages[read - 1]

    return client.ask(receive, RANK), read


def test_a_body_in_chunks_is_read_no_further_than_its_limit(served: Served) -> None:
    chunk = {"type": "http.request", "body": b" " * (1 << 18), "more_body": True}
    sent, read = ask(served.client, [chunk] * 100)
    assert sent[0]["status"] == 413
    assert read == 5
    end = {"type": "http.request", "body": b"{}", "more_body": False}
    sent, _ = ask(served.client, [chunk, end])
    assert sent[0]["status"] == 200


def test_a_client_that_goes_away_gets_nothing(served: Served) -> None:
    chunk = {"type": "http.request", "body": b"{", "more_body": True}
    gone = {"type": "http.disconnect"}
    assert ask(served.client, [gone]) == ([], 1)
    assert ask(served.client, [chunk, gone]) == ([], 2)
    assert not served.engine.calls


def test_a_slow_body_is_not_waited_for(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clickrank.service.api.asgi.BODY_SECONDS", 0.01)
    read = 0

    async def receive() -> dict[str, Any]:
        nonlocal read
        read += 1
        await asyncio.sleep(0 if read == 1 else 60)
        return {"type": "http.request", "body": b"{", "more_body": True}

    assert served.client.ask(receive, RANK)[0]["status"] == 408


HOSTS = ["localhost", "LOCALHOST:80", "127.0.0.1:8765", "127.1.2.3", "[::1]:1", "shop.localhost"]
OTHER_HOSTS = ["", "evil.example", "localhost.evil.example:80", "192.168.0.1", "[::2]"]


def test_without_keys_only_this_machine_is_named(served: Served, guarded: Served) -> None:
    for host in HOSTS * 2:
        assert served.client.get("/healthz", headers={"host": host}).status_code == 200
    for host in OTHER_HOSTS:
        for path in ("/healthz", "/", "/nowhere", "/v1/rankers"):
            problem(served.client.get(path, headers={"host": host}), 421, "wrong_host")
        assert guarded.client.get("/healthz", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.label)
def test_who_may_do_what(guarded: Served, route: Route) -> None:
    def ask(authorization: str | None) -> Any:
        headers = (
            {} if authorization is None else {"authorization": authorization.encode("latin-1")}
        )
        return call(guarded.client, route, headers)

    admin, rank = ask("Bearer an-admin-key"), ask("bearer a-rank-key")
    assert admin.status_code == route.statuses[0]
    for wrong, code in [
        (None, "no_key"),
        ("", "no_key"),
        ("Bearer", "no_key"),
        ("Basic an-admin-key", "no_key"),
        ("Bearer nonsense", "bad_key"),
        ("Bearer " + "a" * 10_000, "bad_key"),
        ("Bearer \xff", "bad_key"),
    ]:
        if route.path in ("/healthz", "/readyz", "/openapi.json"):
            assert ask(wrong).status_code == 200
        else:
            problem(ask(wrong), 401, code)
            assert ask(wrong).headers["www-authenticate"] == "Bearer"
    everyone = {"/healthz", "/readyz", "/openapi.json", "/metrics", "/ping"}
    if "rank" in route.path.split("/") or "clicks" in route.path or route.path in everyone:
        assert rank.status_code == route.statuses[0]
    else:
        problem(rank, 403, "wrong_role")


def test_a_key_is_looked_up_once_in_two_seconds() -> None:
    from clickrank.service.api.asgi import Rejected
    from clickrank.service.api.auth import Gate

    engine, now = FakeEngine(), [100.0]
    gate = Gate(True, engine.role_of, lambda: now[0])

    async def check() -> None:
        await gate.check_key({b"authorization": b"Bearer a-rank-key"}, "rank")

    for _ in range(3):
        asyncio.run(check())
    assert engine.asked_roles == 1
    now[0] += 2.0
    asyncio.run(check())
    assert engine.asked_roles == 2

    async def guess() -> None:
        for i in range(3000):
            with pytest.raises(Rejected):
                await gate.check_key({b"authorization": b"Bearer guess-%d" % i}, "rank")

    asyncio.run(guess())
    assert len(gate._known) <= 1024


def test_health_and_readiness(served: Served) -> None:
    assert served.client.get("/healthz").json() == {"ok": True, "reason": None}
    ready = served.client.get("/readyz").json()
    assert ready == {"ok": True, "reason": None, "compiling": ready["compiling"]}
    served.engine.problem = "The database is gone."
    answer = served.client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["ok"] is False
    assert answer.json()["reason"] == "The database is gone."
    assert served.client.get("/healthz").status_code == 200


def test_metrics(served: Served) -> None:
    client = served.client
    client.post(RANK, json={})
    client.post(f"{RANK}/batch", json={"requests": [{}]})
    client.post("/v1/impressions/late-one/clicks", json={})
    client.post("/v1/impressions/good-one/clicks", json={})
    client.post("/v1/clicks/batch", json={"clicks": [{"id": "12345678"}]})
    client.get("/v1/rankers/unavailable")
    client.get("/nowhere")
    text = client.get("/metrics").text
    for line in (
        "clickrank_ranks_total 2.0",
        "clickrank_feedback_total 2.0",
        'clickrank_refused_clicks_total{reason="late"} 1.0',
        'clickrank_refused_clicks_total{reason="unknown"} 1.0',
        'clickrank_refused_clicks_total{reason="impossible"} 0.0',
        "clickrank_unavailable_total 1.0",
        "clickrank_queue_length 3.0",
        "clickrank_folded_total 7.0",
        'clickrank_requests_total{route="POST /v1/rankers/{name}/rank",status="200"} 1.0',
        'clickrank_requests_total{route="other",status="404"} 1.0',
        'clickrank_request_seconds_count{route="POST /v1/rankers/{name}/rank"} 1.0',
    ):
        assert line in text.splitlines(), line


def test_the_engine_is_closed_at_the_end() -> None:
    served = Served()
    with served.client:
        assert not served.engine.closed
    assert served.engine.closed


def test_a_database_that_is_late_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from clickrank.service.runtime.refusals import Unavailable

    monkeypatch.setattr("clickrank.service.api.application.RETRY_SECONDS", 0.01)
    tries = 0

    async def opened() -> Any:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise Unavailable("The database is not there yet.")
        return FakeEngine()

    with Client(make_app(opened)) as client:
        while (answer := client.get("/v1/rankers/shop")).status_code != 200:
            problem(answer, 503, "unavailable")
    assert tries == 3
    assert caplog.messages.count("Cannot start yet: The database is not there yet.") == 2


def test_an_export_ends_when_nobody_listens(served: Served) -> None:
    made = 0

    async def endless(name: str) -> Any:
        nonlocal made
        while True:
            made += 1
            await asyncio.sleep(0)
            yield b"chunk"

    served.engine.export = endless  # type: ignore[method-assign]

    async def receive() -> dict[str, Any]:
        while made < 10:
            await asyncio.sleep(0)
        return {"type": "http.disconnect"}

    sent = served.client.ask(receive, "/v1/rankers/shop/log.parquet", "GET")
    assert sent[0]["status"] == 200
    assert sent[-1] == {"type": "http.response.body", "body": b""}
    assert made >= len(sent) - 2 > 0


def test_a_revoked_key_is_forgotten_at_once(guarded: Served) -> None:
    headers = {"authorization": "Bearer an-admin-key"}
    for _ in range(2):
        guarded.client.get("/v1/keys", headers=headers)
    assert guarded.engine.asked_roles == 1
    guarded.client.request("DELETE", "/v1/keys/1", headers=headers)
    guarded.client.get("/v1/keys", headers=headers)
    assert guarded.engine.asked_roles == 2


def test_the_description_is_json(served: Served) -> None:
    assert json.loads(served.client.get("/openapi.json").content)["openapi"] == "3.1.0"
