"""Query engines that count rows, DuckDB in this process or Spark, both used through Ibis."""

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
from clickrank.errors import InvalidValue, invalid, unknown
from clickrank.logs import ENGINES
from clickrank.logs.schema import ORDER

#: Seconds between two updates of the progress bar.
SECONDS = 0.2
_NUMBERS = itertools.count()


def require_ibis() -> Any:
    """Return Ibis, or raise an error that says how to install it."""
    require("Logs need", "logs")
    import ibis

    return ibis


def connect(engine: str, folder: Path, memory: str, threads: int | None) -> Any:
    """Return an engine; DuckDB writes what does not fit into ``memory`` to ``folder``.

    Spark uses its active session, or else one with the default settings.
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
        except duckdb.ParserException as error:  # of the settings, the only text it parses here
            rule = "memory must be a size such as 500MB or 4GB"
            raise invalid("open_log", rule, memory) from error
        # `query_progress` asks DuckDB for its progress.
        backend.raw_sql("SET enable_progress_bar = true")
        backend.raw_sql("SET enable_progress_bar_print = false")
        return backend
    if engine == "pyspark":
        require("Spark needs", "spark")
        from pyspark.sql import SparkSession

        return ibis.pyspark.connect(SparkSession.builder.getOrCreate())
    raise unknown("engine", engine, ENGINES)


def check_parquet(files: Sequence[str]) -> None:
    """Raise an error if a local file is not Parquet or lacks columns of the first file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    first: list[str] | None = None
    for file in (file for file in files if "://" not in file):
        try:
            names = pq.read_schema(file).names
        except pa.ArrowInvalid as error:
            raise invalid(
                "open_log", f"{file} must be a complete Parquet file", str(error)
            ) from error
        first = names if first is None else first
        if not {name.lower() for name in first} <= {name.lower() for name in names}:
            rule = f"{file} must have the columns of {files[0]} ({', '.join(first)})"
            raise invalid("open_log", rule, names)


def read_parquet(backend: Any, files: Sequence[str]) -> Any:
    """Return the rows of Parquet files as one table, with the columns `ORDER`.

    The names of local files are taken literally; URLs (``s3://…``) may be patterns.
    """
    name = f"rows_{next(_NUMBERS)}"
    if backend.name == "duckdb":
        import duckdb

        try:
            read_by_duckdb(backend, files, name)
        except duckdb.Error as error:  # local files are checked before
            address = next((file for file in files if "://" in file), files[0])
            reason = str(error).partition("\n")[0].rstrip(":. ")
            raise InvalidValue(f"{address}: DuckDB cannot read it: {reason}.") from error
    else:
        _read_by_spark(files, name)
    return backend.table(name)


def read_by_duckdb(backend: Any, files: Sequence[str], name: str) -> None:
    """Make a view of Parquet files that are read where they are."""
    exact = (file if "://" in file else glob.escape(file) for file in files)
    quoted = ", ".join("'" + file.replace("'", "''") + "'" for file in exact)
    source = f"read_parquet([{quoted}])"
    columns = [row[0].lower() for row in backend.con.execute(f"DESCRIBE FROM {source}").fetchall()]
    place = ("file_index", "file_row_number")  # columns that DuckDB adds to every row
    if any(one in columns for one in place):  # unless the file has columns of these names
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


def materialise(table: Any) -> Any:
    """Return a table whose rows are computed once and stored until the engine is closed."""
    backend = table.get_backend()
    if backend.name != "duckdb":
        return table.cache()
    # The cache of Ibis drops a table when Python frees it; the connection may be closed by then.
    return backend.create_table(f"stored_{next(_NUMBERS)}", table, temp=True)


@contextlib.contextmanager
def query_progress(backend: Any, label: str, show: bool | None) -> Iterator[None]:
    """Show a progress bar for the queries of DuckDB; Spark shows its own."""
    if backend.name != "duckdb":
        yield
        return
    finished = threading.Event()
    with progress_bar(label, 100, show) as tick:

        def ask() -> None:
            done = 0
            while not finished.wait(SECONDS):
                now = int(backend.con.query_progress())  # -1 between queries
                tick(max(now - done, 0))
                done = max(now, done)
            tick(100 - done)

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        try:
            yield
        finally:
            finished.set()
            thread.join()
