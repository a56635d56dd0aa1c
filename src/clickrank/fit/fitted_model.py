"""Base classes of fitted click models, and helpers that several fits share."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterator
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

    def click_probabilities(self, sessions: Sessions) -> Floats:
        """Return the probability of a click at each position of each list, ignoring its clicks.

        Lists hold pairs of ``counts``; they need not be those that were fitted. The probability is
        0 where a list has no item.
        """
        found = np.empty(sessions.items.shape)
        for rows in _chunks(found):
            found[rows] = self._click_rates(sessions.items[rows].astype(np.int64))
        return found

    def log_probabilities(self, sessions: Sessions) -> Floats:
        """Return the log-probability of the clicks on each list, all positions jointly."""
        found = np.empty(sessions.items.shape[0])
        for rows in _chunks(found):
            items, clicks = sessions.items[rows].astype(np.int64), sessions.clicks[rows]
            found[rows] = self._log_likelihoods(items, clicks)
        return found

    @abc.abstractmethod
    def _click_rates(self, items: Ints) -> Floats:
        """Return the probability of a click at each position of each list; 0 without an item."""

    @abc.abstractmethod
    def _log_likelihoods(self, items: Ints, clicks: Clicks) -> Floats:
        """Return the log-probability of the clicks on each list."""

    def _attraction_of(self, items: Ints) -> Floats:
        """Return the attraction of the items of lists; 0 where a list has no item."""
        return np.where(items == NOTHING, 0.0, self.attraction[items])

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

    def _click_rates(self, items: Ints) -> Floats:
        return np.where(items == NOTHING, 0.0, self._rates(items))

    def _log_likelihoods(self, items: Ints, clicks: Clicks) -> Floats:
        total: Floats = of_clicks(self._click_rates(items), clicks).sum(axis=1)
        return total


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


def _chunks(rows: Floats) -> Iterator[slice]:
    """Return slices that divide an array into parts of `_ROWS` rows."""
    return (slice(first, first + _ROWS) for first in range(0, rows.shape[0], _ROWS))


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


def of_positions(part: Ints, effect: str, short: str) -> list[str]:
    """Return sentences on position effects that the log does not determine.

    ``part`` is the group of linked positions of each position, -1 if it has no click.
    """
    sentences = [
        f"Clicks determine products of attraction and {effect} only: the largest {short} is set to "
        "1."
    ]
    n_parts = int(part.max(initial=-1)) + 1
    if n_parts > 1:
        groups = (np.flatnonzero(part == number) + 1 for number in range(n_parts))
        listed = "; ".join(", ".join(map(str, group)) for group in groups)
        sentences.append(
            f"No clicked pair was shown at positions of different groups, so that {short} can be "
            f"compared only within a group, where the largest is 1: positions {listed}."
        )
    silent = np.flatnonzero(part < 0) + 1
    if silent.size:
        listed = ", ".join(map(str, silent))
        sentences.append(f"No click at position {listed}: {short} 0, at the edge.")
    return sentences


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
