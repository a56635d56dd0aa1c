"""Base classes of fitted click models, and helpers that several fits share."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import xlog1py, xlogy

from clickrank._core.arrays import Floats, Ints
from clickrank.clickmodels import CLICK_MODELS, ClickModel
from clickrank.errors import DoesNotApply, invalid
from clickrank.logs import Cells, Counts, Sessions
from clickrank.logs.counts import NOTHING

#: The clicks of n lists, of shape (n, n_positions).
Clicks: TypeAlias = NDArray[np.uint8]

#: Number of lists that are evaluated at a time, so that the results stay in the processor's cache.
_ROWS = 1 << 14


@dataclasses.dataclass(frozen=True, eq=False)
class Fit(abc.ABC):
    """A click model fitted to a log: one attraction per pair, and position effects of all queries.

    A pair is an item of a query.

    Parameters
    ----------
    counts
        The log that the model was fitted to.
    attraction, attraction_error
        Attraction of each pair, with standard errors; infinite without information in the log.
    log_likelihood
        Log-likelihood of the log at the estimates.
    log_likelihoods
        Log-likelihood after each step; it never decreases. With shrinkage, it includes the views
        that the shrinkage adds.
    converged
        Whether the last step was below the tolerance.
    not_identified
        Sentences that say what the log cannot determine, and what was assumed instead.
    """

    #: The name of the click model.
    name: ClassVar[str]
    #: Names of the fields with one value per position; errors are in a field named ``…_error``.
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

        The result is differences that are 0 in the special case, their standard errors, and the
        number of comparisons. It is None for a model without a special case that a log could rule
        out.
        """
        return None

    @abc.abstractmethod
    def model(self, query: str | None = None) -> ClickModel:
        """Return the click model of one query over its items, in the order of its pairs.

        The query may be omitted if the log has only one.
        """

    @abc.abstractmethod
    def click_probabilities(self, sessions: Sessions) -> Floats:
        """Return the probability of a click at each position of each list, ignoring its clicks.

        Lists hold pairs of ``counts``; they need not be those that were fitted. The probability is
        0 where a list has no item.
        """

    @abc.abstractmethod
    def log_probabilities(self, sessions: Sessions) -> Floats:
        """Return the log-probability of the clicks on each list, all positions jointly."""

    def unlinked_positions(self) -> NDArray[np.bool_]:
        """Return which positions the log does not link to most others.

        Their effects cannot be compared with those of the others.
        """
        return np.zeros(self.counts.n_positions, dtype=np.bool_)

    @property
    def position_effects(self) -> dict[str, tuple[Floats, Floats]]:
        """Estimates and standard errors of the position effects, by name."""
        return {
            name: (getattr(self, name), getattr(self, f"{name}_error"))
            for name in self.position_fields
        }

    def _pairs(self, query: str | None) -> tuple[slice, int]:
        """Return the slice of a query's pairs, and the largest length of a list of them."""
        counts, owner = self.counts, type(self).__name__
        if query is None and counts.queries.size != 1:
            raise invalid(owner, "query must be given if the log has several", None)
        found = 0 if query is None else np.flatnonzero(counts.queries == query)
        if np.size(found) == 0:
            raise invalid(owner, "query must be one of the queries of the log", query)
        number = int(np.ravel(found)[0])
        first, end = (int(n) for n in np.searchsorted(counts.pair_query, [number, number + 1]))
        return slice(first, end), min(counts.n_positions, end - first)


class RateFit(Fit):
    """A fitted click model in which positions are clicked independently of each other."""

    @abc.abstractmethod
    def _rates(self, items: Ints) -> Floats:
        """Return the click probabilities of lists; any number where a list has no item."""

    def click_probabilities(self, sessions: Sessions) -> Floats:
        """Return the probability of a click at each position of each list."""

        def of_lists(items: Ints, _: Clicks) -> Floats:
            return np.where(items == NOTHING, 0.0, self._rates(items))

        return by_rows(sessions, np.empty(sessions.items.shape), of_lists)

    def log_probabilities(self, sessions: Sessions) -> Floats:
        """Return the log-probability of the clicks on each list."""

        def of_lists(items: Ints, clicks: Clicks) -> Floats:
            rates = np.where(items == NOTHING, 0.0, self._rates(items))
            total: Floats = of_clicks(rates, clicks).sum(axis=1)
            return total

        return by_rows(sessions, np.empty(sessions.items.shape[0]), of_lists)


