"""StoreExecutor: runs reads, writes and long computations in threads, for an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import sqlalchemy as sa

from clickrank.service.runtime.refusals import Unavailable
from clickrank.service.runtime.writer import Numbers, Writer
from clickrank.service.store.database import Database, StoreUnavailable

T = TypeVar("T")


class StoreExecutor:
    """A database with its writer, and threads that read and compute."""

    def __init__(self, database: Database, numbers: Numbers) -> None:
        """Start the threads."""
        self.database = database
        self.writer = Writer(database, numbers)
        # Separate pools, so that a short read does not wait for a long computation.
        self._readers = ThreadPoolExecutor(4, thread_name_prefix="clickrank-read")
        self._workers = ThreadPoolExecutor(2, thread_name_prefix="clickrank-work")
        self._compiler = ThreadPoolExecutor(1, thread_name_prefix="clickrank-compile")

    async def in_thread(self, function: Callable[[], T]) -> T:
        """Run a function that takes some time."""
        return await asyncio.get_running_loop().run_in_executor(self._workers, function)

    async def compiling(self, function: Callable[[], T]) -> T:
        """Run a function that may compile for half a minute; these run one at a time."""
        return await asyncio.get_running_loop().run_in_executor(self._compiler, function)

    async def read(self, function: Callable[[sa.Connection], T]) -> T:
        """Run a function that reads from the store."""

        def read() -> T:
            with self.database.reading() as connection:
                return function(connection)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._readers, read)
        except StoreUnavailable as error:
            raise Unavailable(str(error)) from error

    async def write(self, function: Callable[[sa.Connection], T]) -> T:
        """Run a function that writes, in its own transaction."""
        return await asyncio.wrap_future(self.writer.run(function))

    def close(self) -> None:
        """Write the requests that wait, and stop the threads."""
        self.writer.close()
        self._readers.shutdown()
        self._workers.shutdown()
        self._compiler.shutdown()
        self.database.close()
