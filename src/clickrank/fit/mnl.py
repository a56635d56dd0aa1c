"""The multinomial logit model from a log of lists: one position bias for all queries."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import xlogy

from clickrank._compile.jit import kernel_for
from clickrank._core.arrays import Floats, Ints
from clickrank._core.validate import check_float, check_int
from clickrank.clickmodels import MNL
from clickrank.errors import invalid
from clickrank.fit.bordered import Blocks
from clickrank.fit.em import maximise
from clickrank.fit.fitted_model import (
    Clicks,
    Fit,
    add_up,
    at_edge,
    by_rows,
    edge_error,
    lists_of,
    typical_rate,
)
from clickrank.logs import Counts, Sessions
from clickrank.logs.counts import NOTHING

#: What is done with lists of several clicks.
SEVERAL = ("share", "first", "leave out")
_LEAST_BIAS = 1e-12  # in a click model, whose position bias is above 0
_ROUNDS = 20  # between α and λ, in a step
_FIRST_STEPS = 5  # without shrinkage, to see which bias is the largest


@dataclasses.dataclass(frozen=True, eq=False)
class MNLFit(Fit):
    """What `fit_mnl` found.

    Parameters
    ----------
    position_bias, position_bias_error
        λ of each position, at most 1, with standard errors: 0 where λ is 1 by definition, infinite
        where the log says nothing.
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

    def click_probabilities(self, sessions: Sessions) -> Floats:
        """Return the probability of a click at each position of each list."""

        def of_lists(items: Ints, _: Clicks) -> Floats:
            weights = self._weights(items)
            shares: Floats = weights / (1.0 + weights.sum(axis=1, keepdims=True))
            return shares

        return by_rows(sessions, np.empty(sessions.items.shape), of_lists)

    def log_probabilities(self, sessions: Sessions) -> Floats:
        """Return the log-probability of the clicks; minus infinity of more than one."""

        def of_lists(items: Ints, clicks: Clicks) -> Floats:
            weights, n = self._weights(items), clicks.sum(axis=1)
            chosen = np.where(n > 0, (weights * clicks).sum(axis=1), 1.0)
            with np.errstate(divide="ignore"):
                total = np.log(chosen) - np.log1p(weights.sum(axis=1))
            return np.where(n > 1, -np.inf, total)

        return by_rows(sessions, np.empty(sessions.items.shape[0]), of_lists)

    def _weights(self, items: Ints) -> Floats:
        bias = self.position_bias[: items.shape[1]]
        return np.where(items == NOTHING, 0.0, self.attraction[items] * bias)


