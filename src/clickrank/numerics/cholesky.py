"""Cholesky factors, inverses and solutions of systems, for positive definite matrices."""

from __future__ import annotations

import math

from clickrank._compile.jit import lean_kernel
from clickrank._core.arrays import Floats


@lean_kernel
def factorise(matrix: Floats, size: int, factor: Floats) -> None:
    """Write the lower factor of the first rows and columns; ``factor`` may be ``matrix``."""
    for i in range(size):
        for j in range(i + 1):
            rest = matrix[i, j]
            for k in range(j):
                rest -= factor[i, k] * factor[j, k]
            factor[i, j] = math.sqrt(rest) if i == j else rest / factor[j, j]


@lean_kernel
def invert_positive(matrix: Floats, rank: int, inverse: Floats) -> None:
    """Write the inverse of a positive definite matrix, whose lower half is read and overwritten."""
    factorise(matrix, rank, matrix)
    for a in range(rank):  # the inverse of the factor
        matrix[a, a] = 1.0 / matrix[a, a]
        for b in range(a):
            total = 0.0
            for c in range(b, a):
                total -= matrix[a, c] * matrix[c, b]
            matrix[a, b] = total * matrix[a, a]
    for a in range(rank):
        for b in range(a + 1):
            total = 0.0
            for c in range(a, rank):
                total += matrix[c, a] * matrix[c, b]
            inverse[a, b] = total
            inverse[b, a] = total


@lean_kernel
def solve_positive(matrix: Floats, right: Floats) -> bool:
    """Overwrite ``right`` by the solution of matrix · x = right; return whether it is reliable.

    Only the lower half of the matrix is read; it is overwritten. A pivot that is 0 up to rounding
    is taken as infinite, so that x is 0 there.
    """
    n = right.shape[0]
    good = True
    for j in range(n):
        largest = matrix[j, j]
        for k in range(j):
            matrix[j, j] -= matrix[j, k] * matrix[j, k]
        if matrix[j, j] > 1e-14 * largest:
            root = math.sqrt(matrix[j, j])
        else:
            root = math.inf
            good = False
        matrix[j, j] = root
        for i in range(j + 1, n):
            for k in range(j):
                matrix[i, j] -= matrix[i, k] * matrix[j, k]
            matrix[i, j] /= root
        for k in range(j):
            right[j] -= matrix[j, k] * right[k]
        right[j] /= root
    for j in range(n - 1, -1, -1):
        for k in range(j + 1, n):
            right[j] -= matrix[k, j] * right[k]
        right[j] /= matrix[j, j]
    return good
