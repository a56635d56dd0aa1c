"""The one thread of a process that writes: all that waits goes into one transaction.

A commit waits for the disk. While it does, requests gather, and the next commit takes them all: the
more there is to do, the less each costs. Nobody is answered before the commit is through.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from clickrank.serve.errors import Unavailable
from clickrank.store.database import Database, HeldConnection, StoreUnavailable
from clickrank.store.feedback import Answer, NewFeedback, find_shown, record_feedback
from clickrank.store.log import NewImpression, Recorded, lock_rankers, lock_streams, record

T = TypeVar("T")
#: Gives the items of a ranker, at least as new as a version, by their ids.
Numbers = Callable[[sa.Connection, int, int], Mapping[str, int]]

#: Requests that one transaction takes at most, and that may wait before more are refused.
MOST_AT_ONCE = 500
MOST_WAITING = 20_000
#: For which the first request waits for others.
GATHER_SECONDS = 0.0005
#: For which the service calls itself not ready after it could not write.
TROUBLE_SECONDS = 5.0


class _Job(NamedTuple):
    what: NewImpression | NewFeedback | Callable[[sa.Connection], Any] | None
    future: Any


class Writer:
    """Writes for all, see the module.

    Parameters
    ----------
    database
        Where to.
    numbers
        Gives the items of a ranker by their ids, for clicks.
    """

    def __init__(self, database: Database, numbers: Numbers) -> None:
        """Start the thread."""
        self._database = database
        self._numbers = numbers
        self._jobs: queue.SimpleQueue[list[_Job]] = queue.SimpleQueue()
        self._gathered: list[_Job] = []
        self._gathers: Any = None  # the loop that will hand them over
        self._expected = 1
        self._held = HeldConnection()
        self._failed: tuple[float, str] | None = None  # when and why, since it last succeeded
        self._thread = threading.Thread(target=self._work, name="clickrank-writer", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return self._jobs.qsize()

    @property
    def trouble(self) -> str | None:
        """Why writing has failed in the last seconds; None if it did not, or works again.

        After a while without requests nobody knows: some must come to find out.
        """
        failed = self._failed
        if failed is None or time.monotonic() > failed[0] + TROUBLE_SECONDS:
            return None
        return failed[1]

    def record(self, new: NewImpression) -> asyncio.Future[Recorded]:
        """Put an impression on record; to be awaited in the thread of an event loop."""
        return self._submit(new)

    def feedback(self, new: NewFeedback) -> asyncio.Future[Answer]:
        """Put clicks on record; to be awaited in the thread of an event loop."""
        return self._submit(new)

    def run(self, function: Callable[[sa.Connection], T]) -> Future[T]:
        """Run a function in a transaction of its own, after what waits."""
        future: Future[T] = Future()
        self._jobs.put([_Job(function, future)])
        return future

    def close(self) -> None:
        """Write what waits, and end."""
        self._jobs.put([_Job(None, None)])
        self._thread.join()

    def _submit(self, new: NewImpression | NewFeedback) -> asyncio.Future[Any]:
        if self._jobs.qsize() >= MOST_WAITING:
            raise Unavailable("Service: too many requests wait for the store; try again later.")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        if not self._gathered or self._gathers is not loop:
            self._gathered, self._gathers = [], loop
            loop.call_soon(self._hand_over, True)
        self._gathered.append(_Job(new, future))
        if len(self._gathered) == self._expected:
            loop.call_soon(self._hand_over, False)
        return future

    def _hand_over(self, wait: bool) -> None:
        """Give the thread what has gathered: all that comes at about the same time goes at once.

        Waking it for each request costs more than the writing, and it would begin with the first
        one alone, while the others wait for the next commit. So it is worth to wait a moment for
        as many as came the last time.
        """
        if wait and len(self._gathered) < self._expected:
            self._gathers.call_later(GATHER_SECONDS, self._hand_over, False)
        elif self._gathered:
            self._expected = len(self._gathered)
            self._jobs.put(self._gathered)
            self._gathered = []

    def _work(self) -> None:
        while True:
            jobs = [*self._jobs.get()]
            with contextlib.suppress(queue.Empty):
                while len(jobs) < MOST_AT_ONCE:
                    jobs += self._jobs.get_nowait()
            together = [job for job in jobs if isinstance(job.what, (NewImpression, NewFeedback))]
            if together:
                _deliver(self._write(together))
            for job in jobs:
                if job.what is None:
                    self._held.release()
                    return
                if not isinstance(job.what, (NewImpression, NewFeedback)):
                    self._run_alone(job)

    def _write(
        self, jobs: list[_Job], again: bool = False
    ) -> list[tuple[Any, Any, BaseException | None]]:
        """Write jobs in one transaction; returns each future with its result or its error."""
        shown = [(job.future, job.what) for job in jobs if isinstance(job.what, NewImpression)]
        clicked = [(job.future, job.what) for job in jobs if isinstance(job.what, NewFeedback)]
        try:
            with self._database.writing_on(self._held) as connection:
                results: list[Any] = []
                if shown and clicked and not self._database.is_sqlite:
                    self._lock(connection, shown, clicked)
                if shown:
                    results += record(connection, [new for _, new in shown])
                if clicked:
                    new = [new for _, new in clicked]
                    results += record_feedback(connection, new, self._numbers)
        except StoreUnavailable as error:
            self._failed = (time.monotonic(), str(error))
            sorry = Unavailable(str(error))
            return [(job.future, None, sorry) for job in jobs]
        except Exception as error:
            if len(jobs) == 1 and (again or not isinstance(error, sa.exc.IntegrityError)):
                return [(jobs[0].future, None, error)]
            # One of them is at fault, and must not take the others with it. If another worker
            # recorded the same id meanwhile, it is on record the next time.
            return [outcome for job in jobs for outcome in self._write([job], again=True)]
        self._failed = None
        futures = [future for future, _ in shown] + [future for future, _ in clicked]
        return [(future, result, None) for future, result in zip(futures, results, strict=True)]

    def _lock(self, connection: sa.Connection, shown: list[Any], clicked: list[Any]) -> None:
        """Take the locks of lists and clicks together, in the one order that all keep to."""
        lock_rankers(connection, {new.ranker_id for _, new in shown})
        found = find_shown(connection, [new.impression_id for _, new in clicked])
        streams = {new.stream_id for _, new in shown} | {one.stream_id for one in found.values()}
        lock_streams(connection, streams)

    def _run_alone(self, job: _Job) -> None:
        if not job.future.set_running_or_notify_cancel():
            return  # whoever asked has gone
        try:
            with self._database.writing_on(self._held) as connection:
                result = job.what(connection)  # type: ignore[operator, misc]
        except StoreUnavailable as error:
            self._failed = (time.monotonic(), str(error))
            job.future.set_exception(Unavailable(str(error)))
        except BaseException as error:
            job.future.set_exception(error)
        else:
            job.future.set_result(result)


def _deliver(outcomes: list[tuple[Any, Any, BaseException | None]]) -> None:
    loops: dict[Any, list[tuple[Any, Any, BaseException | None]]] = {}
    for outcome in outcomes:
        loops.setdefault(outcome[0].get_loop(), []).append(outcome)
    for loop, some in loops.items():
        with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits
            loop.call_soon_threadsafe(_settle, some)


def _settle(outcomes: list[tuple[Any, Any, BaseException | None]]) -> None:
    for future, result, error in outcomes:
        if future.done():  # the client has gone
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
