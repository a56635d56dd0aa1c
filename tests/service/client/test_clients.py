"""The clients return the answers of the service, and repeat failed calls safely."""

import asyncio
import inspect
import json
import shutil
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import msgspec
import pytest

from clickrank.client import AsyncClient, Client, ServiceError
from clickrank.errors import InvalidValue
from clickrank.service.client import retries
from clickrank.service.client.calls import Call, CallMethod, Calls, new_id
from clickrank.service.client.retries import Tries
from clickrank.service.schemas import answers, fields, requests

RANKER = answers.RankerInfo("shop", "pb-mhb", {}, 3, 0, 2, 1800, "live", 1, 0.0, 0.0, True, True)


class Service:
    """A service of a few routes in memory, with trouble on its way in and out.

    ``trouble`` holds what befalls the next requests: "refused" before they are seen, "lost" after
    they are done, or a response instead of doing them; None for nothing.
    """

    def __init__(self) -> None:
        self.trouble: list[Any] = []
        self.requests: list[httpx.Request] = []
        self.rankers: dict[str, dict[str, Any]] = {}
        self.shown: dict[str, dict[str, Any]] = {}
        self.clicked: dict[str, list[str]] = {}
        self.keys: list[str] = []
        self.done = 0  # requests that changed something

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        trouble = self.trouble.pop(0) if self.trouble else None
        if trouble == "refused":
            raise httpx.ConnectError("connection refused")
        if isinstance(trouble, httpx.Response):
            return trouble
        response = self.answer(request)
        if trouble == "lost":
            raise httpx.ReadError("connection reset")
        if trouble == "late":
            raise httpx.ReadTimeout("timed out")
        return response

    def answer(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content) if request.content else {}
        parts = request.url.path.strip("/").split("/")[1:]
        if request.method == "POST" and parts == ["rankers"]:
            before = self.rankers.get(body["name"])
            if before not in (None, body):
                return problem(409, "other_ranker", "shop: is there, and different.")
            self.done += before is None
            self.rankers[body["name"]] = body
            return httpx.Response(200 if before else 201, content=msgspec.json.encode(RANKER))
        if request.method == "DELETE" and parts[0] == "rankers":
            if self.rankers.pop(parts[1], None) is None:
                return problem(404, "unknown_ranker", "shop: there is no such ranker.")
            self.done += 1
            return httpx.Response(204)
        if parts[-1] == "rank":
            return httpx.Response(200, json=self.rank(body))
        if parts[-2:] == ["rank", "batch"]:
            shown = [self.rank(entry) for entry in body["requests"]]
            return httpx.Response(200, json={"impressions": shown})
        if parts[0] == "impressions":
            clicks = self.clicked.setdefault(parts[1], [])
            self.done += len(set(body["clicked"]) - set(clicks))
            clicks += [item for item in body["clicked"] if item not in clicks]
            answer = {"id": parts[1], "clicked": clicks, "settled": body["final"]}
            return httpx.Response(200, json=answer)
        if request.method == "POST" and parts == ["keys"]:
            self.keys.append(body["name"])
            made = answers.MadeKey(len(self.keys), body["name"], body["role"], 0.0, None, "secret")
            return httpx.Response(201, content=msgspec.json.encode(made))
        raise AssertionError(f"{request.method} {request.url}")

    def rank(self, body: dict[str, Any]) -> dict[str, Any]:
        self.done += body["id"] not in self.shown
        answer = {"id": body["id"], "items": ["a", "b"], "context": body["context"], "version": 1}
        return self.shown.setdefault(body["id"], answer)


def problem(status: int, code: str, message: str, **headers: str) -> httpx.Response:
    body = {"error": {"code": code, "message": message}}
    return httpx.Response(status, json=body, headers=headers)


def later(status: int = 503, **headers: str) -> httpx.Response:
    return problem(status, "unavailable", "The database is gone.", **headers)


