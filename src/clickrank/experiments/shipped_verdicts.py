"""Shipped verdicts: what the shipped results say about each claim, read without simulating.

The file ``results/verdicts.json`` is written together with the shipped runs, and a test judges the
runs again and compares. This module imports neither Numba nor NumPy, so that it answers at once.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

import msgspec

from clickrank.errors import MissingData, unknown

RESULTS = Path(__file__).parent / "results"
VERDICTS = RESULTS / "verdicts.json"

#: Where the code is that decides the numbers of a run: rooms, and single files of others.
_SOURCES = (
    "clickmodels/**/*.py", "fast/**/*.py", "numerics/**/*.py", "policies/**/*.py",
    "rankings/**/*.py", "stats/**/*.py", "_core/rng.py", "learning/rounds.py",
    "simulation/visits.py",
)  # fmt: skip


class ShippedInterval(msgspec.Struct, frozen=True):
    """The comparison that is closest to another verdict: a number, its interval, its limits.

    A limit that does not exist is None, as is an end of the interval that is not known: because
    there are too few passes, or because the runs of a curve were stopped early.
    """

    curves: list[str]
    value: float | None
    low: float | None
    high: float | None
    lowest: float | None
    highest: float | None


class ShippedVerdict(msgspec.Struct, frozen=True):
    """A claim with its verdict.

    ``passes`` is the number of passes that the interval is computed from; without an interval, the
    smallest number among the curves of the figure that were played. ``needed_passes`` is the
    predicted number that would decide an open claim, or 0.
    """

    experiment: str
    claim: str
    text: str
    source: str
    outcome: str
    so_far: bool
    scale: str
    rounds: int | None
    runs: int
    passes: int
    needed_passes: int
    measured: str
    note: str
    interval: ShippedInterval | None
    stale: bool = False

    @property
    def words(self) -> str:
        """The outcome in words, as in "holds so far (stale)"."""
        words = f"{self.outcome} so far" if self.so_far else self.outcome
        return f"{words} (stale)" if self.stale else words


class ShippedFile(msgspec.Struct, frozen=True):
    """The contents of ``verdicts.json``: a hash of the sources, and all verdicts."""

    sources: str
    verdicts: list[ShippedVerdict]


class Counted(NamedTuple):
    """How many claims hold, fail, and are undecided."""

    holds: int
    fails: int
    undecided: int


def load_verdicts(target: str | None = None, path: Path = VERDICTS) -> list[ShippedVerdict]:
    """Return the verdicts on all claims, or on those of a paper or a figure.

    Verdicts that rest on runs of other code than today's are marked as stale.
    """
    if not path.exists():
        hint = "Run clickrank reproduce --scale decide to make results."
        raise MissingData(f"verdicts: {path} must exist. {hint}")
    file = msgspec.json.decode(path.read_bytes(), type=ShippedFile)
    found = file.verdicts
    if target is not None:
        found = [v for v in found if f"{v.experiment}/".startswith(f"{target}/")]
        if not found:
            papers = {v.experiment.partition("/")[0] for v in file.verdicts}
            raise unknown(
                "paper or figure", target, [*papers, *(v.experiment for v in file.verdicts)]
            )
    if file.sources == sources_hash():
        return found
    # The code has changed. Was it code that decides numbers?
    from clickrank.experiments.run_archive import stale_experiments

    stale = stale_experiments(path.parent)
    return [msgspec.structs.replace(v, stale=v.experiment in stale) for v in found]


def count_outcomes(verdicts: list[ShippedVerdict]) -> Counted:
    """Count the claims that were judged."""
    outcomes = [verdict.outcome for verdict in verdicts]
    return Counted(*(outcomes.count(name) for name in Counted._fields))


def sources_hash() -> str:
    """Return a hash of all files that may decide numbers."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(path for pattern in _SOURCES for path in package.glob(pattern)):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