def fit_mnl(
    counts: Counts,
    *,
    shrinkage: float = 0.0,
    several: str = "share",
    tolerance: float = 1e-6,
    steps: int = 2_000,
) -> MNLFit:
    """Estimate attractions and position bias by the maximum of the likelihood.

    A list is a choice between its items, of weights α_i λ_k, and none, of weight 1: with
    D = 1 + Σ α λ over the list, the log-likelihood is Σ log(α λ) of what was clicked − Σ log D of
    all lists. Beside D at the last estimates, −log D ≥ 1 − log D' − D / D' has the same value and
    slope; the sum of these is Σ S_i log α_i + Σ S_k log λ_k − Σ w_ik α_i λ_k, where w_ik adds up
    1 / D' of the lists that have pair i at position k. α_i = S_i / Σ_k w_ik λ_k and
    λ_k = S_k / Σ_i w_ik α_i in turn maximise it, at most 1 each, which never lowers the
    likelihood. Steps are made longer where that raises it (`em.maximise`).

    **Source**: hunter2004, section 3 (the bound); grant2020, section 1.1 (the model).

    **Differences**: grant2020 takes the counts of one epoch, in which a list is shown until nobody
    clicks, for independent (Lemma 1, eq. 50). They have a negative multinomial distribution, whose
    likelihood is this one: that of the rounds, whatever decides when the next list is shown. Its
    estimators from tables of counts are `mnl_em` and `mnl_composite`.

    Parameters
    ----------
    counts
        The log, with lists.
    shrinkage
        Views that each pair is taken to have had more, alone at the position of the largest bias,
        clicked as the typical pair is.
    several
        People of this model click once at most. Of a list with more clicks, each may be a part of
        one choice ("share"), which keeps the number of lists with a click, the reward of this
        model, and prefers no position; or its "first" click is the choice; or it is "leave out".
    tolerance
        The most that a parameter may change in the last step.
    steps
        The most steps.

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
    problem = _Problem(counts, sessions, several, more)
    path = maximise(problem.step, problem.start(), tolerance=tolerance, steps=most)
    n = counts.n_pairs
    params, value = problem.step(path.params)  # once more, for the scale
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


class _Problem:
    """What is counted of the lists, and steps towards the maximum of their likelihood."""

    def __init__(self, counts: Counts, sessions: Sessions, several: str, more: float) -> None:
        self.counts, self.several = counts, several
        n_pairs, n_positions = counts.n_pairs, counts.n_positions
        per_list = sessions.clicks.sum(axis=1)
        self.several_lists = int(sessions.times[per_list > 1].sum())
        times, clicks = sessions.times.astype(np.float64), sessions.clicks
        if several == "first":
            clicks = np.where(np.cumsum(clicks, axis=1) == 1, clicks, 0).astype(np.uint8)
        elif several == "leave out":
            times[per_list > 1] = 0.0
        self.items, self.times = sessions.items, times
        row, position = np.nonzero(clicks)
        pair = sessions.items[row, position]
        part = times[row] / (1.0 if several == "first" else per_list[row])
        self.pair_clicks = add_up(pair, part, n_pairs)
        self.position_clicks = add_up(position, part, n_positions)
        self.views = add_up(counts.cells.pair, counts.cells.shown, n_pairs)
        self.typical = typical_rate(self.views, self.pair_clicks)
        self.part, self.part_of_pair = self._parts()
        # The views of the shrinkage are at a bias of 1: the largest one, which must be known then.
        self.more, self.anchor = 0.0, np.zeros(n_positions, dtype=np.bool_)
        params = self.start()
        for _ in range(_FIRST_STEPS if more > 0.0 else 0):
            params, _ = self.step(params)
        self.more, self.anchor = more, self._largest(params[n_pairs:])

    def start(self) -> Floats:
        """Return attractions as if each list had one item, and a bias of 1."""
        clicks = self.pair_clicks + self.more * self.typical
        views = self.views + self.more
        attraction = np.minimum(clicks / np.maximum(views - clicks, 1.0), 1.0)
        return np.concatenate([attraction, np.where(self.position_clicks > 0, 1.0, 0.0)])

    def step(self, params: Floats) -> tuple[Floats, float]:
        """Maximise the bound at a point; return the likelihood at that point too."""
        n = self.counts.n_pairs
        attraction, bias = params[:n], params[n:]
        weights = np.zeros((n, bias.size))
        value = kernel_for(_weigh, "")(self.items, self.times, attraction, bias, weights)
        value += float(xlogy(self.pair_clicks, attraction).sum())
        value += float(xlogy(self.position_clicks, bias).sum())
        value += self.added(attraction)
        clicks = self.pair_clicks + self.more * self.typical
        alone = self.more / (1.0 + attraction)
        for _ in range(_ROUNDS):
            before = bias
            attraction = _ratio(clicks, weights @ bias + alone)
            bias = _ratio(self.position_clicks, attraction @ weights)
            if self.more > 0.0:
                bias[self.anchor] = 1.0
            if np.abs(bias - before).max(initial=0.0) < 1e-12:
                break
        if self.more == 0.0:
            attraction, bias = self._scaled(attraction, bias)
        return np.concatenate([attraction, bias]), value

    def added(self, attraction: Floats) -> float:
        """Return the log-likelihood of the views that the shrinkage adds."""
        if self.more == 0.0:
            return 0.0
        chosen = float(xlogy(self.typical, attraction).sum())
        return self.more * (chosen - float(np.log1p(attraction).sum()))

    def errors(self, attraction: Floats, bias: Floats) -> tuple[Floats, Floats, list[str]]:
        """Return standard errors from the observed information, and what was left out of it."""
        blocks = Blocks(self.counts, bias.size)
        blocks.diagonal += self.more * attraction / (1.0 + attraction) ** 2
        kernel_for(_inform, "")(
            self.items, self.times, attraction, bias, self.counts.pair_query,
            blocks.first, blocks.offset, blocks.inner, blocks.diagonal, blocks.cross, blocks.corner,
        )  # fmt: skip
        inside = (attraction > 0.0) & (attraction < 1.0)
        anchor = self.anchor if self.more > 0.0 else self._largest(bias)
        free = (bias > 0.0) & (bias < 1.0) & ~anchor
        of_pairs, of_positions = blocks.variances(inside, free)
        errors, bias_errors = np.sqrt(of_pairs) * attraction, np.sqrt(of_positions) * bias
        cells = self.counts.cells
        looks = add_up(cells.pair, cells.shown * bias[cells.position], attraction.size)
        low, high = attraction <= 0.0, attraction >= 1.0
        errors[low] = edge_error(looks, self.pair_clicks)[low]
        errors[high] = 1.0 / np.sqrt(blocks.diagonal[high])  # as if all else were known
        errors[looks == 0] = np.inf
        edge = ~free & ~anchor
        shown = add_up(cells.position, cells.shown * attraction[cells.pair], bias.size)
        bias_errors[edge] = edge_error(shown, self.position_clicks)[edge]
        bias_errors[shown == 0.0] = np.inf
        return errors, bias_errors, blocks.left_out

    def sentences(self) -> list[str]:
        """Say what the log does not tell, and what was done with it."""
        found = ["Clicks tell products of attraction and position bias: the largest bias is 1."]
        n_parts = int(self.part.max(initial=-1)) + 1
        if n_parts > 1:
            groups = (np.flatnonzero(self.part == part) + 1 for part in range(n_parts))
            listed = "; ".join(", ".join(map(str, group)) for group in groups)
            found.append(
                "No clicked pair was shown at positions of different groups, so that bias can be "
                f"compared within each only, where the largest is 1: positions {listed}."
            )
        silent = np.flatnonzero(self.position_clicks == 0) + 1
        if silent.size:
            listed = ", ".join(map(str, silent))
            found.append(f"No click at position {listed}: bias 0, which is an edge.")
        if self.several_lists:
            what = {
                "share": "their clicks were taken for equal parts of one choice",
                "first": "the first click was taken for the choice",
                "leave out": "they were left out",
            }[self.several]
            found.append(
                f"{self.several_lists} of {self.counts.n_impressions} lists have more than one "
                f"click, which this model does not allow: {what}, and the likelihood is of that."
            )
        return found

    def _parts(self) -> tuple[Ints, Ints]:
        """Number the sets of positions that clicked pairs link; -1 for those without a click."""
        cells, n_positions = self.counts.cells, self.counts.n_positions
        kept = (self.pair_clicks[cells.pair] > 0) & (self.position_clicks[cells.position] > 0)
        pair, position = cells.pair[kept], cells.position[kept]
        shape = (self.counts.n_pairs, n_positions)
        seen = csr_array((np.ones(pair.size), (pair, position)), shape=shape)
        links: Any = seen.T @ seen  # whose type its stubs cannot tell
        _, found = connected_components(links, directed=False)
        part = np.full(n_positions, -1)
        clicked = self.position_clicks > 0
        part[clicked] = np.unique(found[clicked], return_inverse=True)[1]
        of_pair = np.full(self.counts.n_pairs, -1)
        of_pair[pair] = part[position]
        return part, of_pair

    def _largest(self, bias: Floats) -> NDArray[np.bool_]:
        """Return where the largest bias of each part is, the first of equal ones."""
        found = np.zeros(bias.size, dtype=np.bool_)
        for part in range(int(self.part.max(initial=-1)) + 1):
            mine = np.flatnonzero(self.part == part)
            found[mine[np.argmax(bias[mine])]] = True
        return found

    def _scaled(self, attraction: Floats, bias: Floats) -> tuple[Floats, Floats]:
        """Scale each part so that its largest bias is 1."""
        largest = np.ones(int(self.part.max(initial=-1)) + 2)  # the last is for -1
        for part in range(largest.size - 1):
            largest[part] = bias[self.part == part].max()
        return attraction * largest[self.part_of_pair], bias / largest[self.part]


def _ratio(clicks: Floats, weights: Floats) -> Floats:
    """Return clicks / weights, at most 1; 0 without clicks."""
    ratio: Floats = np.divide(clicks, weights, out=np.zeros_like(clicks), where=clicks > 0.0)
    return np.minimum(ratio, 1.0)


def _weigh(
    items: NDArray[np.int32], times: Floats, attraction: Floats, bias: Floats, weights: Floats
) -> float:
    """Add 1 / D to the cells of each list; return minus the sum of log D."""
    total = 0.0
    for row in range(items.shape[0]):
        d = 1.0
        for position in range(items.shape[1]):
            pair = items[row, position]
            if pair >= 0:
                d += attraction[pair] * bias[position]
        total -= times[row] * math.log(d)
        for position in range(items.shape[1]):
            pair = items[row, position]
            if pair >= 0:
                weights[pair, position] += times[row] / d
    return total


def _inform(
    items: NDArray[np.int32],
    times: Floats,
    attraction: Floats,
    bias: Floats,
    query: Ints,
    first: Ints,
    offset: Ints,
    inner: Floats,
    diagonal: Floats,
    cross: Floats,
    corner: Floats,
) -> None:
    """Add minus the second derivatives in log α and log λ: those of log D, p − p p' and −p p'."""
    width = items.shape[1]
    shares = np.zeros(width)
    for row in range(items.shape[0]):
        n, d = times[row], 1.0
        for position in range(width):
            pair = items[row, position]
            shares[position] = attraction[pair] * bias[position] if pair >= 0 else 0.0
            d += shares[position]
        if items[row, 0] < 0:
            continue
        number = query[items[row, 0]]
        size = first[number + 1] - first[number]
        for k in range(width):
            pair, p = items[row, k], shares[k] / d
            if pair < 0:
                continue
            diagonal[pair] += n * p * (1.0 - p)
            cross[pair, k] += n * p
            corner[k, k] += n * p
            line = offset[number] + (pair - first[number]) * size - first[number]
            for j in range(width):
                both = n * p * shares[j] / d
                cross[pair, j] -= both
                corner[k, j] -= both
                if j != k and items[row, j] >= 0 and offset[number] >= 0:
                    inner[line + items[row, j]] -= both