class Both:
    """A sync or an async client, called in the same way."""

    def __init__(self, kind: str, service: Callable[[httpx.Request], httpx.Response]) -> None:
        self.kind, self.service = kind, service
        self.settings: dict[str, Any] = {"key": "the-secret"}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            transport = httpx.MockTransport(self.service)
            if self.kind == "sync":
                with Client("http://service", transport=transport, **self.settings) as client:
                    return getattr(client, name)(*args, **kwargs)

            async def awaited() -> Any:
                async with AsyncClient(
                    "http://service", transport=transport, **self.settings
                ) as client:
                    return await getattr(client, name)(*args, **kwargs)

            return asyncio.run(awaited())

        return call


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_WAIT", 0.001)


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture(params=["sync", "async"])
def client(request: pytest.FixtureRequest, service: Service) -> Both:
    return Both(request.param, service)


TROUBLES: list[list[Any]] = [
    [],
    ["refused"],
    ["lost"],
    ["late"],
    ["lost", "refused", "lost", "late"],
]


@pytest.mark.parametrize("trouble", TROUBLES, ids=str)
def test_what_was_done_is_not_done_again(
    client: Both, service: Service, trouble: list[Any]
) -> None:
    service.trouble = list(trouble)
    assert client.create_ranker("shop", ["a", "b", "c"], 2) == RANKER
    assert service.done == 1

    service.trouble = list(trouble)
    shown = client.rank("shop", context="red shoes")
    assert shown == answers.Impression(shown.id, ["a", "b"], "red shoes", 1)
    assert list(service.shown) == [shown.id]
    assert service.done == 2

    service.trouble = list(trouble)
    assert client.click(shown.id, ["b"], final=True) == answers.Feedback(shown.id, ["b"], True)
    assert service.done == 3

    service.trouble = list(trouble)
    batch = client.rank_batch("shop", [requests.RankRequest(), requests.RankRequest("my-own-id")])
    assert len(service.shown) == 3
    assert batch.impressions[1].id == "my-own-id"

    service.trouble = list(trouble)
    assert client.delete_ranker("shop") is None
    assert service.rankers == {}
    assert service.done == 6
    assert len(service.requests) == 5 * (1 + len(trouble))


