"""The synchronous and the asynchronous client: send calls over HTTP."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, TypeVar

import httpx

from clickrank._core.output_files import make_folder_of
from clickrank._core.validate import check_float, check_int
from clickrank.errors import invalid
from clickrank.service.client.calls import Async, Call, Sync
from clickrank.service.client.retries import Tries

T = TypeVar("T")

TIMEOUT = 5.0
RETRIES = 6  # waits of about 5 s in total, enough for a service to restart
PATIENCE = 30.0
#: Minimum for calls that may take a minute: of an attempt, and of all attempts.
LONG_TIMEOUT = 120.0


class _Settings:
    """Settings of both clients."""

    def __init__(
        self, url: str, key: str | None, timeout: float, retries: int, patience: float
    ) -> None:
        self.timeout = check_float("Client", "timeout", timeout, 0.001)
        self.retries = check_int("Client", "retries", retries, 0)
        self.patience = check_float("Client", "patience", patience, 0.001)
        headers = {
            "accept-encoding": "identity"
        }  # answers are small, and files are already compressed
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        base_url = _checked(url)
        self.http: dict[str, Any] = {"base_url": base_url, "headers": headers}
        self._service = str(base_url.copy_with(userinfo=b""))  # messages show no password

    def tries(self, call: Call[T]) -> Tries[T]:
        if call.long:
            timeout, patience = max(self.timeout, LONG_TIMEOUT), max(self.patience, LONG_TIMEOUT)
            return Tries(call, timeout, self.retries, patience, service=self._service)
        return Tries(call, self.timeout, self.retries, self.patience, service=self._service)


class Client(Sync):
    """A client of the service.

    Connections are kept open and shared between threads. Close a client with ``close`` or use it in
    a ``with`` statement.

    An attempt that cannot connect, times out, or is answered with status 502, 503 or 504 is
    repeated after a wait. The wait doubles each time, and lasts at least as long as the service
    asks for. This is safe, because a repeated call has no further effect: impressions have an id
    before they are sent, clicks are sets, and creating or deleting a ranker twice is recognised.

    Parameters
    ----------
    url
        Address of the service, such as "http://127.0.0.1:8765".
    key
        The secret of a key, if the service requires one.
    timeout
        Seconds that an attempt waits to connect, to send, and for each piece of the answer. It is
        at least 120 for creating a ranker or changing its policy: the service may have to compile.
    retries
        Maximum number of attempts after the first.
    patience
        Seconds after which no attempt begins. A call ends after ``patience + timeout`` seconds,
        unless its answer arrives in small pieces.
    transport
        The httpx transport that sends the requests, for tests and special networks.

    Raises
    ------
    ServiceError
        Raised by each method, with the service's code, message and status, or "unreachable".
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
        """Check the settings without sending anything."""
        self._settings = _Settings(url, key, timeout, retries, patience)
        self._http = httpx.Client(transport=transport, **self._settings.http)

    def send(self, call: Call[T]) -> T:
        """Send a call and return its answer."""
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
    """A client for asyncio, with the methods of `Client` as coroutines.

    Close it with ``await client.close()`` or use it in an ``async with`` statement.
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
        """Check the settings without sending anything."""
        self._settings = _Settings(url, key, timeout, retries, patience)
        self._http = httpx.AsyncClient(transport=transport, **self._settings.http)

    async def send(self, call: Call[T]) -> T:
        """Send a call and return its answer."""
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
    """Collects an answer in memory, or in a file that is moved into place when complete."""

    def __init__(self, call: Call[Any], status: int) -> None:
        self._target = call.file if status == 200 else None
        self._pieces: list[bytes] = []
        self._part: IO[bytes] | None = None

    def __enter__(self) -> Self:
        if self._target is not None:
            folder, name = make_folder_of(self._target).parent, f".{self._target.name}."
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


def _checked(url: Any) -> httpx.URL:
    """Return the address of a service; raise if a client could never reach it."""
    try:
        found = httpx.URL(url)
    except (TypeError, httpx.InvalidURL):
        found = httpx.URL()
    if found.scheme not in ("http", "https") or not found.host:
        rule = "url must be the address of a service that begins with http:// or https://"
        rest = url.lstrip("/") if isinstance(url, str) and "://" not in url else ""
        example = f"http://{rest or '127.0.0.1:8765'}"
        raise invalid("Client", rule, url, f"Write it as in {example!r}.")
    return found


def _headers(call: Call[Any]) -> dict[str, str]:
    return {} if call.body is None else {"content-type": "application/json"}
