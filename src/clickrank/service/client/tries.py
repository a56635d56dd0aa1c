"""When a call is tried again, and what its answer says; no network here."""

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

#: Answers that say: perhaps later. After 503 nothing was done; after the others nobody knows.
LATER = (502, 503, 504)
#: What is known to have failed before the service saw anything of it.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_REPEATABLE = (httpx.NetworkError, httpx.TimeoutException, httpx.RemoteProtocolError)
_FIRST_WAIT = 0.1
_LONGEST_WAIT = 5.0


class ServiceError(ClickRankError):
    """The service said no, or nothing.

    Parameters
    ----------
    code
        For programs: the service's own, or "unreachable", "not_understood" and "http_502" where
        there was no answer of the service's.
    message
        For people.
    status
        The HTTP status; None if there was no answer.
    """

    def __init__(self, code: str, message: str, status: int | None) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class Tries(Generic[T]):
    """The tries of one call: each failure says how long to wait, or raises.

    Parameters
    ----------
    call
        The call.
    timeout
        Seconds that a try waits for each step: to connect, to send, and for each piece of answer.
    retries
        How many tries there are after the first.
    patience
        Seconds after which no try begins; the tries before have less time, the less is left.
    clock, jitter
        The time in seconds, and a random number between 0 and 1.
    """

    def __init__(
        self,
        call: Call[T],
        timeout: float,
        retries: int,
        patience: float,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._call = call
        self._timeout = timeout
        self._left = retries
        self._clock = clock
        self._end = clock() + patience
        self._wait = _FIRST_WAIT
        self._jitter = jitter
        self._unknown = False  # whether a try may have been done

    def timeout(self) -> float:
        """Return how long the next try may wait for each step."""
        return max(min(self._timeout, self._end - self._clock()), 0.001)

    def failed(self, error: httpx.RequestError) -> float:
        """Return how long to wait after a try without an answer."""
        reason = str(error) or type(error).__name__
        failure = ServiceError("unreachable", f"{self._what()}: {reason}", None)
        not_sent = isinstance(error, _NOT_SENT)
        self._unknown |= not not_sent
        again = isinstance(error, _REPEATABLE) and (self._call.repeatable or not_sent)
        return self._next(failure, again, 0.0, error)

    def answered(self, status: int, headers: Mapping[str, str], content: bytes) -> float | None:
        """Return how long to wait after an answer; None if it is one to keep."""
        if status not in LATER:
            return None
        not_done = status == 503
        self._unknown |= not not_done
        again = self._call.repeatable or not_done
        return self._next(self._error(status, content), again, _retry_after(headers), None)

    def result(self, status: int, content: bytes) -> T:
        """Return what the answer says."""
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
            message = f"{self._what()}: the answer is not the service's: {error}"
            raise ServiceError("not_understood", message, status) from error

    def _next(
        self, failure: ServiceError, again: bool, at_least: float, cause: Exception | None
    ) -> float:
        # Half of the wait is random, so that clients that failed together do not come together.
        wait = max(self._wait * (0.5 + 0.5 * self._jitter()), at_least)
        self._wait = min(2.0 * self._wait, _LONGEST_WAIT)
        if not again or self._left == 0 or self._clock() + wait >= self._end:
            raise failure from cause
        self._left -= 1
        return wait

    def _error(self, status: int, content: bytes) -> ServiceError:
        try:
            problem = msgspec.json.decode(content, type=ErrorBody).error
        except msgspec.DecodeError:  # of something in between, not of the service
            return ServiceError(f"http_{status}", f"{self._what()}: status {status}", status)
        return ServiceError(problem.code, problem.message, status)

    def _what(self) -> str:
        return f"{self._call.method} {self._call.path}"


def _retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds that the service asks to wait; its other form, a date, counts as none."""
    try:
        seconds = float(headers.get("retry-after", "0"))
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) and seconds > 0.0 else 0.0
