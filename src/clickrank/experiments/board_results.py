"""Results of the board: entries and standings, computed from the archived runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from clickrank._core.arrays import Floats
from clickrank._core.output_files import make_folder_of
from clickrank.clickmodels import CLICK_MODELS
from clickrank.experiments.board_cells import BoardCell
from clickrank.experiments.board_pages import Board, read_board
from clickrank.experiments.board_play import SlowRun, SlowRuns, missing
from clickrank.experiments.code_stamp import stamp_of
from clickrank.experiments.run_archive import RunArchive
from clickrank.experiments.shipped_board import (
    RESULTS_FILE,
    BoardEntry,
    BoardFile,
    PageFacts,
    PolicyStanding,
    board_sources,
)
from clickrank.policies import POLICIES
from clickrank.reports.descriptions import PolicyEntry, policy_entries
from clickrank.stats.intervals import mean_interval

#: A place on fewer pages is little evidence.
FEW_PAGES = 3
#: The stamp of runs that other code made than today's.
OTHER_CODE = "other"


def results_of(
    board: Board,
    cells: Iterable[BoardCell],
    archive: RunArchive,
    slow: Mapping[tuple[str, str], SlowRun],
) -> BoardFile:
    """Return the results of all cells of a board from its archived runs."""
    by_page: dict[str, list[BoardCell]] = {name: [] for name in board.pages}
    for cell in cells:
        by_page[cell.page].append(cell)
    entries: list[BoardEntry] = []
    standings = _Standings()
    for on_page in by_page.values():
        regrets = {c.policy: _regret(board, c, archive) for c in on_page if c.applies}
        played = {policy: regret for policy, regret in regrets.items() if regret is not None}
        entries += _ranked([_entry(cell, board, archive, slow, played) for cell in on_page])
        for given_truths in (False, True):
            standings.add_page(
                {
                    cell.policy: played[cell.policy]
                    for cell in on_page
                    if cell.policy in played
                    and bool(cell.truths) == given_truths
                    and not _reference(cell.policy)
                },
                given_truths,
            )
    return BoardFile(
        sources=board_sources(),
        seconds_per_run=board.seconds_per_run,
        pages=[_page_facts(board, name) for name in board.pages],
        entries=entries,
        standings=standings.of(entries),
    )


def write_board(file: BoardFile, folder: Path) -> None:
    """Write the results of a board, which `load_board` reads."""
    encoded = msgspec.json.format(msgspec.json.encode(file), indent=1)
    make_folder_of(folder / RESULTS_FILE).write_bytes(encoded + b"\n")


def slow_runs_of(file: BoardFile) -> SlowRuns:
    """Return the runs that were stopped, from the results of a board."""
    return {
        (e.page, e.policy): SlowRun(e.seconds, e.rounds, e.key, e.code)
        for e in file.entries
        if e.outcome == "too slow"
    }


def with_stale_marked(file: BoardFile) -> BoardFile:
    """Mark the entries that today's code, or today's page, would give other numbers.

    Nothing is said about policies that are not registered, such as those of another module.
    """
    pages = read_board().pages
    today = {name: page.digest for name, page in pages.items()}
    changed = {page.name for page in file.pages if today.get(page.name) != page.digest}
    entries = [
        msgspec.structs.replace(entry, stale=entry.page in changed or _has_other_code(entry))
        for entry in file.entries
    ]
    return msgspec.structs.replace(file, entries=entries)


def _has_other_code(entry: BoardEntry) -> bool:
    if not entry.code or entry.policy not in POLICIES:
        return False
    known = entry.model in CLICK_MODELS
    return not known or entry.code != stamp_of(POLICIES[entry.policy], CLICK_MODELS[entry.model])


def _regret(board: Board, cell: BoardCell, archive: RunArchive) -> Floats | None:
    """Return the regret of each run after the last round; None unless all runs are there.

    Runs of other code count until they are played again, and are marked as stale.
    """
    if missing(cell, archive, board.runs):
        return None
    runs = [archive.find(cell.strand_of(run), run) for run in range(board.runs)]
    return np.array([run.regret[-1] for run in runs if run is not None])


def _entry(
    cell: BoardCell,
    board: Board,
    archive: RunArchive,
    slow: Mapping[tuple[str, str], SlowRun],
    played: Mapping[str, Floats],
) -> BoardEntry:
    if not cell.applies:
        return BoardEntry(cell.page, cell.policy, "does not apply", cell.reason)
    found = BoardEntry(
        cell.page,
        cell.policy,
        "not played",
        given=cell.given,
        truths=cell.truths,
        outside=cell.outside,
        model=cell.strands[0].model.name,
        key=cell.key,
        code=cell.code,
    )
    stopped = slow.get((cell.page, cell.policy))
    if stopped is not None and stopped.key == cell.key:
        reason = f"{stopped.seconds:.0f} s for {stopped.rounds:,} rounds"
        return msgspec.structs.replace(
            found,
            outcome="too slow",
            reason=reason,
            seconds=stopped.seconds,
            rounds=stopped.rounds,
            code=stopped.code,
            stale=stopped.code != cell.code,
        )
    regret = played.get(cell.policy)
    if regret is None:
        return found
    mean, low, high = mean_interval(regret)
    random_lists = [played[policy] for policy in played if POLICIES[policy].is_uniform]
    runs = [archive.find(cell.strand_of(run), run) for run in range(board.runs)]
    seconds = [run.seconds for run in runs if run is not None]
    horizon = board.pages[cell.page].horizon
    stale = archive.is_stale(cell.key)
    return msgspec.structs.replace(
        found,
        outcome="played",
        code=OTHER_CODE if stale else cell.code,
        stale=stale,
        runs=regret.size,
        mean=mean,
        low=low,
        high=high,
        median=float(np.median(regret)),
        share=100.0 * mean / float(random_lists[0].mean()) if random_lists else None,
        microseconds=1e6 * float(np.median(seconds)) / horizon,
    )


def _ranked(entries: Sequence[BoardEntry]) -> list[BoardEntry]:
    """Give the policies that were played on a page their places, without the reference rows."""
    means = sorted(e.mean for e in entries if e.mean is not None and not _reference(e.policy))
    return [
        entry
        if entry.mean is None or _reference(entry.policy)
        else msgspec.structs.replace(entry, rank=1 + means.index(entry.mean), ranked=len(means))
        for entry in entries
    ]


def _reference(policy: str) -> Literal["", "best list", "random lists"]:
    """Return what a policy is a reference for; empty for those that compete."""
    cls = POLICIES[policy]
    if cls.is_oracle:
        return "best list"
    return "random lists" if cls.is_uniform else ""


class _Standings:
    """Counts places and comparisons, page by page, of each policy in each group."""

    def __init__(self) -> None:
        """Begin without pages."""
        self._places: dict[tuple[str, bool], list[float]] = {}
        self._counts: dict[tuple[str, bool], list[int]] = {}

    def add_page(self, regrets: Mapping[str, Floats], given_truths: bool) -> None:
        """Add the policies of one group on one page.

        Policies meet the same visitors in each run, so that differences are taken run by run.
        """
        ordered = sorted(regrets, key=lambda policy: float(regrets[policy].mean()))
        for i, policy in enumerate(ordered):
            key = policy, given_truths
            self._places.setdefault(key, []).append(i / max(len(ordered) - 1, 1))
            counted = self._counts.setdefault(key, [0, 0, 0])
            for other in ordered:
                if other != policy:
                    difference = mean_interval(regrets[policy] - regrets[other])
                    counted[0 if difference.high < 0.0 else 2 if difference.low > 0.0 else 1] += 1

    def of(self, entries: Sequence[BoardEntry]) -> list[PolicyStanding]:
        """Return all policies by the median of their places, those on few pages after the others.

        Those that were not played are last.
        """
        found = []
        for described in policy_entries():
            own = [entry for entry in entries if entry.policy == described.name]
            groups = {bool(entry.truths) for entry in own if entry.outcome == "played"}
            for group in sorted(groups) or [False]:
                in_group = [entry for entry in own if bool(entry.truths) == group]
                found.append(self._standing(described, in_group, group))
        return sorted(
            found,
            key=lambda s: (
                s.pages < FEW_PAGES,
                _or_last(s.median_place),
                _or_last(s.median_share),
                s.name,
            ),
        )

    def _standing(
        self, described: PolicyEntry, entries: Sequence[BoardEntry], group: bool
    ) -> PolicyStanding:
        key = described.name, group
        played = [entry for entry in entries if entry.outcome == "played"]
        shares = [entry.share for entry in played if entry.share is not None]
        won, drawn, lost = self._counts.get(key, (0, 0, 0))
        return PolicyStanding(
            name=described.name,
            summary=described.summary,
            assumes=" or ".join(described.assumes.click_models) or "any",
            given=tuple(dict.fromkeys(fact for entry in played for fact in entry.given)),
            truths=tuple(dict.fromkeys(fact for entry in played for fact in entry.truths)),
            reference=_reference(described.name),
            shipped=POLICIES[described.name].__module__.startswith("clickrank."),
            pages=len(played),
            outside=sum(entry.outside for entry in played),
            median_share=float(np.median(shares)) if shares else None,
            median_place=float(np.median(self._places[key])) if key in self._places else None,
            won=won,
            drawn=drawn,
            lost=lost,
        )


def _or_last(value: float | None) -> float:
    return float("inf") if value is None else value


def _page_facts(board: Board, name: str) -> PageFacts:
    page = board.pages[name]
    model = page.instances()[0].model
    return PageFacts(
        name=name,
        title=page.title,
        tests=page.tests,
        model=model.name,
        items=model.n_items,
        positions=model.n_positions,
        features=page.featured is not None,
        rounds=page.horizon,
        runs=board.runs,
        delay=page.delay,
        batch=page.batch,
        mismatch=page.mismatch,
        digest=page.digest,
    )
