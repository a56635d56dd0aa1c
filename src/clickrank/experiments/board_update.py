"""Brings a board up to date: plays what is missing, and writes its results."""

from __future__ import annotations

import math
import threading
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clickrank._core.progress import Say
from clickrank.errors import MissingData
from clickrank.experiments.board_cells import BoardCell, cells_of_page
from clickrank.experiments.board_pages import Board, chosen_pages, read_board
from clickrank.experiments.board_play import SlowRuns, play_board
from clickrank.experiments.board_results import results_of, slow_runs_of, write_board
from clickrank.experiments.deciding import play_unit
from clickrank.experiments.figure_progress import Unit
from clickrank.experiments.run_archive import RunArchive
from clickrank.experiments.shipped_board import SHIPPED_BOARD, BoardFile, load_board
from clickrank.policies import POLICIES


class UpdatedBoard(NamedTuple):
    """The results of a board, and whether all chosen cells are complete."""

    file: BoardFile
    complete: bool


def update_board(
    folder: Path,
    page: str | None = None,
    policy: str | None = None,
    *,
    budget: float = math.inf,
    threads: int | None = None,
    say: Say = lambda text: None,
    board: Board | None = None,
) -> UpdatedBoard:
    """Play what is missing or stale of a board, and write its results into a folder.

    Runs that are shipped are not played again. After Ctrl-C, or when the budget of wall-clock
    seconds is spent, the finished runs are there, and the next call continues.
    """
    if policy is not None:
        POLICIES[policy]  # an unknown name is an error now, not later
    board = read_board() if board is None else board
    names = chosen_pages(board, page)
    archive = archive_of(folder)
    slow = _slow_runs(folder)
    cells = [cell for name in board.pages for cell in cells_of_page(board, name, None)]
    chosen = [c for c in cells if c.page in names and policy in (None, c.policy)]
    # What the shares of the others refer to.
    chosen += [
        c
        for c in cells
        if c.page in names and POLICIES[c.policy].is_uniform and c not in chosen
    ]  # fmt: skip
    complete = False
    try:
        complete = play_board(board, chosen, archive, slow, budget=budget, threads=threads, say=say)
    finally:
        file = results_of(board, cells, archive, slow)
        write_board(file, folder)
    return UpdatedBoard(file, complete)


def archive_of(folder: Path) -> RunArchive:
    """Return the archive of a folder; runs that are shipped are found there, too."""
    if folder.resolve() == SHIPPED_BOARD.resolve():
        return RunArchive(folder)
    return RunArchive(folder, RunArchive(SHIPPED_BOARD))


def _slow_runs(folder: Path) -> SlowRuns:
    try:
        return slow_runs_of(load_board(folder))
    except MissingData:
        return {}


def restamp_board(folder: Path, runs: int, say: Say) -> None:
    """Stamp the archived runs of a board with today's code, where the numbers are the same.

    Of each policy on each click model whose code has changed, the runs that took the least time are
    played again. If they are the same, bit for bit, all runs of the pair get the stamp of today's
    code. Otherwise they stay stale. Runs that were too slow are left to be played again.
    """
    board = read_board()
    archive = archive_of(folder)
    cells = [cell for name in board.pages for cell in cells_of_page(board, name, None)]
    stale: dict[tuple[str, str], list[BoardCell]] = {}
    for cell in cells:
        if cell.applies and archive.is_stale(cell.key):
            pair = cell.policy, cell.strands[0].model.name
            stale.setdefault(pair, []).append(cell)
    for (policy, model), of_pair in stale.items():
        known = [
            (found.seconds, cell.page, run, cell)
            for cell in of_pair
            for run in range(board.runs)
            if (found := archive.find(cell.strand_of(run), run)) is not None
        ]
        shortest = sorted(known, key=lambda entry: entry[:3])[:runs]
        same = all(_is_same(archive, cell, run) for _, _, run, cell in shortest)
        say(f"{policy} on {model}: {'the same' if same else 'DIFFERENT'} in {len(shortest)} runs")
        if same:
            archive.restamp(policy, model)
    for name in archive.experiments:
        archive.save(name)
    write_board(results_of(board, cells, archive, _slow_runs(folder)), folder)


def _is_same(archive: RunArchive, cell: BoardCell, run: int) -> bool:
    """Play an archived run of a cell again, and compare it bit for bit."""
    strand = cell.strand_of(run)
    again = play_unit(Unit(cell.experiment, strand, run), threading.Event())
    before = archive.find(strand, run)
    return again is not None and before is not None and np.array_equal(again.regret, before.regret)
