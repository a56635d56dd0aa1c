"""Likelihood of the dependent click model for lists, and steps to its maximum."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlog1py, xlogy

from clickrank._compile.jit import kernel_for
from clickrank._core.arrays import Floats, Ints
from clickrank.fit.bordered import Blocks
from clickrank.fit.em import Path, maximise
from clickrank.fit.fitted_model import Clicks, add_up, edge_error, typical_rate
from clickrank.logs import Counts, Sessions
from clickrank.logs.cascade_examination import examined_displays
from clickrank.logs.counts import NOTHING

#: Steps of EM before the first step of Newton's method, and instead of one that does not help.
_FIRST_STEPS = 9
#: In Newton's steps, pairs of queries with more pairs are treated as if they did not share lists.
_MOST_PAIRS = 300


def last_click(clicks: Clicks) -> Ints:
    """Return the position of the last click on each list, or -1."""
    width = clicks.shape[1]
    last: Ints = width - 1 - np.argmax(clicks[:, ::-1], axis=1)
    return np.where(clicks.any(axis=1), last, -1)


class DCMProblem:
    """Counts from the lists, and steps of expectation maximisation."""

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
        # Lists with an item below the last click, whose readers may have left before it.
        below = there & (here > last) & (last >= 0)
        rows = np.flatnonzero(below.any(axis=1))
        lengths = below[rows].sum(axis=1)
        self.start_of = np.r_[0, np.cumsum(lengths)].astype(np.int64)
        self.below = items[rows][below[rows]].astype(np.int64)
        self.last = last[rows, 0].astype(np.int64)
        self.times = times[rows].astype(np.float64)
        #: Clicks with information on satisfaction: those with an item below.
        self.informative = self.went_on + add_up(self.last, self.times, n_positions)
        typical = typical_rate(*examined_displays(counts, sessions)) if more > 0.0 else 0.5
        self.more_clicks, self.more_misses = more * typical, more * (1.0 - typical)

    def start(self) -> Floats:
        """Return attractions as if everybody left after the last click, satisfaction ½."""
        clicks = self.clicks + self.more_clicks
        looks = clicks + self.misses + self.more_misses
        # Inside (0, 1), because EM never leaves an edge; without a click the maximum is 0.
        attraction = np.where(clicks > 0.0, (clicks + 0.25) / (looks + 0.5), 0.0)
        return np.concatenate([attraction, np.full(self.counts.n_positions, 0.5)])

    def maximum(self, tolerance: float, most: int) -> Path:
        """Return the maximum, found by a few steps of EM and then by Newton's method."""
        path = maximise(self.step, self.start(), tolerance=0.0, steps=_FIRST_STEPS)
        params, values = path.params, path.log_likelihoods.tolist()
        for _ in range(most):
            step, gain, by_em = self._newton(params)
            done = 0.0 <= gain <= max(tolerance, 1e-14 * abs(values[-1])) and by_em <= 1e-3
            new, value, size = params, -math.inf, 1.0 if gain >= 0.0 else 0.0
            while size > 1e-3 and not value >= values[-1]:
                new = params + size * step
                value = self.step(new)[1]
                size *= 0.0 if done else 0.5
            if done:
                if value >= values[-1]:
                    params, values = new, [*values, value]
                return Path(params, np.array(values), True)
            if not value >= values[-1]:
                path = maximise(self.step, params, tolerance=0.0, steps=_FIRST_STEPS)
                new, value = path.params, float(path.log_likelihoods[-1])
                if not value > values[-1]:
                    return Path(params, np.array(values), by_em <= tolerance)
                values += path.log_likelihoods.tolist()[1:-1]
            params, values = new, [*values, value]
        return Path(params, np.array(values), False)

    def _newton(self, params: Floats) -> tuple[Floats, float, float]:
        """Return Newton's step within bounds, its approximate gain, and that of a step of EM."""
        n = self.counts.n_pairs
        a, v = params[:n], params[n:]
        blocks, slope, slope_v = self.curvature(a, v, _MOST_PAIRS)
        low, high = -v, 1.0 - v
        high[self.went_on > 0] *= 0.9  # some people looked on
        low[self.informative == 0], high[self.informative == 0] = 0.0, 0.0
        free = (a > 0.0) & ((a < 1.0) | (slope < 0.0))
        certain = self.misses + self.more_misses > 0.0
        least, most = -0.9 * a, np.where(certain, 0.9, 1.0) * (1.0 - a)
        step, step_v = blocks.step(slope, slope_v, free, low, high)
        short = (step < least) | (step > most)
        if short.any():  # the others must account for the shorter steps
            cut = np.clip(step, least, most)
            step, step_v = blocks.step(slope, slope_v, free & ~short, low, high)
            step = np.where(short, cut, np.clip(step, least, most))
        whole = np.concatenate([step, step_v])
        slopes = np.concatenate([slope, slope_v])
        by_em = float(slopes @ (self.step(params)[0] - params))
        return whole, 0.5 * float(slopes @ whole), by_em

    def split(self, params: Floats) -> tuple[Floats, Floats]:
        """Return attractions and satisfaction, with assumed values where unknown."""
        n = self.counts.n_pairs
        attraction, satisfaction = params[:n].copy(), params[n:].copy()
        known = np.flatnonzero(self.informative)
        for k in np.flatnonzero(self.informative == 0):
            satisfaction[k] = (
                satisfaction[known[np.argmin(np.abs(known - k))]] if known.size else 0.5
            )
        seen = self.views > 0
        weights = self.views / (self.views + 1.0)
        if seen.any():
            attraction[~seen] = attraction @ weights / weights.sum()
        return attraction, satisfaction

    def step(self, params: Floats) -> tuple[Floats, float]:
        """Return the point after a step of EM, and the log-likelihood before it."""
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
        left = self.informative - self.went_on - went_on
        np.divide(left, self.informative, out=new[n:], where=self.informative > 0.0)
        return np.clip(new, 0.0, 1.0), value

    def curvature(
        self, attraction: Floats, satisfaction: Floats, most_pairs: int = 1 << 62
    ) -> tuple[Blocks, Floats, Floats]:
        """Return minus the second derivatives of the log-likelihood, and its slopes."""
        blocks = Blocks(self.counts, satisfaction.size, most_pairs)
        # Slightly below 1, where the curvature is not defined.
        a, v = np.minimum(attraction, 1.0 - 1e-12), np.minimum(satisfaction, 1.0 - 1e-12)
        clicks, misses = self.clicks + self.more_clicks, self.misses + self.more_misses
        per_click = np.divide(1.0, a, out=np.zeros_like(a), where=a > 0.0)
        blocks.diagonal[:] = clicks * per_click**2 + misses / (1.0 - a) ** 2
        slope = clicks * per_click - misses / (1.0 - a)
        slope_v = -self.went_on / (1.0 - v)
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
            slope,
            slope_v,
        )
        blocks.corner[:] = np.diag(corner)
        return blocks, slope, slope_v

    def errors(self, attraction: Floats, satisfaction: Floats) -> tuple[Floats, Floats, list[str]]:
        """Return standard errors from the observed information, and sentences on its limits."""
        blocks, _, _ = self.curvature(attraction, satisfaction)
        inside = (attraction > 0.0) & (attraction < 1.0) & (self.views > 0)
        informative = self.informative > 0
        inside_v = (satisfaction > 0.0) & (satisfaction < 1.0) & informative
        of_pairs, of_positions = (np.sqrt(v) for v in blocks.variances(inside, inside_v))
        looks = self.clicks + self.misses
        of_pairs[~inside] = edge_error(looks, self.clicks)[~inside]
        of_pairs[self.views == 0] = np.inf
        edge = informative & ~inside_v
        if edge.any():  # fixed for the others, but with an error from its own curvature
            of_positions[edge] = np.sqrt(blocks.variances(inside, informative)[1][edge])
        of_positions[~informative] = np.inf
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
    """Add the expected looks below the last clicks; return the log-likelihood."""
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
    slope: Floats,
    slope_shared: Floats,
) -> None:
    """Add minus the second derivatives of log(v + (1 − v) U), and the first, for each list."""
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
        slope_shared[k] += n * (1.0 - unattractive) / p
        both = n * (unattractive + q * (1.0 - unattractive)) / p
        number = query[below[start[row]]]
        size = first[number + 1] - first[number]
        for j in range(start[row], start[row + 1]):
            pair = below[j]
            miss = 1.0 / (1.0 - attraction[pair])
            diagonal[pair] += n * (q * miss) ** 2
            slope[pair] -= n * q * miss
            cross[pair, k] -= both * miss
            if offset[number] < 0:
                continue
            line = offset[number] + (pair - first[number]) * size - first[number]
            weight = n * q * (1.0 - q) * miss
            for i in range(start[row], start[row + 1]):
                if i != j:
                    inner[line + below[i]] -= weight / (1.0 - attraction[below[i]])
