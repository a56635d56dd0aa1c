"""The position-based model's likelihood against the formula, differences and dense matrices."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize
from scipy.special import xlog1py

from clickrank._compile.jit import interpreted
from clickrank._core.arrays import Floats
from clickrank.numerics.pbm_likelihood import (
    PBMCells,
    best_rows,
    derivatives,
    eliminate_rows,
    log_likelihood,
    row_variances,
)

N_ROWS, N_COLUMNS = 6, 4


def drawn(seed: int) -> tuple[PBMCells, Floats, Floats]:
    """Return cells of some rows and columns, some without misses or hits, and a point."""
    rng = np.random.default_rng(seed)
    present = rng.random((N_ROWS, N_COLUMNS)) < 0.7
    present[:, 0] = True
    row, column = np.nonzero(present)
    hits = rng.integers(0, 20, row.size).astype(np.float64)
    misses = rng.integers(0, 20, row.size).astype(np.float64)
    misses[column == 0] += 1.0  # every row is bounded
    hits[column == 0] += 1.0
    cells = PBMCells(np.searchsorted(row, np.arange(N_ROWS + 1)), column, hits, misses)
    return cells, rng.uniform(-3.0, -0.1, N_ROWS), rng.uniform(-1.0, 0.0, N_COLUMNS)


def rows_of(cells: PBMCells) -> Floats:
    return np.repeat(np.arange(N_ROWS), np.diff(cells.first))


def by_formula(cells: PBMCells, x: Floats, y: Floats) -> float:
    z = x[rows_of(cells)] + y[cells.column]
    return float((cells.hits * z + xlog1py(cells.misses, -np.exp(z))).sum())


def dense_curvature(cells: PBMCells, x: Floats, y: Floats) -> Floats:
    """Return minus the second derivatives, (n_rows + n_columns) square."""
    rows = rows_of(cells)
    p = np.exp(x[rows] + y[cells.column])
    bend = cells.misses * p / (1.0 - p) ** 2
    matrix = np.zeros((N_ROWS + N_COLUMNS,) * 2)
    for i, k, b in zip(rows, cells.column, bend, strict=True):
        for one in (i, N_ROWS + k):
            for two in (i, N_ROWS + k):
                matrix[one, two] += b
    return matrix


def evaluated(cells: PBMCells, x: Floats, y: Floats) -> list[Floats]:
    """Return the slopes in x and in y, both curvatures and the lower half of the matrix."""
    sizes = N_ROWS, N_COLUMNS, N_ROWS, cells.column.size
    slope_x, slope_y, curve_x, curve = (np.full(size, np.nan) for size in sizes)
    matrix = np.zeros((N_COLUMNS, N_COLUMNS))
    derivatives(cells, x, y, slope_x, slope_y, curve_x, curve)
    eliminate_rows(cells, x, curve_x, curve, matrix)
    return [slope_x, slope_y, curve_x, curve, matrix]


@pytest.mark.parametrize("seed", range(5))
def test_value_is_the_formula_and_slopes_are_its_differences(seed: int) -> None:
    cells, x, y = drawn(seed)
    assert log_likelihood(cells, x, y) == pytest.approx(by_formula(cells, x, y), rel=1e-13)

    def joint(z: Floats) -> float:
        return by_formula(cells, z[:N_ROWS], z[N_ROWS:])

    slopes = optimize.approx_fprime(np.r_[x, y], joint, 1e-7)
    found = evaluated(cells, x, y)
    assert np.r_[found[0], found[1]] == pytest.approx(slopes, rel=1e-4, abs=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_the_matrix_of_columns_is_the_schur_complement(seed: int) -> None:
    cells, x, y = drawn(seed)
    x[0] = 0.0  # at its bound: this row does not follow
    y[:] = np.minimum(y, -0.1)
    whole = dense_curvature(cells, x, y)
    follow = np.arange(1, N_ROWS)
    columns = np.arange(N_ROWS, N_ROWS + N_COLUMNS)
    cross = whole[np.ix_(columns, follow)]
    want = whole[np.ix_(columns, columns)] - cross @ np.linalg.solve(
        whole[np.ix_(follow, follow)], cross.T
    )
    found = evaluated(cells, x, y)
    assert found[2] == pytest.approx(np.diag(whole)[:N_ROWS], rel=1e-12)
    assert found[4] == pytest.approx(np.tril(want), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_variances_are_those_of_the_inverse(seed: int) -> None:
    cells, x, y = drawn(seed)
    free = np.r_[np.arange(N_ROWS), np.arange(N_ROWS + 1, N_ROWS + N_COLUMNS)]  # y_0 is known
    inverse = np.linalg.inv(dense_curvature(cells, x, y)[np.ix_(free, free)])
    _, _, curve_x, curve, _ = evaluated(cells, x, y)
    covariance = np.zeros((N_COLUMNS, N_COLUMNS))
    covariance[1:, 1:] = inverse[N_ROWS:, N_ROWS:]
    known, inherited = np.zeros(N_ROWS), np.zeros(N_ROWS)
    row_variances(cells, x, curve_x, curve, covariance, known, inherited)
    assert known == pytest.approx(1.0 / curve_x)
    assert known + inherited == pytest.approx(np.diag(inverse)[:N_ROWS], rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_no_other_row_is_better_for_the_same_columns(seed: int) -> None:
    cells, _, y = drawn(seed)
    best = np.zeros(N_ROWS)
    best_rows(cells, y, best)
    assert (best <= 0.0).all()
    value = by_formula(cells, best, y)
    for i in range(N_ROWS):
        for step in (-0.01, 0.01):
            x = best.copy()
            x[i] = min(x[i] + step, 0.0)
            assert by_formula(cells, x, y) <= value


def test_a_certain_click_that_was_missed_is_impossible() -> None:
    cells = PBMCells(np.array([0, 1]), np.array([0]), np.array([3.0]), np.array([1.0]))
    assert log_likelihood(cells, np.zeros(1), np.zeros(1)) == -math.inf
    certain = cells._replace(misses=np.zeros(1))
    assert log_likelihood(certain, np.zeros(1), np.zeros(1)) == 0.0


def test_millions_of_rows_are_added_up_without_loss() -> None:
    n = 200_000
    rng = np.random.default_rng(0)
    hits, misses = rng.integers(1, 9, (2, n)).astype(np.float64)
    cells = PBMCells(np.arange(n + 1), np.zeros(n, dtype=np.int64), hits, misses)
    x = rng.uniform(-3.0, -0.5, n)
    want = math.fsum((hits * x + misses * np.log(-np.expm1(x))).tolist())
    assert log_likelihood(cells, x, np.zeros(1)) == pytest.approx(want, rel=1e-15)


def test_kernels_are_their_python_bodies() -> None:
    cells, x, y = drawn(7)
    compiled = [*evaluated(cells, x, y), np.array(log_likelihood(cells, x, y))]
    with interpreted():
        plain = [*evaluated(cells, x, y), np.array(log_likelihood(cells, x, y))]
    for one, other in zip(compiled, plain, strict=True):
        assert np.array_equal(one, other)
