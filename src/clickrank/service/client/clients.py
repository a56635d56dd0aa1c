"""The two clients: how calls are sent, and nothing else."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, TypeVar

import httpx

from clickrank._core.validate import check_float, check_int
from clickrank.service.client.calls import Async, Call, Sync
from clickrank.service.client.tries import Tries

T = TypeVar("T")

TIMEOUT = 5.0
RETRIES = 6  # waits of about 5 s in all: a service that starts anew is there again
PATIENCE = 30.0
#: For calls that may take a minute, at least: as a try and in all.
LONG_TIMEOUT = 120.0


class _Settings:
    """What both clients are told."""

    def __init__(
        self, url: str, key: str | None, timeout: float, retries: int, patience: float
    ) -> None:
        self.timeout = check_float("Client", "timeout", timeout, 0.001)
        self.retries = check_int("Client", "retries", retries, 0)
        self.patience = check_float("Client", "patience", patience, 0.001)
        headers = {"accept-encoding": "identity"}  # answers are small, and files compressed
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        self.http: dict[str, Any] = {"base_url": url, "headers": headers}

    def tries(self, call: Call[T]) -> Tries[T]:
        if call.long:
            timeout, patience = max(self.timeout, LONG_TIMEOUT), max(self.patience, LONG_TIMEOUT)
            return Tries(call, timeout, self.retries, patience)
        return Tries(call, self.timeout, self.retries, self.patience)


class Client(Sync):
    """A client of the service.

    Connections are kept and shared between threads; a client is closed by ``close`` or ``with``.

    Tries that fail for want of a connection, by a timeout or with a status of 502, 503 or 504 are
    repeated, after a wait that doubles each time, or as long as the service asks for. That is safe,
    since a call done twice is a call done once: impressions have an id before they are sent, clicks
    are sets, and creating a ranker that is there and deleting one that is gone say so.

    Parameters
    ----------
    url
        Where the service is, such as "http://127.0.0.1:8765".
    key
        The secret of a key, if the service wants one.
    timeout
        Seconds that a try waits to connect, to send, and for each piece of the answer. To make a
        ranker, or give it another policy, it is 120 at least: the service may have to compile.
    retries
        How many tries may follow the first.
    patience
        Seconds after which no try begins, so that a call ends after ``patience + timeout`` seconds,
        unless its answer comes in small pieces.
    transport
        For tests and special networks: how requests are sent.

    Raises
    ------
    ServiceError
        By each method: with the service's code, message and status, or "unreachable".
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        patience: float = PATIENCE,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Check the settings; nothing is sent yet."""
        self._settings = _Settings(url, key, timeout, retries, patience)
        self._http = httpx.Client(transport=transport, **self._settings.http)

    def send(self, call: Call[T]) -> T:
        """Make a call."""
        tries = self._settings.tries(call)
        while True:
            try:
                with (
                    self._http.stream(
                        call.method, call.path, content=call.body, params=call.params or None,
                        headers=_headers(call), timeout=tries.timeout(),
                    ) as response,
                    _Download(call, response.status_code) as download,
                ):  # fmt: skip
                    for piece in response.iter_bytes():
                        download.write(piece)
                    content = download.complete()
            except httpx.RequestError as error:
                wait = tries.failed(error)
            else:
                later = tries.answered(response.status_code, response.headers, content)
                if later is None:
                    return tries.result(response.status_code, content)
                wait = later
            time.sleep(wait)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncClient(Async):
    """The client for asyncio: the same methods, awaited; see `Client`.

    Closed by ``await client.close()`` or ``async with``.
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        patience: float = PATIENCE,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Check the settings; nothing is sent yet."""
        self._settings = _Settings(url, key, timeout, retries, patience)
        self._http = httpx.AsyncClient(transport=transport, **self._settings.http)

    async def send(self, call: Call[T]) -> T:
        """Make a call."""
        tries = self._settings.tries(call)
        while True:
            try:
                async with self._http.stream(
                    call.method, call.path, content=call.body, params=call.params or None,
                    headers=_headers(call), timeout=tries.timeout(),
                ) as response:  # fmt: skip
                    with _Download(call, response.status_code) as download:
                        async for piece in response.aiter_bytes():
                            download.write(piece)
                        content = download.complete()
            except httpx.RequestError as error:
                wait = tries.failed(error)
            else:
                later = tries.answered(response.status_code, response.headers, content)
                if later is None:
                    return tries.result(response.status_code, content)
                wait = later
            await asyncio.sleep(wait)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


class _Download:
    """Where an answer goes: to memory, or to a file that is moved into place when complete."""

    def __init__(self, call: Call[Any], status: int) -> None:
        self._target = call.file if status == 200 else None
        self._pieces: list[bytes] = []
        self._part: IO[bytes] | None = None

    def __enter__(self) -> Self:
        if self._target is not None:
            folder, name = self._target.parent, f".{self._target.name}."
            self._part = tempfile.NamedTemporaryFile(dir=folder, prefix=name, delete=False)
        return self

    def write(self, piece: bytes) -> None:
        if self._part is None:
            self._pieces.append(piece)
        else:
            self._part.write(piece)

    def complete(self) -> bytes:
        if self._part is not None and self._target is not None:
            self._part.close()
            os.replace(self._part.name, self._target)
            self._part = None
        return b"".join(self._pieces)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._part is not None:
            self._part.close()
            Path(self._part.name).unlink()


def _headers(call: Call[Any]) -> dict[str, str]:
    return {} if call.body is None else {"content-type": "application/json"}
