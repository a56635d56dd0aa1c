"""Progress of long computations: bars on the terminal, and lines of text."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

Tick = Callable[[int], None]
#: Receives one line of text for each step of a long computation.
Say = Callable[[str], None]


@contextlib.contextmanager
def progress_bar(label: str, total: int, show: bool | None) -> Iterator[Tick]:
    """Show a progress bar; yield a function to call with the steps done since the last call.

    If ``show`` is None, the bar is shown if the standard error stream is a terminal.
    """
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda done: None
        return
    columns = (
        TextColumn("{task.description:<18}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.update(task, advance=done)
