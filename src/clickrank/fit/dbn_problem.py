"""Likelihood of the dynamic Bayesian network model for lists, and steps to its maximum.

Down to the last click everything is known: every position was looked at, earlier clicks did not
satisfy, and people continued. The positions after the last click, or after the first position if
there is no click, are the *tail*. Its reader was satisfied, or continued for a while without a
click. Let B_k be the probability that nothing is clicked from item k of the tail on, for somebody
who decides whether to continue to it:

    B_k = 1 − γ + γ (1 − a_k) B_{k+1},   B = 1 after the last item.

A tail has probability Q = s + (1 − s) B_1, where s is the satisfaction of the last click, or 0.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlog1py, xlogy

from clickrank._compile.jit import kernel_for
from clickrank._core.arrays import Floats, Ints
from clickrank.fit.bordered import Blocks
from clickrank.fit.fitted_model import add_up, typical_rate
from clickrank.logs import Counts, Sessions
from clickrank.logs.counts import NOTHING


class DBNProblem:
    """Counts from the lists, and steps of expectation maximisation.

    The parameters are the attractions of all pairs, their satisfactions, and the continuation.

    Parameters
    ----------
    counts, sessions
        The log, and its lists.
    more
        Number of looks and of clicks to add to each pair.
    held
        The continuation if it is known.
    """

    def __init__(self, counts: Counts, sessions: Sessions, more: float, held: float | None) -> None:
        self.counts, self.held = counts, held
        n = counts.n_pairs
        items, clicks, times = sessions.items, sessions.clicks, sessions.times
        lengths = (items != NOTHING).sum(axis=1)
        self.views = add_up(counts.cells.pair, counts.cells.shown, n)
        known = np.zeros((3, n), dtype=np.int64)
        certain = np.zeros(1, dtype=np.int64)
        starts = np.zeros(items.shape[0] + 1, dtype=np.int64)
        last = np.zeros(items.shape[0], dtype=np.int32)
        kernel_for(_count, "")(items, clicks, times, lengths, known, certain, starts, last)
        #: Certain looks with and without a click, and clicks that did not satisfy.
        self.clicks, self.misses, self.went_on = known.astype(np.float64)
        #: Number of times that somebody certainly continued.
        self.gone_on = float(certain[0])
        self.tails = np.zeros(int(starts[-1]), dtype=np.int32)
        kernel_for(_cut, "")(items, lengths, starts, self.tails)
        self.starts, self.last, self.times = starts, last, times
        #: Clicks with information on satisfaction: those with an item below.
        ended = (np.diff(starts) > 0) & (last >= 0)
        self.informative = self.went_on + add_up(last[ended], times[ended], n)
        self.typical = typical_rate(self.clicks + self.misses, self.clicks)
        self.more = more
        self.more_satisfied = more * self._typical_satisfaction()

    def _typical_satisfaction(self) -> float:
        """Return the share of clicks on the typical pair that are the last of their list."""
        return (
            typical_rate(self.informative, self.informative - self.went_on)
            if self.informative.any()
            else 0.5
        )

    def start(self) -> Floats:
        """Return attractions as if everybody left after the last click, satisfaction ½."""
        n = self.counts.n_pairs
        looks = self.clicks + self.misses + self.more
        attraction = np.divide(
            self.clicks + self.more * self.typical,
            looks,
            out=np.full(n, self.typical),
            where=looks > 0.0,
        )
        attraction = np.minimum(attraction, np.where(self.clicks < self.views, 0.99, 1.0))
        satisfaction = np.where(self.informative + self.more > self.went_on, 0.5, 0.0)
        stay = 0.9 if self.held is None else self.held
        return np.concatenate([attraction, satisfaction, [stay]])

    def split(self, params: Floats) -> tuple[Floats, Floats, float]:
        """Return attractions, satisfactions and continuation, with assumed values where unknown."""
        n = self.counts.n_pairs
        attraction, satisfaction = params[:n].copy(), params[n : 2 * n].copy()
        for values, weight in ((attraction, self.views), (satisfaction, self.informative)):
            weight = weight / (weight + 1.0)
            values[weight == 0.0] = values @ weight / weight.sum() if weight.any() else 0.5
        return attraction, satisfaction, float(params[-1])

    def step(self, params: Floats) -> tuple[Floats, float]:
        """Return the point after a step of EM, and the log-likelihood before it."""
        n = self.counts.n_pairs
        attraction, satisfaction, stay = params[:n], params[n : 2 * n], float(params[-1])
        looks, stayed, decisions = np.zeros(n), np.zeros(n), np.zeros(2)
        value = kernel_for(_expect, "")(
            self.starts, self.tails, self.last, self.times,
            attraction, satisfaction, stay, looks, stayed, decisions,
        )  # fmt: skip
        clicks = self.clicks + self.more * self.typical
        misses = self.misses + self.more * (1.0 - self.typical)
        value += float((xlogy(clicks, attraction) + xlog1py(misses, -attraction)).sum())
        value += float(xlog1py(self.went_on, -satisfaction).sum())
        value += float(xlogy(self.gone_on, stay))
        if self.more > 0.0:
            value += float(xlogy(self.more_satisfied, satisfaction).sum())
            value += float(xlog1py(self.more - self.more_satisfied, -satisfaction).sum())
        new = params.copy()
        shown = clicks + misses + looks
        np.divide(clicks, shown, out=new[:n], where=shown > 0.0)
        informative = self.informative + self.more
        left = self.informative - self.went_on - stayed + self.more_satisfied
        np.divide(left, informative, out=new[n : 2 * n], where=informative > 0.0)
        if self.held is None and self.gone_on + decisions[0] > 0.0:
            new[-1] = (self.gone_on + decisions[1]) / (self.gone_on + decisions[0])
        return np.clip(new, 0.0, 1.0), value

    def decided(self, params: Floats) -> float:
        """Return the expected number of decisions whether to continue."""
        n = self.counts.n_pairs
        decisions = np.zeros(2)
        kernel_for(_expect, "")(
            self.starts, self.tails, self.last, self.times,
            params[:n], params[n : 2 * n], float(params[-1]), np.zeros(n), np.zeros(n), decisions,
        )  # fmt: skip
        return self.gone_on + float(decisions[0])

    def variances(
        self, params: Floats, free: NDArray[np.bool_], stay_free: bool
    ) -> tuple[Floats, float, Floats, list[str]]:
        """Return the variances of attractions and satisfactions, and of the continuation.

        They come from the observed information. Further results are the number of clicks that would
        determine each satisfaction as well if it were observed, and sentences on what was ignored.
        """
        n = self.counts.n_pairs
        # Each pair has two parameters, next to each other.
        twice = dataclasses.replace(self.counts, pair_query=np.repeat(self.counts.pair_query, 2))
        blocks = Blocks(twice, 1)
        # Slightly below 1, where the curvature is not defined; these parameters are held.
        a, s = (np.minimum(part, 1.0 - 1e-12) for part in (params[:n], params[n : 2 * n]))
        stay = float(params[-1])
        clicks = self.clicks + self.more * self.typical
        misses = self.misses + self.more * (1.0 - self.typical)
        of_a, of_s = blocks.diagonal[::2], blocks.diagonal[1::2]
        np.divide(clicks, a**2, out=of_a, where=a > 0.0)
        of_a += misses / (1.0 - a) ** 2
        np.divide(self.more_satisfied, s**2, out=of_s, where=s > 0.0)
        of_s += (self.went_on + self.more - self.more_satisfied) / (1.0 - s) ** 2
        clear = self.went_on.copy()
        corner = np.array([self.gone_on / stay**2 if stay > 0.0 else 0.0])
        kernel_for(_inform, "")(
            self.starts, self.tails, self.last, self.times, a, s, stay, self.counts.pair_query,
            blocks.first, blocks.offset, blocks.inner, blocks.diagonal, blocks.cross, corner, clear,
        )  # fmt: skip
        blocks.corner[:] = corner
        both = np.stack([free[:n], free[n : 2 * n]], axis=1).ravel()
        of_pairs, shared = blocks.variances(both, np.array([stay_free]))
        separated = np.concatenate([of_pairs[::2], of_pairs[1::2]])
        return separated, float(shared[0]), clear, blocks.left_out


def _count(
    items: NDArray[np.int32],
    clicks: NDArray[np.uint8],
    times: Ints,
    lengths: Ints,
    known: Ints,
    certain: Ints,
    starts: Ints,
    last: NDArray[np.int32],
) -> None:
    """Count what is certain, and find where tails begin and which click precedes them."""
    for row in range(items.shape[0]):
        n = times[row]
        end = lengths[row] - 1
        while end >= 0 and clicks[row, end] == 0:
            end -= 1
        last[row] = items[row, end] if end >= 0 else -1
        for position in range(end):
            pair = items[row, position]
            if clicks[row, position]:
                known[0, pair] += n
                known[2, pair] += n
            else:
                known[1, pair] += n
        if end >= 0:
            known[0, items[row, end]] += n
            certain[0] += n * end
        elif lengths[row] > 0:  # the first position is looked at
            known[1, items[row, 0]] += n
            end = 0
        starts[row + 1] = starts[row] + max(lengths[row] - 1 - end, 0)


def _cut(items: NDArray[np.int32], lengths: Ints, starts: Ints, tails: NDArray[np.int32]) -> None:
    """Copy the tails of all lists."""
    for row in range(items.shape[0]):
        shift = lengths[row] - starts[row + 1]
        for j in range(starts[row], starts[row + 1]):
            tails[j] = items[row, j + shift]


def _expect(
    starts: Ints,
    tails: NDArray[np.int32],
    last: NDArray[np.int32],
    times: Ints,
    attraction: Floats,
    satisfaction: Floats,
    stay: float,
    looks: Floats,
    stayed: Floats,
    decisions: Floats,
) -> float:
    """Add the expected numbers of events in tails; return their log-likelihood.

    They are looks at each pair, and last clicks that did not satisfy; ``decisions`` holds how often
    somebody decided whether to continue, and how often the decision was to continue.
    """
    total = 0.0
    n_decisions = n_gone_on = 0.0
    on = stay * (1.0 - attraction)  # probability of continuing to a pair and not clicking it
    quiet = np.ones(1)
    for row in range(last.size):
        first, end = starts[row], starts[row + 1]
        if first == end:
            continue
        if quiet.size < end - first + 1:
            quiet = np.ones(end - first + 1)
        below = 1.0
        quiet[end - first] = 1.0
        for j in range(end - 1, first - 1, -1):
            below = 1.0 - stay + on[tails[j]] * below
            quiet[j - first] = below
        clicked = last[row]
        unsatisfied = 1.0 - satisfaction[clicked] if clicked >= 0 else 1.0
        p = 1.0 - unsatisfied + unsatisfied * below
        if p <= 0.0:
            total = -math.inf
            continue
        n = times[row]
        total += n * math.log(p)
        here = n * unsatisfied / p  # before the rest of the tail is accounted for
        still = here * below
        if clicked >= 0:
            stayed[clicked] += still
        n_decisions += still
        for j in range(first, end):
            here *= on[tails[j]]
            look = here * quiet[j - first + 1]
            looks[tails[j]] += look
            n_gone_on += look
            n_decisions += look
        n_decisions -= here  # there is no decision after the last item
    decisions[0], decisions[1] = n_decisions, n_gone_on
    return total


def _inform(
    starts: Ints,
    tails: NDArray[np.int32],
    last: NDArray[np.int32],
    times: Ints,
    attraction: Floats,
    satisfaction: Floats,
    stay: float,
    query: Ints,
    first_of: Ints,
    offset: Ints,
    inner: Floats,
    diagonal: Floats,
    cross: Floats,
    corner: Floats,
    clear: Floats,
) -> None:
    """Add minus the second derivatives of log Q for each tail.

    With F_k = ∏ γ (1 − a) over the items above k, the first derivative of B_1 by a_k is
    D_k = −γ F_k B_{k+1}, and the second by a_k and a_j above it is −D_k / (1 − a_j). Derivatives by
    γ follow the recursion.
    """
    longest = 0
    for row in range(last.size):
        longest = max(longest, starts[row + 1] - starts[row])
    quiet, slope = np.ones(longest + 1), np.zeros(longest + 1)  # B and its derivative in γ
    by_item, by_both = np.zeros(longest), np.zeros(longest)  # D, and the derivative of that in γ
    for row in range(last.size):
        first, size = starts[row], starts[row + 1] - starts[row]
        if size == 0:
            continue
        quiet[size], slope[size], bend = 1.0, 0.0, 0.0
        for j in range(size - 1, -1, -1):
            miss = 1.0 - attraction[tails[first + j]]
            bend = 2.0 * miss * slope[j + 1] + stay * miss * bend
            slope[j] = miss * quiet[j + 1] - 1.0 + stay * miss * slope[j + 1]
            quiet[j] = 1.0 - stay + stay * miss * quiet[j + 1]
        clicked, n = last[row], times[row]
        u = 1.0 - satisfaction[clicked] if clicked >= 0 else 1.0
        p = 1.0 - u + u * quiet[0]
        if p <= 0.0:
            continue
        above, turn = stay, 1.0  # γ F_k and its derivative in γ
        for j in range(size):
            by_item[j] = -above * quiet[j + 1]
            by_both[j] = -turn * quiet[j + 1] - above * slope[j + 1]
            miss = 1.0 - attraction[tails[first + j]]
            turn = miss * (above + stay * turn)
            above *= stay * miss
        r = u / p
        corner[0] += n * ((r * slope[0]) ** 2 - r * bend)
        number = query[tails[first]]
        begin = first_of[number]
        width = first_of[number + 1] - begin
        whole = offset[number] >= 0
        mine = 2 * clicked + 1  # index of its satisfaction
        if clicked >= 0:
            lost = (quiet[0] - 1.0) / p  # the derivative of log Q in u
            diagonal[mine] += n * lost**2
            cross[mine, 0] += n * (slope[0] / p - r * slope[0] * lost)
            clear[clicked] += n * (1.0 - quiet[0])
        for j in range(size):
            pair = 2 * tails[first + j]
            gain = r * by_item[j]
            diagonal[pair] += n * gain**2
            cross[pair, 0] += n * (gain * r * slope[0] - r * by_both[j])
            if not whole:
                continue
            line = offset[number] + (pair - begin) * width - begin
            if clicked >= 0:
                both = n * (by_item[j] / p - gain * (quiet[0] - 1.0) / p)
                inner[line + mine] += both
                inner[offset[number] + (mine - begin) * width + pair - begin] += both
            for i in range(j):
                other = 2 * tails[first + i]
                second = -r * by_item[j] / (1.0 - attraction[tails[first + i]])
                value = n * (gain * r * by_item[i] - second)
                inner[line + other] += value
                inner[offset[number] + (other - begin) * width + pair - begin] += value
