"""The shipped board: what every policy loses on every page, read without simulating.

The file ``board/board.json`` is written together with the runs of the board, and a test makes it
again from them. This module imports neither Numba nor NumPy, so that it answers at once.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

import msgspec

from clickrank.errors import MissingData, UnknownName, unknown
from clickrank.experiments.shipped_verdicts import sources_hash

#: The folder of the board that is shipped with the package.
SHIPPED_BOARD = Path(__file__).parent / "board"
PAGES = SHIPPED_BOARD / "pages.toml"
#: The name of the file with the results of a board, in its folder.
RESULTS_FILE = "board.json"

Outcome = Literal["played", "not played", "too slow", "does not apply"]


class PageFacts(msgspec.Struct, frozen=True):
    """A page of the board; ``digest`` is a hash of its specification."""

    name: str
    title: str
    tests: str
    model: str
    items: int
    positions: int
    features: bool
    rounds: int
    runs: int
    delay: int
    batch: int
    mismatch: bool
    digest: str

    @property
    def size(self) -> str:
        """How people click, and the size of the page, in a few words."""
        words = f"{self.model} clicks, {self.items:,} items, {self.positions} positions"
        words += ", features" * self.features
        if self.delay:
            words += f", clicks {self.delay:,} rounds late in batches of {self.batch:,}"
        return words


class BoardEntry(msgspec.Struct, frozen=True):
    """One policy on one page.

    ``mean``, ``low`` and ``high`` are the regret after the last round, with its 95 % interval over
    runs; ``share`` is the mean in percent of that of uniform lists, and ``rank`` the place among
    the ``ranked`` policies that were played, without the reference rows. If the policy was too
    slow, ``seconds`` of processor time were spent on ``rounds`` rounds. ``code`` is the stamp of
    the code that was played, and ``key`` a hash of everything else that decides the numbers.
    """

    page: str
    policy: str
    outcome: Outcome
    reason: str = ""
    given: tuple[str, ...] = ()
    truths: tuple[str, ...] = ()
    outside: bool = False
    runs: int = 0
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    median: float | None = None
    share: float | None = None
    rank: int | None = None
    ranked: int = 0
    microseconds: float | None = None
    seconds: float = 0.0
    rounds: int = 0
    model: str = ""
    key: str = ""
    code: str = ""
    stale: bool = False


class PolicyStanding(msgspec.Struct, frozen=True):
    """A policy over all pages on which it was played and given a truth, or was given none.

    Policies that are given truths are compared with each other, and so are those that are given
    none (``truths`` is empty); a policy that takes a prior may be in both groups. ``reference`` is
    "best list" or "random lists" for the two reference rows, which are in no group, else empty.

    ``median_share`` is the median of the `share` of its entries, and ``median_place`` that of its
    places in the group, from 0, the best of a page, to 1, the last. ``won``, ``lost`` and ``drawn``
    count comparisons with another policy of the group on a page: a comparison is won or lost if the
    95 % interval of the difference between paired runs excludes 0.
    """

    name: str
    summary: str
    assumes: str
    given: tuple[str, ...]
    truths: tuple[str, ...]
    reference: Literal["", "best list", "random lists"]
    shipped: bool
    pages: int
    outside: int
    median_share: float | None
    median_place: float | None
    won: int
    drawn: int
    lost: int


class BoardFile(msgspec.Struct, frozen=True):
    """The contents of ``board.json``: a hash of the sources, pages, entries and standings."""

    sources: str
    seconds_per_run: float
    pages: list[PageFacts]
    entries: list[BoardEntry]
    standings: list[PolicyStanding]

    def page(self, name: str) -> PageFacts:
        """Return the page of this name."""
        found = next((page for page in self.pages if page.name == name), None)
        if found is None:
            raise unknown("page", name, [page.name for page in self.pages])
        return found

    def group(self, *, given_truths: bool) -> list[PolicyStanding]:
        """Return the policies of a group that were played, without the references."""
        return [
            one
            for one in self.standings
            if one.pages and not one.reference and bool(one.truths) == given_truths
        ]

    def on(self, page: str) -> list[BoardEntry]:
        """Return the entries of a page: those played by regret, then the others by name."""
        found = [entry for entry in self.entries if entry.page == page]
        infinite = float("inf")
        return sorted(found, key=lambda e: (infinite if e.mean is None else e.mean, e.policy))

    def only(self, page: str | None, policy: str | None) -> BoardFile:
        """Return the part of the board about a page, a policy, or both."""
        pages = self.pages if page is None else [self.page(page)]
        standings = [s for s in self.standings if policy in (None, s.name)]
        if policy is not None and not standings:
            error = unknown("policy", policy, [one.name for one in self.standings])
            raise UnknownName(f"{error} A policy of your own must be played first: use --play.")
        names, policies = {p.name for p in pages}, {s.name for s in standings}
        entries = [e for e in self.entries if e.page in names and e.policy in policies]
        return msgspec.structs.replace(self, pages=pages, standings=standings, entries=entries)


def load_board(folder: Path | None = None) -> BoardFile:
    """Return the board of a folder; if that has none, the one that is shipped.

    Entries that rest on runs of other code or of another page than today's are marked as stale.
    """
    path = SHIPPED_BOARD / RESULTS_FILE
    if folder is not None and (folder / RESULTS_FILE).exists():
        path = folder / RESULTS_FILE
    if not path.exists():
        raise MissingData(f"board: {path} must exist. Run clickrank board --play to make results.")
    file = msgspec.json.decode(path.read_bytes(), type=BoardFile)
    if file.sources == board_sources():
        return file
    # Code or pages have changed. Was it code that decides numbers?
    from clickrank.experiments.board_results import with_stale_marked

    return with_stale_marked(file)


def board_sources() -> str:
    """Return a hash of all files that may decide numbers of the board."""
    return hashlib.sha256(sources_hash().encode() + PAGES.read_bytes()).hexdigest()[:16]
