"""Likelihood of the multinomial logit model for lists, and steps to its maximum.

A list is one choice between its items and none. The counts of epochs, which the epoch policies
store instead of lists, have other objectives: see `clickrank.numerics.mnl_objective`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from clickrank._compile.jit import kernel_for
from clickrank._core.arrays import Floats, Ints
from clickrank.fit.bordered import Blocks
from clickrank.fit.fitted_model import (
    add_up,
    edge_error,
    linked_positions,
    of_positions,
    typical_rate,
)
from clickrank.logs import Counts, Sessions

_ROUNDS = 20  # alternations between α and λ in a step
_FIRST_STEPS = 5  # without shrinkage, to find the position of the largest bias


class MNLProblem:
    """Counts from the lists, and steps to the maximum of their likelihood."""

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
        # The views of the shrinkage are at the largest bias, 1, whose position must be known first.
        self.more, self.anchor = 0.0, np.zeros(n_positions, dtype=np.bool_)
        params = self.start()
        for _ in range(_FIRST_STEPS if more > 0.0 else 0):
            params, _ = self.step(params)
        self.more, self.anchor = more, self._largest(params[n_pairs:])

    def start(self) -> Floats:
        """Return attractions as if each list had one item, and biases of 1."""
        clicks = self.pair_clicks + self.more * self.typical
        views = self.views + self.more
        attraction = np.minimum(clicks / np.maximum(views - clicks, 1.0), 1.0)
        return np.concatenate([attraction, np.where(self.position_clicks > 0, 1.0, 0.0)])

    def step(self, params: Floats) -> tuple[Floats, float]:
        """Return the maximum of the bound at a point, and the log-likelihood at that point."""
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
        """Return standard errors from the observed information, and sentences on its limits."""
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
        errors[high] = 1.0 / np.sqrt(blocks.diagonal[high])  # as if all other parameters were known
        errors[looks == 0] = np.inf
        edge = ~free & ~anchor
        shown = add_up(cells.position, cells.shown * attraction[cells.pair], bias.size)
        bias_errors[edge] = edge_error(shown, self.position_clicks)[edge]
        bias_errors[shown == 0.0] = np.inf
        return errors, bias_errors, blocks.left_out

    def sentences(self) -> list[str]:
        """Return sentences on what the log does not determine, and on several clicks."""
        found = of_positions(self.part, "position bias", "bias")
        if self.several_lists:
            what = {
                "share": "their clicks were treated as equal parts of one choice",
                "first": "the first click was treated as the choice",
                "leave out": "they were left out",
            }[self.several]
            found.append(
                f"{self.several_lists} of {self.counts.n_impressions} lists have more than one "
                f"click, which this model does not allow: {what}, also for the likelihood."
            )
        return found

    def _parts(self) -> tuple[Ints, Ints]:
        """Return the number of the group of linked positions of each position and pair, or -1.

        Clicked pairs that were shown at several positions link them.
        """
        cells, n_positions = self.counts.cells, self.counts.n_positions
        kept = (self.pair_clicks[cells.pair] > 0) & (self.position_clicks[cells.position] > 0)
        pair, position = cells.pair[kept], cells.position[kept]
        found = linked_positions(pair, position, n_positions)
        part = np.full(n_positions, -1)
        clicked = self.position_clicks > 0
        part[clicked] = np.unique(found[clicked], return_inverse=True)[1]
        of_pair = np.full(self.counts.n_pairs, -1)
        of_pair[pair] = part[position]
        return part, of_pair

    def _largest(self, bias: Floats) -> NDArray[np.bool_]:
        """Return which position has the largest bias of its group, the first of equal ones."""
        found = np.zeros(bias.size, dtype=np.bool_)
        for part in range(int(self.part.max(initial=-1)) + 1):
            mine = np.flatnonzero(self.part == part)
            found[mine[np.argmax(bias[mine])]] = True
        return found

    def _scaled(self, attraction: Floats, bias: Floats) -> tuple[Floats, Floats]:
        """Return both, scaled so that the largest bias of each group is 1."""
        largest = np.ones(int(self.part.max(initial=-1)) + 2)  # the last entry is for -1
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
    """Add 1 / D to the cells of each list; return minus the sum of log D over lists."""
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