def test_a_ranker_that_was_never_there_is_not_deleted(client: Both, service: Service) -> None:
    with pytest.raises(ServiceError, match="no such ranker") as refused:
        client.delete_ranker("shop")
    assert (refused.value.code, refused.value.status) == ("unknown_ranker", 404)
    service.trouble = ["refused"]  # nothing was done, so the 404 is an error
    with pytest.raises(ServiceError, match="no such ranker"):
        client.delete_ranker("shop")
    service.trouble = [later(503)]
    with pytest.raises(ServiceError, match="no such ranker"):
        client.delete_ranker("shop")


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_service_that_comes_back_is_waited_for(
    client: Both, service: Service, status: int
) -> None:
    service.trouble = [later(status), later(status)]
    assert client.rank("shop").items == ["a", "b"]
    assert len(service.requests) == 3


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the waits between attempts, which take no time here."""
    waits: list[float] = []
    at_once = asyncio.sleep

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await at_once(0)

    monkeypatch.setattr(time, "sleep", waits.append)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    return waits


def test_retry_after_is_honoured(client: Both, service: Service, slept: list[float]) -> None:
    service.trouble = [later(503, **{"Retry-After": "0.3"})]
    client.rank("shop")
    assert slept == [0.3]


@pytest.mark.parametrize("wait", ["3600", "1e400"])
def test_patience_bounds_what_the_service_asks_for(
    client: Both, service: Service, slept: list[float], wait: str
) -> None:
    client.settings |= {"patience": 60.0, "retries": 3}
    service.trouble = [later(503, **{"Retry-After": wait})] * 4
    with pytest.raises(ServiceError, match="database is gone") as gone:
        client.rank("shop")
    assert sum(slept) < 1.0
    assert (gone.value.code, gone.value.status) == ("unavailable", 503)
    assert len(service.requests) == (1 if wait == "3600" else 4)


def test_retries_are_counted(client: Both, service: Service) -> None:
    client.settings["retries"] = 2
    service.trouble = ["lost"] * 9
    with pytest.raises(ServiceError, match="POST /v1/rankers/shop/rank: connection reset") as lost:
        client.rank("shop")
    assert (lost.value.code, lost.value.status) == ("unreachable", None)
    assert isinstance(lost.value.__cause__, httpx.ReadError)
    assert len(service.requests) == 3
    assert len(service.shown) == 1


@pytest.mark.parametrize("status", [400, 401, 404, 409, 413, 422, 500])
def test_what_the_service_refuses_is_not_tried_again(
    client: Both, service: Service, status: int
) -> None:
    service.trouble = [problem(status, "no_way", "shop: must be other, got this.")]
    with pytest.raises(ServiceError) as refused:
        client.rank("shop")
    assert str(refused.value) == "shop: must be other, got this."
    assert (refused.value.code, refused.value.status) == ("no_way", status)
    assert len(service.requests) == 1


def test_answers_that_are_not_the_services(client: Both, service: Service) -> None:
    service.trouble = [httpx.Response(403, text="<html>proxy</html>")]
    with pytest.raises(ServiceError, match="status 403") as refused:
        client.rank("shop")
    assert refused.value.code == "http_403"
    for body in ("<html>welcome</html>", '{"id": 3}'):
        service.trouble = [httpx.Response(200, text=body)]
        with pytest.raises(ServiceError, match="answer is not valid") as odd:
            client.rank("shop")
        assert (odd.value.code, odd.value.status) == ("not_understood", 200)
    service.trouble = [httpx.Response(307, headers={"location": "http://elsewhere/"})]
    with pytest.raises(ServiceError) as moved:  # a key is not sent to another server
        client.rank("shop")
    assert moved.value.code == "http_307"


def test_a_key_is_not_made_twice(client: Both, service: Service) -> None:
    service.trouble = ["refused", later(503)]  # nothing was done
    assert client.make_key("ci", "rank").secret == "secret"
    for trouble in ("lost", "late"):
        service.trouble = [trouble]
        with pytest.raises(ServiceError) as lost:
            client.make_key("lost", "rank")
        assert lost.value.code == "unreachable"
    service.trouble = [later(504)]
    with pytest.raises(ServiceError):
        client.make_key("unknown", "rank")
    assert service.keys == ["ci", "lost", "lost"]


def test_what_is_sent(client: Both) -> None:
    sent: list[tuple[str, str, Any]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        assert request.headers["authorization"] == "Bearer the-secret"
        body = json.loads(request.content) if request.content else None
        if body is not None:
            assert request.headers["content-type"] == "application/json"
        sent.append((request.method, request.url.raw_path.decode(), body))
        return problem(418, "teapot", "Seen.")

    client.service = answer
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        ("create_ranker", ("shop", ("a", "b"), 2), {"policy": "thompson", "window": 60}),
        ("rankers", (), {"after": "m&m"}),
        ("ranker", ("../keys",), {}),
        ("change_ranker", ("shop",), {"mode": "live"}),
        ("delete_ranker", ("shop",), {}),
        ("items", ("shop",), {"after": 7, "limit": 5}),
        (
            "add_items",
            ("shop", ["c"]),
            {"prior": requests.Prior([1.0], [2.0]), "features": [(0.5, 1.0)]},
        ),
        ("retire_items", ("shop", {"a"}), {}),
        ("contexts", ("shop",), {}),
        ("contexts", ("shop",), {"after": ""}),
        ("rank", ("shop",), {"id": "12345678", "candidates": ("a",), "current": ["b"]}),
        ("rank_batch", ("shop", [requests.RankRequest("12345678")]), {}),
        ("click", ("a/b", ["a"]), {}),
        ("click_batch", ([requests.ClicksOf(["a"], True, id="12345678")],), {}),
        ("report", ("shop", "red shoes"), {}),
        ("activity", ("shop",), {"seconds": 60}),
        ("impressions", ("shop",), {"limit": 3}),
        ("export_log", ("shop", "never.parquet"), {}),
        ("policies", (), {}),
        ("keys", (), {}),
        ("make_key", ("ci", "rank"), {}),
        ("revoke_key", (3,), {}),
    ]
    for name, args, kwargs in calls:
        call = getattr(client, name)
        with pytest.raises(ServiceError, match="Seen"):
            call(*args, **kwargs)
    rank = {"id": "12345678", "context": "", "candidates": None, "current": None}
    new = {"name": "shop", "items": ["a", "b"], "n_positions": 2, "settings": {}, "mode": "live"}
    new |= {
        "policy": "thompson",
        "window": 60,
        "prior": None,
        "start": None,
        "log_propensities": False,
    }
    items: dict[str, Any] = {"items": ["c"], "prior": {"alpha": [1.0], "beta": [2.0]}}
    items["features"] = [[0.5, 1.0]]
    clicks = {"id": "12345678", "clicked": ["a"], "final": True}
    assert sent == [
        ("POST", "/v1/rankers", new),
        ("GET", "/v1/rankers?after=m%26m&limit=100", None),
        ("GET", "/v1/rankers/..%2Fkeys", None),
        ("PATCH", "/v1/rankers/shop", {"mode": "live"}),
        ("DELETE", "/v1/rankers/shop", None),
        ("GET", "/v1/rankers/shop/items?after=7&limit=5", None),
        ("POST", "/v1/rankers/shop/items", items),
        ("POST", "/v1/rankers/shop/items/retire", {"items": ["a"]}),
        ("GET", "/v1/rankers/shop/contexts?limit=100", None),
        ("GET", "/v1/rankers/shop/contexts?after=&limit=100", None),
        ("POST", "/v1/rankers/shop/rank", rank | {"candidates": ["a"], "current": ["b"]}),
        ("POST", "/v1/rankers/shop/rank/batch", {"requests": [rank]}),
        ("POST", "/v1/impressions/a%2Fb/clicks", {"clicked": ["a"], "final": False}),
        ("POST", "/v1/clicks/batch", {"clicks": [clicks]}),
        ("GET", "/v1/rankers/shop/report?context=red+shoes", None),
        ("GET", "/v1/rankers/shop/activity?context=&seconds=60", None),
        ("GET", "/v1/rankers/shop/impressions?limit=3", None),
        ("GET", "/v1/rankers/shop/log.parquet", None),
        ("GET", "/v1/policies", None),
        ("GET", "/v1/keys", None),
        ("POST", "/v1/keys", {"name": "ci", "role": "rank"}),
        ("DELETE", "/v1/keys/3", None),
    ]  # fmt: skip
    routes = {name for name, value in vars(Calls).items() if isinstance(value, CallMethod)}
    assert {name for name, _, _ in calls} == routes


@pytest.mark.parametrize("name", ["a/b", "../keys", ".", "..", "a b", "ü?x=1#y", "%2F", "\n"])
def test_a_name_is_one_part_of_the_path_whatever_is_in_it(client: Both, name: str) -> None:
    """The service decodes it, and answers that there is no such ranker or impression."""
    seen: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.url.raw_path)
        return problem(404, "unknown", "There is none.")

    client.service = answer
    for call in (client.rank, client.click):
        with pytest.raises(ServiceError, match="There is none"):
            call(name)
    rank, click = (path.decode().split("/") for path in seen)
    assert (rank[:3], rank[4:]) == (["", "v1", "rankers"], ["rank"])
    assert (click[:3], click[4:]) == (["", "v1", "impressions"], ["clicks"])
    assert unquote(rank[3]) == unquote(click[3]) == name


def test_an_empty_name_is_refused_before_it_is_sent(client: Both) -> None:
    """It would list, or delete, something else."""
    for call in (client.ranker, client.rank):
        with pytest.raises(InvalidValue, match="Client: name must be that of a ranker, got ''"):
            call("")


class Pieces(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that may be interrupted."""

    def __init__(self, pieces: list[bytes], breaks: bool = False) -> None:
        self.pieces, self.breaks = pieces, breaks

    def __iter__(self) -> Iterator[bytes]:
        yield from self.pieces
        if self.breaks:
            raise httpx.RemoteProtocolError("peer closed connection")

    async def __aiter__(self) -> Any:
        for piece in self:
            yield piece


