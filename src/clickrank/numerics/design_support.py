"""Designs on fewer vectors: without those of weight 0, and without those that others replace."""

from __future__ import annotations

import math

from clickrank._compile.jit import lean_kernel
from clickrank._core.arrays import Floats, Ints


@lean_kernel
def keep_weighted(points: Floats, weights: Floats, size: int, rank: int, indices: Ints) -> int:
    """Remove candidates without weight; return how many remain."""
    to = 0
    for i in range(size):
        if weights[i] > 0.0:
            indices[0, to] = indices[0, i]
            weights[to] = weights[i]
            for c in range(rank):
                points[to, c] = points[i, c]
            to += 1
    return to


@lean_kernel
def reduce_support(
    points: Floats,
    weights: Floats,
    size: int,
    rank: int,
    change: Floats,
    indices: Ints,
    table: Floats,
) -> int:
    """Remove candidates until rank · (rank + 1) / 2 remain; return how many remain.

    More products x xᵀ than that are linearly dependent: weights can change without changing Q(π),
    until one of them is 0. Their sum never grows, so that no leverage grows when it is scaled to 1.
    """
    most = rank * (rank + 1) // 2
    while size > most:
        columns = _dependence(points, rank, most, change, table)
        total = 0.0
        for i in range(columns):
            total += change[i]
        sign = -1.0 if total > 0.0 else 1.0
        step = math.inf
        last = 0
        for i in range(columns):
            if sign * change[i] < 0.0 and -weights[i] / (sign * change[i]) < step:
                step = -weights[i] / (sign * change[i])
                last = i
        for i in range(columns):
            weights[i] = max(0.0, weights[i] + step * sign * change[i])
        weights[last] = 0.0
        size = keep_weighted(points, weights, size, rank, indices)
    total = 0.0
    for i in range(size):
        total += weights[i]
    for i in range(size):
        weights[i] /= total
    return size


@lean_kernel
def _dependence(points: Floats, rank: int, most: int, change: Floats, table: Floats) -> int:
    """Write numbers, not all 0, with Σ number · x xᵀ = 0 over the first candidates.

    Returns the number of candidates involved. Elimination goes column by column, up to the first
    column that depends on those before it.
    """
    for i in range(most + 1):
        norm = 0.0
        for a in range(rank):
            norm += points[i, a] * points[i, a]
        row = 0
        for a in range(rank):
            for b in range(a + 1):
                table[row, i] = points[i, a] * points[i, b] / norm
                row += 1
    for column in range(most + 1):
        pivot = column
        for row in range(column, most):
            if abs(table[row, column]) > abs(table[pivot, column]):
                pivot = row
        if column == most or abs(table[pivot, column]) < 1e-12:
            for row in range(column - 1, -1, -1):
                total = table[row, column]
                for c in range(row + 1, column):
                    total += table[row, c] * change[c]
                change[row] = -total / table[row, row]
            change[column] = 1.0
            break
        for c in range(column, most + 1):
            value = table[pivot, c]
            table[pivot, c] = table[column, c]
            table[column, c] = value
        for row in range(column + 1, most):
            factor = table[row, column] / table[column, column]
            if factor != 0.0:
                for c in range(column, most + 1):
                    table[row, c] -= factor * table[column, c]
    for i in range(column + 1):
        norm = 0.0
        for a in range(rank):
            norm += points[i, a] * points[i, a]
        change[i] /= norm
    return column + 1
