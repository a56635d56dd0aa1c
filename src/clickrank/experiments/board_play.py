"""Plays the board: the runs that are missing, or that other code made, cell by cell.

Each cell is saved when its runs are finished, so that a board can be interrupted at any time.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from clickrank._core.progress import Say
from clickrank.experiments.board_cells import BoardCell
from clickrank.experiments.board_pages import Board
from clickrank.experiments.deciding import play
from clickrank.experiments.figure_progress import Unit
from clickrank.experiments.run_archive import ArchivedRun, RunArchive
from clickrank.policies import POLICIES
from clickrank.simulation.simulate_runs import Job, default_threads


class SlowRun(NamedTuple):
    """A run that was stopped: its processor time and rounds, and what decides them."""

    seconds: float
    rounds: int
    key: str
    code: str

    def is_of(self, cell: BoardCell) -> bool:
        """Whether the same code would be played again."""
        return (self.key, self.code) == (cell.key, cell.code)


#: The runs that were stopped, by page and policy.
SlowRuns = dict[tuple[str, str], SlowRun]


def play_board(
    board: Board,
    cells: Sequence[BoardCell],
    archive: RunArchive,
    slow: SlowRuns,
    *,
    budget: float = math.inf,
    threads: int | None = None,
    say: Say = lambda text: None,
) -> bool:
    """Play what is missing or stale, stale cells first; return whether nothing is missing.

    Runs are added to the archive, and runs that are too slow to ``slow``. The budget is wall-clock
    time. Ctrl-C saves the finished runs.
    """
    deadline = time.monotonic() + budget
    waiting = sorted(
        (cell for cell in cells if cell.applies and not _is_done(board, cell, archive, slow)),
        key=lambda cell: (not archive.is_stale(cell.key), not POLICIES[cell.policy].is_uniform),
    )
    for number, cell in enumerate(waiting, 1):
        if time.monotonic() >= deadline:
            return False
        if archive.is_stale(cell.key):
            archive.remove(cell.key)
        say(f"{number} of {len(waiting)}: {cell.policy} on {cell.page}")
        try:
            stopped = first_run(cell, archive, board.seconds_per_run)
            if stopped is not None:
                slow[cell.page, cell.policy] = stopped
                say(f"too slow: {stopped.seconds:.1f} s for {stopped.rounds:,} rounds")
                continue
            slow.pop((cell.page, cell.policy), None)
            units = [Unit(cell.experiment, cell.strand_of(run), run) for run in missing(
                cell, archive, board.runs
            )]  # fmt: skip
            if not play(units, threads or default_threads(), deadline, archive):
                return False
        finally:
            archive.save(cell.experiment)
    return True


def missing(cell: BoardCell, archive: RunArchive, runs: int) -> list[int]:
    """Return the numbers of the runs of a cell that the archive does not have."""
    return [run for run in range(runs) if archive.find(cell.strand_of(run), run) is None]


def _is_done(
    board: Board, cell: BoardCell, archive: RunArchive, slow: Mapping[tuple[str, str], SlowRun]
) -> bool:
    stopped = slow.get((cell.page, cell.policy))
    if stopped is not None and stopped.is_of(cell):
        return True
    return not archive.is_stale(cell.key) and not missing(cell, archive, board.runs)


def first_run(cell: BoardCell, archive: RunArchive, limit: float) -> SlowRun | None:
    """Play the first run, unless it is there; return where it was stopped if it is too slow.

    The clock of the thread that plays shows its processor time, which other work does not lengthen.
    """
    strand = cell.strand_of(0)
    if archive.find(strand, 0) is not None:
        return None
    job = Job.of(strand.policy, strand.model, strand.plan)
    job.compile()
    stop = threading.Event()
    begin = time.thread_time()
    shown = 0

    def tick(rounds: int) -> None:
        nonlocal shown
        shown += rounds
        if time.thread_time() - begin > limit:
            stop.set()

    played = job.play(0, tick, stop)
    if played is None:
        return SlowRun(time.thread_time() - begin, shown, cell.key, cell.code)
    archive.add(cell.experiment, strand, 0, ArchivedRun(played.regret, played.seconds))
    return None
