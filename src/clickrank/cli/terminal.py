"""What all commands say to a terminal, or to a pipe."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

PICTURES = (".png", ".pdf", ".svg")
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
INTERRUPTED = 130  # as the shell counts a process ended by Ctrl-C


def console(stderr: bool = False, width: int = 120) -> Console:
    """Return where to print; a pipe has no width, and tables need some."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(file=stream, width=None if stream.isatty() else width)


def print_json(value: object) -> None:
    """Print a value as JSON, for people and programs."""
    import msgspec

    typer.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
