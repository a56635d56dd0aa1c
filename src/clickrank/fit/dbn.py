"""Fit of the dynamic Bayesian network model (DBN): attraction, satisfaction and continuation."""

from __future__ import annotations

import dataclasses

import numpy as np

from clickrank._core.arrays import Floats, Ints
from clickrank._core.validate import check_float, check_int
from clickrank.clickmodels import DBN
from clickrank.fit.dbn_problem import DBNProblem
from clickrank.fit.dcm_problem import last_click
from clickrank.fit.em import maximise
from clickrank.fit.fitted_model import Clicks, Fit, at_edge, edge_error, lists_of
from clickrank.logs import Counts


@dataclasses.dataclass(frozen=True, eq=False)
class DBNFit(Fit):
    """Result of `fit_dbn`.

    Parameters
    ----------
    satisfaction, satisfaction_error
        Satisfaction of a click on each pair, with standard errors; infinite without information.
    continuation, continuation_error
        The probability that an unsatisfied person continues; the error is 0 if it was given.
    """

    name = "dbn"

    satisfaction: Floats
    satisfaction_error: Floats
    continuation: float
    continuation_error: float

    def beyond(self) -> tuple[Floats, Floats, int]:
        """Return how far satisfaction and continuation are from 1, their value in a cascade."""
        gaps = np.append(1.0 - self.satisfaction, 1.0 - self.continuation)
        errors = np.append(self.satisfaction_error, self.continuation_error)
        return gaps, errors, gaps.size

    def model(self, query: str | None = None) -> DBN:
        """Return the click model of one query over its items, in the order of its pairs."""
        pairs, n_positions = self._pairs(query)
        attraction, satisfaction = self.attraction[pairs], self.satisfaction[pairs]
        return DBN(attraction, satisfaction, n_positions, self.continuation)

    def _click_rates(self, items: Ints) -> Floats:
        attraction = self._attraction_of(items)
        stay = self.continuation * (1.0 - attraction * self.satisfaction[items])
        examined = np.ones_like(stay)
        np.cumprod(stay[:, :-1], axis=1, out=examined[:, 1:])
        return examined * attraction

    def _log_likelihoods(self, items: Ints, clicks: Clicks) -> Floats:
        attraction, satisfaction = self._attraction_of(items), self.satisfaction[items]
        stay, last = self.continuation, last_click(clicks)
        quiet = np.ones(items.shape[0])  # probability of no click from position k on
        for k in range(items.shape[1] - 1, 0, -1):
            silent = 1.0 - stay + stay * (1.0 - attraction[:, k]) * quiet
            quiet = np.where(k > last, silent, quiet)
        rows = np.arange(items.shape[0])
        satisfied = np.where(last < 0, 0.0, satisfaction[rows, last])
        quiet = satisfied + (1.0 - satisfied) * quiet
        went_on = np.arange(items.shape[1]) < last[:, None]
        seen = np.arange(items.shape[1]) <= np.maximum(last, 0)[:, None]
        certain = np.where(clicks > 0, attraction, 1.0 - attraction)
        certain *= np.where(went_on, stay * np.where(clicks > 0, 1.0 - satisfaction, 1.0), 1.0)
        with np.errstate(divide="ignore"):
            total: Floats = np.log(np.where(seen, certain, 1.0)).sum(axis=1) + np.log(quiet)
        return total


