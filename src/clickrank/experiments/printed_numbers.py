"""Printed numbers: what the papers state in their text and tables, and what was found out.

They are in the file ``printed.toml`` of each paper. A number that can only be read off a curve is
not among them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from clickrank.experiments.model_sources import Spec
from clickrank.experiments.paper_files import PAPERS, PRINTED, read

#: What a table compares: the regret at the end, processor time, or an upper bound over the regret.
Quantity = Literal["regret", "milliseconds per round", "seconds per run", "bound over regret"]


class TablePart(Spec, frozen=True, kw_only=True):
    """The rows of a table that one experiment here belongs to.

    Parameters
    ----------
    figure
        The experiment, by its name in the paper.
    label
        What the rows are about, as the paper calls it.
    curves
        The curves; by default those in the paper's figure.
    printed
        The number that the paper prints for a curve, as it is printed.
    printed_for_all
        What it prints about all curves together.
    """

    figure: str
    label: str
    curves: list[str] = []
    printed: dict[str, str] = {}
    printed_for_all: str = ""


class HeadlineTable(Spec, frozen=True, kw_only=True):
    """A table or figure of the paper next to the numbers measured here.

    Parameters
    ----------
    title, says
        What the table is about, and what the paper states about its numbers in words.
    quantity
        What is compared.
    """

    title: str
    says: str
    parts: list[TablePart]
    quantity: Quantity = "regret"


class NotPlayed(Spec, frozen=True, kw_only=True):
    """A figure or table of the paper that is not an experiment here, and the reason."""

    place: str
    why: str


class PaperFinding(Spec, frozen=True, kw_only=True):
    """What was found out, and the claims, as in ``figure-2/within-ten``, that it rests on.

    It is shown as long as all of these have the given outcome.
    """

    text: str
    claims: list[str]
    outcome: Literal["holds", "fails", "undecided"] = "fails"


class Printed(Spec, frozen=True, kw_only=True):
    """The contents of ``printed.toml``."""

    tables: list[HeadlineTable] = []
    not_played: list[NotPlayed] = []
    findings: list[PaperFinding] = []


def load_printed(paper_id: str, root: Path = PAPERS) -> Printed:
    """Return the numbers that a paper prints; none if it has no such file.

    >>> load_printed("li-2019").tables[0].parts[0].printed["toprank"]
    '106.10'
    """
    path = root / paper_id / PRINTED
    return read(path, Printed) if path.exists() else Printed()
