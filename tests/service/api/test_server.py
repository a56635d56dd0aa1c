"""The server process: its socket, malformed requests, shutdown; and the service commands."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from clickrank._core.extras import EXTRAS
from clickrank.cli.app import app
from clickrank.errors import InvalidValue
from clickrank.service.api import server
from tests.paths import ROOT
from tests.service.stores import postgres_url

# A server of the engine in memory, on any free port, which it prints.
FAKE = """
from clickrank.service.api import server
from tests.service.fake_engine import slow_app
server.app_of = lambda settings: slow_app()
with server.bind("127.0.0.1", 0) as listener:
    print(server.address_of(listener), flush=True)
    server.run(server.Settings("", False), listener, 1)
print("ended", flush=True)
"""
CLI = "from clickrank.cli.app import app; app()"


def without_compiling(err: str) -> list[str]:
    """Return the output of a service without the lines about compiling."""
    return [line for line in err.splitlines() if "clickrank.serve: Compil" not in line]


@contextlib.contextmanager
def process(*arguments: str, cwd: Path = ROOT) -> Iterator[subprocess.Popen[str]]:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    started = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


def wait_for(address: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{address}/readyz").status_code == 200:
                return
        time.sleep(0.05)
    raise TimeoutError(address)


def line_of(started: subprocess.Popen[str]) -> str:
    assert started.stdout is not None
    return started.stdout.readline().strip()


@pytest.fixture(scope="module")
def fake() -> Iterator[str]:
    with process("-c", FAKE) as started:
        address = line_of(started)
        wait_for(address)
        yield address


def talk(address: str, text: bytes) -> tuple[bytes, Any]:
    """Send bytes; return the head of the answer and its body."""
    host, _, port = address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        with contextlib.suppress(ConnectionError):  # a refused request may not be read completely
            connection.sendall(text)
        with connection.makefile("rb") as answer:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                line = answer.readline()
                assert line, head
                head += line
            size = int(head.lower().partition(b"content-length:")[2].split()[0])
            return head, json.loads(answer.read(size))


@pytest.mark.parametrize(
    "text",
    [
        b"nonsense\r\n\r\n",
        b"GET /healthz\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET * HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nA B: c\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_not_http_gets_the_same_shape(fake: str, text: bytes) -> None:
    head, body = talk(fake, text)
    assert 400 <= int(head.split()[1]) < 500
    assert sorted(body["error"]) == ["code", "message"]


def test_the_head_of_a_request_has_a_limit(fake: str) -> None:
    head, body = talk(fake, b"GET / HTTP/1.1\r\nHost: localhost\r\nA: " + b"a" * 300_000)
    assert head.startswith(b"HTTP/1.1 431 ")
    assert body["error"]["code"] == "head_too_large"
    head, _ = talk(
        fake, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nA: " + b"a" * 9000 + b"\r\n\r\n"
    )
    assert head.startswith(b"HTTP/1.1 200 ")


def test_a_body_without_a_length_has_a_limit(fake: str) -> None:
    start = (
        b"POST /v1/rankers/a/rank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    )
    start += b"Transfer-Encoding: chunked\r\n\r\n"
    head, body = talk(fake, start + b"10000\r\n" + b" " * 65536 + b"\r\n" + b"2\r\n{}\r\n0\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    head, body = talk(fake, start + (b"10000\r\n" + b" " * 65536 + b"\r\n") * 17)
    assert head.startswith(b"HTTP/1.1 413 ")
    assert body["error"]["code"] == "too_large"


def test_a_stop_waits_for_requests_and_closes_the_engine() -> None:
    with process("-c", FAKE) as started:
        address = line_of(started)
        wait_for(address)
        answers: list[httpx.Response] = []

        def ask() -> None:
            answers.append(httpx.post(f"{address}/v1/rankers/slow/rank", json={}))

        thread = threading.Thread(target=ask)
        thread.start()
        assert line_of(started) == "asked"  # it takes a second to answer
        started.send_signal(signal.SIGTERM)
        thread.join()
        out, err = started.communicate(timeout=60)
        assert answers[0].status_code == 200
        assert out.splitlines() == ["answers", "closed", "ended"]
        assert started.returncode == 0
        assert not without_compiling(err)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("localhost", True),
        ("127.0.0.2", True),
        ("0.0.0.0", False),
        ("", False),
    ],
)
def test_loopback_is_what_the_socket_is_bound_to(host: str, loopback: bool) -> None:
    with server.bind(host, 0) as listener:
        assert server.is_loopback(listener) == loopback
        assert server.address_of(listener).startswith(("http://127.0.0.", "http://[::1]:"))


@pytest.mark.parametrize("host", ["nonsense.invalid", "192.0.2.1", "a" * 70, ".."])
def test_a_host_that_is_not_this_machine_is_named(host: str) -> None:
    with pytest.raises(InvalidValue, match=re.escape(f"of this machine, got {host!r}")):
        server.bind(host, 0)


def test_a_port_in_use_is_named() -> None:
    with server.bind("127.0.0.1", 0) as listener:
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(OSError, match=f"127.0.0.1:{port}: "):
            server.bind("127.0.0.1", port)


# Commands


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.stdout if code == 0 else result.stderr


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'clickrank.db'}"


def test_keys(store: str) -> None:
    assert "must name an existing file" in run("keys", "list", "--store", store, code=2)
    secret = run("keys", "add", "shop", "--role", "rank", "--store", store).strip()
    assert len(secret) > 40
    assert "role" in run("keys", "add", "shop", "--role", "king", "--store", store, code=2)
    assert "shop\trank" in run("keys", "list", "--store", store)
    assert "revoked" in run("keys", "revoke", "1", "--store", store)
    assert "revoked" in run("keys", "list", "--store", store)
    assert "a key with this number" in run("keys", "revoke", "9", "--store", store, code=2)
    assert secret not in run("keys", "list", "--store", store)


@pytest.mark.parametrize("options", [["--host", "0.0.0.0"], ["--require-keys"]])
def test_without_a_key_nothing_is_served_to_others(store: str, options: list[str]) -> None:
    run("keys", "add", "shop", "--role", "rank", "--store", store)
    run("keys", "add", "gone", "--role", "admin", "--store", store)
    run("keys", "revoke", "2", "--store", store)
    text = run("serve", "--port", "0", "--store", store, *options, code=2)
    assert f"clickrank keys add NAME --role admin --store {store}" in text


def test_a_refusal_for_lack_of_a_key_creates_no_file(tmp_path: Path) -> None:
    file = tmp_path / "new.db"
    text = run("serve", "--port", "0", "--require-keys", "--store", f"sqlite:///{file}", code=2)
    assert "clickrank keys add NAME --role admin" in text
    assert not file.exists()


def test_what_serve_refuses(store: str) -> None:
    assert "PostgreSQL" in run("serve", "--workers", "2", "--store", store, code=2)
    assert "--store must name an SQLite file or a PostgreSQL database" in run(
        "serve", "--store", "mysql://a/b", code=2
    )
    assert "folder" in run("serve", "--store", "sqlite:////nowhere/at/all.db", code=2)
    run("keys", "add", "me", "--role", "admin", "--store", store)
    arguments = ["--port", "0", "--demo", "--require-keys", "--store", store]
    assert "no key" in run("serve", *arguments, code=2)


def test_a_missing_extra_is_named(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRAS, "serve", ("uvicorn", "not_there_at_all"))
    for command in (["serve"], ["keys", "list"], ["verify"]):
        text = run(*command, "--store", store, code=2)
        assert "The service needs not_there_at_all: pip install -e" in text


def test_ages_and_days(store: str) -> None:
    run("keys", "add", "shop", "--role", "rank", "--store", store)
    assert "Dropped 0" in run("compact", "--before", "2026-10-01", "--store", store)
    assert "Dropped 0" in run("compact", "--older-than", "30d", "--store", store)
    assert "such as 30d" in run("compact", "--older-than", "30", "--store", store, code=2)
    assert "such as 2026" in run("compact", "--before", "yesterday", "--store", store, code=2)
    assert "--before or --older-than must be given" in run("compact", "--store", store, code=2)


def test_from_start_to_stop(store: str, tmp_path: Path) -> None:
    secret = run("keys", "add", "me", "--role", "admin", "--store", store).strip()
    with process(
        "-c", CLI, "serve", "--port", "0", "--require-keys", "--store", store
    ) as started:  # fmt: skip
        address = line_of(started).removeprefix("clickrank serves ")
        assert line_of(started).startswith(f"Dashboard: {address}/")
        headers = {"authorization": f"Bearer {secret}"}
        with httpx.Client(base_url=address, headers=headers, timeout=60) as client:
            new = {"name": "shop", "items": list("abcd"), "n_positions": 2, "policy": "uniform"}
            assert client.post("/v1/rankers", json=new).status_code == 201
            assert client.post("/v1/rankers", json=new).status_code == 200
            shown = client.post("/v1/rankers/shop/rank", json={}).json()
            clicks = {"clicked": shown["items"][:1], "final": True}
            path = f"/v1/impressions/{shown['id']}/clicks"
            assert client.post(path, json=clicks).json()["clicked"] == shown["items"][:1]
            assert client.post(path, json=clicks).status_code == 200
            assert client.post(path, json={"clicked": ["z"]}).status_code == 422
            late = client.post(path, json={"clicked": shown["items"]})
            assert late.status_code == 409
            text = client.get("/metrics").text
            assert 'refused_clicks_total{reason="late"} 1.0' in text
            assert 'refused_clicks_total{reason="impossible"} 1.0' in text
            assert client.get("/v1/rankers/shop/log.parquet").content.endswith(b"PAR1")
            assert httpx.get(f"{address}/v1/rankers").status_code == 401
            page = httpx.get(address)
            assert page.headers["content-security-policy"].startswith("default-src 'self'")
            same = httpx.get(address, headers={"if-none-match": page.headers["etag"]})
            assert (same.status_code, same.content) == (304, b"")
        started.send_signal(signal.SIGTERM)
        _, err = started.communicate(timeout=30)
        assert started.returncode == 0
        assert not without_compiling(err)
    assert "1 streams, 1 impressions, 1 snapshots: 0 problems." in run("verify", "--store", store)
    out = tmp_path / "log.parquet"
    assert "Wrote" in run("export", "shop", "--store", store, "--out", str(out))
    assert out.read_bytes().endswith(b"PAR1")
    assert "must be the name of a ranker" in run(
        "export", "x", "--store", store, "--out", str(out), code=2
    )
    run("serve", "--store", store, "--workers", "2", code=2)


def workers_of(started: subprocess.Popen[str]) -> set[int]:
    """Return the processes that serve."""
    children = Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().split()
    commands = {int(child): Path(f"/proc/{child}/cmdline").read_bytes() for child in children}
    return {child for child, command in commands.items() if b"spawn_main" in command}


@pytest.mark.postgres
def test_many_workers() -> None:
    """A dead worker is replaced, metrics of all workers are added up, and all stop together."""
    arguments = ["serve", "--port", "0", "--workers", "3", "--store", postgres_url()]
    with process("-c", CLI, *arguments) as started:
        address = line_of(started).removeprefix("clickrank serves ")
        new = {"name": "shop", "items": list("abcd"), "n_positions": 2, "policy": "uniform"}
        assert httpx.post(f"{address}/v1/rankers", json=new, timeout=60).status_code == 201
        before = wait_until(lambda: workers_of(started), 3)

        def rank(n: int) -> int:
            """Rank over separate connections, so that several workers take part."""
            done = 0
            for _ in range(n):
                with contextlib.suppress(httpx.TransportError):
                    answer = httpx.post(f"{address}/v1/rankers/shop/rank", json={})
                    done += answer.status_code == 200
            return done

        assert rank(60) == 60
        text = httpx.get(f"{address}/metrics").text
        assert "clickrank_ranks_total 60.0" in text
        os.kill(min(before), signal.SIGKILL)
        after = wait_until(lambda: workers_of(started) - before, 1)
        assert rank(20) >= 18  # a connection may have belonged to the dead worker
        started.send_signal(signal.SIGTERM)
        _, err = started.communicate(timeout=60)
        assert started.returncode == 0, err
        assert "Traceback" not in err
        for worker in before | after:
            assert not Path(f"/proc/{worker}").exists()


def wait_until(find: Callable[[], set[int]], size: int) -> set[int]:
    deadline = time.monotonic() + 60
    while len(found := find()) < size:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return found


@pytest.mark.postgres
def test_workers_end_with_the_process_that_started_them() -> None:
    arguments = ["serve", "--port", "0", "--workers", "2", "--store", postgres_url()]
    with process("-c", CLI, *arguments) as started:
        line_of(started)
        workers = wait_until(lambda: workers_of(started), 2)
        started.kill()
        wait_until(lambda: {w for w in workers if not Path(f"/proc/{w}").exists()}, 2)
