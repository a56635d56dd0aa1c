"""What every fitted click model offers."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import Floats, Ints
from clickrank.clickmodels import ClickModel
from clickrank.errors import DoesNotApply, invalid
from clickrank.logs import Cells, Counts, Sessions

#: Of some lists, (n, n_positions).
Clicks: TypeAlias = NDArray[np.uint8]

#: Rows of a log that are worked on at a time, so that what is computed of them stays in the cache.
_ROWS = 1 << 14


@dataclasses.dataclass(frozen=True, eq=False)
class Fit(abc.ABC):
    """A click model found in a log: one attraction a pair, and what positions do, for all queries.

    Parameters
    ----------
    counts
        What it was fitted to.
    attraction, attraction_error
        Of each pair, with standard errors; infinite where the log says nothing.
    log_likelihood
        Of the log, at the estimates.
    log_likelihoods
        On the way there, one a step; none is below the one before. With shrinkage, that of what was
        added is in it.
    converged
        Whether the last step was below the tolerance.
    not_identified
        Sentences: what this log cannot tell of the model, and what was assumed instead.
    """

    #: The name of the click model.
    name: ClassVar[str]
    #: Its parameters that belong to positions; each has its errors in a field named ``…_error``.
    position_fields: ClassVar[tuple[str, ...]] = ()

    counts: Counts
    attraction: Floats
    attraction_error: Floats
    log_likelihood: float
    log_likelihoods: Floats
    converged: bool
    not_identified: tuple[str, ...]

    def beyond(self) -> tuple[Floats, Floats, int] | None:
        """Return how far its additional parameters are from those of its special case.

        These are differences that are 0 there, their standard errors, and how many comparisons
        they stand for. None if it has no special case that a log could exclude.
        """
        return None

    @abc.abstractmethod
    def model(self, query: str | None = None) -> ClickModel:
        """Return the click model of one query over its items, in the order of its pairs.

        The query may be left out where there is only one.
        """

    @abc.abstractmethod
    def click_probabilities(self, sessions: Sessions) -> Floats:
        """Return the probability of a click at each position of each list, clicks left aside.

        Lists hold pairs of ``counts``, which may be those of other sessions than were fitted. 0
        where a list has no item.
        """

    @abc.abstractmethod
    def log_probabilities(self, sessions: Sessions) -> Floats:
        """Return the log-probability of the clicks on each list, all positions together."""

    @property
    def position_effects(self) -> dict[str, tuple[Floats, Floats]]:
        """What positions do, for all queries: by name the estimates and their standard errors."""
        return {
            name: (getattr(self, name), getattr(self, f"{name}_error"))
            for name in self.position_fields
        }

    def _pairs(self, query: str | None) -> tuple[slice, int]:
        """Return where the pairs of a query are, and how long a list of them may be."""
        counts, owner = self.counts, type(self).__name__
        if query is None and counts.queries.size != 1:
            raise invalid(owner, "query must be given where a log has several", None)
        found = 0 if query is None else np.flatnonzero(counts.queries == query)
        if np.size(found) == 0:
            raise invalid(owner, "query must be one of the log", query)
        number = int(np.ravel(found)[0])
        first, end = (int(n) for n in np.searchsorted(counts.pair_query, [number, number + 1]))
        return slice(first, end), min(counts.n_positions, end - first)


def lists_of(name: str, counts: Counts) -> Sessions:
    """Return the lists of a log; an error if it does not tell them."""
    if counts.sessions is None:
        raise DoesNotApply(
            f"{name}: what people do at a position depends on what they met above, so this click "
            "model is fitted to whole lists with their clicks; this log counts displays and "
            "clicks by position only. Fit dctr, pbm or click-matrix, or give a log with an id for "
            "each list."
        )
    return counts.sessions


def cells_of(name: str, counts: Counts) -> Cells:
    """Return the cells of a log; an error if one has more clicks than displays."""
    cells = counts.cells
    wrong = np.flatnonzero(cells.clicked > cells.shown)
    if wrong.size:
        row = int(wrong[0])
        where = f"pair {cells.pair[row]} at position {cells.position[row] + 1}"
        rule = f"clicks must be at most displays ({cells.shown[row]} of {where})"
        raise invalid(name, rule, int(cells.clicked[row]))
    return cells


def by_rows(sessions: Sessions, out: Floats, work: Callable[[Ints, Clicks], Floats]) -> Floats:
    """Fill ``out`` from the items and clicks of a few lists at a time."""
    for first in range(0, out.shape[0], _ROWS):
        rows = slice(first, first + _ROWS)
        out[rows] = work(sessions.items[rows].astype(np.int64), sessions.clicks[rows])
    return out


def add_up(where: NDArray[np.integer[Any]], values: Floats | Ints, size: int) -> Floats:
    """Return sums of the values by the number beside each."""
    return np.bincount(where, values, size).astype(np.float64, copy=False)


def typical_rate(shown: Floats, clicked: Floats) -> float:
    """Return the mean click rate of pairs, each counting with n / (n + 1) for its n views.

    So it is not that of the few that are shown most, nor of the many that hardly were.
    """
    weight = float((shown / (shown + 1.0)).sum())
    return float((clicked / (shown + 1.0)).sum()) / weight if weight > 0.0 else 0.5


def edge_error(shown: Floats, clicked: Floats) -> Floats:
    """Return the standard error of a rate with half a click and half a miss more than were counted.

    For rates of 0 and 1, whose curvature says nothing: they are off by about 1 / views.
    """
    rate = (np.minimum(clicked, shown) + 0.5) / (shown + 1.0)
    error: Floats = np.sqrt(rate * (1.0 - rate) / (shown + 1.0))
    return error


def at_edge(attraction: Floats, shown: Floats) -> list[str]:
    """Say which pairs were never shown, never clicked, or are taken for always attractive."""
    seen = shown > 0
    found = (
        (~seen, "never shown, or only where nobody looks: the typical attraction is assumed."),
        (
            seen & (attraction <= 0.0),
            "never clicked: attraction 0, an edge that no error tells of.",
        ),
        (seen & (attraction >= 1.0), "of attraction 1, an edge that no error tells of."),
    )
    counted = ((int(which.sum()), what) for which, what in found)
    return [f"{n} pair{'' if n == 1 else 's'} {what}" for n, what in counted if n]
