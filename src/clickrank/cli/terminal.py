"""Output of commands: tables and JSON, to a terminal or a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console

INTERRUPTED = 130  # the exit code that shells give a process ended by Ctrl-C
CLOSED_PIPE = 141  # the one of a process that writes to a pipe that nobody reads


def console(stderr: bool = False, width: int = 120) -> Console:
    """Return a console for output or errors; ``width`` is that of a pipe, which has none."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(file=stream, width=None if stream.isatty() else width)


def print_json(value: object) -> None:
    """Print a value as indented JSON."""
    import msgspec

    typer.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def print_text(console: Console, text: str, *, wrap: bool = False, style: str = "") -> None:
    """Print a text as it is: nothing in it is markup, and numbers are not coloured."""
    console.print(text, style=style, highlight=False, markup=False, soft_wrap=not wrap)


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table. The first column, which holds names, is never wrapped."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(*heads)
    table.columns[0].no_wrap = True  # names are there to be copied
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    console().print(table)