def test_a_log_is_there_when_it_is_complete(client: Both, tmp_path: Path) -> None:
    answers = [
        httpx.Response(200, stream=Pieces([b"PAR1", b"half"], breaks=True)),
        later(503),
        httpx.Response(200, stream=Pieces([b"PAR1", b"all", b"PAR1"])),
    ]
    client.service = lambda request: answers.pop(0)
    target = tmp_path / "log.parquet"
    assert client.export_log("shop", target) is None
    assert target.read_bytes() == b"PAR1allPAR1"
    assert list(tmp_path.iterdir()) == [target]

    new = tmp_path / "new" / "log.parquet"
    client.service = lambda request: httpx.Response(200, stream=Pieces([b"PAR1"]))
    client.export_log("shop", new)
    assert new.read_bytes() == b"PAR1"
    shutil.rmtree(new.parent)

    client.service = lambda request: httpx.Response(200, stream=Pieces([b"half"], breaks=True))
    client.settings["retries"] = 1
    with pytest.raises(ServiceError, match="peer closed"):
        client.export_log("shop", str(target))
    assert target.read_bytes() == b"PAR1allPAR1"
    client.service = lambda request: problem(404, "unknown_ranker", "No such ranker.")
    with pytest.raises(ServiceError, match="No such ranker"):
        client.export_log("shop", target)
    assert list(tmp_path.iterdir()) == [target]


