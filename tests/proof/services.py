"""Service processes that tests kill, and visitors who repeat their requests."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from tests.service.ports import free_port

CLI = "from clickrank.cli.app import app; app()"
START_SECONDS = 60.0


class Service:
    """One `clickrank serve`, always on the same port; its output goes to a file."""

    def __init__(self, store: str, said: Path) -> None:
        self.address = f"http://127.0.0.1:{free_port()}"
        self._store = store
        self._said = said
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        port = self.address.rpartition(":")[2]
        command = [sys.executable, "-c", CLI, "serve", "--store", self._store, "--port", port]
        with self._said.open("ab") as said:
            self._process = subprocess.Popen(command, stdout=said, stderr=said)

    def kill(self) -> None:
        """Kill the process without warning."""
        assert self._process is not None
        self._process.kill()
        assert self._process.wait(30) == -signal.SIGKILL, self.said

    def stop(self) -> None:
        """Stop the process with SIGTERM."""
        assert self._process is not None
        self._process.terminate()
        assert self._process.wait(60) == 0, self.said

    @property
    def said(self) -> str:
        return self._said.read_text()

    def wait(self) -> None:
        """Wait until it answers."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            assert self._process is not None
            assert self._process.poll() is None, self.said
            with contextlib.suppress(httpx.TransportError):
                found = httpx.get(f"{self.address}/readyz", trust_env=False, timeout=5.0)
                if found.status_code == 200:
                    return
            time.sleep(0.05)
        raise AssertionError(f"the service did not start: {self.said}")


@contextlib.contextmanager
def services(store: str, count: int, folder: Path) -> Iterator[list[Service]]:
    """Run several workers on one store."""
    made = [Service(store, folder / f"worker-{number}.log") for number in range(count)]
    try:
        for one in made:
            one.start()
            one.wait()  # the first makes the tables
        yield made
    finally:
        for one in made:
            if one._process is not None:
                one._process.kill()
                one._process.wait(30)


class Visitors:
    """Visitors who remember all answers, and repeat requests until they are answered."""

    def __init__(self, addresses: list[str], seed: int) -> None:
        self._addresses = addresses
        self._rng = random.Random(seed)
        self._client = httpx.AsyncClient(trust_env=False, timeout=10.0)
        self._numbers = iter(range(10**9))
        self.leaving = False
        self.retries = 0
        self.shown: dict[str, list[str]] = {}  # acknowledged impressions
        self.clicked: dict[str, list[str]] = {}  # acknowledged clicks
        self.late: dict[str, list[str]] = {}  # clicks that were refused
        self.final: set[str] = set()

    async def visit(self, ranker: str, contexts: list[str], final: float) -> None:
        """Request lists and click; the clicks are final with probability ``final``."""
        rng = self._rng
        while not self.leaving:
            number = f"{ranker}-{os.getpid()}-{next(self._numbers):06d}"
            request = {"id": number, "context": rng.choice(contexts)}
            answer = await self._insist(f"/v1/rankers/{ranker}/rank", request)
            assert answer.status_code == 200, answer.text
            self.shown[number] = answer.json()["items"]
            clicked = [item for item in self.shown[number] if rng.random() < 0.3]
            is_final = rng.random() < final
            feedback = {"clicked": clicked, "final": is_final}
            answer = await self._insist(f"/v1/impressions/{number}/clicks", feedback)
            if answer.status_code == 409 and clicked:
                assert answer.json()["error"]["code"] == "late", answer.text
                self.late[number] = clicked
                continue
            assert answer.status_code == 200, answer.text
            self.clicked[number] = clicked
            if is_final:
                self.final.add(number)

    async def close(self) -> None:
        await self._client.aclose()

    async def _insist(self, path: str, body: dict[str, Any]) -> httpx.Response:
        """Send a request to any worker, with the same id, until it is answered."""
        deadline = time.monotonic() + 90.0
        while time.monotonic() < deadline:
            address = self._rng.choice(self._addresses)
            with contextlib.suppress(httpx.TransportError):
                answer = await self._client.post(address + path, json=body)
                if answer.status_code != 503:
                    return answer
            self.retries += 1
            await asyncio.sleep(0.02)
        raise AssertionError(f"{path} was not answered")
