"""The dependent click model from a log: whether the last click satisfied."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlog1py, xlogy

from clickrank._jit import kernel_for
from clickrank.clickmodels import DCM
from clickrank.fit.arrow import Blocks
from clickrank.fit.base import (
    Clicks,
    Fit,
    add_up,
    at_edge,
    by_rows,
    edge_error,
    lists_of,
    typical_rate,
)
from clickrank.fit.cascade import first_looks, reached
from clickrank.fit.em import maximise
from clickrank.logs import Counts, Sessions
from clickrank.logs.counts import NOTHING
from clickrank.types import Floats, Ints, number, whole


@dataclasses.dataclass(frozen=True, eq=False)
class DCMFit(Fit):
    """What `fit_dcm` found.

    Parameters
    ----------
    satisfaction, satisfaction_error
        Of each position, with standard errors; infinite where the log says nothing.
    """

    name = "dcm"
    position_fields = ("satisfaction",)

    satisfaction: Floats
    satisfaction_error: Floats

    def model(self, query: str | None = None) -> DCM:
        """Return the click model of one query over its items, in the order of its pairs."""
        pairs, n_positions = self._pairs(query)
        return DCM(self.attraction[pairs], self.satisfaction[:n_positions])

    def click_probabilities(self, sessions: Sessions) -> Floats:
        """Return the probability of a click at each position of each list."""
        satisfaction = self.satisfaction[: sessions.items.shape[1]]

        def of_lists(items: Ints, _: Clicks) -> Floats:
            attraction = np.where(items == NOTHING, 0.0, self.attraction[items])
            return attraction * reached(satisfaction * attraction)

        return by_rows(sessions, np.empty(sessions.items.shape), of_lists)

    def log_probabilities(self, sessions: Sessions) -> Floats:
        """Return the log-probability of the clicks on each list."""
        satisfaction = self.satisfaction[: sessions.items.shape[1]]

        def of_lists(items: Ints, clicks: Clicks) -> Floats:
            attraction = np.where(items == NOTHING, 0.0, self.attraction[items])
            last = last_click(clicks)
            after = np.arange(items.shape[1]) > last[:, None]
            none = last < 0
            unattractive = np.where(after, 1.0 - attraction, 1.0).prod(axis=1)
            satisfied = np.where(none, 0.0, satisfaction[last])
            with np.errstate(divide="ignore"):
                log = np.log(np.where(clicks > 0, attraction, 1.0 - attraction))
                went_on = (clicks > 0) & (np.arange(items.shape[1]) < last[:, None])
                log = np.where(after, 0.0, log) + np.log(np.where(went_on, 1.0 - satisfaction, 1.0))
                end = np.log(satisfied + (1.0 - satisfied) * unattractive)
            total: Floats = log.sum(axis=1) + end
            return total

        return by_rows(sessions, np.empty(sessions.items.shape[0]), of_lists)


def fit_dcm(
    counts: Counts, *, shrinkage: float = 0.0, tolerance: float = 1e-8, steps: int = 2_000
) -> DCMFit:
    """Estimate attractions and satisfaction by the maximum of the likelihood.

    Down to the last click every position was looked at, and no click but the last satisfied. After
    a last click at l, people left satisfied or looked on and were not attracted, with probability
    v_l + (1 − v_l) U for U = ∏ (1 − θ) of the items below. Expectation maximisation takes them for
    still looking with probability q = (1 − v_l) U / (v_l + (1 − v_l) U): θ is clicks per look, a
    look below the last click counting q, and v_l the part of the clicks at l that satisfied, 1 − q
    of the last ones. Steps are made longer where that raises the likelihood (`em.maximise`).

    **Source**: guo2009 (the model and its likelihood); kveton2022, section 6.1.

    **Differences**: guo2009 takes every last click for a satisfied one, a bound of the likelihood
    that has a closed form and overestimates both; here it is maximised.

    Parameters
    ----------
    counts
        The log, with lists.
    shrinkage
        Looks that each pair is taken to have had more, clicked as the typical pair is down to the
        first click.
    tolerance
        The most that a parameter may change in the last step.
    steps
        The most steps of expectation maximisation.

    Examples
    --------
    >>> lists, clicks = [[0, 1], [1, 0]] * 50, [[1, 1], [0, 1], [1, 0], [1, 0], [0, 0]] * 20
    >>> fit = fit_dcm(Counts.of_lists(lists, clicks))
    >>> fit.attraction.round(2), fit.satisfaction.round(2)
    (array([0.57, 0.57]), array([0.42, 0.42]))
    """
    more = number("fit_dcm", "shrinkage", shrinkage, 0.0)
    tolerance = number("fit_dcm", "tolerance", tolerance, 0.0)
    most = whole("fit_dcm", "steps", steps, 1)
    sessions = lists_of("fit_dcm", counts)
    problem = _Problem(counts, sessions, more)
    path = maximise(problem.step, problem.start(), tolerance=tolerance, steps=most)
    attraction, satisfaction = problem.split(path.params)
    errors, satisfaction_errors, left_out = problem.errors(attraction, satisfaction)
    result = DCMFit(
        counts,
        attraction,
        errors,
        0.0,
        path.log_likelihoods,
        path.converged,
        (*_of_positions(problem.told > 0), *at_edge(attraction, problem.views), *left_out),
        satisfaction,
        satisfaction_errors,
    )
    log_likelihood = float(sessions.times @ result.log_probabilities(sessions))
    return dataclasses.replace(result, log_likelihood=log_likelihood)


def last_click(clicks: Clicks) -> Ints:
    """Return the position of the last click on each list, -1 without one."""
    width = clicks.shape[1]
    last: Ints = width - 1 - np.argmax(clicks[:, ::-1], axis=1)
    return np.where(clicks.any(axis=1), last, -1)


def _of_positions(told: NDArray[np.bool_]) -> list[str]:
    """Say where satisfaction is not known."""
    unknown = [str(k + 1) for k in np.flatnonzero(~told)]
    if not unknown:
        return []
    source = "that of the nearest position with one" if told.any() else "one half"
    return [
        f"Satisfaction at position {', '.join(unknown)} is not known, as no click there had an "
        f"item below it: {source} is assumed."
    ]


class _Problem:
    """What is counted of the lists, and steps of expectation maximisation on it."""

    def __init__(self, counts: Counts, sessions: Sessions, more: float) -> None:
        self.counts = counts
        items, clicks, times = sessions.items, sessions.clicks, sessions.times
        n_pairs, n_positions = counts.n_pairs, counts.n_positions
        last = last_click(clicks)[:, None]
        here = np.arange(items.shape[1])
        there = items != NOTHING
        self.views = add_up(counts.cells.pair, counts.cells.shown, n_pairs)

        def total(where: NDArray[np.bool_]) -> tuple[Floats, Floats]:
            row, position = np.nonzero(where)
            n = times[row]
            return add_up(items[row, position], n, n_pairs), add_up(position, n, n_positions)

        self.clicks, _ = total(clicks > 0)
        self.misses, _ = total(there & (clicks == 0) & ((here < last) | (last < 0)))
        _, self.went_on = total((clicks > 0) & (here < last))
        # Lists with an item below the last click, whose readers may have left.
        below = there & (here > last) & (last >= 0)
        rows = np.flatnonzero(below.any(axis=1))
        lengths = below[rows].sum(axis=1)
        self.start_of = np.r_[0, np.cumsum(lengths)].astype(np.int64)
        self.below = items[rows][below[rows]].astype(np.int64)
        self.last = last[rows, 0].astype(np.int64)
        self.times = times[rows].astype(np.float64)
        #: Clicks that tell of satisfaction: those with an item below.
        self.told = self.went_on + add_up(self.last, self.times, n_positions)
        typical = typical_rate(*first_looks(counts, sessions))
        self.more_clicks, self.more_misses = more * typical, more * (1.0 - typical)

    def start(self) -> Floats:
        """Return the attractions if everybody left after the last click, and satisfaction ½."""
        looks = self.clicks + self.misses + self.more_clicks + self.more_misses
        typical = (self.clicks.sum() + 1.0) / (self.clicks.sum() + self.misses.sum() + 2.0)
        attraction = np.divide(
            self.clicks + self.more_clicks, looks, out=np.full_like(looks, typical), where=looks > 0
        )
        return np.concatenate([attraction, np.full(self.counts.n_positions, 0.5)])

    def split(self, params: Floats) -> tuple[Floats, Floats]:
        """Return attractions and satisfaction, with what is assumed of both."""
        n = self.counts.n_pairs
        attraction, satisfaction = params[:n].copy(), params[n:].copy()
        known = np.flatnonzero(self.told)
        for k in np.flatnonzero(self.told == 0):
            satisfaction[k] = (
                satisfaction[known[np.argmin(np.abs(known - k))]] if known.size else 0.5
            )
        seen = self.views > 0
        weights = self.views / (self.views + 1.0)
        if seen.any():
            attraction[~seen] = attraction @ weights / weights.sum()
        return attraction, satisfaction

    def step(self, params: Floats) -> tuple[Floats, float]:
        """Take one step of expectation maximisation; return the likelihood before it too."""
        n = self.counts.n_pairs
        attraction, satisfaction = params[:n], params[n:]
        looks, went_on = np.zeros(n), np.zeros(satisfaction.size)
        value = kernel_for(_expect, "")(
            self.start_of,
            self.below,
            self.last,
            self.times,
            attraction,
            satisfaction,
            looks,
            went_on,
        )
        clicks, misses = self.clicks + self.more_clicks, self.misses + self.more_misses
        value += float((xlogy(clicks, attraction) + xlog1py(misses, -attraction)).sum())
        value += float(xlog1py(self.went_on, -satisfaction).sum())
        shown = clicks + misses + looks
        new = params.copy()
        np.divide(clicks, shown, out=new[:n], where=shown > 0.0)
        left = self.told - self.went_on - went_on
        np.divide(left, self.told, out=new[n:], where=self.told > 0.0)
        return np.clip(new, 0.0, 1.0), value

    def errors(self, attraction: Floats, satisfaction: Floats) -> tuple[Floats, Floats, list[str]]:
        """Return standard errors from the observed information, and what was left out of it."""
        blocks = Blocks(self.counts, satisfaction.size)
        # Not quite 1, where the curvature has no value; these are held.
        a, v = np.minimum(attraction, 1.0 - 1e-12), np.minimum(satisfaction, 1.0 - 1e-12)
        clicks, misses = self.clicks + self.more_clicks, self.misses + self.more_misses
        np.divide(clicks, a**2, out=blocks.diagonal, where=a > 0.0)
        blocks.diagonal += misses / (1.0 - a) ** 2
        corner = self.went_on / (1.0 - v) ** 2
        kernel_for(_inform, "")(
            self.start_of,
            self.below,
            self.last,
            self.times,
            a,
            v,
            self.counts.pair_query,
            blocks.first,
            blocks.offset,
            blocks.inner,
            blocks.diagonal,
            blocks.cross,
            corner,
        )
        blocks.corner[:] = np.diag(corner)
        inside = (attraction > 0.0) & (attraction < 1.0) & (self.views > 0)
        told = self.told > 0
        inside_v = (satisfaction > 1e-9) & (satisfaction < 1.0 - 1e-9) & told
        of_pairs, of_positions = (np.sqrt(v) for v in blocks.variances(inside, inside_v))
        looks = self.clicks + self.misses
        of_pairs[~inside] = edge_error(looks, self.clicks)[~inside]
        of_pairs[self.views == 0] = np.inf
        of_positions[~inside_v] = edge_error(self.told, satisfaction * self.told)[~inside_v]
        of_positions[~told] = np.inf
        return of_pairs, of_positions, blocks.left_out


def _expect(
    start: Ints,
    below: Ints,
    last: Ints,
    times: Floats,
    attraction: Floats,
    satisfaction: Floats,
    looks: Floats,
    went_on: Floats,
) -> float:
    """Add the looks below the last clicks, as far as people went on; return the likelihood."""
    total = 0.0
    for row in range(last.size):
        unattractive = 1.0
        for j in range(start[row], start[row + 1]):
            unattractive *= 1.0 - attraction[below[j]]
        satisfied = satisfaction[last[row]]
        still = (1.0 - satisfied) * unattractive
        p = satisfied + still
        total += times[row] * math.log(p) if p > 0.0 else -math.inf
        looking = times[row] * still / p if p > 0.0 else 0.0
        went_on[last[row]] += looking
        for j in range(start[row], start[row + 1]):
            looks[below[j]] += looking
    return total


def _inform(
    start: Ints,
    below: Ints,
    last: Ints,
    times: Floats,
    attraction: Floats,
    satisfaction: Floats,
    query: Ints,
    first: Ints,
    offset: Ints,
    inner: Floats,
    diagonal: Floats,
    cross: Floats,
    corner: Floats,
) -> None:
    """Add minus the second derivatives of log(v + (1 − v) U) for each list with items below."""
    for row in range(last.size):
        unattractive = 1.0
        for j in range(start[row], start[row + 1]):
            unattractive *= 1.0 - attraction[below[j]]
        k, n = last[row], times[row]
        satisfied = satisfaction[k]
        p = satisfied + (1.0 - satisfied) * unattractive
        if p <= 0.0:
            continue
        q = (1.0 - satisfied) * unattractive / p
        corner[k] += n * ((1.0 - unattractive) / p) ** 2
        both = n * (unattractive + q * (1.0 - unattractive)) / p
        number = query[below[start[row]]]
        size = first[number + 1] - first[number]
        for j in range(start[row], start[row + 1]):
            pair = below[j]
            miss = 1.0 / (1.0 - attraction[pair])
            diagonal[pair] += n * (q * miss) ** 2
            cross[pair, k] -= both * miss
            if offset[number] < 0:
                continue
            line = offset[number] + (pair - first[number]) * size - first[number]
            weight = n * q * (1.0 - q) * miss
            for i in range(start[row], start[row + 1]):
                if i != j:
                    inner[line + below[i]] -= weight / (1.0 - attraction[below[i]])
