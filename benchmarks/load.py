"""Load test of the service: how fast it answers, and whether it stored all acknowledged lists.

`clickrank loadtest` runs it. The service runs in a separate process that `clickrank serve` starts,
and this process sends the requests. The machine may be busy with other things, so there are several
rounds of each kind of request, and the best round counts.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import sqlalchemy as sa

from clickrank.errors import ClickRankError, invalid
from clickrank.service.runtime.verification import verify
from clickrank.service.store.database import Database
from clickrank.service.store.tables import impressions

#: Targets for one worker on SQLite with 16 connections.
RANKS_PER_SECOND = 2_000.0
P99_SECONDS = 0.015
SHARE_OF_EMPTY = 0.4

START_SECONDS = 120.0
STOP_SECONDS = 60.0
_CLI = "from clickrank.cli.app import app; app()"


class LoadFailed(ClickRankError):
    """The service did not start, or ended during the test."""


class Speed(msgspec.Struct):
    """Numbers of one round of requests."""

    requests: int
    errors: int
    per_second: float
    p50: float  # seconds, like all times here
    p95: float
    p99: float
    worst: float


class LoadReport(msgspec.Struct):
    """The results of a load test: all rounds by kind, and the state of the store afterwards."""

    connections: int
    rounds: dict[str, list[Speed]]  # "health", "empty", "rank", "mixed"
    acknowledged: int  # impressions
    missing: int  # acknowledged impressions that are not in the store
    problems: list[str]  # found by `clickrank verify`

    def best(self, kind: str) -> Speed:
        """Return the round with the most requests per second."""
        return max(self.rounds[kind], key=lambda speed: speed.per_second)

    def share_of(self, kind: str) -> float:
        """Return the ranks per second as a share of the requests per second of another kind."""
        return self.best("rank").per_second / self.best(kind).per_second

    @property
    def errors(self) -> int:
        """Number of failed requests."""
        return sum(speed.errors for speeds in self.rounds.values() for speed in speeds)

    @property
    def correct(self) -> bool:
        """Whether no request failed and no impression is missing."""
        return not (self.errors or self.missing or self.problems)

    @property
    def fast(self) -> bool:
        """Whether the targets are met. One round must meet both targets for ranks."""
        speeds = [s for s in self.rounds["rank"] if s.p99 < P99_SECONDS]
        enough = any(speed.per_second >= RANKS_PER_SECOND for speed in speeds)
        return enough and self.share_of("empty") >= SHARE_OF_EMPTY


# The service


@contextlib.contextmanager
def service(store: str, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run `clickrank serve` on a free loopback port; yield its address once it answers."""
    command = [sys.executable, "-c", _CLI, "serve", "--store", store, "--port", "0", *options]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield _address(started), started
        started.send_signal(signal.SIGTERM)
        if started.wait(STOP_SECONDS) != 0:
            raise LoadFailed(f"loadtest: the service ended with status {started.returncode}.")
    finally:
        started.kill()
        started.communicate()


def _address(started: subprocess.Popen[str]) -> str:
    assert started.stdout is not None
    late = threading.Timer(START_SECONDS, started.kill)  # ends the loop below
    late.start()
    try:
        for line in started.stdout:
            if line.startswith("clickrank serves "):
                return line.split()[-1]
    finally:
        late.cancel()
    raise LoadFailed("loadtest: the service did not start; its output is above.")


# Connections


class Connection(asyncio.Protocol):
    """A kept-alive connection that sends a request as soon as the previous one is answered.

    ``answered`` receives the status and body of an answer and returns the next request, or None to
    stop.
    """

    def __init__(self, first: bytes, answered: Callable[[int, bytes], bytes | None]) -> None:
        self._next: bytes | None = first
        self._answered = answered
        self._received = b""
        self._sent_at = 0.0
        self.seconds: list[float] = []
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        self._transport: Any = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        """Collect the pieces of an answer."""
        received = self._received + data if self._received else data
        head, found, body = received.partition(b"\r\n\r\n")
        if not found or len(body) < _length(head):
            self._received = received
            return
        self._received = b""
        self.seconds.append(time.perf_counter() - self._sent_at)
        self._next = self._answered(int(head[9:12]), body)
        self._send()

    def connection_lost(self, error: Exception | None) -> None:
        """Report an error if a request was in progress."""
        if not self.ended.done():
            self.ended.set_exception(LoadFailed("loadtest: the service closed a connection."))

    def _send(self) -> None:
        if self._next is None:
            self.ended.set_result(None)
            self._transport.close()
            return
        self._sent_at = time.perf_counter()
        self._transport.write(self._next)


