"""Play the board: adds missing runs to those that are shipped, and writes ``docs/board``.

    nice -n 19 .venv/bin/python benchmarks/board.py [PAGE] [--policy NAME] [--budget 30m]

It may be interrupted at any time, and goes on where it stopped. Results whose code has changed are
played again first. What it writes belongs into a commit: the runs and ``board.json`` in
``src/clickrank/experiments/board``, and the page with its pictures in ``docs/board``. With
``--write`` it plays nothing, and only makes the results and the page again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from clickrank.cli.reproduce_command import seconds_of
from clickrank.experiments.board_report import write_report
from clickrank.experiments.board_update import archive_of, update_board
from clickrank.experiments.shipped_board import SHIPPED_BOARD

PAGE = Path(__file__).parents[1] / "docs" / "board"


def main() -> None:
    """Read the arguments, add runs, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", nargs="?")
    parser.add_argument("--policy")
    parser.add_argument("--budget", default="1h")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    found = update_board(
        SHIPPED_BOARD,
        given.page,
        given.policy,
        budget=0.0 if given.write else seconds_of(given.budget),
        threads=given.threads,
        say=lambda text: print(text, flush=True),
    )
    write_report(found.file, archive_of(SHIPPED_BOARD), PAGE)
    missing = [f"{e.policy} on {e.page}" for e in found.file.entries if e.outcome == "not played"]
    print(f"missing: {', '.join(missing) or 'nothing'}")


if __name__ == "__main__":
    main()