def test_waits_double_and_vary_and_end() -> None:
    now = [0.0]
    call = Call("GET", "/", answers.RankerInfo)
    tries: Tries[answers.RankerInfo] = Tries(call, 5.0, 100, 30.0, lambda: now[0], lambda: 1.0)
    waits: list[float] = []

    def keep_trying() -> None:
        while True:
            now[0] += min(tries.timeout(), 0.5)  # each try takes its time
            waits.append(tries.failed(httpx.ConnectError("gone")))
            now[0] += waits[-1]

    with pytest.raises(ServiceError, match="GET /: gone"):
        keep_trying()
    assert waits[:3] == pytest.approx([0.001, 0.002, 0.004])
    assert max(waits) <= 5.0
    assert now[0] <= 30.0 + 0.5
    assert len(waits) > 10

    tries = Tries(call, 5.0, 100, 30.0, lambda: now[0], lambda: 0.0)
    assert tries.failed(httpx.ConnectError("gone")) == pytest.approx(0.0005)
    now[0] += 29.0
    assert tries.timeout() == pytest.approx(1.0)


def test_ids_are_new_and_in_order_and_as_the_service_wants_them() -> None:
    ids = [new_id() for _ in range(1000)]
    assert len(set(ids)) == 1000
    assert [i[:12] for i in ids] == sorted(i[:12] for i in ids)
    for text in ids:
        msgspec.convert(text, fields.ImpressionId)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"timeout": 0}, "Client: timeout must be a number of at least 0.001, got 0."),
        ({"retries": -1}, "Client: retries must be a whole number of at least 0, got -1."),
        ({"patience": None}, "Client: patience must be a number of at least 0.001, got None."),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue) as sync:
        Client("http://service", **settings)
    assert str(sync.value) == message
    with pytest.raises(InvalidValue):
        AsyncClient("http://service", **settings)