def of_clicks(rates: Floats, clicks: Clicks) -> Floats:
    """Return the log-probability of each click and each miss."""
    with np.errstate(divide="ignore"):
        log: Floats = np.log(np.where(clicks > 0, rates, 1.0 - rates))
    return log


def likelihood_of_rates(clicked: Floats | Ints, missed: Floats | Ints, rates: Floats) -> float:
    """Return the log-likelihood of clicks and misses that are independent, with these rates."""
    return float((xlogy(clicked, rates) + xlog1py(missed, -rates)).sum())


def models_of_positions(joined_by: str) -> str:
    """Return the names of the click models that need no whole lists, the simplest first.

    >>> models_of_positions("or")
    'dctr, pbm or click-matrix'
    """
    known = [cls for cls in CLICK_MODELS.values() if cls.independent_positions]
    names = [cls.name for cls in sorted(known, key=lambda cls: cls.complexity)]
    return f"{', '.join(names[:-1])} {joined_by} {names[-1]}"


def lists_of(name: str, counts: Counts) -> Sessions:
    """Return the lists of a log; raise an error if it does not contain them."""
    if counts.sessions is None:
        raise DoesNotApply(
            f"{name}: this click model is fitted to whole lists with their clicks, because what "
            "people do at a position depends on the positions above. This log counts displays and "
            f"clicks by position only. Fit {models_of_positions('or')}, or give a log with an id "
            "for each list."
        )
    return counts.sessions


def cells_of(name: str, counts: Counts) -> Cells:
    """Return the cells of a log; raise an error if one has more clicks than displays."""
    cells = counts.cells
    wrong = np.flatnonzero(cells.clicked > cells.shown)
    if wrong.size:
        row = int(wrong[0])
        where = f"pair {cells.pair[row]} at position {cells.position[row] + 1}"
        rule = f"clicks must be at most displays ({cells.shown[row]} of {where})"
        raise invalid(name, rule, int(cells.clicked[row]))
    return cells


def by_rows(sessions: Sessions, out: Floats, compute: Callable[[Ints, Clicks], Floats]) -> Floats:
    """Fill ``out`` with a function of items and clicks, some lists at a time."""
    for first in range(0, out.shape[0], _ROWS):
        rows = slice(first, first + _ROWS)
        out[rows] = compute(sessions.items[rows].astype(np.int64), sessions.clicks[rows])
    return out


def add_up(where: NDArray[np.integer[Any]], values: Floats | Ints, size: int) -> Floats:
    """Return the sum of the values of each index in ``where``."""
    return np.bincount(where, values, size).astype(np.float64, copy=False)


def linked_positions(pair: Ints, position: Ints, n_positions: int) -> Ints:
    """Return the group number of each position; pairs link the positions of their cells.

    Clicks determine the ratios of position effects within a group only.
    """
    shape = (int(pair.max(initial=-1)) + 1, n_positions)
    seen = csr_array((np.ones(pair.size), (pair, position)), shape=shape)
    links: Any = seen.T @ seen  # its type is unknown to the stubs
    return connected_components(links, directed=False)[1].astype(np.int64)


def typical_rate(shown: Floats, clicked: Floats) -> float:
    """Return the mean click rate of pairs, each counting with n / (n + 1) for its n views.

    So neither the few pairs that are shown most nor the many that were hardly shown dominate it.
    """
    weight = float((shown / (shown + 1.0)).sum())
    return float((clicked / (shown + 1.0)).sum()) / weight if weight > 0.0 else 0.5


def edge_error(shown: Floats, clicked: Floats) -> Floats:
    """Return the standard error of a rate after adding half a click and half a miss.

    It is meant for rates of 0 and 1, where the curvature of the likelihood gives no error: they are
    off by about 1 / views.
    """
    rate = (np.minimum(clicked, shown) + 0.5) / (shown + 1.0)
    error: Floats = np.sqrt(rate * (1.0 - rate) / (shown + 1.0))
    return error


def at_edge(attraction: Floats, shown: Floats) -> list[str]:
    """Return sentences on pairs that were never shown or never clicked, or have attraction 1."""
    seen = shown > 0
    found = (
        (~seen, "never shown, or shown where nobody looks: the typical attraction is assumed."),
        (
            seen & (attraction <= 0.0),
            "never clicked: attraction 0, at the edge, where errors are approximate.",
        ),
        (seen & (attraction >= 1.0), "of attraction 1, at the edge, where errors are approximate."),
    )
    counted = ((int(which.sum()), what) for which, what in found)
    return [f"{n} pair{'' if n == 1 else 's'} {what}" for n, what in counted if n]
