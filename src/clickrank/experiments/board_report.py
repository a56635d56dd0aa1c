"""The page ``docs/board``: its text and pictures, made from the results of a board."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from clickrank._core.output_files import make_folder_of
from clickrank.experiments.board_results import FEW_PAGES
from clickrank.experiments.board_text import (
    given_text,
    interval_text,
    place_text,
    reasons_on,
    share_text,
    standing_cells,
    time_text,
)
from clickrank.experiments.run_archive import RunArchive
from clickrank.experiments.shipped_board import (
    SHIPPED_BOARD,
    BoardEntry,
    BoardFile,
    PageFacts,
    PolicyStanding,
)
from clickrank.plots.svg_pictures import LabelledLine, MapCell, lines_svg, map_svg, shade_of

OVERVIEW = "overview.svg"

#: The beginning of the page.
INTRODUCTION = SHIPPED_BOARD / "introduction.md"


def board_markdown(file: BoardFile) -> str:
    """Return the text of the page."""
    parts = [
        INTRODUCTION.read_text(encoding="utf-8").format(
            count=len(file.pages), runs=file.pages[0].runs, seconds=file.seconds_per_run
        ),
        "## Overview\n",
        f"![Regret of every policy on every page, in percent of random lists]({OVERVIEW})\n",
        "Medians are over the pages on which a policy was played, and places and comparisons are "
        "within each table. They are\ncomparable only between policies that were played on similar "
        "pages: see their number, and the clicks assumed. Policies on fewer "
        f"than {FEW_PAGES} pages come after the\nothers, because that is little evidence.\n",
        "### Given no truth about the clicks\n",
        _standings(file.group(given_truths=False)),
        "### Given a truth about the clicks\n",
        _standings(file.group(given_truths=True)),
        _never_played(file),
        *(_page(file, page) for page in file.pages),
    ]
    return "\n".join(part for part in parts if part)


def board_pictures(file: BoardFile, archive: RunArchive) -> dict[str, str]:
    """Return the pictures of the page by file name."""
    found = {OVERVIEW: overview_svg(file)}
    for page in file.pages:
        found[f"{page.name}.svg"] = page_svg(file, page, archive)
    return found


def write_report(file: BoardFile, archive: RunArchive, folder: Path) -> None:
    """Write the page and its pictures into a folder."""
    make_folder_of(folder / "README.md").write_text(board_markdown(file), encoding="utf-8")
    for name, picture in board_pictures(file, archive).items():
        (folder / name).write_text(picture, encoding="utf-8")


def overview_svg(file: BoardFile) -> str:
    """Return the map of all policies and pages."""
    by_place = {(entry.policy, entry.page): entry for entry in file.entries}
    without, given = (file.group(given_truths=truths) for truths in (False, True))
    references = [s for s in file.standings if s.reference and s.pages]
    names = list(dict.fromkeys(s.name for s in (*without, *given, *references)))
    return map_svg(
        "Regret in percent of that of random lists: less is better",
        names,
        [page.name for page in file.pages],
        [[_map_cell(by_place.get((name, page.name))) for page in file.pages] for name in names],
        (
            "* is given a truth about the clicks.   † is played outside of its assumptions.   "
            "— does not apply.   slow: more processor time than the limit.",
            "Rows: by the median place over pages, first policies given no truth on some page, "
            "last the references.",
        ),
    )


def _map_cell(entry: BoardEntry | None) -> MapCell:
    if entry is None or entry.outcome == "does not apply":
        return MapCell("—", None)
    if entry.share is None:
        return MapCell("slow" if entry.outcome == "too slow" else "?", None)
    text = share_text(entry.share) + "*" * bool(entry.truths) + "†" * entry.outside
    return MapCell(text, shade_of(max(entry.share, 1e-9), 0.1, 100.0))


def page_svg(file: BoardFile, page: PageFacts, archive: RunArchive) -> str:
    """Return the regret over time of the policies on a page, the best first."""
    strands = {s.facts.policy_name: s for s in archive.strands_of(f"runs/{page.name}")}
    lines = []
    for entry in file.on(page.name):
        strand = strands.get(entry.policy)
        if entry.outcome == "played" and strand is not None:
            regret = np.array([run.regret for run in strand.runs.values()])
            lines.append(LabelledLine(entry.policy, strand.checkpoints, regret.mean(axis=0)))
    return lines_svg(f"{page.name}: {page.title}", lines, "round", "mean regret")


def _standings(standings: Sequence[PolicyStanding]) -> str:
    heads = (
        "policy", "assumes clicks", "given", "pages", "% of random, median", "place, median",
        "won", "drawn", "lost",
    )  # fmt: skip
    return _table(heads, [standing_cells(standing, bold=True) for standing in standings])


def _never_played(file: BoardFile) -> str:
    found = []
    for standing in file.standings:
        if not standing.pages:
            own = [entry for entry in file.entries if entry.policy == standing.name]
            reasons = dict.fromkeys(entry.reason for entry in own if entry.reason)
            found.append(f"`{standing.name}` is on no page: {'; '.join(reasons)}.")
    return "\n".join([*found, ""]) if found else ""


def _page(file: BoardFile, page: PageFacts) -> str:
    entries = file.on(page.name)
    rows = [
        (
            place_text(entry),
            f"`{entry.policy}`{'†' * entry.outside}{' (stale)' * entry.stale}",
            given_text(entry.given, entry.truths, bold=True),
            interval_text(entry),
            share_text(entry.share),
            time_text(entry.microseconds),
        )
        for entry in entries
        if entry.outcome == "played"
    ]
    heads = ("place", "policy", "given", "regret [95 % interval]", "% of random", "µs per round")
    others = [f"- {line}" for line in reasons_on(entries)]
    best = _best_lines(entries)
    return "\n".join(
        [
            f"## {page.name}: {page.title[0].lower()}{page.title[1:]}\n",
            f"{page.tests}\n",
            f"*{page.size}; {page.rounds:,} rounds, {page.runs} runs.*\n",
            *best,
            f"![Regret over time on {page.name}]({page.name}.svg)\n",
            _table(heads, rows),
            *others,
            "",
        ]
    )


def _best_lines(entries: Iterable[BoardEntry]) -> list[str]:
    ranked = [entry for entry in entries if entry.rank is not None]
    if not ranked:
        return []
    untold = [entry for entry in ranked if not entry.truths]
    best = f"The smallest mean regret has `{ranked[0].policy}`"
    if untold and untold[0] is not ranked[0]:
        best += f"; among policies that are given no truth, `{untold[0].policy}`"
    return [f"{best}.\n"]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([*lines, ""])
