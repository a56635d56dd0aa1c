"""The store from an event loop: reads in a few threads, writes in the writer's."""

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
    """A database, the thread that writes to it, and threads that read and reckon."""

    def __init__(self, database: Database, numbers: Numbers) -> None:
        """Start the threads."""
        self.database = database
        self.writer = Writer(database, numbers)
        # Apart, so that nobody waits for a long calculation to read a line.
        self._readers = ThreadPoolExecutor(4, thread_name_prefix="clickrank-read")
        self._workers = ThreadPoolExecutor(2, thread_name_prefix="clickrank-work")
        self._compiler = ThreadPoolExecutor(1, thread_name_prefix="clickrank-compile")

    async def in_thread(self, function: Callable[[], T]) -> T:
        """Call a function that takes a while."""
        return await asyncio.get_running_loop().run_in_executor(self._workers, function)

    async def slowly(self, function: Callable[[], T]) -> T:
        """Call a function that may take half a minute: it compiles. One at a time."""
        return await asyncio.get_running_loop().run_in_executor(self._compiler, function)

    async def read(self, function: Callable[[sa.Connection], T]) -> T:
        """Call a function that reads."""

        def read() -> T:
            with self.database.reading() as connection:
                return function(connection)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._readers, read)
        except StoreUnavailable as error:
            raise Unavailable(str(error)) from error

    async def write(self, function: Callable[[sa.Connection], T]) -> T:
        """Call a function that writes, in a transaction of its own."""
        return await asyncio.wrap_future(self.writer.run(function))

    def close(self) -> None:
        """Write what waits, and end."""
        self.writer.close()
        self._readers.shutdown()
        self._workers.shutdown()
        self._compiler.shutdown()
        self.database.close()
