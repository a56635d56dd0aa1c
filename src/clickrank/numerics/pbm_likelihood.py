"""The likelihood of the position-based model: its value, slopes and curvature.

Cells lie in rows (items) and columns (positions). The h hits and m misses of the cell in row i and
column k are independent trials that succeed with probability exp(x_i + y_k), where x = log θ and
y = log κ. The log-likelihood

    Σ_ik h_ik (x_i + y_k) + m_ik log(1 - exp(x_i + y_k))

is concave in (x, y). A column has many cells and a row few, and rows only meet in columns, so that
Newton's method eliminates the rows first, which leaves a small matrix of the columns.

This is the only implementation. The kernels of policies call it through `pbm_maximum`, the fits
of logs through `clickrank.fit.pbm_problem`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import inline_kernel, kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints

#: The relative error of a sum of counts. Added to a diagonal, it keeps a matrix positive definite.
_ROUNDING = 1e-13


class PBMCells(NamedTuple):
    """Counts of cells, sorted by row and then by column. Not every row needs every column."""

    first: Ints  # (n_rows + 1,), the first cell of each row, and at the end the number of cells
    column: Ints  # (n_cells,)
    hits: Floats  # (n_cells,)
    misses: Floats  # (n_cells,)


def table_cells(n_rows: int, n_columns: int) -> PBMCells:
    """Return cells without counts, one for each row and column."""
    column = np.zeros(n_rows * n_columns, dtype=np.int64)
    for cell in range(column.size):
        column[cell] = cell % n_columns
    first = np.arange(n_rows + 1) * n_columns
    return PBMCells(first, column, np.zeros(column.size), np.zeros(column.size))


new_table_cells = kernel(table_cells)  # for kernels


@lean_kernel
def load_cells(hits: Ints | Floats, misses: Ints | Floats, added: float, cells: PBMCells) -> None:
    """Write tables of hits and misses into cells, with ``added`` hits and misses more in each."""
    n_rows, n_columns = hits.shape
    for i in range(n_rows):
        for k in range(n_columns):
            cells.hits[i * n_columns + k] = hits[i, k] + added
            cells.misses[i * n_columns + k] = misses[i, k] + added


@lean_kernel
def log_likelihood(cells: PBMCells, x: Floats, y: Floats) -> float:
    """Return the log-likelihood; minus infinity where a cell with misses has probability 1."""
    first, column, hits, misses = cells
    total = 0.0
    lost = 0.0  # what rounding has taken from the total: there may be millions of rows
    for i in range(x.shape[0]):
        row = 0.0
        for cell in range(first[i], first[i + 1]):
            z = x[i] + y[column[cell]]
            row += hits[cell] * z
            if misses[cell] > 0.0:
                if z >= 0.0:
                    return -math.inf
                row += misses[cell] * math.log(-math.expm1(z))
        row -= lost
        after = total + row
        lost = (after - total) - row
        total = after
    return total


@inline_kernel
def cell_slopes(hits: float, misses: float, z: float) -> tuple[float, float]:
    """Return the first derivative of a cell's log-likelihood by z, and minus the second."""
    if misses == 0.0:
        return hits, 0.0
    odds = 1.0 / math.expm1(-z)  # p / (1 - p)
    return hits - misses * odds, misses * odds * (1.0 + odds)


@lean_kernel
def derivatives(
    cells: PBMCells,
    x: Floats,
    y: Floats,
    slope_x: Floats,
    slope_y: Floats,
    curve_x: Floats,
    curve: Floats,
) -> None:
    """Write the slopes, and minus the second derivatives of each row and of each cell."""
    first, column, hits, misses = cells
    for k in range(y.shape[0]):
        slope_y[k] = 0.0
    for i in range(x.shape[0]):
        slope_x[i] = 0.0
        curve_x[i] = 0.0
        for cell in range(first[i], first[i + 1]):
            k = column[cell]
            slope, curve[cell] = cell_slopes(hits[cell], misses[cell], x[i] + y[k])
            slope_x[i] += slope
            slope_y[k] += slope
            curve_x[i] += curve[cell]


@lean_kernel
def eliminate_rows(
    cells: PBMCells, x: Floats, curve_x: Floats, curve: Floats, matrix: Floats
) -> None:
    """Write minus the second derivatives in y where x follows: a Schur complement, lower half.

    Rows with x = 0, the upper bound of log θ, do not follow. An entry off the diagonal is minus the
    amount that two columns share; on the diagonal is the sum of these amounts and of the cells of
    rows that do not follow. So no large numbers are subtracted, which would lose a weak link
    between columns.
    """
    first, column = cells.first, cells.column
    for k in range(matrix.shape[0]):
        for other in range(k + 1):
            matrix[k, other] = 0.0
    for i in range(x.shape[0]):
        follows = x[i] < 0.0 and curve_x[i] > 0.0
        for cell in range(first[i], first[i + 1]):
            k = column[cell]
            if not follows:
                matrix[k, k] += curve[cell]
                continue
            share = curve[cell] / curve_x[i]
            for other in range(first[i], cell):
                matrix[k, column[other]] -= share * curve[other]
    for k in range(matrix.shape[0]):
        for other in range(k):
            matrix[k, k] -= matrix[k, other]
            matrix[other, other] -= matrix[k, other]
    for k in range(matrix.shape[0]):
        matrix[k, k] = matrix[k, k] * (1.0 + _ROUNDING) + _ROUNDING


@lean_kernel
def row_variances(
    cells: PBMCells,
    x: Floats,
    curve_x: Floats,
    curve: Floats,
    covariance: Floats,
    known: Floats,
    inherited: Floats,
) -> None:
    """Write the variance of each x with y known, and what the covariance of y adds to it."""
    first, column = cells.first, cells.column
    for i in range(x.shape[0]):
        known[i] = 1.0 / curve_x[i] if curve_x[i] > 0.0 else math.inf
        inherited[i] = 0.0
        if not (x[i] < 0.0 and curve_x[i] > 0.0):
            continue
        total = 0.0
        for cell in range(first[i], first[i + 1]):
            share = curve[cell] / curve_x[i]
            for other in range(first[i], first[i + 1]):
                total += share * curve[other] * covariance[column[cell], column[other]]
        inherited[i] = max(total / curve_x[i], 0.0)


@lean_kernel
def best_rows(cells: PBMCells, y: Floats, x: Floats) -> None:
    """Write the best x for given y: the roots of Σ_k m p / (1 - p) = Σ_k h, at most 0.

    The left side is convex in exp(x), so that Newton's steps from above go down to the root.
    """
    first, column, hits, misses = cells
    for i in range(x.shape[0]):
        total = 0.0
        for cell in range(first[i], first[i + 1]):
            total += hits[cell]
        theta = 1.0
        for cell in range(first[i], first[i + 1]):
            # Where one cell alone would reach the root; without misses that is not below 1 / κ.
            theta = min(theta, total / (math.exp(y[column[cell]]) * (total + misses[cell])))
        for _ in range(100):
            excess = -total
            slope = 0.0
            for cell in range(first[i], first[i + 1]):
                if misses[cell] > 0.0:
                    kappa = math.exp(y[column[cell]])
                    left = misses[cell] / (1.0 - theta * kappa)
                    excess += left * theta * kappa
                    slope += left / (1.0 - theta * kappa) * kappa
            if not excess > 0.0:
                break
            step = excess / slope
            theta -= step
            if not step > 1e-15 * theta:
                break
        x[i] = math.log(theta)