def _length(head: bytes) -> int:
    start = head.find(b"content-length: ")
    return 0 if start < 0 else int(head[start + 16 :].partition(b"\r\n")[0])


def request(method: str, path: str, body: Any = None) -> bytes:
    """Return the bytes of a request."""
    content = b"" if body is None else msgspec.json.encode(body)
    head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\n"
    if body is not None:
        head += f"content-type: application/json\r\ncontent-length: {len(content)}\r\n"
    return f"{head}\r\n".encode() + content


# Visitors


class _Shown(msgspec.Struct):
    id: str
    items: list[str]


_shown = msgspec.json.Decoder(_Shown).decode


class Visitors:
    """The requests that the connections of one round send.

    Parameters
    ----------
    kind
        "health" sends GET requests to an empty handler; "empty" sends requests for a list to an
        empty handler; "rank" requests lists; "mixed" requests lists and sends final clicks on each.
    """

    def __init__(self, kind: str, ranker: str, until: float, most: int, rng: random.Random) -> None:
        self.ids: list[str] = []
        self.requests = self.errors = 0
        self._until, self._remaining = until, most
        self._rank = request("POST", f"/v1/rankers/{ranker}/rank", {})
        self._empty = request("POST", "/ping", {})
        if kind == "health":
            self._empty = request("GET", "/healthz")
        self._rng = rng
        self.visit = {"rank": self._list, "mixed": self._mixed}.get(kind, self._nothing)
        self.first = self._empty if kind in ("health", "empty") else self._rank

    def _count(self, status: int) -> bool:
        self.requests += 1
        self.errors += status != 200
        self._remaining -= 1
        return self._remaining > 0 and time.perf_counter() < self._until

    def _nothing(self, status: int, body: bytes) -> bytes | None:
        return self._empty if self._count(status) else None

    def _list(self, status: int, body: bytes) -> bytes | None:
        more = self._count(status)
        if status == 200:
            self.ids.append(_shown(body).id)
        return self._rank if more else None

    def _mixed(self, status: int, body: bytes) -> bytes | None:
        more = self._count(status)
        if not more or status != 200 or b'"settled"' in body:
            return self._rank if more else None
        shown = _shown(body)
        self.ids.append(shown.id)
        clicked = [item for item in shown.items[:2] if self._rng.random() < 0.2]
        return request(
            "POST", f"/v1/impressions/{shown.id}/clicks", {"clicked": clicked, "final": True}
        )


async def one_round(
    address: str, kind: str, ranker: str, connections: int, seconds: float, most: int, seed: int
) -> tuple[Speed, list[str]]:
    """Send at most ``most`` requests in some seconds; return the speed and the impressions' ids."""
    loop = asyncio.get_running_loop()
    host, _, port = address.removeprefix("http://").rpartition(":")
    began = time.perf_counter()
    visitors = Visitors(kind, ranker, began + seconds, most, random.Random(seed))
    made = []
    for _ in range(connections):
        new = await loop.create_connection(
            lambda: Connection(visitors.first, visitors.visit), host, int(port)
        )
        made.append(new[1])
    async with asyncio.timeout(seconds + 30.0):
        await asyncio.gather(*(one.ended for one in made))
    took = time.perf_counter() - began
    times = np.concatenate([one.seconds for one in made])
    p50, p95, p99 = (float(q) for q in np.quantile(times, [0.5, 0.95, 0.99]))
    speed = Speed(
        visitors.requests,
        visitors.errors,
        visitors.requests / took,
        p50,
        p95,
        p99,
        float(times.max()),
    )
    return speed, visitors.ids


def call(address: str, method: str, path: str, body: Any = None) -> Any:
    """Send one request and return its answer."""
    import httpx

    answer = httpx.request(method, address + path, json=body, trust_env=False, timeout=60.0)
    if answer.is_error:
        raise LoadFailed(f"loadtest: {method} {path}: {answer.status_code} {answer.text}")
    return answer.json()


