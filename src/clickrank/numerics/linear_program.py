"""Dual simplex method for small linear programs whose constraints are added one by one.

    minimise c·x   subject to   x ≥ 0   and   A x ≥ b

The table is a simplex dictionary: row 0 is the objective and each further row a basic variable, all
written as constant + Σ coefficient · nonbasic variable, with the constants in column 0. The
coefficients of the objective must not be negative. Then constraints may be added at any time, and
the dual simplex method continues from the last optimum, as cutting planes need it.

Variables have labels: 0, 1, ... for those of the program, and larger numbers for slacks.
"""

from __future__ import annotations

from clickrank._compile.jit import lean_kernel
from clickrank._core.arrays import Floats, Ints

OPTIMAL, INFEASIBLE, UNFINISHED = 0, 1, 2
#: Coefficients below this share of the largest one in their row are rounding errors, not pivots.
_SMALL = 1e-9


@lean_kernel
def pivot(
    table: Floats, n_rows: int, row: int, column: int, basic: Ints, nonbasic: Ints, n_columns: int
) -> None:
    """Exchange the basic variable of a row with the nonbasic one of a column."""
    inverse = 1.0 / table[row, column]
    for j in range(n_columns + 1):
        table[row, j] *= -inverse
    table[row, column] = inverse
    for i in range(n_rows + 1):
        factor = table[i, column]
        if i == row or factor == 0.0:
            continue
        table[i, column] = 0.0
        for j in range(n_columns + 1):
            table[i, j] += factor * table[row, j]
    label = basic[row]
    basic[row] = nonbasic[column]
    nonbasic[column] = label


@lean_kernel
def add_constraint(
    table: Floats,
    n_rows: int,
    basic: Ints,
    nonbasic: Ints,
    n_columns: int,
    coefficients: Floats,
    least: float,
    label: int,
) -> None:
    """Append coefficients·x ≥ least as row n_rows + 1, with its slack as basic variable.

    ``coefficients`` has one entry for each label below its length.
    """
    n_variables = coefficients.shape[0]
    new = n_rows + 1
    for j in range(n_columns + 1):
        table[new, j] = 0.0
    table[new, 0] = -least
    for j in range(1, n_columns + 1):
        if nonbasic[j] < n_variables:
            table[new, j] += coefficients[nonbasic[j]]
    for i in range(1, n_rows + 1):
        if basic[i] < n_variables:
            factor = coefficients[basic[i]]
            if factor != 0.0:
                for j in range(n_columns + 1):
                    table[new, j] += factor * table[i, j]
    basic[new] = label


@lean_kernel
def drop_row(table: Floats, n_rows: int, row: int, basic: Ints, n_columns: int) -> None:
    """Remove a constraint whose slack is basic: the last row takes its place."""
    basic[row] = basic[n_rows]
    for j in range(n_columns + 1):
        table[row, j] = table[n_rows, j]


@lean_kernel
def dual_simplex(
    table: Floats, n_rows: int, basic: Ints, nonbasic: Ints, n_columns: int, most: int
) -> int:
    """Find the optimum with at most ``most`` pivots; return OPTIMAL, INFEASIBLE or UNFINISHED.

    The row with the most negative constant leaves the basis; after half of the pivots, the first by
    label, which cannot cycle (Bland's rule).
    """
    for step in range(most):
        careful = 2 * step >= most
        row = 0
        worst = 0.0
        for i in range(1, n_rows + 1):
            if table[i, 0] >= 0.0:
                continue
            size = 0.0
            for j in range(1, n_columns + 1):
                size = max(size, abs(table[i, j]))
            # Values within rounding errors, in the units of the variables, are no violation.
            if -table[i, 0] <= 1e-9 * (size + abs(table[0, 0])):
                continue
            if careful:
                if row == 0 or basic[i] < basic[row]:
                    row = i
            elif table[i, 0] < worst:
                worst = table[i, 0]
                row = i
        if row == 0:
            return OPTIMAL
        largest = 0.0
        for j in range(1, n_columns + 1):
            largest = max(largest, table[row, j])
        column = 0
        best = 0.0
        for j in range(1, n_columns + 1):
            entry = table[row, j]
            if entry <= _SMALL * largest or entry <= 1e-13:
                continue
            ratio = max(table[0, j], 0.0) / entry
            better = column == 0 or ratio < best
            if not better and ratio == best:
                first = nonbasic[j] < nonbasic[column]
                better = first if careful else entry > table[row, column]
            if better:
                best = ratio
                column = j
        if column == 0:
            return INFEASIBLE
        pivot(table, n_rows, row, column, basic, nonbasic, n_columns)
        table[0, column] = max(table[0, column], 0.0)
    return UNFINISHED
