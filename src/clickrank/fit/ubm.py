"""Fit of the user browsing model (UBM): examination by position and last click, for all queries.

Given the last click, clicks follow a position-based model whose positions are pairs of a position
and a last click; these are called columns here.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from clickrank._compile.jit import kernel_for
from clickrank._core.arrays import Floats, Ints
from clickrank._core.validate import check_float, check_int
from clickrank.clickmodels import UBM
from clickrank.errors import invalid
from clickrank.fit.fitted_model import (
    Clicks,
    Fit,
    add_up,
    at_edge,
    edge_error,
    likelihood_of_rates,
    lists_of,
    of_clicks,
    typical_rate,
)
from clickrank.fit.pbm import SOLVERS, shrunk
from clickrank.fit.pbm_problem import PBMProblem
from clickrank.logs import Counts, Sessions
from clickrank.logs.counts import Cells

#: Size of the table in which cells are counted; more pairs than fit are counted in several passes.
LARGEST_TABLE = 1 << 24


@dataclasses.dataclass(frozen=True, eq=False)
class UBMFit(Fit):
    """Result of `fit_ubm`.

    Parameters
    ----------
    examination_after, examination_after_error
        γ by position and last click, as in `UBM`, with standard errors: 0 where γ is 1 by
        definition, infinite without information in the log.
    """

    name = "ubm"
    position_fields = ("examination_unclicked",)

    examination_after: Floats
    examination_after_error: Floats

    @property
    def examination_unclicked(self) -> Floats:
        """Examination of each position if nothing above it was clicked."""
        return self.examination_after[:, 0].copy()

    @property
    def examination_unclicked_error(self) -> Floats:
        """Standard errors of `examination_unclicked`."""
        return self.examination_after_error[:, 0].copy()

    def beyond(self) -> tuple[Floats, Floats, int]:
        """Return how far examination after a click is from that after none, at each position."""
        row, last = np.tril_indices(self.examination_after.shape[0], -1)
        gap = self.examination_after[row, last + 1] - self.examination_after[row, 0]
        errors = self.examination_after_error
        return gap, np.hypot(errors[row, last + 1], errors[row, 0]), gap.size

    def model(self, query: str | None = None) -> UBM:
        """Return the click model of one query over its items, in the order of its pairs."""
        pairs, n = self._pairs(query)
        return UBM(self.attraction[pairs], self.examination_after[:n, :n])

    def _click_rates(self, items: Ints) -> Floats:
        attraction = self._attraction_of(items)
        clicked = np.zeros_like(attraction)
        for last in range(items.shape[1]):  # see `clickmodels.ubm_search.expected_clicks`
            left = clicked[:, last - 1].copy() if last else np.ones(items.shape[0])
            for k in range(last, items.shape[1]):
                p = self.examination_after[k, last] * attraction[:, k]
                clicked[:, k] += left * p
                left *= 1.0 - p
        return clicked

    def _log_likelihoods(self, items: Ints, clicks: Clicks) -> Floats:
        examined = self.examination_after[np.arange(items.shape[1]), last_above(clicks)]
        rates = self._attraction_of(items) * examined
        total: Floats = of_clicks(rates, clicks).sum(axis=1)
        return total


def fit_ubm(
    counts: Counts,
    *,
    shrinkage: float = 0.0,
    solver: str = "newton",
    tolerance: float = 1e-9,
    steps: int = 10_000,
) -> UBMFit:
    """Estimate attractions and examination by maximum likelihood.

    Σ S_ikj log α_i γ_kj + F_ikj log(1 − α_i γ_kj) over pairs i, positions k and last clicks j above
    (or none) that were seen together, S clicks and F misses, with α ≤ 1 and γ ≤ 1. Clicks determine
    products only, so that γ of the first position is set to 1. A step of expectation maximisation
    is that of `fit_pbm` on these cells.

    **Source**: dupret2008 (the model); chuklin2015, section 4.2 (the steps).

    **Differences**: 1. Newton's method on γ, with the α eliminated, reaches the limit in about 10
    steps; ``solver="em"`` takes steps of expectation maximisation. 2. The γ that is set to 1 is not
    the largest, unlike in `fit_pbm`: of many γ, the largest is one of the least certain.

    Parameters
    ----------
    counts
        The log, which must contain lists.
    shrinkage
        Number of looks to add to each pair, as in `fit_pbm`: views, distributed over positions and
        last clicks as its own views are, and clicked at the rates of the typical pair.
    solver
        "newton" or "em".
    tolerance
        Newton's method ends when a step would gain less than this; EM ends when a step gained less.
    steps
        Maximum number of steps.

    Examples
    --------
    >>> lists, clicks = [[0, 1], [1, 0]] * 50, [[1, 1], [0, 1], [1, 0], [1, 0], [0, 0]] * 20
    >>> fit = fit_ubm(Counts.of_lists(lists, clicks))
    >>> fit.attraction.round(2), fit.examination_after.round(2)
    (array([0.6, 0.6]), array([[1.  , 0.  ],
           [0.83, 0.56]]))
    """
    more = check_float("fit_ubm", "shrinkage", shrinkage, 0.0)
    if solver not in SOLVERS:
        raise invalid("fit_ubm", f"solver must be one of {', '.join(SOLVERS)}", solver)
    tolerance = check_float("fit_ubm", "tolerance", tolerance, 0.0)
    most = check_int("fit_ubm", "steps", steps, 1)
    sessions = lists_of("fit_ubm", counts)
    n_pairs, n_positions = counts.n_pairs, counts.n_positions
    n_columns = n_positions * (n_positions + 1) // 2
    seen = browsing_cells(sessions, n_pairs, n_positions)
    pair, column = seen.pair, seen.position
    shown, clicked = seen.shown.astype(np.float64), seen.clicked.astype(np.float64)
    if more > 0.0:
        shown, clicked = shrunk(counts, seen, np.tril_indices(n_positions)[0], more)
    by_pair, by_column = add_up(pair, clicked, n_pairs), add_up(column, clicked, n_columns)
    # Without a click, α or γ is 0, and the misses contain no information on the other.
    kept = (by_pair[pair] > 0) & (by_column[column] > 0)
    pairs, columns = np.flatnonzero(by_pair), np.flatnonzero(by_column)
    problem = _Anchored(
        np.searchsorted(pairs, pair[kept]),
        np.searchsorted(columns, column[kept]),
        clicked[kept],
        (shown - clicked)[kept],
    )
    solve = problem.newton if solver == "newton" else problem.em
    x, y, path, converged = solve(tolerance, most)
    errors_x, errors_y = problem.errors(x, y)
    attraction, examination = np.zeros(n_pairs), np.zeros(n_columns)
    attraction[pairs], examination[columns] = np.exp(x), np.exp(y)
    # At an edge the curvature gives no error: it is that of a rate from this many looks.
    liked = add_up(column, shown * attraction[pair], n_columns)
    silent = liked == 0.0
    examination[silent] = _nearest(examination, silent)[silent]
    looks = add_up(pair, shown * examination[column], n_pairs)
    error = edge_error(looks, by_pair)
    error[pairs[x < 0.0]] = (np.exp(x) * errors_x)[x < 0.0]
    column_error = edge_error(liked, by_column)
    inside = (y < 0.0) | problem.anchor
    column_error[columns[inside]] = (np.exp(y) * errors_y)[inside]
    unseen = looks == 0.0
    error[unseen] = np.inf
    attraction[unseen] = typical_rate(looks[~unseen], by_pair[~unseen])
    column_error[silent] = np.inf
    rates = attraction[seen.pair] * examination[seen.position]
    misses = seen.shown - seen.clicked
    value = likelihood_of_rates(seen.clicked, misses, rates)
    sentences = _sentences(problem, columns, y, silent, liked > 0.0)
    lower = np.tril_indices(n_positions)
    matrices = np.zeros((2, n_positions, n_positions))
    matrices[0][lower], matrices[1][lower] = examination, column_error
    return UBMFit(
        counts,
        attraction,
        error,
        value,
        path,
        converged,
        (*sentences, *at_edge(attraction, looks)),
        matrices[0],
        matrices[1],
    )


class _Anchored(PBMProblem):
    """The likelihood in which γ of the first column of each linked group is 1, and none above 1."""

    def __init__(self, pair: Ints, position: Ints, clicks: Floats, misses: Floats) -> None:
        super().__init__(pair, position, clicks, misses)
        first = np.unique(self.part, return_index=True)[1]
        self.anchor: NDArray[np.bool_] = np.isin(np.arange(self.n_positions), first)
        self._first = first

    def _held(
        self, x: Floats, y: Floats, slope: Floats
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        return self.anchor | ((y >= 0.0) & (slope > 0.0)), np.ones_like(self.anchor)

    def _inside(self) -> Floats:
        return np.where(self.anchor, 0.0, super()._inside())

    def _scaled(self, y: Floats) -> Floats:
        return np.minimum(y - self._largest(y), 0.0)

    def _largest(self, y: Floats) -> Floats:
        """Return the y of the anchor of each group, which is 0 except at a starting point."""
        return y[self._first][self.part]


def browsing_cells(sessions: Sessions, n_pairs: int, n_positions: int) -> Cells:
    """Count displays and clicks by pair and column: position k and last click j.

    Column k (k + 1) / 2 + j stands for position k, counted from 0, and a last click at position
    j - 1; j = 0 means no click.
    """
    n_columns = n_positions * (n_positions + 1) // 2
    chunk = max(1, LARGEST_TABLE // n_columns)
    found = []
    for first in range(0, n_pairs, chunk):
        size = min(chunk, n_pairs - first)
        table = np.zeros((2, size, n_columns), dtype=np.int64)
        kernel_for(_count, "")(sessions.items, sessions.clicks, sessions.times, first, table)
        pair, column = np.nonzero(table[0])
        found.append((pair + first, column, table[0][pair, column], table[1][pair, column]))
    return Cells(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _count(
    items: NDArray[np.int32], clicks: NDArray[np.uint8], times: Ints, first: int, table: Ints
) -> None:
    for row in range(items.shape[0]):
        last = 0
        for position in range(items.shape[1]):
            pair = items[row, position] - first
            clicked = clicks[row, position]
            if 0 <= pair < table.shape[1]:
                column = position * (position + 1) // 2 + last
                table[0, pair, column] += times[row]
                table[1, pair, column] += times[row] * clicked
            if clicked:
                last = position + 1


def last_above(clicks: Clicks) -> Ints:
    """Return for each position the column of the last click above it in `UBM`, 0 for none."""
    clicked_at = np.where(clicks > 0, np.arange(1, clicks.shape[1] + 1), 0)
    last = np.zeros_like(clicked_at)
    np.maximum.accumulate(clicked_at[:, :-1], axis=1, out=last[:, 1:])
    return last


def _nearest(examination: Floats, unknown: NDArray[np.bool_]) -> Floats:
    """Return the examination assumed for unknown columns: that of the position after no click.

    If that is not known either, it is one half, and 1 at the first position.
    """
    position, last = np.tril_indices(int(np.sqrt(2 * unknown.size)))
    assumed = np.where(np.arange(position[-1] + 1) == 0, 1.0, 0.5)
    of_none = np.where(unknown[last == 0], assumed, examination[last == 0])
    return of_none[position]


def _sentences(
    problem: _Anchored,
    columns: Ints,
    y: Floats,
    silent: NDArray[np.bool_],
    shown_liked: NDArray[np.bool_],
) -> list[str]:
    """Return sentences on examination that the log does not determine."""
    names = [
        f"{k + 1} after {j or 'no click'}"
        for k, j in zip(*np.tril_indices(int(np.sqrt(2 * shown_liked.size))), strict=True)
    ]

    def listed(which: NDArray[np.bool_] | Ints) -> str:
        return ", ".join(np.array(names)[which])

    anchors = columns[problem.anchor]
    first = names[anchors[0] if anchors.size else 0]
    sentences = [
        "Clicks determine products of attraction and examination only: that of position "
        f"{first} is set to 1."
    ]
    for anchor in anchors[1:]:
        part = problem.part[np.searchsorted(columns, anchor)]
        sentences.append(
            f"No clicked pair links these positions to {first}, so that the examination of "
            f"{names[anchor]} is set to 1, and the others are relative to it: "
            f"{listed(columns[problem.part == part])}."
        )
    if silent.any():
        sentences.append(
            "No pair with a click was shown at these positions after these last clicks, so that "
            "the examination of the position after no click, or one half, is assumed: "
            f"{listed(silent)}."
        )
    held = columns[(y >= 0.0) & ~problem.anchor]
    if held.size:
        sentences.append(f"Examination is 1, at the edge, at position {listed(held)}.")
    never = shown_liked & ~np.isin(np.arange(shown_liked.size), columns)
    if never.any():
        sentences.append(f"No click, so examination 0, at the edge, at position {listed(never)}.")
    return sentences
