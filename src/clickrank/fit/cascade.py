"""Fit of the cascade model: clicks per look."""

from __future__ import annotations

import dataclasses

import numpy as np

from clickrank._core.arrays import Floats, Ints
from clickrank._core.validate import check_float
from clickrank.clickmodels import Cascade
from clickrank.fit.dctr import likelihood_of, rates_of
from clickrank.fit.fitted_model import Clicks, Fit, at_edge, lists_of, of_clicks
from clickrank.logs import Counts
from clickrank.logs.cascade_examination import examined_displays, no_click_above


@dataclasses.dataclass(frozen=True, eq=False)
class CascadeFit(Fit):
    """Result of `fit_cascade`.

    Its likelihood is that of the lists down to their first click.
    """

    name = "cascade"

    def model(self, query: str | None = None) -> Cascade:
        """Return the click model of one query over its items, in the order of its pairs."""
        pairs, n_positions = self._pairs(query)
        return Cascade(self.attraction[pairs], n_positions)

    def _click_rates(self, items: Ints) -> Floats:
        attraction = self._attraction_of(items)
        return attraction * reached(attraction)

    def _log_likelihoods(self, items: Ints, clicks: Clicks) -> Floats:
        """Return the log-probability of the clicks; minus infinity for more than one click."""
        log = of_clicks(self._attraction_of(items), clicks)
        total = np.where(no_click_above(clicks), log, 0.0).sum(axis=1)
        return np.where(clicks.sum(axis=1) > 1, -np.inf, total)


def fit_cascade(counts: Counts, *, shrinkage: float = 0.0) -> CascadeFit:
    """Estimate each pair's attraction by its clicks per look, which maximise the likelihood.

    A position is looked at if nothing above it was clicked; θ_i = S_i / n_i for the clicks and the
    looks of pair i.

    **Source**: craswell2008 (the model); chuklin2015, chapter 4 (the estimate).

    **Differences**: in this model people click at most once. A list with more clicks is used down
    to its first click, and the rest is ignored; ``not_identified`` says how many such lists there
    are.

    Parameters
    ----------
    counts
        The log, which must contain lists.
    shrinkage
        Number of looks to add to each pair, clicked at the rate of the typical pair.

    Examples
    --------
    >>> counts = Counts.of_lists([[0, 1], [0, 1], [1, 0]], [[1, 0], [0, 0], [0, 1]])
    >>> fit_cascade(counts).attraction.round(2)
    array([0.67, 0.  ])
    """
    more = check_float("fit_cascade", "shrinkage", shrinkage, 0.0)
    sessions = lists_of("fit_cascade", counts)
    shown, clicked = examined_displays(counts, sessions)
    attraction, error = rates_of(shown, clicked, more)
    log_likelihood, penalised = likelihood_of(shown, clicked, more, attraction)
    sentences = at_edge(attraction, shown)
    cut = int(sessions.times[sessions.clicks.sum(axis=1) > 1].sum())
    if cut:
        sentences.append(
            f"{cut} of {counts.n_impressions} lists have more than one click, which a cascade "
            "does not allow: each was used, also for the likelihood, down to its first click."
        )
    return CascadeFit(
        counts,
        attraction,
        error,
        log_likelihood,
        np.array([penalised]),
        True,
        tuple(sentences),
    )


def reached(leaves: Floats) -> Floats:
    """Return the probability of each position being looked at, given those of leaving at each."""
    stay = np.cumprod(1.0 - leaves, axis=1)
    return np.hstack([np.ones_like(stay[:, :1]), stay[:, :-1]])
