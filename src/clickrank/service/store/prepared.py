"""Statements of every rank and click, their text made once.

SQLAlchemy goes through a statement and its parameters in every call, which takes longer than the
database does. Here it writes the text once for each database, and the driver runs it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

#: How many parameters the lists of `PreparedList` have: few texts, which databases keep plans of.
_SIZES = (1, 4, 16, 64, 500)
#: How many rows the statements of `PreparedInsert` have.
_ROWS = (64, 16, 8, 4, 2, 1)


_Given = Callable[[Mapping[str, Any]], Any]


class Prepared:
    """A statement with `bindparam` for all that differs from call to call.

    Its columns must be of types that drivers take and give as they are: numbers, texts, truth.
    """

    def __init__(self, statement: Any) -> None:
        """Make no text yet."""
        self._statement = statement
        self._texts: dict[str, tuple[str, _Given]] = {}

    def rows(self, connection: sa.Connection, values: Mapping[str, Any]) -> list[Any]:
        """Return all rows."""

        def run(cursor: Any, text: str, given: _Given) -> list[Any]:
            cursor.execute(text, given(values))
            found: list[Any] = cursor.fetchall()
            return found

        return self._run(connection, run)

    def once(self, connection: sa.Connection, values: Mapping[str, Any]) -> None:
        """Run it."""

        def run(cursor: Any, text: str, given: _Given) -> list[Any]:
            cursor.execute(text, given(values))
            return []

        self._run(connection, run)

    def each(self, connection: sa.Connection, values: Sequence[Mapping[str, Any]]) -> None:
        """Run it for each of the values."""

        def run(cursor: Any, text: str, given: _Given) -> list[Any]:
            cursor.executemany(text, list(map(given, values)))
            return []

        self._run(connection, run)

    def _run(
        self, connection: sa.Connection, run: Callable[[Any, str, _Given], list[Any]]
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
            told = sa.exc.DBAPIError.instance(
                text, None, error, base, connection_invalidated=gone, dialect=dialect
            )
            if gone:
                connection.invalidate(error)
            raise told from error
        finally:
            cursor.close()


def _given(order: list[str] | None) -> _Given:
    """Return what makes values such as the driver takes: by name, or in the order of the text."""
    if order is None:
        return lambda values: values
    if len(order) == 1:
        return lambda values: (values[order[0]],)
    return operator.itemgetter(*order)


class PreparedInsert:
    """Rows into a table, many at a time.

    To a thread each statement costs a turn at the interpreter, which another may just be using; the
    driver's way to run one for many rows takes two for each of them.
    """

    def __init__(self, table: sa.Table) -> None:
        """Make the statements."""
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
        """Insert rows, which have a value for every column of the table."""
        done = 0
        while done < len(rows):
            size = next(size for size in _ROWS if size <= len(rows) - done)
            values = [value for row in rows[done : done + size] for value in self._order(row)]
            given = dict(zip(self._names[size], values, strict=True))
            self._by_size[size].once(connection, given)
            done += size


class PreparedList:
    """A statement about rows with one of many values; ``made`` makes it from their parameters.

    A list that is shorter than its text has its last value more than once.
    """

    def __init__(self, made: Callable[[list[Any]], Any]) -> None:
        """Make the statements."""
        self._by_size = {
            size: Prepared(made([sa.bindparam(f"v{i}") for i in range(size)])) for size in _SIZES
        }

    def rows(self, connection: sa.Connection, values: Collection[Any]) -> list[Any]:
        """Return all rows; with more values than fit one statement, of one after the other."""
        rest, found = sorted(values), []
        while rest:
            some, rest = rest[: _SIZES[-1]], rest[_SIZES[-1] :]
            size = next(size for size in _SIZES if size >= len(some))
            some += some[-1:] * (size - len(some))
            given = {f"v{i}": value for i, value in enumerate(some)}
            found += self._by_size[size].rows(connection, given)
        return found
