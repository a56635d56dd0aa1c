"""The engines that count: DuckDB in this process, or Spark; both are spoken to through Ibis."""

from __future__ import annotations

import contextlib
import glob
import itertools
import os
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from clickrank._core.extras import require
from clickrank._core.progress import progress_bar
from clickrank.errors import invalid, unknown
from clickrank.logs.schema import ORDER

ENGINES = ("duckdb", "pyspark")
#: Between questions how far it is.
SECONDS = 0.2
_NUMBERS = itertools.count()


def require_ibis() -> Any:
    """Return Ibis, or raise with how to get it."""
    require("Logs need", "logs")
    import ibis

    return ibis


def connect(engine: str, folder: Path, memory: str, threads: int | None) -> Any:
    """Return an engine; what does not fit into ``memory`` goes to ``folder``.

    Spark has its own settings: the session that is active is used, or one with the defaults.
    """
    ibis = require_ibis()
    if engine == "duckdb":
        import duckdb

        try:
            backend = ibis.duckdb.connect(
                memory_limit=memory,
                temp_directory=str(folder / "spill"),
                threads=threads or os.cpu_count() or 1,
            )
        except duckdb.ParserException as error:  # it reads nothing else here
            rule = "memory must be a size such as 500MB or 4GB"
            raise invalid("open_log", rule, memory) from error
        # So that `watched` can ask how far it is.
        backend.raw_sql("SET enable_progress_bar = true")
        backend.raw_sql("SET enable_progress_bar_print = false")
        return backend
    if engine == "pyspark":
        require("Spark needs", "spark")
        from pyspark.sql import SparkSession

        return ibis.pyspark.connect(SparkSession.builder.getOrCreate())
    raise unknown("engine", engine, ENGINES)


def check_parquet(files: Sequence[str]) -> None:
    """Raise if a file on this disk is not Parquet, or has not the columns of the first."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    first: list[str] | None = None
    for file in (file for file in files if "://" not in file):
        try:
            names = pq.read_schema(file).names
        except pa.ArrowInvalid as error:
            raise invalid("open_log", f"{file} must be a whole Parquet file", str(error)) from error
        first = names if first is None else first
        if not {name.lower() for name in first} <= {name.lower() for name in names}:
            raise invalid("open_log", f"{file} must have the columns {first} of {files[0]}", names)


def read_parquet(backend: Any, files: Sequence[str]) -> Any:
    """Return the rows of Parquet files as one table, with the columns `ORDER`.

    Files are those named, whatever is in their names; addresses (``s3://…``) may be patterns.
    """
    name = f"rows_{next(_NUMBERS)}"
    if backend.name == "duckdb":
        _read_by_duckdb(backend, files, name)
    else:
        _read_by_spark(files, name)
    return backend.table(name)


def _read_by_duckdb(backend: Any, files: Sequence[str], name: str) -> None:
    exact = (file if "://" in file else glob.escape(file) for file in files)
    quoted = ", ".join("'" + file.replace("'", "''") + "'" for file in exact)
    source = f"read_parquet([{quoted}])"
    columns = [row[0].lower() for row in backend.con.execute(f"DESCRIBE FROM {source}").fetchall()]
    place = ("file_index", "file_row_number")  # which DuckDB knows of every row
    if any(one in columns for one in place):  # but not beside columns of these names
        place = ("0", "row_number() OVER ()")
    order = ", ".join(f"{value} AS {one}" for value, one in zip(place, ORDER, strict=True))
    backend.con.execute(f"CREATE TEMP VIEW {name} AS SELECT *, {order} FROM {source}")


def _read_by_spark(files: Sequence[str], name: str) -> None:
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    session = SparkSession.builder.getOrCreate()
    found = None
    for number, file in enumerate(files):
        exact = file if "://" in file else re.sub(r"([][*?{}\\])", r"\\\1", os.path.abspath(file))
        path = f.concat(f.lit(f"{number:09d} "), f.col("_metadata.file_path"))
        place = (path.alias(ORDER[0]), f.col("_metadata.row_index").alias(ORDER[1]))
        rows = session.read.parquet(exact).select("*", *place)
        found = rows if found is None else found.unionByName(rows)
    assert found is not None
    found.createOrReplaceTempView(name)


def keep(table: Any) -> Any:
    """Return a table whose rows are worked out once and kept until the engine is closed."""
    backend = table.get_backend()
    if backend.name != "duckdb":
        return table.cache()
    # Ibis's own cache drops its tables when Python forgets them, by then of a closed connection.
    return backend.create_table(f"kept_{next(_NUMBERS)}", table, temp=True)


@contextlib.contextmanager
def watched(backend: Any, label: str, show: bool | None) -> Iterator[None]:
    """Show how far the engine is with what is asked of it; DuckDB says so, Spark on its own."""
    if backend.name != "duckdb":
        yield
        return
    over = threading.Event()
    with progress_bar(label, 100, show) as tick:

        def ask() -> None:
            done = 0
            while not over.wait(SECONDS):
                now = int(backend.con.query_progress())  # -1 between queries
                tick(max(now - done, 0))
                done = max(now, done)
            tick(100 - done)

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
