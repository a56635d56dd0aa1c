"""Newton's method for the maximum of the position-based model's likelihood, for tables of counts.

`pbm_likelihood` has the likelihood, with rows (items) and columns (positions). Only the sums
x_i + y_k matter, so that y_0 = 0. Each cell of the policies' tables has `PRIOR` hits and misses
more than were counted. Then the maximum exists, is unique, and has all probabilities strictly
between 0 and 1, whatever the counts; the likelihood is concave, and Newton's method finds the
maximum from anywhere.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.cholesky import solve_positive
from clickrank.numerics.grid_rounding import rounded
from clickrank.numerics.pbm_likelihood import (
    PBMCells,
    derivatives,
    eliminate_rows,
    load_cells,
    log_likelihood,
    new_table_cells,
)

PRIOR = 0.05
MOST_STEPS = 100
_CLOSE = 1e-4  # shorter steps need no proof that they improve


class NewtonBuffers(NamedTuple):
    """Work space of `maximise_likelihood`, and the losses on the way."""

    slope_x: Floats  # (n_rows,)
    slope_y: Floats  # (n_columns,)
    step_x: Floats  # (n_rows,)
    step_y: Floats  # (n_columns,)
    trial_x: Floats  # (n_rows,)
    trial_y: Floats  # (n_columns,)
    curve_x: Floats  # (n_rows,)
    curve: Floats  # (n_cells,)
    matrix: Floats  # (n_columns, n_columns)
    losses: Floats  # (MOST_STEPS,), minus the log-likelihood before each step, NaN if not computed


def newton_buffers(n_rows: int, n_columns: int, n_cells: int) -> NewtonBuffers:
    """Return work space for this many rows, columns and cells."""
    return NewtonBuffers(
        np.zeros(n_rows),
        np.zeros(n_columns),
        np.zeros(n_rows),
        np.zeros(n_columns),
        np.zeros(n_rows),
        np.zeros(n_columns),
        np.zeros(n_rows),
        np.zeros(n_cells),
        np.zeros((n_columns, n_columns)),
        np.full(MOST_STEPS, np.nan),
    )


new_newton_buffers = kernel(newton_buffers)  # for kernels


class PBMEstimates(NamedTuple):
    """The maximum of the likelihood, and the maximum rounded by `rounded`."""

    x: Floats  # (n_rows,), log θ
    y: Floats  # (n_columns,), log κ
    log_theta: Floats  # (n_rows,), rounded
    log_kappa: Floats  # (n_columns,), rounded


@kernel
def estimate_pbm(hits: Ints, misses: Ints) -> PBMEstimates:
    """Return log θ and log κ of a table of hits and misses."""
    n_rows, n_columns = hits.shape
    found = PBMEstimates(
        np.zeros(n_rows), np.zeros(n_columns), np.zeros(n_rows), np.zeros(n_columns)
    )
    cells = new_table_cells(n_rows, n_columns)
    buffers = new_newton_buffers(n_rows, n_columns, n_rows * n_columns)
    fit_table(hits, misses, np.zeros(1, dtype=np.int64), found, cells, buffers)
    return found


@lean_kernel
def fit_table(
    hits: Ints,
    misses: Ints,
    fitted: Ints,
    estimates: PBMEstimates,
    cells: PBMCells,
    buffers: NewtonBuffers,
) -> None:
    """Write log θ and log κ of a table with `PRIOR`, and their rounded values.

    The iterations start at the estimates if ``fitted`` is 1, and afresh if it is 0. The rounded
    values do not depend on that.
    """
    x, y, log_theta, log_kappa = estimates
    load_cells(hits, misses, PRIOR, cells)
    if fitted[0] == 0:
        start_likelihood(cells, x, y)
    fitted[0] = 1 if maximise_likelihood(cells, 0.0, 0.0, x, y, buffers) else 0
    for i in range(x.shape[0]):
        log_theta[i] = rounded(x[i])
    for k in range(y.shape[0]):
        log_kappa[k] = rounded(y[k])


@lean_kernel
def start_likelihood(cells: PBMCells, x: Floats, y: Floats) -> None:
    """Write a starting point: the share of hits in each row, all columns alike."""
    for i in range(x.shape[0]):
        hits = 0.0
        trials = 0.0
        for cell in range(cells.first[i], cells.first[i + 1]):
            hits += cells.hits[cell]
            trials += cells.hits[cell] + cells.misses[cell]
        x[i] = math.log(hits / trials)
    for k in range(y.shape[0]):
        y[k] = 0.0


@lean_kernel
def maximise_likelihood(
    cells: PBMCells,
    pull: float,
    tolerance: float,
    x: Floats,
    y: Floats,
    buffers: NewtonBuffers,
) -> bool:
    """Move x and y, a feasible point, to the maximum, and return whether it was found.

    Every cell needs misses, and every row a cell in column 0, whose y stays 0. A ``pull`` adds
    pull · (y_k - exp(y_k)) for each other column: a prior that holds κ_k near 1. The last step is
    the first to be expected to gain less than half the ``tolerance``; with 0, x and y are as exact
    as rounding allows.
    """
    n_rows, n_columns = x.shape[0], y.shape[0]
    step_x, step_y = buffers.step_x, buffers.step_y
    loss = math.nan  # not known
    for step in range(MOST_STEPS):
        decrement = _newton_step(cells, pull, x, y, buffers)
        longest = 0.0  # the step, compared with the distance from a probability of 1
        size = 1.0
        for i in range(n_rows):
            for cell in range(cells.first[i], cells.first[i + 1]):
                k = cells.column[cell]
                change = step_x[i] + step_y[k]
                distance = -(x[i] + y[k])
                longest = max(longest, abs(change) / min(1.0, distance))
                if change > 0.0:
                    size = min(size, 0.9 * distance / change)
        buffers.losses[step] = loss
        gains_little = decrement < tolerance or decrement < 1e-15 * abs(loss)
        last = tolerance > 0.0 and size == 1.0 and gains_little
        # Close to the maximum the loss no longer shows whether a step is good; it is.
        if longest <= _CLOSE or last:
            loss = math.nan
        else:
            if math.isnan(loss):
                loss = _loss(cells, pull, x, y)
                buffers.losses[step] = loss
            found, after = False, loss
            for _ in range(40):
                for i in range(n_rows):
                    buffers.trial_x[i] = x[i] + size * step_x[i]
                for k in range(n_columns):
                    buffers.trial_y[k] = y[k] + size * step_y[k]
                after = _loss(cells, pull, buffers.trial_x, buffers.trial_y)
                if after <= loss - 0.1 * size * decrement:
                    found = True
                    break
                size *= 0.5
            loss = after if found else math.nan
        # Below a few units of rounding no step comes closer, whatever the distances say.
        settled = True
        for i in range(n_rows):
            x[i] += size * step_x[i]
            settled &= abs(step_x[i]) <= 1e-15 * max(1.0, abs(x[i]))
        for k in range(n_columns):
            y[k] += size * step_y[k]
            settled &= abs(step_y[k]) <= 1e-15 * max(1.0, abs(y[k]))
        if longest < 1e-9 or settled or last:
            return True
    return False


@lean_kernel
def _newton_step(
    cells: PBMCells, pull: float, x: Floats, y: Floats, buffers: NewtonBuffers
) -> float:
    """Write Newton's step, with y_0 held; return twice the gain to expect."""
    first, column = cells.first, cells.column
    slope_x, slope_y, step_x, step_y, _, _, curve_x, curve, matrix, _ = buffers
    derivatives(cells, x, y, slope_x, slope_y, curve_x, curve)
    eliminate_rows(cells, x, curve_x, curve, matrix)
    for k in range(y.shape[0]):
        step_y[k] = slope_y[k] + pull * (1.0 - math.exp(y[k]))
        matrix[k, k] += pull * math.exp(y[k])
        matrix[k, 0] = 0.0
    for i in range(x.shape[0]):
        for cell in range(first[i], first[i + 1]):
            step_y[column[cell]] -= curve[cell] / curve_x[i] * slope_x[i]
    matrix[0, 0] = 1.0
    step_y[0] = 0.0
    solve_positive(matrix, step_y)
    decrement = 0.0
    for k in range(1, y.shape[0]):
        decrement += pull * math.exp(y[k]) * step_y[k] * step_y[k]
    for i in range(x.shape[0]):
        right = slope_x[i]
        for cell in range(first[i], first[i + 1]):
            right -= curve[cell] * step_y[column[cell]]
        step_x[i] = right / curve_x[i]
        for cell in range(first[i], first[i + 1]):
            change = step_x[i] + step_y[column[cell]]
            decrement += curve[cell] * change * change
    return decrement


@lean_kernel
def _loss(cells: PBMCells, pull: float, x: Floats, y: Floats) -> float:
    """Return minus the log-likelihood, with the pull."""
    total = -log_likelihood(cells, x, y)
    for k in range(1, y.shape[0]):
        total += pull * (math.exp(y[k]) - y[k])
    return total


@lean_kernel
def explains(estimates: PBMEstimates, hits: Ints, misses: Ints, limit: float) -> bool:
    """Return whether N d(μ̂, θκ) ≤ limit · √N in each cell, of N trials with a share μ̂ of hits."""
    n_rows, n_columns = hits.shape
    for i in range(n_rows):
        for k in range(n_columns):
            s, f = hits[i, k], misses[i, k]
            expected = math.exp(estimates.x[i] + estimates.y[k])
            divergence = 0.0
            if s > 0:
                divergence += s * math.log(s / ((s + f) * expected))
            if f > 0:
                divergence += f * math.log(f / ((s + f) * (1.0 - expected)))
            if divergence > limit * math.sqrt(s + f):
                return False
    return True
