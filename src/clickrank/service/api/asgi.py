"""ASGI messages: reads and checks requests, and sends answers, which have one shape for errors."""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import logging
import re
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    MutableMapping,
)
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import msgspec

from clickrank.errors import ClickRankError, UnknownName
from clickrank.service.api.json_wording import WORDING, query_message, validation_message
from clickrank.service.runtime.refusals import Refused, Unavailable, quoted
from clickrank.service.schemas.answers import ErrorBody, Problem
from clickrank.service.schemas.requests import NewRanker, RankerChange
from clickrank.service.store.database import StoreUnavailable

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]
Headers = dict[bytes, bytes]

BODY_LIMIT = 1 << 20
LARGE_BODY_LIMIT = 16 << 20  # enough for 100,000 items with priors
BODY_SECONDS = 30.0
MOST_PARAMETERS = 20
DEEPEST_SETTING = 8
MOST_HOSTS = 1024  # names whose check is remembered
LONGEST_MESSAGE = 500  # a message quotes the request, which may be long

JSON = b"application/json"
_ALWAYS: tuple[Header, ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
)
_JSON_HEADERS: tuple[Header, ...] = ((b"content-type", JSON), *_ALWAYS)
_CLOSE = ((b"connection", b"close"),)  # the rest of the body is not read
# An escaped NUL: "\u0000" after an even number of backslashes.
_ESCAPED_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")

_log = logging.getLogger("clickrank.serve")
_encode = msgspec.json.Encoder().encode


# Answers


class Reply(NamedTuple):
    """An answer that is complete."""

    status: int
    body: bytes
    headers: tuple[Header, ...] = _JSON_HEADERS


class Stream(NamedTuple):
    """An answer whose chunks are produced while it is being sent."""

    first: bytes
    rest: AsyncIterator[bytes]
    headers: tuple[Header, ...]
    status: int = 200


class Rejected(Refused):
    """A request that is refused before it reaches the engine; ``headers`` go into the answer."""

    def __init__(
        self, code: str, message: str, status: int, headers: Iterable[Header] = ()
    ) -> None:
        super().__init__(code, message, status)
        self.headers = tuple(headers)


class Disconnected(Exception):
    """The client closed the connection before its request was complete."""


def as_json(value: Any, status: int = 200) -> Reply:
    """Return an answer with a JSON body, or, for None, an answer without a body."""
    return Reply(204, b"", _ALWAYS) if value is None else Reply(status, _encode(value))


def of_type(media: bytes, body: bytes, headers: Iterable[Header] = ()) -> Reply:
    """Return an answer whose body is not JSON."""
    return Reply(200, body, ((b"content-type", media), *_ALWAYS, *headers))


async def stream(
    media: bytes, chunks: AsyncIterator[bytes], headers: Iterable[Header] = ()
) -> Stream:
    """Return an answer of many chunks. The first is awaited here, as it may raise an error."""
    first = await anext(chunks, b"")
    return Stream(first, chunks, ((b"content-type", media), *_ALWAYS, *headers))


def problem(status: int, code: str, message: str, headers: Iterable[Header] = ()) -> Reply:
    """Return the answer that reports an error."""
    if len(message) > LONGEST_MESSAGE:
        message = message[: LONGEST_MESSAGE - 1] + "…"
    message = message.encode(errors="replace").decode()  # UTF-8 cannot encode lone surrogates
    body = _encode(ErrorBody(Problem(code, message)))
    return Reply(status, body, (*_JSON_HEADERS, *headers))


def problem_of(error: Exception) -> Reply:
    """Return the answer for an exception. Unexpected exceptions are logged."""
    if isinstance(error, Refused):
        return problem(error.status, error.code, str(error), getattr(error, "headers", ()))
    if isinstance(error, Unavailable | StoreUnavailable):
        seconds = getattr(error, "retry_after", 1)
        retry = (b"retry-after", str(seconds).encode())
        return problem(503, "unavailable", str(error), (retry,))
    if isinstance(error, ClickRankError):
        code = "unknown_name" if isinstance(error, UnknownName) else "invalid_value"
        return problem(422, code, WORDING.message(error))
    _log.error("A request failed", exc_info=error)
    return problem(500, "internal", "The service failed. Its log contains the reason.")


async def send_reply(
    send: Send, reply: Reply | Stream, receive: Receive, head: bool = False
) -> None:
    """Send an answer, without its body if the request was HEAD."""
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
    """Send chunks as they are produced, until the client disconnects."""
    chunk, rest, headers, status = reply
    disconnected = asyncio.ensure_future(_wait_for_disconnect(receive))
    try:
        await send({"type": "http.response.start", "status": status, "headers": list(headers)})
        while chunk and not head and not disconnected.done():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            chunk = await anext(rest, b"")
        await send({"type": "http.response.body", "body": b""})
    finally:
        disconnected.cancel()
        if isinstance(rest, AsyncGenerator):
            await rest.aclose()


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


# Requests