def run_async(coroutine: Any) -> Any:
    """Run a coroutine in uvloop if it is installed, otherwise in asyncio's event loop."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(coroutine)
    return uvloop.run(coroutine)


# The test


def run_load_test(
    *,
    folder: Path | None = None,
    store: str | None = None,
    policy: str = "pb-mhb",
    n_items: int = 20,
    n_positions: int = 5,
    connections: int = 16,
    seconds: float = 3.0,
    rounds: int = 3,
    most: int = 100_000,
    say: Callable[[str], None] = print,
) -> LoadReport:
    """Run the test on a new store; ``most`` is the maximum number of requests per round."""
    if rounds < 1 or seconds <= 0:
        raise invalid("loadtest", "rounds and seconds must be positive", (rounds, seconds))
    with contextlib.ExitStack() as stack:
        if store is None:
            place = stack.enter_context(tempfile.TemporaryDirectory(dir=disk(folder)))
            store = f"sqlite:///{place}/loadtest.db"
        found: dict[str, list[Speed]] = {"health": [], "empty": [], "rank": [], "mixed": []}
        ids: list[str] = []
        with service(store) as (address, _):
            names = {}
            for kind in (
                "rank",
                "mixed",
            ):  # two rankers: lists without final clicks would hold up the others
                names[kind] = f"load-{kind}-{time.time_ns()}"
                items = [f"item-{number}" for number in range(n_items)]
                new = {"name": names[kind], "policy": policy, "items": items}
                call(address, "POST", "/v1/rankers", {**new, "n_positions": n_positions})
                call(address, "POST", f"/v1/rankers/{names[kind]}/rank", {})
            for number in range(rounds):
                for kind, speeds in found.items():
                    ranker = names.get(kind, "")
                    speed, shown = run_async(
                        one_round(address, kind, ranker, connections, seconds, most, number)
                    )
                    speeds.append(speed)
                    ids += shown
                    say(_line(kind, speed))
        database = Database(store)
        missing = len(ids) - _count_stored(database, ids)
        problems = verify(database).problems
        database.close()
    return LoadReport(connections, found, len(ids), missing, problems)


def disk(folder: Path | None) -> Path:
    """Return a folder on a disk for the store: in a memory file system commits cost nothing."""
    if folder is not None:
        return folder
    lasting = Path("/var/tmp")  # unlike /tmp it survives a restart
    return lasting if os.access(lasting, os.W_OK) else Path(tempfile.gettempdir())


def _count_stored(database: Database, ids: list[str]) -> int:
    count = 0
    with database.reading() as connection:
        distinct = sorted(set(ids))
        for first in range(0, len(distinct), 500):
            some = distinct[first : first + 500]
            query = sa.select(sa.func.count()).where(impressions.c.id.in_(some))
            count += connection.scalar(query) or 0
    return count


def _line(kind: str, speed: Speed) -> str:
    times = f"p50 {speed.p50 * 1e3:5.2f} ms  p95 {speed.p95 * 1e3:5.2f} ms"
    times += f"  p99 {speed.p99 * 1e3:6.2f} ms  worst {speed.worst * 1e3:6.1f} ms"
    return f"{kind:6s} {speed.per_second:7,.0f}/s  {times}  errors {speed.errors}"


def summary(report: LoadReport) -> list[str]:
    """Return the lines of the report, with the targets."""
    rank = report.best("rank")
    return [
        f"best of {len(report.rounds['rank'])} rounds, {report.connections} connections:",
        *(f"  {_line(kind, report.best(kind))}" for kind in report.rounds),
        f"  ranks/s {rank.per_second:,.0f} (target {RANKS_PER_SECOND:,.0f}), "
        f"p99 {rank.p99 * 1e3:.1f} ms (target {P99_SECONDS * 1e3:.0f}), "
        f"{report.share_of('empty'):.0%} of an empty handler (target {SHARE_OF_EMPTY:.0%}): "
        f"{'met' if report.fast else 'MISSED'}",
        f"  {report.share_of('health'):.0%} of an empty handler of a GET without a body",
        f"  {report.acknowledged:,} impressions acknowledged, {report.missing} not stored, "
        f"{report.errors} errors, {len(report.problems)} problems in the store",
        *(f"  {problem}" for problem in report.problems[:20]),
    ]
