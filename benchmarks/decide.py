"""Decide the claims of the papers: adds runs to the shipped results, and writes the verdicts.

    nice -n 19 .venv/bin/python benchmarks/decide.py [PAPER[/FIGURE]] [--budget 2h] [--threads 1]

It may be interrupted at any time, and goes on where it stopped. Results whose code has changed are
played again first. What it writes belongs into a commit: the runs, ``verdicts.json`` and
``measured.json`` in ``src/clickrank/experiments/results``, and the pages in ``docs/papers``. With
``--verdicts`` it plays nothing, and only judges the runs again. With ``--pages`` it only writes the
pages again, for the verdicts as they are. With ``--restamp`` it plays a few runs of each policy
whose code has changed, and keeps the results of those whose numbers are the same, also those of the
board (`benchmarks/board.py`): for a change that left ``tests/data/same_rankings.json`` as it was.
In the background, where Ctrl-C does not reach it, ``kill`` interrupts it in the same way.
"""

from __future__ import annotations

import argparse
import signal
from pathlib import Path

from clickrank.cli.reproduce_command import seconds_of
from clickrank.experiments import list_experiments
from clickrank.experiments.board_update import restamp_board
from clickrank.experiments.decided_outcomes import (
    outcomes_in,
    restamp_same_runs,
    write_verdicts,
)
from clickrank.experiments.deciding import decide
from clickrank.experiments.paper_files import select
from clickrank.experiments.paper_pages import write_paper_pages
from clickrank.experiments.run_archive import SHIPPED, RunArchive
from clickrank.experiments.shipped_board import SHIPPED_BOARD
from clickrank.experiments.shipped_verdicts import count_outcomes, load_verdicts

#: Where the pages of the papers are.
PAGES = Path(__file__).parents[1] / "docs" / "papers"
#: Runs that are played again before results of changed code are kept.
RUNS = 3


def main() -> None:
    """Read the arguments, add runs, and write the verdicts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="?")
    parser.add_argument("--budget", default="2h")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--verdicts", action="store_true")
    parser.add_argument("--pages", action="store_true")
    parser.add_argument("--restamp", action="store_true")
    parser.add_argument("--cache", type=Path, default=Path("report/results"))
    given = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell's background jobs ignore the first
        signal.signal(number, signal.default_int_handler)
    known = list_experiments()
    archive = RunArchive(SHIPPED)

    def say(text: str) -> None:
        print(text, flush=True)

    try:
        if given.restamp:
            restamp_same_runs(archive, known, given.cache, RUNS, say)
            restamp_board(SHIPPED_BOARD, RUNS, say)
        elif not given.verdicts and not given.pages:
            decide(
                select(given.target, known),
                archive,
                given.cache,
                budget=seconds_of(given.budget),
                threads=given.threads,
                say=say,
            )
    finally:
        outcomes = outcomes_in(known, archive, given.cache, known, say)
        if not given.pages:
            write_verdicts(outcomes)
        write_paper_pages(PAGES, outcomes)
        say(str(count_outcomes(load_verdicts())))


if __name__ == "__main__":
    main()
