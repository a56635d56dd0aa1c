"""A free matrix of click probabilities by item and position from a log: click rates of cells."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import xlog1py, xlogy

from clickrank._core.arrays import Floats, Ints
from clickrank._core.validate import check_float
from clickrank.clickmodels import ClickMatrix
from clickrank.fit.dctr import fit_dctr, of_clicks
from clickrank.fit.fitted_model import Clicks, Fit, by_rows, cells_of, edge_error
from clickrank.fit.pbm import fit_pbm, shrunk
from clickrank.logs import Counts, Sessions
from clickrank.logs.counts import NOTHING


@dataclasses.dataclass(frozen=True, eq=False)
class ClickMatrixFit(Fit):
    """What `fit_click_matrix` found.

    The attraction of a pair is its click rate over all its views, as in `fit_dctr`.

    Parameters
    ----------
    probabilities, probabilities_error
        One row per pair and one column per position, with standard errors; infinite where the pair
        was never shown at the position.
    """

    name = "click-matrix"

    probabilities: Floats
    probabilities_error: Floats

    def model(self, query: str | None = None) -> ClickMatrix:
        """Return the click model of one query over its items, in the order of its pairs."""
        pairs, n_positions = self._pairs(query)
        return ClickMatrix(self.probabilities[pairs, :n_positions])

    def click_probabilities(self, sessions: Sessions) -> Floats:
        """Return the probability of a click at each position of each list."""
        return by_rows(
            sessions, np.empty(sessions.items.shape), lambda items, _: self._rates(items)
        )

    def log_probabilities(self, sessions: Sessions) -> Floats:
        """Return the log-probability of the clicks on each list."""

        def of_lists(items: Ints, clicks: Clicks) -> Floats:
            total: Floats = of_clicks(self._rates(items), clicks).sum(axis=1)
            return total

        return by_rows(sessions, np.empty(sessions.items.shape[0]), of_lists)

    def _rates(self, items: Ints) -> Floats:
        rates = self.probabilities[items, np.arange(items.shape[1])]
        return np.where(items == NOTHING, 0.0, rates)


def fit_click_matrix(counts: Counts, *, shrinkage: float = 0.0) -> ClickMatrixFit:
    """Estimate the click probability of each pair at each position by its click rate there.

    ρ_ik = S_ik / n_ik for S_ik clicks of n_ik views, the maximum of the likelihood, with the
    standard error of a binomial rate. Where a pair was never shown at a position, the product of
    attraction and examination by `fit_pbm` is assumed, with infinite error.

    **Source**: gauthier2022, section 1.3 (the matrix ρ).

    Parameters
    ----------
    counts
        The log; lists need not be known.
    shrinkage
        Looks that each pair is taken to have had more: the same views and clicks as in `fit_pbm`,
        which is the special case of rank one.

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
    penalised = xlogy(clicked[seen], rates) + xlog1py((shown - clicked)[seen], -rates)
    return ClickMatrixFit(
        counts,
        by_pair.attraction,
        by_pair.attraction_error,
        float((xlogy(cells.clicked[seen], rates) + xlog1py(misses, -rates)).sum()),
        np.array([float(penalised.sum())]),
        True,
        (*_of_cells(probabilities, probabilities_error), *by_pair.not_identified),
        probabilities,
        probabilities_error,
    )


def _of_cells(probabilities: Floats, errors: Floats) -> list[str]:
    """Say what the log does not tell of pairs at positions."""
    seen = np.isfinite(errors)
    found = (
        (
            ~seen,
            "never shown: the product of attraction and examination, as the position-based model "
            "has it, is assumed.",
        ),
        (seen & (probabilities <= 0.0), "never clicked: probability 0, an edge."),
        (seen & (probabilities >= 1.0), "always clicked: probability 1, an edge."),
    )
    counted = ((int(which.sum()), what) for which, what in found)
    return [
        f"{n:,} of {seen.size:,} cells of a pair at a position {'was' if n == 1 else 'were'} {what}"
        for n, what in counted
        if n
    ]
