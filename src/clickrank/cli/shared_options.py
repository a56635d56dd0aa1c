"""Options that several commands have, and the functions that read their values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clickrank._core.output_files import make_folder_of
from clickrank.errors import invalid

PICTURES = (".png", ".pdf", ".svg")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def _check_threads(threads: int | None) -> int | None:
    if threads is not None and threads < 1:
        raise invalid("cli", "threads must be at least 1", threads)
    return threads


Threads = Annotated[
    int | None,
    typer.Option(
        help="Number of runs to play in parallel.",
        show_default="one per core",
        callback=_check_threads,
    ),
]


def comma_separated(text: str) -> list[str]:
    """Return the parts of a comma-separated text.

    >>> comma_separated("pbm, dcm")
    ['pbm', 'dcm']
    """
    return [part.strip() for part in text.split(",") if part.strip()]


def check_picture(plot: Path | None) -> None:
    """Check the file of ``--plot``, and make its folder, before the computation, not after it."""
    if plot is None:
        return
    if plot.suffix not in PICTURES:
        raise invalid("cli", f"plot must end in {' or '.join(PICTURES)}", plot)
    make_folder_of(plot)
