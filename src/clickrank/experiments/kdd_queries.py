"""Queries of the log of KDD Cup 2012 as click models (lagree2016, section 5.2).

For every query, ads that were displayed fewer than 1,000 times at some position are left out, and
then queries with fewer than 5 ads. A position-based model is fitted to each remaining query by
maximum likelihood.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clickrank.clickmodels import PBM
from clickrank.errors import InvalidValue, MissingData
from clickrank.fit import fit_pbm
from clickrank.logs import Counts

#: Which ads and queries the paper uses.
MIN_DISPLAYS = 1_000
MIN_ADS = 5
#: File names of the log in the archive of the competition, plain or compressed.
NAMES = ("training.txt", "training.txt.gz", "training.txt.bz2", "training.txt.xz", "training.zip")
FIELDS = 12


class FittedQuery(NamedTuple):
    """A query of the log, and its click model."""

    model: PBM
    displays: int
    dominance: float  # first singular value of the click rates, divided by the second


def log_file(path: str | Path) -> Path | None:
    """Return the path of the log, given as a file or as its folder; None if there is none.

    A file is recognised by its name, or by twelve numbers in its first line.
    """
    place = Path(path)
    if not place.is_file():
        return next((place / name for name in NAMES if (place / name).is_file()), None)
    if place.name in NAMES:
        return place
    with place.open("rb") as file:
        fields = file.readline(1_000).rstrip().split(b"\t")
    return place if len(fields) == FIELDS and all(field.isdigit() for field in fields) else None


def holds_log(path: Path) -> bool:
    """Return whether a path is that of the log or of its folder."""
    return log_file(path) is not None


def fitted_queries(path: str) -> dict[str, FittedQuery]:
    """Return the queries of a log by number; each process fits them once."""
    file = log_file(path)
    if file is None:
        raise MissingData(f"{path}: the log of KDD Cup 2012, training.txt, is missing.")
    return _fitted(str(file), file.stat().st_mtime_ns)


@functools.lru_cache(maxsize=2)  # needed for the plan, and again for the report
def _fitted(file: str, changed: int) -> dict[str, FittedQuery]:
    from clickrank.logs import open_log

    # In the paper's log, each line is one display with at most one click.
    with open_log(file, "kdd-2012", columns={"click": "Click"}) as log:
        filters = {"min_displays": MIN_DISPLAYS, "min_items": MIN_ADS}
        try:
            counts = log.counts(with_lists=False, **filters)
        except InvalidValue as error:
            if log.n_queries(**filters) or not log.n_queries():  # the error has another cause
                raise
            raise InvalidValue(
                f"{file}: no query has {MIN_ADS} ads that were shown at least {MIN_DISPLAYS:,} "
                "times at every position; the paper uses no others."
            ) from error
    return {str(query): fitted(counts.of_query(query)) for query in counts.queries.tolist()}


def fitted(counts: Counts) -> FittedQuery:
    """Fit the model of one query, all of whose ads were displayed at every position."""
    cells = counts.cells
    rates = np.zeros((counts.n_pairs, counts.n_positions))
    rates[cells.pair, cells.position] = cells.clicked / cells.shown
    values = np.linalg.svd(rates, compute_uv=False)
    second = float(values[1]) if values.size > 1 else 0.0
    return FittedQuery(
        fit_pbm(counts).model(),
        int(cells.shown.sum()),
        float(values[0]) / second if second > 0.0 else np.inf,
    )


def log_notes(queries: dict[str, FittedQuery]) -> list[str]:
    """Return a sentence with the facts that the paper gives about its queries."""
    smallest = min(query.dominance for query in queries.values())
    ads = [query.model.n_items for query in queries.values()]
    return [
        f"{len(queries)} queries with {min(ads)} to {max(ads)} ads, of "
        f"{sum(query.displays for query in queries.values()):,} displays. The first singular value "
        f"of the click rates by ad and position is at least {smallest:.1f} times the second. In "
        "the position-based model the click rates have rank one."
    ]
