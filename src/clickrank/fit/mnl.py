"""Fit of the multinomial logit model (MNL): attractions, and one position bias for all queries."""

from __future__ import annotations

import dataclasses

import numpy as np

from clickrank._core.arrays import Floats, Ints
from clickrank._core.validate import check_float, check_int
from clickrank.clickmodels import MNL
from clickrank.errors import invalid
from clickrank.fit.em import maximise
from clickrank.fit.fitted_model import (
    Clicks,
    Fit,
    at_edge,
    lists_of,
)
from clickrank.fit.mnl_problem import MNLProblem
from clickrank.logs import Counts

#: Ways to use lists with several clicks.
SEVERAL = ("share", "first", "leave out")
_LEAST_BIAS = 1e-12  # of a click model, whose position bias must be above 0


@dataclasses.dataclass(frozen=True, eq=False)
class MNLFit(Fit):
    """Result of `fit_mnl`.

    Parameters
    ----------
    position_bias, position_bias_error
        λ of each position, at most 1, with standard errors: 0 where λ is 1 by definition, infinite
        without information in the log.
    """

    name = "mnl"
    position_fields = ("position_bias",)

    position_bias: Floats
    position_bias_error: Floats

    def model(self, query: str | None = None) -> MNL:
        """Return the click model of one query over its items, in the order of its pairs."""
        pairs, n_positions = self._pairs(query)
        bias = np.maximum(self.position_bias[:n_positions], _LEAST_BIAS)
        return MNL(self.attraction[pairs], bias)

    def _click_rates(self, items: Ints) -> Floats:
        weights = self._weights(items)
        shares: Floats = weights / (1.0 + weights.sum(axis=1, keepdims=True))
        return shares

    def _log_likelihoods(self, items: Ints, clicks: Clicks) -> Floats:
        """Return the log-probability of the clicks; minus infinity for more than one click."""
        weights, n = self._weights(items), clicks.sum(axis=1)
        chosen = np.where(n > 0, (weights * clicks).sum(axis=1), 1.0)
        with np.errstate(divide="ignore"):
            total = np.log(chosen) - np.log1p(weights.sum(axis=1))
        return np.where(n > 1, -np.inf, total)

    def _weights(self, items: Ints) -> Floats:
        return self._attraction_of(items) * self.position_bias[: items.shape[1]]


def fit_mnl(
    counts: Counts,
    *,
    shrinkage: float = 0.0,
    several: str = "share",
    tolerance: float = 1e-6,
    steps: int = 2_000,
) -> MNLFit:
    """Estimate attractions and position bias by maximum likelihood.

    A list is a choice between its items, of weights α_i λ_k, and none, of weight 1: with D = 1 + Σ
    α λ over the list, the log-likelihood is Σ log(α λ) over clicks − Σ log D over lists. With D'
    for D at the last estimates, the bound −log D ≥ 1 − log D' − D / D' has the same value and slope
    there. The sum of these bounds is Σ S_i log α_i + Σ S_k log λ_k − Σ w_ik α_i λ_k, where w_ik
    sums 1 / D' over the lists that have pair i at position k. It is maximised by α_i = S_i / Σ_k
    w_ik λ_k and λ_k = S_k / Σ_i w_ik α_i in turn, at most 1 each, which never lowers the
    likelihood. Steps are extrapolated if that raises it (`em.maximise`).

    **Source**: hunter2004, section 3 (the bound); grant2020, section 1.1 (the model).

    **Differences**: grant2020 treats the counts of one epoch, in which a list is shown until nobody
    clicks, as independent (Lemma 1, eq. 50). They have a negative multinomial distribution, whose
    likelihood is the one here: that of the rounds, for any rule that decides when the next list is
    shown. The paper's estimators from tables of counts are `mnl_em` and `mnl_composite`.

    Parameters
    ----------
    counts
        The log, which must contain lists.
    shrinkage
        Number of views to add to each pair, alone at the position of the largest bias and clicked
        at the rate of the typical pair.
    several
        In this model people click at most once. For a list with more clicks, "share" makes each
        click an equal part of one choice, which preserves the number of lists with a click, the
        reward of this model, and prefers no position; "first" makes the first click the choice;
        "leave out" ignores the list.
    tolerance
        Largest change of a parameter in the last step.
    steps
        Maximum number of steps.

    Examples
    --------
    >>> lists, clicks = [[0, 1], [1, 0]] * 50, [[1, 0], [0, 1], [1, 0], [0, 0], [0, 0]] * 20
    >>> fit = fit_mnl(Counts.of_lists(lists, clicks))
    >>> fit.attraction.round(2), fit.position_bias.round(2)
    (array([1., 1.]), array([1. , 0.5]))
    """
    more = check_float("fit_mnl", "shrinkage", shrinkage, 0.0)
    if several not in SEVERAL:
        raise invalid("fit_mnl", f"several must be one of {', '.join(SEVERAL)}", several)
    tolerance = check_float("fit_mnl", "tolerance", tolerance, 0.0)
    most = check_int("fit_mnl", "steps", steps, 1)
    sessions = lists_of("fit_mnl", counts)
    problem = MNLProblem(counts, sessions, several, more)
    path = maximise(problem.step, problem.start(), tolerance=tolerance, steps=most)
    n = counts.n_pairs
    params, value = problem.step(path.params)  # one more step, for the scale
    alone = float(path.log_likelihoods[-1])
    if value < alone:
        params = path.params
    attraction, bias = params[:n].copy(), params[n:].copy()
    errors, bias_errors, left_out = problem.errors(attraction, bias)
    if more > 0.0:
        alone -= problem.added(attraction)
    unseen = problem.views == 0
    attraction[unseen] = (
        attraction @ problem.views / problem.views.sum() if problem.views.any() else 0.5
    )
    return MNLFit(
        counts,
        attraction,
        errors,
        alone,
        path.log_likelihoods,
        path.converged,
        (*problem.sentences(), *at_edge(attraction, problem.views), *left_out),
        bias,
        bias_errors,
    )
