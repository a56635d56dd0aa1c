"""Writing for all requests of a process: all that waits goes into one transaction.

A commit waits for the disk. While it does, requests gather, and the next commit takes them all: the
more there is to do, the less each costs. Nobody is answered before the commit is through.

A thread writes. Where the database is a file, the event loop makes the statements of a few requests
itself and leaves only the commit to a thread: each statement in another thread is one more turn at
the interpreter to wait for, which takes longer than the statement.
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
from clickrank.service.store.feedback import Answer, NewFeedback, lock_all, record_feedback
from clickrank.service.store.impression_log import NewImpression, Recorded, record

T = TypeVar("T")
#: Gives the items of a ranker, at least as new as a version, by their ids.
Numbers = Callable[[sa.Connection, int, int], Mapping[str, int]]

#: Requests that one transaction takes at most, and that may wait before more are refused.
MOST_AT_ONCE = 500
MOST_WAITING = 20_000
#: Requests whose statements the event loop makes itself at most: others wait meanwhile.
MOST_HERE = 64
#: For which requests wait for others who may come: less than a commit takes.
GATHER_SECONDS = 0.001
#: For which the service calls itself not ready after it could not write.
TROUBLE_SECONDS = 5.0


class _Job(NamedTuple):
    what: NewImpression | NewFeedback | Callable[[sa.Connection], Any] | None
    future: Any


#: A future with its result or its error.
_Outcome = tuple[Any, Any, BaseException | None]


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
        # These are for the event loop's thread.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._gathered: list[_Job] = []
        self._expected = 1  # how many will gather, going by the last time
        self._writing = 0  # handed over and not answered yet
        self._held = HeldConnection()
        self._here = HeldConnection()  # begun in the event loop's thread, committed in another
        # Held by whoever writes: a thread that waited for the other's transaction in the database
        # instead would keep it from its end.
        self._turn = threading.Lock()
        self._commits: queue.SimpleQueue[list[_Outcome] | None] = queue.SimpleQueue()
        self._failed: tuple[float, str] | None = None  # when and why, since it last succeeded
        self._threads = [
            threading.Thread(target=work, name=f"clickrank-{name}", daemon=True)
            for name, work in (("writer", self._work), ("commit", self._commit))
        ]
        for thread in self._threads:
            thread.start()

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return len(self._gathered) + self._writing

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
        """Wait as long as others come: all that come at about the same time are written at once.

        A commit costs about the same for one as for many. Waking the thread for the first alone
        would leave the others to the next commit, and both threads at odds over the interpreter.
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
        """Write all but the commit, in the event loop's thread; None if that has to wait."""
        engine = self._database.at_once
        if engine is None or len(jobs) > MOST_HERE or not self._turn.acquire(blocking=False):
            return None
        try:
            return self._written(self._here.begin(engine), jobs)
        except Exception:  # a thread with more patience tries again, and says what is wrong
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
                outcomes = [(future, None, self._sorry(error)) for future, _, _ in outcomes]
            else:
                self._failed = None
            self._turn.release()
            self._deliver(outcomes)
        self._here.release()

    def _settle(self, outcomes: list[_Outcome]) -> None:
        """Answer, in the event loop's thread."""
        for future, result, error in outcomes:
            if future.done():  # the client has gone
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)
        if outcomes and outcomes[0][0].get_loop() is self._loop:
            self._writing -= len(outcomes)
            # Those who are answered now may come again at once, and join those who came meanwhile.
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
            with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits
                loop.call_soon_threadsafe(self._settle, some)

    def _write(self, jobs: list[_Job], again: bool = False) -> list[_Outcome]:
        """Write jobs in one transaction; returns each future with its result or its error."""
        try:
            with self._turn, self._database.writing_on(self._held) as connection:
                outcomes = self._written(connection, jobs)
        except StoreUnavailable as error:
            sorry = self._sorry(error)
            return [(job.future, None, sorry) for job in jobs]
        except Exception as error:
            if len(jobs) == 1 and (again or not isinstance(error, sa.exc.IntegrityError)):
                return [(jobs[0].future, None, error)]
            # One of them is at fault, and must not take the others with it. If another worker
            # recorded the same id meanwhile, it is on record the next time.
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
            results += record_feedback(connection, [new for _, new in clicked], self._numbers)
        futures = [future for future, _ in shown] + [future for future, _ in clicked]
        return [(future, result, None) for future, result in zip(futures, results, strict=True)]

    def _sorry(self, error: Exception) -> Exception:
        """Return what to tell those whose request is not on record."""
        if not isinstance(error, StoreUnavailable):
            return error
        self._failed = (time.monotonic(), str(error))
        return Unavailable(str(error))

    def _run_alone(self, job: _Job) -> None:
        if not job.future.set_running_or_notify_cancel():
            return  # whoever asked has gone
        try:
            with self._turn, self._database.writing_on(self._held) as connection:
                result = job.what(connection)  # type: ignore[operator, misc]
        except StoreUnavailable as error:
            job.future.set_exception(self._sorry(error))
        except BaseException as error:
            job.future.set_exception(error)
        else:
            job.future.set_result(result)
