"""A connection to the store: SQLite or PostgreSQL, its schema brought up to date."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from sqlalchemy import event
from sqlalchemy.exc import ArgumentError, DBAPIError, InternalError, OperationalError

from clickrank.errors import ClickRankError, invalid

#: Held while the schema is brought up to date, so that workers that start together take turns.
_MIGRATION_LOCK = 7_246_533
_BUSY_SECONDS = 30


#: A server that is silent, or a lock that is not let go, must not hold up a worker for good.
_POSTGRES = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    "options": "-c statement_timeout=120000 -c lock_timeout=20000"
    " -c idle_in_transaction_session_timeout=120000",
}


class StoreUnavailable(ClickRankError):
    """The database is gone, its disk is full, or it is otherwise of no use just now."""


class Database:
    """Where a service keeps what it knows.

    Parameters
    ----------
    url
        As SQLAlchemy writes it: ``sqlite:///clickrank.db`` or ``postgresql://user@host/name``.
    """

    def __init__(self, url: str) -> None:
        """Connect to nothing yet; `upgrade` is the first thing that does."""
        try:
            parsed = sa.make_url(url)
        except ArgumentError:
            rule = "url must be as in sqlite:///clickrank.db or postgresql://user@host/name"
            raise invalid("Database", rule, url) from None
        backend = parsed.get_backend_name()
        if backend == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
        elif backend != "sqlite" or parsed.database in (None, "", ":memory:"):
            raise invalid("Database", "url must be of an SQLite file or of PostgreSQL", url)
        self.url = parsed
        self.is_sqlite = backend == "sqlite"
        # JSON and statements are short: what SQLAlchemy compiles is kept for good.
        options: dict[str, Any] = {"pool_size": 8, "max_overflow": 8, "pool_timeout": 10}
        if self.is_sqlite:
            options["connect_args"] = {"timeout": _BUSY_SECONDS, "check_same_thread": False}
        else:
            options["pool_pre_ping"] = True
            options["connect_args"] = _POSTGRES
        self.engine = sa.create_engine(parsed, **options)
        #: For transactions that begin at once or not at all; None where none can be so sure.
        self.at_once: sa.Engine | None = None
        if self.is_sqlite:
            options["connect_args"] = {"timeout": 0, "check_same_thread": False}
            self.at_once = sa.create_engine(parsed, **options)
            for engine in (self.engine, self.at_once):
                event.listen(engine, "connect", _prepare_sqlite)
                event.listen(engine, "begin", _begin_sqlite)

    @functools.cached_property
    def insert(self) -> Any:
        """The dialect's own INSERT, which knows ON CONFLICT."""
        if self.is_sqlite:
            from sqlalchemy.dialects.sqlite import insert as sqlite_insert

            return sqlite_insert
        from sqlalchemy.dialects.postgresql import insert as postgresql_insert

        return postgresql_insert

    @contextlib.contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Give a connection in a transaction that writes nothing."""
        with plain_errors(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Give a connection in a transaction that is committed at the end, or not at all."""
        with plain_errors(), self.engine.connect() as connection:
            options = {"clickrank_writes": True}
            with connection.execution_options(**options).begin():
                yield connection

    @contextlib.contextmanager
    def writing_on(self, held: HeldConnection) -> Iterator[sa.Connection]:
        """Do the same on the connection of a thread that writes again and again."""
        with plain_errors(), held.of(self.engine) as connection:
            yield connection

    def upgrade(self) -> None:
        """Make the tables, or bring those of an older version up to date."""
        if self.is_sqlite:
            folder = Path(str(self.url.database)).resolve().parent
            if not folder.is_dir():
                raise invalid("Database", "the folder of an SQLite file must exist", str(folder))
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        with self.writing() as connection:
            if not self.is_sqlite:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    def close(self) -> None:
        """Let all connections go."""
        self.engine.dispose()
        if self.at_once is not None:
            self.at_once.dispose()


class HeldConnection:
    """A connection that stays with one thread: getting one anew takes as long as writing does."""

    _IDLE_SECONDS = 1.0  # after which it may be dead, which the pool finds out

    def __init__(self) -> None:
        """Hold none yet."""
        self._connection: sa.Connection | None = None
        self._used_at = 0.0

    @contextlib.contextmanager
    def of(self, engine: sa.Engine) -> Iterator[sa.Connection]:
        """Give it in a transaction that is committed at the end, or not at all."""
        try:
            yield self.begin(engine)
            self.commit()
        except BaseException:
            self.release()
            raise

    def begin(self, engine: sa.Engine) -> sa.Connection:
        """Begin a transaction; `commit` or `release` must follow."""
        if time.monotonic() > self._used_at + self._IDLE_SECONDS:
            self.release()
        if self._connection is None:
            options = {"clickrank_writes": True}
            self._connection = engine.connect().execution_options(**options)
        self._connection.begin()
        return self._connection

    def commit(self) -> None:
        """End the transaction: what was written stays."""
        assert self._connection is not None
        self._connection.commit()
        self._used_at = time.monotonic()

    def release(self) -> None:
        """Give it back; what was written since `begin` is undone."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions begin where `_begin_sqlite` says
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")  # what was committed survives a loss of power
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA cache_size = -65536")  # KiB
    cursor.execute("PRAGMA wal_autocheckpoint = 4000")  # pages of 4 KiB
    cursor.close()


def _begin_sqlite(connection: sa.Connection) -> None:
    # A transaction that will write takes the lock at once: taking it later could fail.
    writes = connection.get_execution_options().get("clickrank_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """Turn what a database says when it is of no use into `StoreUnavailable`."""
    try:
        yield
    except sa.exc.TimeoutError as error:
        raise StoreUnavailable("Store: no connection came free in time.") from error
    except DBAPIError as error:
        temporary = isinstance(error, (OperationalError, InternalError))
        if not temporary and not error.connection_invalidated:
            raise
        text = str(error.orig).strip().partition("\n")[0]
        raise StoreUnavailable(f"Store: the database cannot be used now: {text}") from error
