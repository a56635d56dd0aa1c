"""The engines that count: DuckDB in this process, or Spark; both are spoken to through Ibis."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

from clickrank.errors import MissingExtra, unknown

ENGINES = ("duckdb", "pyspark")
_NUMBERS = itertools.count()


def require_ibis() -> Any:
    """Return Ibis, or raise with how to get it."""
    try:
        import duckdb  # noqa: F401
        import ibis
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise MissingExtra("Logs need Ibis and DuckDB: pip install 'clickrank[logs]'.") from error
    return ibis


def connect(engine: str, folder: Path, memory: str, threads: int | None) -> Any:
    """Return an engine; what does not fit into ``memory`` goes to ``folder``.

    Spark has its own settings: the session that is active is used, or one with the defaults.
    """
    ibis = require_ibis()
    if engine == "duckdb":
        return ibis.duckdb.connect(
            memory_limit=memory,
            temp_directory=str(folder / "spill"),
            threads=threads or os.cpu_count() or 1,
        )
    if engine == "pyspark":
        try:
            from pyspark.sql import SparkSession
        except ImportError as error:
            raise MissingExtra("Spark needs PySpark: pip install 'clickrank[spark]'.") from error
        return ibis.pyspark.connect(SparkSession.builder.getOrCreate())
    raise unknown("engine", engine, ENGINES)


def keep(table: Any) -> Any:
    """Return a table whose rows are worked out once and kept until the engine is closed."""
    backend = table.get_backend()
    if backend.name != "duckdb":
        return table.cache()
    # Ibis's own cache drops its tables when Python forgets them, by then of a closed connection.
    return backend.create_table(f"kept_{next(_NUMBERS)}", table, temp=True)
