"""The document-based model from a log: click rates."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import xlog1py, xlogy

from clickrank._core.arrays import Floats, Ints
from clickrank._core.validate import check_float
from clickrank.clickmodels import DCTR
from clickrank.fit.fitted_model import (
    Clicks,
    Fit,
    add_up,
    at_edge,
    by_rows,
    cells_of,
    edge_error,
    typical_rate,
)
from clickrank.logs import Counts, Sessions
from clickrank.logs.counts import NOTHING


@dataclasses.dataclass(frozen=True, eq=False)
class DCTRFit(Fit):
    """What `fit_dctr` found."""

    name = "dctr"

    def model(self, query: str | None = None) -> DCTR:
        """Return the click model of one query over its items, in the order of its pairs."""
        pairs, n_positions = self._pairs(query)
        return DCTR(self.attraction[pairs], n_positions)

    def click_probabilities(self, sessions: Sessions) -> Floats:
        """Return the probability of a click at each position of each list."""

        def rates(items: Ints, _: Clicks) -> Floats:
            return np.where(items == NOTHING, 0.0, self.attraction[items])

        return by_rows(sessions, np.empty(sessions.items.shape), rates)

    def log_probabilities(self, sessions: Sessions) -> Floats:
        """Return the log-probability of the clicks on each list."""

        def of_lists(items: Ints, clicks: Clicks) -> Floats:
            rates = np.where(items == NOTHING, 0.0, self.attraction[items])
            total: Floats = of_clicks(rates, clicks).sum(axis=1)
            return total

        return by_rows(sessions, np.empty(sessions.items.shape[0]), of_lists)


def fit_dctr(counts: Counts, *, shrinkage: float = 0.0) -> DCTRFit:
    """Estimate each pair's attraction by its click rate, the maximum of the likelihood.

    θ_i = (S_i + s r) / (n_i + s) for S_i clicks of n_i views, where r is the click rate of the
    typical pair and s the shrinkage.

    **Source**: kveton2022, section 4.1; chuklin2015, chapter 3.

    Parameters
    ----------
    counts
        The log; lists need not be known.
    shrinkage
        Views that each pair is taken to have had more, clicked as the typical pair is.

    Examples
    --------
    >>> counts = Counts.of_lists([[0, 1], [0, 1], [1, 0]], [[1, 0], [1, 0], [0, 0]])
    >>> fit_dctr(counts).attraction.round(2)
    array([0.67, 0.  ])
    >>> fit_dctr(counts, shrinkage=1.0).attraction.round(2)
    array([0.58, 0.08])
    """
    more = check_float("fit_dctr", "shrinkage", shrinkage, 0.0)
    cells, n_pairs = cells_of("fit_dctr", counts), counts.n_pairs
    shown = add_up(cells.pair, cells.shown, n_pairs)
    clicked = add_up(cells.pair, cells.clicked, n_pairs)
    attraction, error = rates_of(shown, clicked, more)
    log_likelihood, penalised = likelihood_of(shown, clicked, more, attraction)
    return DCTRFit(
        counts,
        attraction,
        error,
        log_likelihood,
        np.array([penalised]),
        True,
        tuple(at_edge(attraction, shown)),
    )


def likelihood_of(
    shown: Floats, clicked: Floats, more: float, rates: Floats
) -> tuple[float, float]:
    """Return the log-likelihood of what was counted, without and with the views added."""
    alone = float((xlogy(clicked, rates) + xlog1py(shown - clicked, -rates)).sum())
    if more == 0.0:
        return alone, alone
    typical = typical_rate(shown, clicked)
    added = xlogy(typical, rates) + xlog1py(1.0 - typical, -rates)
    return alone, alone + more * float(added.sum())


def rates_of(shown: Floats, clicked: Floats, more: float) -> tuple[Floats, Floats]:
    """Return click rates and their standard errors, with ``more`` views clicked as is typical."""
    typical = typical_rate(shown, clicked)
    views = shown + more
    rate = np.divide(
        clicked + more * typical, views, out=np.full(shown.size, typical), where=views > 0.0
    )
    error = np.sqrt(rate * (1.0 - rate) / np.maximum(views, 1e-300))
    edge = (rate <= 0.0) | (rate >= 1.0)
    error[edge] = edge_error(shown, clicked)[edge]
    error[shown == 0] = np.inf
    return rate, error


def of_clicks(rates: Floats, clicks: Clicks) -> Floats:
    """Return the log-probability of each click and each miss."""
    with np.errstate(divide="ignore"):
        log: Floats = np.log(np.where(clicks > 0, rates, 1.0 - rates))
    return log
