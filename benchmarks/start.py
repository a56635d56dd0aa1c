"""Benchmark of start-up: the processor time of imports, and of the help of every command.

    python benchmarks/start.py

The best of several times counts, after a first process that leaves compiled files of Python behind.
The first rows are other packages: nothing below them can be faster. The help of a command may take
0.3 s, and so may the import of the client or of clickrank.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from clickrank.cli.app import app

LIMIT = 0.3
FLOORS: tuple[tuple[str, ...], ...] = (
    ("-c", "pass"),
    ("-c", "import typer.rich_utils"),
    ("-c", "import httpx"),
)


def questions() -> list[tuple[str, ...]]:
    """Return the arguments of Python that are measured and must stay below the limit."""
    names = [one.name or getattr(one.callback, "__name__", "") for one in app.registered_commands]
    names += [str(one.name) for one in app.registered_groups]
    modules = ("clickrank", "clickrank.client", "clickrank.cli.app")
    imports = [("-c", f"import {name}") for name in modules]
    asked = [("--version",), ("--help",), *((name, "--help") for name in names)]
    return [*imports, *(("-m", "clickrank", *one) for one in asked)]


def processor_seconds(arguments: Sequence[str], repeats: int) -> float:
    """Return the least processor time of new processes of Python with these arguments."""
    best = float("inf")
    for repeat in range(1 + repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if repeat > 0:
            took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            best = min(best, took)
    return best


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if anything of clickrank takes longer than the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args(arguments)
    table = Table("python …", "processor seconds", title="Start of a process")
    slow = False
    for one in FLOORS:
        table.add_row(" ".join(one), f"{processor_seconds(one, options.repeats):.3f}")
    table.add_section()
    for one in questions():
        took = processor_seconds(one, options.repeats)
        slow |= took > LIMIT
        table.add_row(" ".join(one), f"{took:.3f}" + (" (slow)" if took > LIMIT else ""))
    Console(width=80).print(table)
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
