"""Fit of the dependent click model (DCM): attraction, and satisfaction of each position."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import Floats, Ints
from clickrank._core.validate import check_float, check_int
from clickrank.clickmodels import DCM
from clickrank.fit.cascade import reached
from clickrank.fit.dcm_problem import DCMProblem, last_click
from clickrank.fit.fitted_model import Clicks, Fit, at_edge, lists_of, of_clicks
from clickrank.logs import Counts


@dataclasses.dataclass(frozen=True, eq=False)
class DCMFit(Fit):
    """Result of `fit_dcm`.

    Parameters
    ----------
    satisfaction, satisfaction_error
        Satisfaction at each position, with standard errors; infinite without information.
    """

    name = "dcm"
    position_fields = ("satisfaction",)

    satisfaction: Floats
    satisfaction_error: Floats

    def beyond(self) -> tuple[Floats, Floats, int]:
        """Return how far satisfaction is from 1; in a cascade every click satisfies."""
        return 1.0 - self.satisfaction, self.satisfaction_error, self.satisfaction.size

    def model(self, query: str | None = None) -> DCM:
        """Return the click model of one query over its items, in the order of its pairs."""
        pairs, n_positions = self._pairs(query)
        return DCM(self.attraction[pairs], self.satisfaction[:n_positions])

    def _click_rates(self, items: Ints) -> Floats:
        attraction = self._attraction_of(items)
        return attraction * reached(self.satisfaction[: items.shape[1]] * attraction)

    def _log_likelihoods(self, items: Ints, clicks: Clicks) -> Floats:
        attraction = self._attraction_of(items)
        satisfaction = self.satisfaction[: items.shape[1]]
        last = last_click(clicks)
        after = np.arange(items.shape[1]) > last[:, None]
        unattractive = np.where(after, 1.0 - attraction, 1.0).prod(axis=1)
        satisfied = np.where(last < 0, 0.0, satisfaction[last])
        went_on = (clicks > 0) & (np.arange(items.shape[1]) < last[:, None])
        with np.errstate(divide="ignore"):
            stayed = np.log(np.where(went_on, 1.0 - satisfaction, 1.0))
            end = np.log(satisfied + (1.0 - satisfied) * unattractive)
        log = np.where(after, 0.0, of_clicks(attraction, clicks)) + stayed
        total: Floats = log.sum(axis=1) + end
        return total


def fit_dcm(
    counts: Counts, *, shrinkage: float = 0.0, tolerance: float = 1e-9, steps: int = 200
) -> DCMFit:
    """Estimate attractions and satisfaction by maximum likelihood.

    Down to the last click every position was looked at, and no click but the last satisfied. After
    a last click at l, people left satisfied or looked on without being attracted, with probability
    v_l + (1 − v_l) U for U = ∏ (1 − θ) of the items below. In expectation maximisation they looked
    on with probability q = (1 − v_l) U / (v_l + (1 − v_l) U): θ is clicks per look, where a look
    below the last click counts q, and v_l is the share of the clicks at l that satisfied, where a
    last click counts 1 − q. A few such steps are followed by Newton's method, which reaches the
    maximum where they are slow: satisfaction near 0, or rare clicks. If a step of Newton's method
    would lower the likelihood, steps of EM replace it.

    **Source**: guo2009 (the model and its likelihood); kveton2022, section 6.1.

    **Differences**: guo2009 treats every last click as satisfied. This bound of the likelihood has
    a maximum in closed form, which overestimates both; here the likelihood itself is maximised.

    Parameters
    ----------
    counts
        The log, which must contain lists.
    shrinkage
        Number of looks to add to each pair, clicked at the rate of the typical pair down to the
        first click.
    tolerance
        Newton's method ends when a step would gain less than this.
    steps
        Maximum number of steps of Newton's method.

    Examples
    --------
    >>> lists, clicks = [[0, 1], [1, 0]] * 50, [[1, 1], [0, 1], [1, 0], [1, 0], [0, 0]] * 20
    >>> fit = fit_dcm(Counts.of_lists(lists, clicks))
    >>> fit.attraction.round(2), fit.satisfaction.round(2)
    (array([0.57, 0.57]), array([0.42, 0.42]))
    """
    more = check_float("fit_dcm", "shrinkage", shrinkage, 0.0)
    tolerance = check_float("fit_dcm", "tolerance", tolerance, 0.0)
    most = check_int("fit_dcm", "steps", steps, 1)
    sessions = lists_of("fit_dcm", counts)
    problem = DCMProblem(counts, sessions, more)
    path = problem.maximum(tolerance, most)
    attraction, satisfaction = problem.split(path.params)
    errors, satisfaction_errors, left_out = problem.errors(attraction, satisfaction)
    result = DCMFit(
        counts,
        attraction,
        errors,
        float(path.log_likelihoods[-1]),
        path.log_likelihoods,
        path.converged,
        (
            *_of_positions(problem.informative > 0, satisfaction),
            *at_edge(attraction, problem.views),
            *left_out,
        ),
        satisfaction,
        satisfaction_errors,
    )
    if more == 0.0:
        return result
    log_likelihood = float(sessions.times @ result.log_probabilities(sessions))  # of the log alone
    return dataclasses.replace(result, log_likelihood=log_likelihood)


def _of_positions(informative: NDArray[np.bool_], satisfaction: Floats) -> list[str]:
    """Return sentences on positions where satisfaction is not known or at an edge."""
    sentences = []
    unknown = [str(k + 1) for k in np.flatnonzero(~informative)]
    if unknown:
        source = "that of the nearest position with one" if informative.any() else "one half"
        sentences.append(
            f"Satisfaction at position {', '.join(unknown)} is not known, as no click there had an "
            f"item below it: {source} is assumed."
        )
    edge = np.flatnonzero(informative & ((satisfaction <= 0.0) | (satisfaction >= 1.0)))
    if edge.size:
        listed = ", ".join(f"{satisfaction[k]:g} at position {k + 1}" for k in edge)
        sentences.append(f"Satisfaction is at an edge: {listed}.")
    return sentences
