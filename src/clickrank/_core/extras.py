"""Optional dependencies: the modules of each extra, and the error that says how to install them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from clickrank.errors import MissingExtra

#: The modules that each extra of pyproject.toml installs.
EXTRAS: dict[str, tuple[str, ...]] = {
    "plots": ("jinja2", "matplotlib"),
    "ltr": ("lightgbm", "sklearn"),
    "dask": ("dask", "distributed"),
    "ray": ("ray",),
    "client": ("httpx",),
    "serve": (
        "alembic",
        "httptools",
        "httpx",
        "prometheus_client",
        "psycopg",
        "pyarrow",
        "sqlalchemy",
        "uvicorn",
    ),
    "logs": ("duckdb", "ibis", "pyarrow"),
    "spark": ("duckdb", "ibis", "pyarrow", "pyspark"),
}


def require(needs: str, *extras: str, but: tuple[str, ...] = ()) -> None:
    """Raise an error unless all modules of these extras are installed.

    The message begins with ``needs``, such as "The service needs", and names all missing modules
    and one command that installs them. Modules in ``but`` may be missing.
    """
    missing = {
        extra: [
            module
            for module in EXTRAS[extra]
            if module not in but and importlib.util.find_spec(module) is None
        ]
        for extra in extras
    }
    modules = sorted({module for found in missing.values() for module in found})
    if modules:
        wanted = ",".join(extra for extra in extras if missing[extra])
        raise MissingExtra(f"{needs} {', '.join(modules)}: {install_command(wanted)}.")


def install_command(extras: str) -> str:
    """Return the command that installs extras, in a checkout or for an installed package."""
    root = Path(__file__).resolve().parents[3]
    if (root / "pyproject.toml").exists() and root.joinpath("src", "clickrank").is_dir():
        return f"pip install -e '{root}[{extras}]'"
    return f"pip install 'clickrank[{extras}]'"
