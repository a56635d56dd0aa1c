"""What a request may be: its size, its type, its text. Everything else never reaches the engine."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from starlette.types import Receive

from clickrank.service.api.replies import JSON, Rejected
from clickrank.service.schemas.requests import NewRanker, RankerChange

BODY_LIMIT = 1 << 20
LARGE_BODY_LIMIT = 16 << 20  # 100,000 items with priors
BODY_SECONDS = 30.0
MOST_PARAMETERS = 20
DEEPEST_SETTING = 8

Headers = dict[bytes, bytes]

_CLOSE = ((b"connection", b"close"),)  # what is left of the body is not read
# A backslash before "u0000" that no other backslash takes away.
_ESCAPED_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


class Gone(Exception):
    """The client went away before its request was complete."""


async def read_body(receive: Receive, headers: Headers, limit: int) -> bytes:
    """Return the body; refuse one over the limit as soon as that is known."""
    length = headers.get(b"content-length", b"0")
    if not length.isdigit():
        raise Rejected("bad_length", "Content-Length must be a number.", 400, _CLOSE)
    if len(length) > 18 or int(length) > limit:
        raise _too_large(limit)
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Gone
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
            raise Gone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message.get("more_body", False)
    return b"".join(parts)


def _too_large(limit: int) -> Rejected:
    rule = f"The body must have at most {limit:,} bytes."
    return Rejected("too_large", rule, 413, _CLOSE)


def check_media(headers: Headers) -> None:
    """Refuse what is not JSON: a form of another site can send such, but not JSON."""
    media = headers.get(b"content-type", b"")
    if media != JSON and media.partition(b";")[0].strip().lower() != JSON:
        got = media.decode("latin-1")
        raise Rejected("wrong_type", f"Content-Type must be application/json, got {got!r}.", 415)


def decode_body(decode: Callable[[bytes], Any], body: bytes) -> Any:
    """Return the body as what it stands for."""
    if b"\\u0000" in body and _ESCAPED_NUL.search(body):
        raise Rejected("invalid_body", "Texts must not have NUL characters.", 422)
    try:
        value = decode(body)
    except msgspec.ValidationError as error:
        raise Rejected("invalid_body", f"Body: {error}.", 422) from None
    except msgspec.DecodeError as error:
        raise Rejected("malformed_json", f"Body must be JSON: {error}.", 400) from None
    except UnicodeDecodeError:
        raise Rejected("malformed_json", "Body must be UTF-8.", 400) from None
    except RecursionError:
        raise Rejected("malformed_json", "Body is nested too deeply.", 400) from None
    if isinstance(value, NewRanker | RankerChange) and value.settings:
        _check_setting(value.settings, DEEPEST_SETTING)
    return value


def _check_setting(value: object, depth: int) -> None:
    """Refuse settings, which may be anything, that a database cannot keep."""
    if isinstance(value, dict | list):
        if depth == 0:
            raise Rejected("invalid_body", "Settings are nested too deeply.", 422)
        for inner in value.values() if isinstance(value, dict) else value:
            _check_setting(inner, depth - 1)
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise Rejected("invalid_body", "Settings: an integer has more than 64 bits.", 422)


def decode_query(kind: type[msgspec.Struct] | None, text: bytes) -> Any:
    """Return the query parameters as what they stand for; None if the route has none."""
    try:
        pairs = parse_qsl(
            text.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MOST_PARAMETERS,
        )
    except ValueError:  # not UTF-8, or too many
        rule = f"Query must be UTF-8, percent-encoded, with at most {MOST_PARAMETERS} parameters."
        raise Rejected("invalid_query", rule, 400) from None
    values = dict(pairs)
    if len(values) < len(pairs):
        raise Rejected("invalid_query", "Query: a parameter is given twice.", 422)
    if any("\0" in value for value in values.values()):
        raise Rejected("invalid_query", "Query: texts must not have NUL characters.", 422)
    if kind is None:
        if values:
            raise Rejected("invalid_query", f"Query: unknown parameter {min(values)!r}.", 422)
        return None
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise Rejected("invalid_query", f"Query: {error}.", 422) from None