def fit_dbn(
    counts: Counts,
    *,
    shrinkage: float = 0.0,
    continuation: float | None = None,
    tolerance: float = 1e-4,
    steps: int = 2_000,
) -> DBNFit:
    """Estimate attraction and satisfaction of each pair, and the continuation γ.

    Down to the last click every position was looked at, and no click but the last satisfied. After
    the last click people left satisfied, left unsatisfied, or looked on without being attracted.
    Expectation maximisation weighs these cases (`dbn_problem`): a is clicks per look, s satisfied
    clicks per click, γ continuations per chance to continue. Steps are extrapolated if that raises
    the likelihood (`em.maximise`).

    **Source**: chapelle2009, section 4 and its appendix (the steps).

    **Differences**: 1. The source fixes γ and picks the best of several values; here it is
    estimated, unless given. ``continuation=1`` is the simplified DBN, for which the source has a
    closed form that treats every last click as satisfied; the maximum of the likelihood also counts
    people who looked on in vain. 2. The source has Beta(1, 1) priors, which have no effect; see
    ``shrinkage``.

    Parameters
    ----------
    counts
        The log, which must contain lists.
    shrinkage
        Number of looks to add to each pair, clicked at the rate of the typical pair down to the
        last click; and of clicks to add, which satisfy as often as clicks of the typical pair are
        the last.
    continuation
        γ if it is known; by default it is estimated.
    tolerance
        Largest change of a parameter in the last step.
    steps
        Maximum number of steps of expectation maximisation.

    Examples
    --------
    >>> lists, clicks = [[0, 1], [1, 0]] * 50, [[1, 1], [0, 1], [1, 0], [1, 0], [0, 0]] * 20
    >>> fit = fit_dbn(Counts.of_lists(lists, clicks), continuation=1.0)
    >>> fit.attraction.round(2), fit.satisfaction.round(2)
    (array([0.57, 0.57]), array([0.42, 0.42]))
    """
    more = check_float("fit_dbn", "shrinkage", shrinkage, 0.0)
    held = None
    if continuation is not None:
        held = check_float("fit_dbn", "continuation", continuation, 0.0, 1.0)
    tolerance = check_float("fit_dbn", "tolerance", tolerance, 0.0)
    most = check_int("fit_dbn", "steps", steps, 1)
    sessions = lists_of("fit_dbn", counts)
    problem = DBNProblem(counts, sessions, more, held)
    path = maximise(problem.step, problem.start(), tolerance=tolerance, steps=most)
    attraction, satisfaction, stay = problem.split(path.params)
    n, inside = counts.n_pairs, (path.params > 1e-9) & (path.params < 1.0 - 1e-9)
    inside[:n] &= problem.views > 0
    inside[n:-1] &= problem.informative > 0
    inside[-1] &= held is None
    variances, of_stay, clear, left_out = problem.variances(path.params, inside, bool(inside[-1]))
    errors = np.sqrt(variances)
    looks = problem.clicks + problem.misses
    for part, shown, clicked in (
        (slice(0, n), looks, problem.clicks),
        (slice(n, 2 * n), clear, satisfaction * clear),
    ):
        edge = ~inside[part]
        errors[part][edge] = edge_error(shown, clicked)[edge]
        errors[part][shown == 0.0] = np.inf
    stay_error = float(np.sqrt(of_stay))
    if held is None and not inside[-1]:
        chances = np.array([problem.decided(path.params)])
        stay_error = float(edge_error(chances, stay * chances)[0]) if chances[0] else np.inf
    result = DBNFit(
        counts,
        attraction,
        errors[:n],
        0.0,
        path.log_likelihoods,
        path.converged,
        (*_sentences(problem, held, stay, stay_error), *at_edge(attraction, problem.views)),
        satisfaction,
        errors[n:],
        stay,
        stay_error,
    )
    result = dataclasses.replace(result, not_identified=(*result.not_identified, *left_out))
    value = float(path.log_likelihoods[-1])
    if more > 0.0:  # which the value includes
        value = float(sessions.times @ result.log_probabilities(sessions))
    return dataclasses.replace(result, log_likelihood=value)


def _sentences(problem: DBNProblem, held: float | None, stay: float, error: float) -> list[str]:
    """Return sentences on satisfaction and continuation that the log does not determine."""
    sentences = []
    silent = int(((problem.informative == 0) & (problem.views > 0)).sum())
    if silent:
        source = "that of the typical pair" if problem.informative.any() else "one half"
        sentences.append(
            f"Satisfaction of {silent} pair{'' if silent == 1 else 's'} is not known, as no click "
            f"on {'it' if silent == 1 else 'them'} had an item below it: {source} is assumed."
        )
    if held is not None:
        return sentences
    if not np.isfinite(error) or problem.gone_on + problem.tails.size == 0:
        sentences.append(
            "Continuation is not known: lists without a click below the first position contain no "
            "information on it."
        )
    elif stay >= 1.0 - 1e-9 or stay <= 1e-9:
        sentences.append(f"Continuation is {stay:.0f}, at the edge, where errors are approximate.")
    return sentences