def test_methods_are_documented_and_typed() -> None:
    with Client("http://service") as client:
        for name, route in vars(Calls).items():
            if isinstance(route, CallMethod):
                method = getattr(client, name)
                assert method.__name__ == name
                assert method.__doc__
                assert inspect.signature(method).parameters.keys() == (
                    inspect.signature(route.call).parameters.keys()
                )
        # Checked by mypy and not run: the types that the clients' methods return.
        rank: Callable[[str], answers.Impression] = client.rank
        assert callable(rank)
    awaited: Callable[[str], Awaitable[answers.Impression]] = AsyncClient("http://service").rank
    assert callable(awaited)


def test_a_service_that_is_not_there() -> None:
    client = Client("http://127.0.0.1:9", retries=1, patience=2.0)  # the discard port, closed
    with client, pytest.raises(ServiceError) as gone:
        client.policies()
    assert (gone.value.code, gone.value.status) == ("unreachable", None)
    assert str(gone.value).endswith(" (the service is expected at http://127.0.0.1:9)")


def test_a_message_about_the_address_shows_no_password() -> None:
    client = Client("http://me:secret@127.0.0.1:9", retries=0)
    with client, pytest.raises(ServiceError, match=r"http://127\.0\.0\.1:9") as gone:
        client.policies()
    assert "secret" not in str(gone.value)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize(
    ("url", "instead"),
    [
        ("127.0.0.1:8971", "http://127.0.0.1:8971"),
        ("localhost:8971", "http://localhost:8971"),
        ("//shop", "http://shop"),
        ("ftp://shop", "http://127.0.0.1:8765"),
        ("http://", "http://127.0.0.1:8765"),
        ("", "http://127.0.0.1:8765"),
        (None, "http://127.0.0.1:8765"),
    ],
)
def test_an_address_without_http_is_refused(
    kind: type[Client | AsyncClient], url: Any, instead: str
) -> None:
    with pytest.raises(InvalidValue) as refused:
        kind(url)
    assert str(refused.value) == (
        "Client: url must be the address of a service that begins with http:// or https://, "
        f"got {url!r}. Write it as in {instead!r}."
    )


def test_calls_that_may_compile_have_time() -> None:
    waited: dict[str, float] = {}

    def answer(request: httpx.Request) -> httpx.Response:
        waited[f"{request.method} {request.url.path}"] = request.extensions["timeout"]["read"]
        return httpx.Response(404, json={"error": {"code": "unknown_ranker", "message": "No."}})

    with Client("http://test", timeout=0.5, transport=httpx.MockTransport(answer)) as client:
        for call in (
            lambda: client.create_ranker("shop", ["a", "b"], 1),
            lambda: client.change_ranker("shop", policy="thompson"),
            lambda: client.rank("shop"),
        ):
            with pytest.raises(ServiceError):
                call()
    assert waited["POST /v1/rankers"] >= 60.0
    assert waited["PATCH /v1/rankers/shop"] >= 60.0
    assert waited["POST /v1/rankers/shop/rank"] <= 0.5


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda c: c.create_ranker("x", "ab", 1), "items must be a sequence of ids, got 'ab'."),
        (lambda c: c.add_items("x", "ab"), "items must be a sequence of ids, got 'ab'."),
        (lambda c: c.retire_items("x", "ab"), "items must be a sequence of ids, got 'ab'."),
        (lambda c: c.rank("x", candidates="a"), "candidates must be a sequence of ids, got 'a'."),
        (lambda c: c.rank("x", current="a"), "current must be a sequence of ids, got 'a'."),
        (lambda c: c.click("0" * 12, "a"), "clicked must be a sequence of ids, got 'a'."),
        (
            lambda c: c.click("0" * 12, {"a": 0}),
            "clicked must be a sequence of item ids, got {'a': 0}. "
            "Pass only the ids that were clicked.",
        ),
        (lambda c: c.click(3, ["a"]), "id must be text, as in shown.id, got 3."),
    ],
)
def test_a_text_is_no_sequence_of_ids(call: Callable[[Client], Any], expected: str) -> None:
    with Client("http://nowhere") as client, pytest.raises(InvalidValue) as refused:
        call(client)
    assert str(refused.value) == f"Client: {expected}"
