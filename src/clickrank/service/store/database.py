"""Database: connections, transactions and prepared statements, for SQLite and PostgreSQL.

The statements of every rank and click are prepared. For an ordinary statement, SQLAlchemy goes
through the statement and its parameters in every call, which takes longer than the database does.
For a prepared statement it writes the text once per database, and the driver runs it.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from sqlalchemy import event
from sqlalchemy.exc import ArgumentError, DBAPIError, InternalError, OperationalError

from clickrank.errors import ClickRankError, invalid

#: The number of the lock under which the schema is upgraded, one worker at a time.
_MIGRATION_LOCK = 7_246_533
BUSY_SECONDS = 30
#: Time limits, so that a silent server or a lock that is never released cannot block a worker.
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
    """The database cannot be used at the moment: it is gone, or its disk is full."""


class Database:
    """The database of a service.

    Parameters
    ----------
    url
        In the form of SQLAlchemy: ``sqlite:///clickrank.db`` or ``postgresql://user@host/name``.
    """

    def __init__(self, url: str) -> None:
        """Prepare the connections; none is opened yet."""
        try:
            parsed = sa.make_url(url)
        except ArgumentError:
            rule = "url must look like sqlite:///clickrank.db or postgresql://user@host/name"
            raise invalid("Database", rule, url) from None
        backend = parsed.get_backend_name()
        if backend == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
        elif backend != "sqlite" or parsed.database in (None, "", ":memory:"):
            raise invalid("Database", "url must name an SQLite file or a PostgreSQL database", url)
        self.url = parsed
        self.is_sqlite = backend == "sqlite"
        options: dict[str, Any] = {"pool_size": 8, "max_overflow": 8, "pool_timeout": 10}
        if self.is_sqlite:
            options["connect_args"] = {"timeout": BUSY_SECONDS, "check_same_thread": False}
        else:
            options["pool_pre_ping"] = True
            options["connect_args"] = _POSTGRES
        self.engine = sa.create_engine(parsed, **options)
        #: For transactions that begin immediately or fail. Only SQLite has it; otherwise None.
        self.at_once: sa.Engine | None = None
        if self.is_sqlite:
            options["connect_args"] = {"timeout": 0, "check_same_thread": False}
            self.at_once = sa.create_engine(parsed, **options)
            for engine in (self.engine, self.at_once):
                event.listen(engine, "connect", _prepare_sqlite)
                event.listen(engine, "begin", _begin_sqlite)

    def is_missing(self) -> bool:
        """Return whether this is an SQLite file that does not exist yet."""
        path = self.url.database or ""
        return self.is_sqlite and not path.startswith("file:") and not Path(path).exists()

    @functools.cached_property
    def insert(self) -> Any:
        """The INSERT of the dialect, which has ON CONFLICT."""
        if self.is_sqlite:
            from sqlalchemy.dialects.sqlite import insert as sqlite_insert

            return sqlite_insert
        from sqlalchemy.dialects.postgresql import insert as postgresql_insert

        return postgresql_insert

    @contextlib.contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Open a connection in a transaction that only reads."""
        with plain_errors(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Open a connection in a transaction, which is committed unless an error is raised."""
        with plain_errors(), self.engine.connect() as connection:
            options = {"clickrank_writes": True}
            with connection.execution_options(**options).begin():
                yield connection

    @contextlib.contextmanager
    def writing_on(self, held: HeldConnection) -> Iterator[sa.Connection]:
        """Begin a transaction on a held connection; commit it unless an error is raised."""
        with plain_errors(), held.of(self.engine) as connection:
            yield connection

    def upgrade(self) -> None:
        """Create the tables, or upgrade those of an earlier version."""
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
        """Close all connections."""
        self.engine.dispose()
        if self.at_once is not None:
            self.at_once.dispose()


class HeldConnection:
    """A connection that one thread keeps: getting one from the pool takes as long as writing."""

    _IDLE_SECONDS = 1.0  # after which the pool must check whether the connection still works

    def __init__(self) -> None:
        """Hold no connection yet."""
        self._connection: sa.Connection | None = None
        self._used_at = 0.0

    @contextlib.contextmanager
    def of(self, engine: sa.Engine) -> Iterator[sa.Connection]:
        """Begin a transaction; commit it unless an error is raised."""
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
        """Commit the transaction."""
        assert self._connection is not None
        self._connection.commit()
        self._used_at = time.monotonic()

    def release(self) -> None:
        """Return the connection to the pool; a transaction that is open is rolled back."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # `_begin_sqlite` begins transactions
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")  # a commit survives a power failure
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA cache_size = -65536")  # KiB
    cursor.execute("PRAGMA wal_autocheckpoint = 4000")  # pages of 4 KiB
    cursor.close()


def _begin_sqlite(connection: sa.Connection) -> None:
    # A transaction that writes takes the lock at its beginning; taking it later could fail.
    writes = connection.get_execution_options().get("clickrank_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """Turn the errors of an unusable database into `StoreUnavailable`."""
    try:
        yield
    except sa.exc.TimeoutError as error:
        raise StoreUnavailable(
            "Store: no database connection became free in time; try again."
        ) from error
    except DBAPIError as error:
        temporary = isinstance(error, (OperationalError, InternalError))
        if not temporary and not error.connection_invalidated:
            raise
        text = str(error.orig).strip().partition("\n")[0]
        raise StoreUnavailable(f"Store: the database cannot be used now: {text}") from error


#: Numbers of parameters of a `PreparedList`. Databases keep the plans of a few different texts.
_LIST_SIZES = (1, 4, 16, 64, 500)
#: Numbers of rows that a statement of `PreparedInsert` inserts.
_ROWS = (64, 16, 8, 4, 2, 1)


#: Turns values by name into the form that the driver takes.
_ToDriver = Callable[[Mapping[str, Any]], Any]


class Prepared:
    """A statement in which every value that differs between calls is a `bindparam`.

    Its columns must have types that drivers do not convert: numbers, text and truth values.
    """

    def __init__(self, statement: Any) -> None:
        """Compile no text yet."""
        self._statement = statement
        self._texts: dict[str, tuple[str, _ToDriver]] = {}

    def rows(self, connection: sa.Connection, values: Mapping[str, Any]) -> list[Any]:
        """Return all rows of the result."""

        def run(cursor: Any, text: str, given: _ToDriver) -> list[Any]:
            cursor.execute(text, given(values))
            found: list[Any] = cursor.fetchall()
            return found

        return self._run(connection, run)

    def once(self, connection: sa.Connection, values: Mapping[str, Any]) -> None:
        """Run the statement."""

        def run(cursor: Any, text: str, given: _ToDriver) -> list[Any]:
            cursor.execute(text, given(values))
            return []

        self._run(connection, run)

    def each(self, connection: sa.Connection, values: Sequence[Mapping[str, Any]]) -> None:
        """Run the statement for each of the values."""

        def run(cursor: Any, text: str, given: _ToDriver) -> list[Any]:
            cursor.executemany(text, list(map(given, values)))
            return []

        self._run(connection, run)

    def _run(
        self, connection: sa.Connection, run: Callable[[Any, str, _ToDriver], list[Any]]
    ) -> list[Any]:
        dialect = connection.dialect
        made = self._texts.get(dialect.name)
        if made is None:
            compiled: Any = self._statement.compile(dialect=dialect)
            made = (str(compiled), _given(compiled.positiontup))
            self._texts[dialect.name] = made
        text, given = made
        driver: Any = connection.connection
        cursor = driver.cursor()
        try:
            return run(cursor, text, given)
        except dialect.loaded_dbapi.Error as error:
            base: Any = dialect.loaded_dbapi.Error
            gone = dialect.is_disconnect(error, driver.dbapi_connection, cursor)
            failure = sa.exc.DBAPIError.instance(
                text, None, error, base, connection_invalidated=gone, dialect=dialect
            )
            if gone:
                connection.invalidate(error)
            raise failure from error
        finally:
            cursor.close()


def _given(order: list[str] | None) -> _ToDriver:
    """Return a function that passes values to the driver by name, or in the order of the text."""
    if order is None:
        return lambda values: values
    if len(order) == 1:
        return lambda values: (values[order[0]],)
    return operator.itemgetter(*order)


class PreparedInsert:
    """Inserts many rows into a table with one statement.

    After each statement a thread must wait for the interpreter's lock again. The driver's own
    `executemany` waits twice per row.
    """

    def __init__(self, table: sa.Table) -> None:
        """Prepare the statements."""
        names = [column.name for column in table.columns]
        self._order = operator.itemgetter(*names)
        self._names = {
            size: [f"{name}_{i}" for i in range(size) for name in names] for size in _ROWS
        }
        self._by_size = {
            size: Prepared(
                sa.insert(table).values(
                    [{name: sa.bindparam(f"{name}_{i}") for name in names} for i in range(size)]
                )
            )
            for size in _ROWS
        }

    def each(self, connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Insert rows; each must have a value for every column of the table."""
        done = 0
        while done < len(rows):
            size = next(size for size in _ROWS if size <= len(rows) - done)
            values = [value for row in rows[done : done + size] for value in self._order(row)]
            given = dict(zip(self._names[size], values, strict=True))
            self._by_size[size].once(connection, given)
            done += size


class PreparedList:
    """A statement with a list of values; ``make`` builds it from the parameters of the list.

    A list that is shorter than the text's is filled up with its last value.
    """

    def __init__(self, make: Callable[[list[Any]], Any]) -> None:
        """Prepare the statements."""
        self._by_size = {
            size: Prepared(make([sa.bindparam(f"v{i}") for i in range(size)]))
            for size in _LIST_SIZES
        }

    def rows(self, connection: sa.Connection, values: Collection[Any]) -> list[Any]:
        """Return all rows, from several statements if there are more values than one can take."""
        rest, found = sorted(values), []
        while rest:
            some, rest = rest[: _LIST_SIZES[-1]], rest[_LIST_SIZES[-1] :]
            size = next(size for size in _LIST_SIZES if size >= len(some))
            some += some[-1:] * (size - len(some))
            given = {f"v{i}": value for i, value in enumerate(some)}
            found += self._by_size[size].rows(connection, given)
        return found
