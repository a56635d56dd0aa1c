"""Writer and Clock: write impressions and feedback to the log, with times that never go back.

All requests of a process that wait are written in one transaction. A commit waits for the disk;
meanwhile requests gather, and the next commit takes them all, so that each costs less the more
there are. No request is answered before its commit has succeeded.

A thread writes. If the database is an SQLite file, the event loop executes the statements of a few
requests itself and leaves only the commit to a thread: in another thread, each statement would wait
for the interpreter's lock, which takes longer than the statement.
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

from clickrank.service.runtime.refusals import Unavailable
from clickrank.service.store.database import (
    Database,
    HeldConnection,
    StoreUnavailable,
    plain_errors,
)
from clickrank.service.store.feedback import (
    Answer,
    NewFeedback,
    find_shown,
    lock_all,
    record_feedback,
)
from clickrank.service.store.impression_log import NewImpression, Recorded, record

T = TypeVar("T")
#: Returns the numbers of a ranker's items by id, for a version or a later one.
Numbers = Callable[[sa.Connection, int, int], Mapping[str, int]]

#: Maximum numbers of requests in one transaction, and of requests that wait; more are refused.
MOST_AT_ONCE = 500
MOST_WAITING = 20_000
#: Maximum number of requests whose statements the event loop executes: others wait meanwhile.
MOST_HERE = 64
#: How long requests wait for others to join them: less than a commit takes.
GATHER_SECONDS = 0.001
#: How long the service reports that it is not ready after it could not write.
TROUBLE_SECONDS = 5.0


class Clock:
    """Microseconds since 1970, which never decrease.

    A machine's clock may be set back. Windows would then close later, and lists would seem to be
    shown before earlier ones. While the machine's clock is behind, this clock advances at its own
    pace. After a restart it begins at the end of the log, if that is later.

    Parameters
    ----------
    floor
        The smallest time that it returns.
    wall, steady
        The machine's clock, and a clock that is never set, in nanoseconds.
    """

    def __init__(
        self,
        floor: int = 0,
        wall: Callable[[], int] = time.time_ns,
        steady: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """Start the clock."""
        self._wall = wall
        self._steady = steady
        self._lock = threading.Lock()
        self._last = floor
        self._last_steady = steady() // 1000

    def now(self) -> int:
        """Return the time."""
        with self._lock:
            steady = self._steady() // 1000
            carried = self._last + steady - self._last_steady
            self._last = max(self._wall() // 1000, carried)
            self._last_steady = steady
            return self._last


class _Job(NamedTuple):
    what: NewImpression | NewFeedback | Callable[[sa.Connection], Any] | None
    future: Any


#: A future with its result or its error.
_Outcome = tuple[Any, Any, BaseException | None]


class Writer:
    """Writes for all requests of a process; see the module.

    Parameters
    ----------
    database
        The database to write to.
    numbers
        Returns the numbers of a ranker's items by id, to find clicked items.
    """

    def __init__(self, database: Database, numbers: Numbers) -> None:
        """Start the threads."""
        self._database = database
        self._numbers = numbers
        self._jobs: queue.SimpleQueue[list[_Job]] = queue.SimpleQueue()
        # The following are used only in the event loop's thread.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._gathered: list[_Job] = []
        self._expected = 1  # the number of requests that gathered the last time
        self._writing = 0  # the number of requests handed over and not answered yet
        self._held = HeldConnection()
        self._here = HeldConnection()  # begins in the event loop's thread, commits in another
        # Held by the thread that writes. If a thread waited in the database for the transaction of
        # the other one instead, that could not be committed.
        self._turn = threading.Lock()
        self._commits: queue.SimpleQueue[list[_Outcome] | None] = queue.SimpleQueue()
        self._failed: tuple[float, str] | None = None  # time and reason, unless it succeeded since
        self._threads = [
            threading.Thread(target=work, name=f"clickrank-{name}", daemon=True)
            for name, work in (("writer", self._work), ("commit", self._commit))
        ]
        for thread in self._threads:
            thread.start()

    @property
    def waiting(self) -> int:
        """The number of requests that wait."""
        return len(self._gathered) + self._writing

    @property
    def trouble(self) -> str | None:
        """Why writing failed in the last seconds; None if it did not fail, or works again.

        It is forgotten after a while, since only further requests show whether writing works.
        """
        failed = self._failed
        if failed is None or time.monotonic() > failed[0] + TROUBLE_SECONDS:
            return None
        return failed[1]

    def record(self, new: NewImpression) -> asyncio.Future[Recorded]:
        """Log an impression; to be awaited in the event loop's thread."""
        return self._submit(new)

    def feedback(self, new: NewFeedback) -> asyncio.Future[Answer]:
        """Log clicks; to be awaited in the event loop's thread."""
        return self._submit(new)

    def run(self, function: Callable[[sa.Connection], T]) -> Future[T]:
        """Run a function in its own transaction, after the requests that wait."""
        future: Future[T] = Future()
        self._jobs.put([_Job(function, future)])
        return future

    def close(self) -> None:
        """Write the requests that wait, and stop the threads."""
        self._jobs.put([_Job(None, None)])
        self._commits.put(None)
        for thread in self._threads:
            thread.join()

    def _submit(self, new: NewImpression | NewFeedback) -> asyncio.Future[Any]:
        if self.waiting >= MOST_WAITING:
            raise Unavailable("Too many requests are waiting for the database; try again later.")
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._gathered, self._writing = loop, [], 0
        future: asyncio.Future[Any] = loop.create_future()
        self._gathered.append(_Job(new, future))
        if len(self._gathered) == 1 and self._writing == 0:
            loop.call_soon(self._gather)
        if len(self._gathered) == self._expected:
            loop.call_soon(self._hand_over)
        return future

    def _gather(self, before: int = 0) -> None:
        """Wait while more requests come, so that those of about the same time share a commit.

        A commit costs about the same for one request as for many. If the first request were
        committed alone, the others would wait for the next commit, and both threads would compete
        for the interpreter.
        """
        count = len(self._gathered)
        if self._loop is not None and before < count < self._expected:
            self._loop.call_later(GATHER_SECONDS, self._gather, count)
        else:
            self._hand_over()

    def _hand_over(self) -> None:
        if not self._gathered or self._writing:
            return
        jobs, self._gathered = self._gathered, []
        self._writing = len(jobs)
        written = self._write_here(jobs)
        if written is None:
            self._jobs.put(jobs)
        else:
            self._commits.put(written)

    def _write_here(self, jobs: list[_Job]) -> list[_Outcome] | None:
        """Execute the statements in the event loop's thread; None if that would have to wait."""
        engine = self._database.at_once
        if engine is None or len(jobs) > MOST_HERE or not self._turn.acquire(blocking=False):
            return None
        try:
            return self._written(self._here.begin(engine), jobs)
        except Exception:  # the writer's thread tries again, waits longer and reports the error
            self._here.release()
            self._turn.release()
            return None

    def _commit(self) -> None:
        while (outcomes := self._commits.get()) is not None:
            try:
                with plain_errors():
                    self._here.commit()
            except Exception as error:
                self._here.release()
                outcomes = [(future, None, self._failure(error)) for future, _, _ in outcomes]
            else:
                self._failed = None
            self._turn.release()
            self._deliver(outcomes)
        self._here.release()

    def _settle(self, outcomes: list[_Outcome]) -> None:
        """Set the results of requests, in the event loop's thread."""
        for future, result, error in outcomes:
            if future.done():  # the client has disconnected
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)
        if outcomes and outcomes[0][0].get_loop() is self._loop:
            self._writing -= len(outcomes)
            # Clients that are answered now may send the next request at once.
            self._expected = len(outcomes) + len(self._gathered)
            if self._gathered and self._writing == 0 and self._loop is not None:
                self._loop.call_soon(self._gather)  # after the answers have been sent

    def _work(self) -> None:
        while True:
            jobs = [*self._jobs.get()]
            with contextlib.suppress(queue.Empty):
                while len(jobs) < MOST_AT_ONCE:
                    jobs += self._jobs.get_nowait()
            together = [job for job in jobs if isinstance(job.what, (NewImpression, NewFeedback))]
            if together:
                self._deliver(self._write(together))
            for job in jobs:
                if job.what is None:
                    self._held.release()
                    return
                if not isinstance(job.what, (NewImpression, NewFeedback)):
                    self._run_alone(job)

    def _deliver(self, outcomes: list[_Outcome]) -> None:
        loops: dict[Any, list[_Outcome]] = {}
        for outcome in outcomes:
            loops.setdefault(outcome[0].get_loop(), []).append(outcome)
        for loop, some in loops.items():
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(self._settle, some)

    def _write(self, jobs: list[_Job], again: bool = False) -> list[_Outcome]:
        """Write jobs in one transaction, and return each future with its result or error."""
        try:
            with self._turn, self._database.writing_on(self._held) as connection:
                outcomes = self._written(connection, jobs)
        except StoreUnavailable as error:
            failure = self._failure(error)
            return [(job.future, None, failure) for job in jobs]
        except Exception as error:
            if len(jobs) == 1 and (again or not isinstance(error, sa.exc.IntegrityError)):
                return [(jobs[0].future, None, error)]
            # One job is at fault, so each is written alone. If another worker logged the same id
            # meanwhile, the next attempt finds it.
            return [outcome for job in jobs for outcome in self._write([job], again=True)]
        self._failed = None
        return outcomes

    def _written(self, connection: sa.Connection, jobs: list[_Job]) -> list[_Outcome]:
        shown = [(job.future, job.what) for job in jobs if isinstance(job.what, NewImpression)]
        clicked = [(job.future, job.what) for job in jobs if isinstance(job.what, NewFeedback)]
        results: list[Any] = []
        if shown and clicked and not self._database.is_sqlite:
            lock_all(connection, [new for _, new in shown], [new for _, new in clicked])
        if shown:
            results += record(connection, [new for _, new in shown])
        if clicked:
            results += self._record_feedback(connection, [new for _, new in clicked])
        futures = [future for future, _ in shown] + [future for future, _ in clicked]
        return [(future, result, None) for future, result in zip(futures, results, strict=True)]

    def _record_feedback(self, connection: sa.Connection, new: list[NewFeedback]) -> list[Answer]:
        shown = find_shown(connection, [one.impression_id for one in new])
        versions: dict[int, int] = {}
        for one in shown.values():
            versions[one.ranker_id] = max(one.version, versions.get(one.ranker_id, 0))
        numbers = {
            ranker: self._numbers(connection, ranker, versions[ranker]) for ranker in versions
        }
        return record_feedback(connection, new, shown, numbers)

    def _failure(self, error: Exception) -> Exception:
        """Return the error for requests that were not logged."""
        if not isinstance(error, StoreUnavailable):
            return error
        self._failed = (time.monotonic(), str(error))
        return Unavailable(str(error))

    def _run_alone(self, job: _Job) -> None:
        if not job.future.set_running_or_notify_cancel():
            return  # the caller has given up
        try:
            with self._turn, self._database.writing_on(self._held) as connection:
                result = job.what(connection)  # type: ignore[operator, misc]
        except StoreUnavailable as error:
            job.future.set_exception(self._failure(error))
        except BaseException as error:
            job.future.set_exception(error)
        else:
            job.future.set_result(result)
