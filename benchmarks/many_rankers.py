"""Load test of a service with many rankers: the time it takes to start, and its memory.

`clickrank loadtest --many N` runs it.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.load import Connection, disk, request, run_async, service
from clickrank.errors import invalid
from clickrank.service.runtime import definitions
from clickrank.service.schemas.requests import NewRanker
from clickrank.service.store.database import Database
from clickrank.service.store.rankers import insert_ranker

#: Targets for ten thousand rankers with a thousand items each.
START_SECONDS = 30.0
MEMORY = 4 * 10**9
_AT_ONCE = 500


class ManyReport(msgspec.Struct):
    """Time and memory that many rankers take."""

    rankers: int
    items: int
    start_seconds: float
    bytes_at_start: int  # resident memory
    bytes: int  # resident memory after one rank with each ranker
    seconds_to_touch: float  # time of these ranks
    errors: int

    @property
    def correct(self) -> bool:
        """Whether no request failed."""
        return self.errors == 0

    @property
    def fast(self) -> bool:
        """Whether the targets are met."""
        return self.start_seconds < START_SECONDS and self.bytes < MEMORY and self.correct


def measure_many_rankers(
    *,
    folder: Path | None = None,
    n_rankers: int = 10_000,
    n_items: int = 1_000,
    n_positions: int = 5,
    policy: str = "pb-mhb",
    connections: int = 16,
    say: Callable[[str], None] = print,
) -> ManyReport:
    """Create rankers, start a service with them, and rank once with each."""
    if n_rankers < 1:
        raise invalid("loadtest", "rankers must be at least 1", n_rankers)
    with tempfile.TemporaryDirectory(dir=disk(folder)) as place:
        store = f"sqlite:///{place}/loadtest.db"
        began = time.perf_counter()
        _make(store, n_rankers, n_items, n_positions, policy)
        say(f"{n_rankers:,} rankers created in {time.perf_counter() - began:.0f} s")
        began = time.perf_counter()
        with service(store) as (address, process):
            started = time.perf_counter() - began
            at_start = resident(process.pid)
            say(f"started in {started:.1f} s, {at_start / 1e6:,.0f} MB resident")
            began = time.perf_counter()
            errors = run_async(_touch(address, n_rankers, connections))
            report = ManyReport(
                n_rankers,
                n_items,
                started,
                at_start,
                resident(process.pid),
                time.perf_counter() - began,
                errors,
            )
    return report


def _make(store: str, n_rankers: int, n_items: int, n_positions: int, policy: str) -> None:
    """Create rankers directly in the store: over HTTP each would need its own transaction."""
    database = Database(store)
    database.upgrade()
    items = [f"item-{number}" for number in range(n_items)]
    definition = definitions.define(NewRanker(_name(0), items, n_positions, policy))
    now = time.time_ns() // 1000
    numbers = iter(range(n_rankers))
    while some := list(itertools.islice(numbers, _AT_ONCE)):
        with database.writing() as connection:
            for number in some:
                insert_ranker(connection, _name(number), 1800 * 10**6, definition, now)
    database.close()


def _name(number: int) -> str:
    return f"ranker-{number}"


async def _touch(address: str, n_rankers: int, connections: int) -> int:
    """Rank once with each ranker; return the number of failed requests."""
    host, _, port = address.removeprefix("http://").rpartition(":")
    paths = (f"/v1/rankers/{_name(number)}/rank" for number in range(n_rankers))
    requests = (request("POST", path, {}) for path in paths)
    errors = 0

    def answered(status: int, body: bytes) -> bytes | None:
        nonlocal errors
        errors += status != 200
        return next(requests, None)

    loop = asyncio.get_running_loop()
    made: list[Any] = []
    for first in itertools.islice(requests, connections):
        new = await loop.create_connection(
            lambda first=first: Connection(first, answered),  # type: ignore[misc]
            host,
            int(port),
        )
        made.append(new[1])
    async with asyncio.timeout(60.0 + n_rankers / 10):
        await asyncio.gather(*(one.ended for one in made))
    return errors


def resident(process: int) -> int:
    """Return the resident memory of a process in bytes; works on Linux."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise invalid("loadtest", "the process must be running", process)


def summary(report: ManyReport) -> list[str]:
    """Return the lines of the report, with the targets."""
    return [
        f"{report.rankers:,} rankers of {report.items:,} items:",
        f"  started in {report.start_seconds:.1f} s (target {START_SECONDS:.0f} s)",
        f"  after one rank with each {report.bytes / 1e9:.2f} GB resident "
        f"(target {MEMORY / 1e9:.0f} GB; {report.bytes_at_start / 1e9:.2f} GB at the start), "
        f"{report.seconds_to_touch:.0f} s, {report.errors} errors: "
        f"{'met' if report.fast else 'MISSED'}",
    ]
