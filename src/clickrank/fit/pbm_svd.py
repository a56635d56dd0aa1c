"""Fit of the position-based click model by a rank-1 SVD, as in a published benchmark."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from clickrank._core.arrays import Floats, Ints
from clickrank._core.validate import check_float
from clickrank.clickmodels import PBM
from clickrank.fit.fitted_model import RateFit, likelihood_of_rates
from clickrank.logs import Counts


@dataclasses.dataclass(frozen=True, eq=False)
class PBMSVDFit(RateFit):
    """Result of `fit_pbm_svd`.

    Attractions are those of the recipe, some above 1; probabilities and models clip them at 1.
    There are no standard errors: they are NaN.

    Parameters
    ----------
    examination
        κ of each query and position, (n_queries, n_positions). The largest of each query is 1.
    """

    name = "pbm"

    examination: Floats

    def model(self, query: str | None = None) -> PBM:
        """Return the click model of one query over its items, in the order of its pairs."""
        pairs, n_positions = self._pairs(query)
        examined = self.examination[self.counts.pair_query[pairs.start], :n_positions]
        return PBM(np.clip(self.attraction[pairs], 0.0, 1.0), np.clip(examined, 0.0, 1.0))

    def _rates(self, items: Ints) -> Floats:
        examined = self.examination[self.counts.pair_query[items], np.arange(items.shape[1])]
        rates: Floats = np.clip(self.attraction[items], 0.0, 1.0) * np.clip(examined, 0.0, 1.0)
        return rates


def fit_pbm_svd(counts: Counts, *, unobserved: float = 0.5) -> PBMSVDFit:
    """Estimate attractions and examination of each query by the rank-1 SVD of its click rates.

    The matrix of click rates by item and position has ``unobserved`` in cells that were never
    shown. Its leading term is σ₁ u₁ v₁ᵀ: κ is v₁ divided by its largest entry, and θ is σ₁ u₁ times
    that entry.

    The parameters on which gauthier2022 simulates were made like this. Most cells of a log were
    never observed, so that the estimates mostly reflect the ½ filled in, and an item shown once is
    among the most attractive; `fit_pbm` uses the observed cells alone.

    **Source**: gauthier2022, section 1.3.4, and its published parameters (``param_Yandex.txt``).

    **Differences**: 1. κ is divided by its largest entry, as in the published numbers; the text
    divides by the first entry, which is not the largest in 6 of the 60 queries. 2. Details that the
    text leaves open were inferred from the numbers, which are reproduced in all 60 queries: a cell
    with more clicks than displays keeps its rate above 1, and items are sorted by their numbers.

    Parameters
    ----------
    counts
        The log; it need not contain lists.
    unobserved
        The click rate of a cell that was never shown.

    Examples
    --------
    >>> lists, clicks = [[0, 1], [1, 0]] * 50, [[1, 1], [0, 1], [1, 0], [1, 0], [0, 0]] * 20
    >>> fit = fit_pbm_svd(Counts.of_lists(lists, clicks))
    >>> fit.attraction.round(2), fit.examination.round(2)
    (array([0.6, 0.6]), array([[1.  , 0.67]]))
    """
    filler = check_float("fit_pbm_svd", "unobserved", unobserved, 0.0, 1.0)
    cells, n_positions = counts.cells, counts.n_positions
    rates = np.full((counts.n_pairs, n_positions), filler)
    rates[cells.pair, cells.position] = cells.clicked / cells.shown
    attraction = np.zeros(counts.n_pairs)
    examination = np.ones((counts.queries.size, n_positions))
    first = np.searchsorted(counts.pair_query, np.arange(counts.queries.size + 1))
    for query, (begin, end) in enumerate(itertools.pairwise(first)):
        if begin == end:
            continue
        left, sizes, right = np.linalg.svd(rates[begin:end], full_matrices=False)
        largest = right[0, np.argmax(np.abs(right[0]))]
        examination[query] = right[0] / largest
        attraction[begin:end] = left[:, 0] * sizes[0] * largest
    fit = PBMSVDFit(
        counts,
        attraction,
        np.full(counts.n_pairs, np.nan),
        0.0,
        np.zeros(1),
        True,
        (
            "Each query has its own examination, whose largest value is 1.",
            f"{counts.n_pairs * n_positions - cells.pair.size} of {counts.n_pairs * n_positions} "
            f"cells of items and positions were never shown: a click rate of {filler:g} is assumed "
            "in each.",
            f"{int((attraction > 1.0).sum())} attractions are above 1 and are clipped at 1 for "
            "probabilities and models.",
        ),
        examination,
    )
    examined = np.clip(examination[counts.pair_query[cells.pair], cells.position], 0.0, 1.0)
    found = np.clip(attraction[cells.pair], 0.0, 1.0) * examined
    clicked = np.minimum(cells.clicked, cells.shown)
    value = likelihood_of_rates(clicked, cells.shown - clicked, found)
    return dataclasses.replace(fit, log_likelihood=value, log_likelihoods=np.array([value]))
