"""Fit of the click matrix: one click rate per pair and position."""

from __future__ import annotations

import dataclasses

import numpy as np

from clickrank._core.arrays import Floats, Ints
from clickrank._core.validate import check_float
from clickrank.clickmodels import ClickMatrix
from clickrank.fit.dctr import fit_dctr
from clickrank.fit.fitted_model import RateFit, cells_of, edge_error, likelihood_of_rates
from clickrank.fit.pbm import fit_pbm, shrunk
from clickrank.logs import Counts


@dataclasses.dataclass(frozen=True, eq=False)
class ClickMatrixFit(RateFit):
    """Result of `fit_click_matrix`.

    The attraction of a pair is its click rate over all its views, as in `fit_dctr`.

    Parameters
    ----------
    probabilities, probabilities_error
        One row per pair and one column per position, with standard errors; infinite if the pair was
        never shown at the position.
    """

    name = "click-matrix"

    probabilities: Floats
    probabilities_error: Floats

    def model(self, query: str | None = None) -> ClickMatrix:
        """Return the click model of one query over its items, in the order of its pairs."""
        pairs, n_positions = self._pairs(query)
        return ClickMatrix(self.probabilities[pairs, :n_positions])

    def _rates(self, items: Ints) -> Floats:
        return self.probabilities[items, np.arange(items.shape[1])]


def fit_click_matrix(counts: Counts, *, shrinkage: float = 0.0) -> ClickMatrixFit:
    """Estimate the click probability of each pair at each position by its click rate there.

    ρ_ik = S_ik / n_ik for S_ik clicks of n_ik views maximises the likelihood; its standard error is
    that of a binomial rate. If a pair was never shown at a position, the product of attraction and
    examination by `fit_pbm` is assumed, with infinite error.

    **Source**: gauthier2022, section 1.3 (the matrix ρ).

    Parameters
    ----------
    counts
        The log; it need not contain lists.
    shrinkage
        Number of looks to add to each pair: the views and clicks that `fit_pbm` adds, whose model
        is the special case of rank one.

    Examples
    --------
    >>> counts = Counts.of_lists([[0, 1], [0, 1], [1, 0]], [[1, 0], [1, 0], [0, 0]])
    >>> fit_click_matrix(counts).probabilities
    array([[1., 0.],
           [0., 0.]])
    """
    more = check_float("fit_click_matrix", "shrinkage", shrinkage, 0.0)
    cells = cells_of("fit_click_matrix", counts)
    shown, clicked = cells.shown.astype(np.float64), cells.clicked.astype(np.float64)
    if more > 0.0:
        shown, clicked = shrunk(counts, cells, np.arange(counts.n_positions), more)
    seen = cells.shown > 0
    at = cells.pair[seen], cells.position[seen]
    rates = clicked[seen] / shown[seen]
    errors = np.sqrt(rates * (1.0 - rates) / shown[seen])
    edge = (rates <= 0.0) | (rates >= 1.0)
    errors[edge] = edge_error(shown[seen], clicked[seen])[edge]
    product = fit_pbm(counts, shrinkage=more)
    by_pair = fit_dctr(counts, shrinkage=more)
    probabilities = np.outer(product.attraction, product.examination)
    probabilities_error = np.full(probabilities.shape, np.inf)
    probabilities[at], probabilities_error[at] = rates, errors
    misses = (cells.shown - cells.clicked)[seen]
    penalised = likelihood_of_rates(clicked[seen], (shown - clicked)[seen], rates)
    return ClickMatrixFit(
        counts,
        by_pair.attraction,
        by_pair.attraction_error,
        likelihood_of_rates(cells.clicked[seen], misses, rates),
        np.array([penalised]),
        True,
        (*_of_cells(probabilities, probabilities_error), *by_pair.not_identified),
        probabilities,
        probabilities_error,
    )


def _of_cells(probabilities: Floats, errors: Floats) -> list[str]:
    """Return sentences on cells that the log does not determine."""
    seen = np.isfinite(errors)
    found = (
        (
            ~seen,
            "never shown: the product of attraction and examination of the position-based model is "
            "assumed.",
        ),
        (seen & (probabilities <= 0.0), "never clicked: probability 0, at the edge."),
        (seen & (probabilities >= 1.0), "always clicked: probability 1, at the edge."),
    )
    counted = ((int(which.sum()), what) for which, what in found)
    return [
        f"{n:,} of {seen.size:,} cells of a pair at a position {'was' if n == 1 else 'were'} {what}"
        for n, what in counted
        if n
    ]
