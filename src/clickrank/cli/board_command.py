"""The command ``board``: what every policy loses on every page, shipped, and played on demand."""

from __future__ import annotations

import functools
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clickrank.cli.shared_options import AsJson, Threads
from clickrank.cli.terminal import console as terminal
from clickrank.cli.terminal import print_json, print_table, print_text
from clickrank.errors import invalid

if TYPE_CHECKING:
    from clickrank.experiments.shipped_board import BoardFile

STANDING_HEADS = (
    "policy", "assumes clicks", "given", "pages", "% of random", "place", "won", "drawn", "lost",
)  # fmt: skip
PAGE_HEADS = ("policy", "place", "given", "regret [95 % interval]", "% of random", "µs per round")


def board(
    page: Annotated[
        str | None,
        typer.Argument(metavar="[PAGE]", help="A page, as in pbm-yandex; all by default."),
    ] = None,
    policy: Annotated[str | None, typer.Option(help="Only this policy.")] = None,
    module: Annotated[
        str | None,
        typer.Option(
            help="A Python module or file that registers policies of your own, as in my_policy or "
            "my_policy.py."
        ),
    ] = None,
    play: Annotated[
        bool,
        typer.Option(
            "--play", help="Play what is missing, or was made by other code, and save it."
        ),
    ] = False,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Time that playing may take, as in 2h, 30m or 90s; no limit."
        ),
    ] = None,
    folder: Annotated[
        Path, typer.Option(help="Folder for what is played; its board is printed if it has one.")
    ] = Path("board"),
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Print what every policy loses on twelve standard pages, from the shipped results.

    Nothing is simulated without --play. With --play, runs are saved as they finish; after an
    interruption, the same command plays what is missing.
    """
    from clickrank.cli.reproduce_command import seconds_of
    from clickrank.experiments.shipped_board import load_board

    for name, given in (("budget", budget), ("threads", threads)):
        if given is not None and not play:
            raise invalid("board", f"--{name} must not be given without --play", given)
    if module is not None:
        load_module(module)
    complete = True
    if play:
        from clickrank.experiments.board_update import update_board

        say = functools.partial(print_text, terminal(stderr=True))
        seconds = float("inf") if budget is None else seconds_of(budget)
        complete = update_board(
            folder, page, policy, budget=seconds, threads=threads, say=say
        ).complete
    file = load_board(folder).only(page, policy)
    if as_json:
        print_json(file)
    elif page is not None or policy is not None:
        _print_pages(file)
    else:
        _print_standings(file)
    if not complete:
        print_text(terminal(stderr=True), "Some runs are missing: the same command plays them.")


def load_module(name: str) -> None:
    """Import a module that registers policies; it may be in the current folder, or a file."""
    path = Path(name)
    folder = path.parent if path.suffix == ".py" else Path()
    stem = path.stem if path.suffix == ".py" else name
    sys.path.insert(0, str(folder.resolve()))
    try:
        importlib.import_module(stem)
    except ModuleNotFoundError as error:
        if error.name != stem.partition(".")[0] and error.name != stem:
            raise  # something that it imports is missing
        raise invalid("board", "module must be a Python module or file", name) from error
    finally:
        sys.path.pop(0)


def _print_standings(file: BoardFile) -> None:
    from clickrank.experiments.board_text import standing_cells

    for given_truths, title in ((False, "Given no truth about the clicks"), (True, "Given one*")):
        print_text(terminal(), f"\n{title}", style="bold")
        standings = file.group(given_truths=given_truths)
        print_table(STANDING_HEADS, [standing_cells(s, bold=False) for s in standings])
    pages = ", ".join(page.name for page in file.pages)
    stale = sum(entry.stale for entry in file.entries)
    lines = [
        "% of random: regret in percent of that of uniform lists, the median over pages; place: "
        "from 0, the best of a page, to 1, the last; won, drawn, lost: comparisons with another "
        "policy on a page, by the 95 % interval of the paired difference.",
        "* a truth about the clicks or the items, which nobody knows on a real page.   † played "
        "outside of its assumptions.",
        f"Pages: {pages}. For one page: clickrank board {file.pages[0].name}",
    ]
    if stale:
        lines.append(f"{stale} results are stale: other code made them. --play plays them again.")
    for line in lines:
        print_text(terminal(), line, wrap=True)


def _print_pages(file: BoardFile) -> None:
    from clickrank.experiments.board_text import (
        given_text,
        interval_text,
        place_text,
        reasons_on,
        share_text,
        time_text,
    )

    for page in file.pages:
        entries = file.on(page.name)
        print_text(terminal(), f"\n{page.name}: {page.title}", style="bold")
        print_text(terminal(), f"{page.tests}", wrap=True)
        print_text(terminal(), f"{page.size}; {page.rounds:,} rounds, {page.runs} runs", wrap=True)
        rows = [
            (
                f"{entry.policy}{'†' * entry.outside}{' (stale)' * entry.stale}",
                place_text(entry),
                given_text(entry.given, entry.truths, bold=False),
                interval_text(entry),
                share_text(entry.share),
                time_text(entry.microseconds),
            )
            for entry in entries
            if entry.outcome == "played"
        ]
        if rows:
            print_table(PAGE_HEADS, rows)
        for line in reasons_on(entries):
            print_text(terminal(), line, wrap=True)
