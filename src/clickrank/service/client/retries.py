"""Retries: decides whether a call is repeated, and decodes its answer; without network access."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import httpx
import msgspec

from clickrank.errors import ClickRankError
from clickrank.service.client.calls import Call
from clickrank.service.schemas.answers import ErrorBody

T = TypeVar("T")

#: Statuses after which a call is repeated. 503 means that nothing was done; others leave it open.
LATER = (502, 503, 504)
#: Failures before the service received anything.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_REPEATABLE = (httpx.NetworkError, httpx.TimeoutException, httpx.RemoteProtocolError)
FIRST_WAIT = 0.1
_LONGEST_WAIT = 5.0


class ServiceError(ClickRankError):
    """The service refused a request, or did not answer.

    Parameters
    ----------
    code
        The service's error code, for programs. If the service did not answer: "unreachable",
        "not_understood", or a code such as "http_502".
    message
        The message, for people.
    status
        The HTTP status, or None if there was no answer.
    """

    def __init__(self, code: str, message: str, status: int | None) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class Tries(Generic[T]):
    """The attempts of one call: returns after each failure how long to wait, or raises.

    Parameters
    ----------
    call
        The call.
    timeout
        Seconds that an attempt waits to connect, to send, and for each piece of the answer.
    retries
        Maximum number of attempts after the first.
    patience
        Seconds after which no attempt begins. The timeout of late attempts is shorter.
    clock, jitter
        Functions that return the time in seconds, and a random number between 0 and 1.
    service
        The address of the service, for messages.
    """

    def __init__(
        self,
        call: Call[T],
        timeout: float,
        retries: int,
        patience: float,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
        service: str = "",
    ) -> None:
        self._call = call
        self._timeout = timeout
        self._retries_left = retries
        self._clock = clock
        self._end = clock() + patience
        self._wait = FIRST_WAIT
        self._jitter = jitter
        self._service = service
        self._unknown = False  # whether an earlier attempt may have been executed

    def timeout(self) -> float:
        """Return the timeout of the next attempt."""
        return max(min(self._timeout, self._end - self._clock()), 0.001)

    def failed(self, error: httpx.RequestError) -> float:
        """Return how long to wait after an attempt without an answer."""
        reason = str(error) or type(error).__name__
        where = f" (the service is expected at {self._service})" if self._service else ""
        failure = ServiceError("unreachable", f"{self._what()}: {reason}{where}", None)
        not_sent = isinstance(error, _NOT_SENT)
        self._unknown |= not not_sent
        again = isinstance(error, _REPEATABLE) and (self._call.repeatable or not_sent)
        return self._next(failure, again, 0.0, error)

    def answered(self, status: int, headers: Mapping[str, str], content: bytes) -> float | None:
        """Return how long to wait after an answer, or None if it is final."""
        if status not in LATER:
            return None
        not_done = status == 503
        self._unknown |= not not_done
        again = self._call.repeatable or not_done
        return self._next(self._error(status, content), again, _retry_after(headers), None)

    def result(self, status: int, content: bytes) -> T:
        """Decode the answer."""
        kind = self._call.answer
        if status == 404 and self._call.gone_is_done and self._unknown:
            return kind()
        if not 200 <= status < 300:
            raise self._error(status, content)
        if kind is type(None):
            return kind()
        try:
            return msgspec.json.decode(content, type=kind)
        except msgspec.DecodeError as error:
            message = f"{self._what()}: the answer is not valid: {error}"
            raise ServiceError("not_understood", message, status) from error

    def _next(
        self, failure: ServiceError, again: bool, at_least: float, cause: Exception | None
    ) -> float:
        # Half of the wait is random, so that clients that failed together do not return together.
        wait = max(self._wait * (0.5 + 0.5 * self._jitter()), at_least)
        self._wait = min(2.0 * self._wait, _LONGEST_WAIT)
        if not again or self._retries_left == 0 or self._clock() + wait >= self._end:
            raise failure from cause
        self._retries_left -= 1
        return wait

    def _error(self, status: int, content: bytes) -> ServiceError:
        try:
            problem = msgspec.json.decode(content, type=ErrorBody).error
        except msgspec.DecodeError:  # sent by a proxy, not by the service
            return ServiceError(f"http_{status}", f"{self._what()}: status {status}", status)
        return ServiceError(problem.code, problem.message, status)

    def _what(self) -> str:
        return f"{self._call.method} {self._call.path}"


def _retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds of the header Retry-After; a date instead of a number counts as 0."""
    try:
        seconds = float(headers.get("retry-after", "0"))
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) and seconds > 0.0 else 0.0
