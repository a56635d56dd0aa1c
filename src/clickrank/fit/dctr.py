"""Fit of the document-based click model (DCTR): click rates of pairs."""

from __future__ import annotations

import dataclasses

import numpy as np

from clickrank._core.arrays import Floats, Ints
from clickrank._core.validate import check_float
from clickrank.clickmodels import DCTR
from clickrank.fit.fitted_model import (
    RateFit,
    add_up,
    at_edge,
    cells_of,
    edge_error,
    likelihood_of_rates,
    typical_rate,
)
from clickrank.logs import Counts


@dataclasses.dataclass(frozen=True, eq=False)
class DCTRFit(RateFit):
    """Result of `fit_dctr`."""

    name = "dctr"

    def model(self, query: str | None = None) -> DCTR:
        """Return the click model of one query over its items, in the order of its pairs."""
        pairs, n_positions = self._pairs(query)
        return DCTR(self.attraction[pairs], n_positions)

    def _rates(self, items: Ints) -> Floats:
        return self.attraction[items]


def fit_dctr(counts: Counts, *, shrinkage: float = 0.0) -> DCTRFit:
    """Estimate each pair's attraction by its click rate, which maximises the likelihood.

    θ_i = (S_i + s r) / (n_i + s) for S_i clicks of n_i views, where r is the click rate of the
    typical pair and s the shrinkage.

    **Source**: kveton2022, section 4.1; chuklin2015, chapter 3.

    Parameters
    ----------
    counts
        The log; it need not contain lists.
    shrinkage
        Number of views to add to each pair, clicked at the rate of the typical pair.

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
    """Return the log-likelihood of the counts, and that with the views of the shrinkage."""
    alone = likelihood_of_rates(clicked, shown - clicked, rates)
    if more == 0.0:
        return alone, alone
    typical = typical_rate(shown, clicked)
    views = np.full(rates.size, typical)
    return alone, alone + more * likelihood_of_rates(views, 1.0 - views, rates)


def rates_of(shown: Floats, clicked: Floats, more: float) -> tuple[Floats, Floats]:
    """Return click rates and their standard errors, with ``more`` views at the typical rate."""
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