async def read_body(receive: Receive, headers: Headers, limit: int) -> bytes:
    """Return the body of a request; refuse it as soon as it is known to exceed the limit."""
    length = headers.get(b"content-length", b"0")
    if not length.isdigit():
        raise Rejected("bad_length", "Content-Length must be a number.", 400, _CLOSE)
    if len(length) > 18 or int(length) > limit:
        raise _too_large(limit)
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Disconnected
    body: bytes = message.get("body", b"")
    if message.get("more_body", False):
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await _read_rest(receive, body, limit)
        except TimeoutError:
            rule = f"The body must arrive within {BODY_SECONDS:g} seconds."
            raise Rejected("slow_body", rule, 408, _CLOSE) from None
    if len(body) > limit:
        raise _too_large(limit)
    return body


async def _read_rest(receive: Receive, first: bytes, limit: int) -> bytes:
    parts, size, more = [first], len(first), True
    while more:
        if size > limit:
            raise _too_large(limit)
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message.get("more_body", False)
    return b"".join(parts)


def _too_large(limit: int) -> Rejected:
    rule = f"The body must have at most {limit:,} bytes."
    return Rejected("too_large", rule, 413, _CLOSE)


def check_host(headers: Headers) -> None:
    """Refuse requests whose Host header names another machine; for services without keys.

    A page of another site could let its own name resolve to this machine and make its visitors'
    browsers send requests here. Browsers send the name that they resolved as the Host header.
    """
    host = headers.get(b"host", b"").decode("latin-1")
    if not is_local_name(host):
        rule = "Without keys the Host header must name this machine, as localhost does"
        raise Rejected("wrong_host", f"{rule}, got {quoted(host)}.", 421)


@functools.lru_cache(MOST_HOSTS)
def is_local_name(host: str) -> bool:
    """Return whether a Host header can only mean this machine.

    >>> [is_local_name(h) for h in ("localhost:8765", "127.0.0.1", "[::1]:80", "shop.localhost")]
    [True, True, True, True]
    >>> [is_local_name(h) for h in ("", "evil.example", "localhost.evil.example", "10.0.0.1")]
    [False, False, False, False]
    """
    if host.startswith("["):
        name = host[1:].partition("]")[0]
    else:
        name = host.rpartition(":")[0] if ":" in host else host
    name = name.lower().removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def check_media(headers: Headers) -> None:
    """Refuse media types other than JSON: a form on another site can send those, but not JSON."""
    media = headers.get(b"content-type", b"")
    if media != JSON and media.partition(b";")[0].strip().lower() != JSON:
        got = quoted(media.decode("latin-1"))
        raise Rejected("wrong_type", f"Content-Type must be application/json, got {got}.", 415)


def decode_body(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    """Decode a JSON body."""
    if b"\\u0000" in body and _ESCAPED_NUL.search(body):
        raise Rejected("invalid_body", "Strings must not contain NUL characters.", 422)
    try:
        value = decoder.decode(body)
    except msgspec.ValidationError as error:
        message = validation_message(error, decoder.type, _decoded(body))
        raise Rejected("invalid_body", f"Body: {message}.", 422) from None
    except msgspec.DecodeError as error:
        reason = WORDING.text(str(error).removeprefix("JSON is malformed: "))
        raise Rejected("malformed_json", f"The body must be JSON: {reason}.", 400) from None
    except UnicodeDecodeError:
        raise Rejected("malformed_json", "The body must be UTF-8.", 400) from None
    except RecursionError:
        raise Rejected("malformed_json", "The body is nested too deeply.", 400) from None
    if isinstance(value, NewRanker | RankerChange) and value.settings:
        _check_setting(value.settings, DEEPEST_SETTING)
    return value


def _decoded(body: bytes) -> Any:
    """Decode a JSON body of which a part was found invalid; None if it is malformed behind it."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _check_setting(value: object, depth: int) -> None:
    """Refuse settings that a database cannot store; any other JSON is allowed in them."""
    if isinstance(value, dict | list):
        if depth == 0:
            raise Rejected("invalid_body", "Settings are nested too deeply.", 422)
        for inner in value.values() if isinstance(value, dict) else value:
            _check_setting(inner, depth - 1)
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise Rejected("invalid_body", "Settings: an integer has more than 64 bits.", 422)


def decode_query(kind: type[msgspec.Struct] | None, text: bytes) -> Any:
    """Decode query parameters into a struct; None if the route takes no parameters."""
    try:
        pairs = parse_qsl(
            text.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MOST_PARAMETERS,
        )
    except ValueError:  # not UTF-8, or too many
        rule = f"The query must be percent-encoded UTF-8 with at most {MOST_PARAMETERS} parameters."
        raise Rejected("invalid_query", rule, 400) from None
    values = dict(pairs)
    if len(values) < len(pairs):
        raise Rejected("invalid_query", "Query: a parameter is given twice.", 422)
    if any("\0" in value for value in values.values()):
        rule = "Query: values must not contain NUL characters."
        raise Rejected("invalid_query", rule, 422)
    if kind is None:
        if values:
            rule = f"Query: unknown parameter {quoted(min(values))}."
            raise Rejected("invalid_query", rule, 422)
        return None
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        message = query_message(error, kind, values)
        raise Rejected("invalid_query", f"Query: {message}.", 422) from None
