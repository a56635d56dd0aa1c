"""What goes back to a client: one shape for every error, and the headers all answers have."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from typing import Any, NamedTuple

import msgspec
from starlette.types import Receive, Send

from clickrank.errors import ClickRankError, UnknownName
from clickrank.service.runtime.refusals import Refused, Unavailable
from clickrank.service.schemas.answers import ErrorBody, Problem
from clickrank.service.store.database import StoreUnavailable

Header = tuple[bytes, bytes]

JSON = b"application/json"
LONGEST_MESSAGE = 500  # a message quotes what was sent, which may be long
_ALWAYS: tuple[Header, ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
)
_JSON_HEADERS: tuple[Header, ...] = ((b"content-type", JSON), *_ALWAYS)

_log = logging.getLogger("clickrank.serve")
_encode = msgspec.json.Encoder().encode


class Reply(NamedTuple):
    """An answer as it is sent."""

    status: int
    body: bytes
    headers: tuple[Header, ...] = _JSON_HEADERS


class Stream(NamedTuple):
    """An answer that is sent while it is made."""

    first: bytes
    rest: AsyncIterator[bytes]
    headers: tuple[Header, ...]
    status: int = 200


class Rejected(Refused):
    """A request that never reached the engine; ``headers`` say how to do better."""

    def __init__(
        self, code: str, message: str, status: int, headers: Iterable[Header] = ()
    ) -> None:
        """Keep what to tell the client."""
        super().__init__(code, message, status)
        self.headers = tuple(headers)


def as_json(value: Any, status: int = 200) -> Reply:
    """Return an answer with a JSON body; None has none."""
    return Reply(204, b"", _ALWAYS) if value is None else Reply(status, _encode(value))


def of_type(media: bytes, body: bytes, headers: Iterable[Header] = ()) -> Reply:
    """Return an answer that is not JSON."""
    return Reply(200, body, ((b"content-type", media), *_ALWAYS, *headers))


async def stream(
    media: bytes, chunks: AsyncIterator[bytes], headers: Iterable[Header] = ()
) -> Stream:
    """Return an answer of many chunks. The first is made now: it may be an error instead."""
    first = await anext(chunks, b"")
    return Stream(first, chunks, ((b"content-type", media), *_ALWAYS, *headers))


def problem(status: int, code: str, message: str, headers: Iterable[Header] = ()) -> Reply:
    """Return the answer to a request that was not done."""
    if len(message) > LONGEST_MESSAGE:
        message = message[: LONGEST_MESSAGE - 1] + "…"
    message = message.encode(errors="replace").decode()  # lone surrogates have no UTF-8
    body = _encode(ErrorBody(Problem(code, message)))
    return Reply(status, body, (*_JSON_HEADERS, *headers))


def problem_of(error: Exception) -> Reply:
    """Return what to tell a client of an error; one that nobody foresaw is logged."""
    if isinstance(error, Refused):
        return problem(error.status, error.code, str(error), getattr(error, "headers", ()))
    if isinstance(error, Unavailable | StoreUnavailable):
        seconds = getattr(error, "retry_after", 1)
        retry = (b"retry-after", str(seconds).encode())
        return problem(503, "unavailable", str(error), (retry,))
    if isinstance(error, ClickRankError):
        code = "unknown_name" if isinstance(error, UnknownName) else "invalid_value"
        return problem(422, code, str(error))
    _log.error("A request failed", exc_info=error)
    return problem(500, "internal", "The service failed; its log says why.")


async def send_reply(
    send: Send, reply: Reply | Stream, receive: Receive, head: bool = False
) -> None:
    """Send an answer; to HEAD all but the body."""
    if isinstance(reply, Stream):
        await _send_stream(send, reply, receive, head)
        return
    status, body, headers = reply
    start: list[Header] = [*headers]
    if status not in (204, 304):
        start.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": b"" if head else body})


async def _send_stream(send: Send, reply: Stream, receive: Receive, head: bool) -> None:
    """Send chunks as they are made, as long as someone listens."""
    chunk, rest, headers, status = reply
    gone = asyncio.ensure_future(_wait_until_gone(receive))
    try:
        await send({"type": "http.response.start", "status": status, "headers": list(headers)})
        while chunk and not head and not gone.done():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            chunk = await anext(rest, b"")
        await send({"type": "http.response.body", "body": b""})
    finally:
        gone.cancel()
        if isinstance(rest, AsyncGenerator):
            await rest.aclose()


async def _wait_until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
