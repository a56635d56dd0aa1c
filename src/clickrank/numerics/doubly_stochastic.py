"""Birkhoff's decomposition of a doubly stochastic matrix into permutations with weights."""

from __future__ import annotations

import numpy as np

from clickrank._compile.jit import kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints


@kernel
def decompose(amounts: Floats, lists: Ints, weights: Floats) -> None:
    """Write amounts by row and column as lists with weights; unused lists have weight 0.

    A list has one row for each column: ``lists[s, k]`` is the row of column k. `fill_up` says which
    amounts are possible.
    """
    n_rows, n_columns = amounts.shape
    matrix = np.zeros((n_rows, n_rows))
    permutations = np.zeros((lists.shape[0], n_rows), dtype=np.int64)
    fill_up(amounts, matrix)
    weights[:] = 0.0
    birkhoff(matrix, permutations, weights, np.zeros((4, n_rows), dtype=np.int64))
    lists[:] = permutations[:, :n_columns]


@lean_kernel
def birkhoff(matrix: Floats, permutations: Ints, weights: Floats, matching_buffer: Ints) -> int:
    """Write a square matrix of equal row and column sums as Σ weight · permutation.

    ``permutations[s, k]`` is the row of column k. Each step takes a permutation whose smallest
    entry is at least half the largest possible, and sets one or more entries to 0, so that n² steps
    are enough. Returns their number. Rounding errors remain in the matrix. ``matching_buffer`` has
    shape (4, n).
    """
    n = matrix.shape[0]
    row_of = matching_buffer[0]
    largest = 0.0
    for i in range(n):
        for k in range(n):
            largest = max(largest, matrix[i, k])
    smallest = 1e-9 * largest
    threshold = largest
    steps = 0
    while threshold > smallest and steps < permutations.shape[0]:
        if not _match(matrix, threshold, matching_buffer):
            threshold *= 0.5
            continue
        weight = matrix[row_of[0], 0]
        for k in range(1, n):
            weight = min(weight, matrix[row_of[k], k])
        for k in range(n):
            matrix[row_of[k], k] -= weight
            permutations[steps, k] = row_of[k]
        weights[steps] = weight
        steps += 1
    return steps


@lean_kernel
def _match(matrix: Floats, threshold: float, matching_buffer: Ints) -> bool:
    """Find a permutation with all entries at least ``threshold``; return whether there is one.

    Augmenting paths are found by breadth-first search from one column after the other.
    """
    n = matrix.shape[0]
    row_of, seen, parent, queue = (
        matching_buffer[0],
        matching_buffer[1],
        matching_buffer[2],
        matching_buffer[3],
    )
    for k in range(n):
        row_of[k] = -1
    for start in range(n):
        for i in range(n):
            seen[i] = 0
        queue[0] = start
        size = 1
        head = 0
        free = -1
        while head < size and free < 0:
            column = queue[head]
            head += 1
            for i in range(n):
                if seen[i] == 1 or matrix[i, column] < threshold:
                    continue
                seen[i] = 1
                parent[i] = column
                owner = -1
                for k in range(n):
                    if row_of[k] == i:
                        owner = k
                        break
                if owner < 0:
                    free = i
                    break
                queue[size] = owner
                size += 1
        if free < 0:
            return False
        while free >= 0:  # give each row to the column that reached it
            column = parent[free]
            before = row_of[column]
            row_of[column] = free
            free = before if column != start else -1
    return True


@lean_kernel
def fill_up(amounts: Floats, matrix: Floats) -> None:
    """Extend amounts to a square matrix with equal row and column sums.

    Row k < n_columns fills the rest of column k, and further columns stand for rows that a list
    leaves out. So the amounts of row k must sum to at most those of column k.
    """
    n_rows, n_columns = amounts.shape
    total = 0.0
    for k in range(n_columns):
        column = 0.0
        for i in range(n_rows):
            column += amounts[i, k]
        total = max(total, column)
    for i in range(n_columns, n_rows):
        row = 0.0
        for k in range(n_columns):
            row += amounts[i, k]
        total = max(total, row)
    for i in range(n_rows):
        for k in range(n_rows):
            matrix[i, k] = amounts[i, k] if k < n_columns else 0.0
    for k in range(n_columns):
        column = 0.0
        for i in range(n_rows):
            column += amounts[i, k]
        matrix[k, k] = total - column
    # The rest of each row goes to the columns that stand for rows left out.
    hidden = n_columns
    space = total
    for i in range(n_rows):
        lack = total
        for k in range(n_columns):
            lack -= matrix[i, k]
        while hidden < n_rows and lack > 0.0:
            part = min(lack, space)
            matrix[i, hidden] += part
            lack -= part
            space -= part
            if space <= 0.0:
                hidden += 1
                space = total
