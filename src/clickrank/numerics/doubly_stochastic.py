"""Birkhoff's decomposition: a doubly stochastic matrix as a mixture of permutations."""

from __future__ import annotations

import numpy as np

from clickrank._compile.jit import kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints


@kernel
def decompose(amounts: Floats, lists: Ints, weights: Floats) -> None:
    """Write amounts of items at positions as lists with weights above 0; those left over get 0.

    ``lists[s, k]`` is the item of position k. See `fill_up` for what amounts must be.
    """
    n_items, n_positions = amounts.shape
    matrix = np.zeros((n_items, n_items))
    permutations = np.zeros((lists.shape[0], n_items), dtype=np.int64)
    fill_up(amounts, matrix)
    weights[:] = 0.0
    birkhoff(matrix, permutations, weights, np.zeros((4, n_items), dtype=np.int64))
    lists[:] = permutations[:, :n_positions]


@lean_kernel
def birkhoff(matrix: Floats, permutations: Ints, weights: Floats, work: Ints) -> int:
    """Write a square matrix of equal row and column sums as Σ weight · permutation.

    ``permutations[s, k]`` is the row of column k. Each step takes a permutation whose smallest
    entry is large (within a factor 2 of the largest possible) and empties one entry at least, so
    n² steps are enough. Returns their number; the matrix is left with what remains: rounding.
    ``work`` is room for 4 × n numbers.
    """
    n = matrix.shape[0]
    row_of = work[0]
    largest = 0.0
    for i in range(n):
        for k in range(n):
            largest = max(largest, matrix[i, k])
    smallest = 1e-9 * largest
    threshold = largest
    steps = 0
    while threshold > smallest and steps < permutations.shape[0]:
        if not _match(matrix, threshold, work):
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
def _match(matrix: Floats, threshold: float, work: Ints) -> bool:
    """Find a permutation with all entries at least ``threshold``; False if there is none.

    Augmenting paths by breadth-first search, from one column after the other.
    """
    n = matrix.shape[0]
    row_of, seen, parent, queue = work[0], work[1], work[2], work[3]
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
        while free >= 0:  # hand each row to the column that reached it
            column = parent[free]
            before = row_of[column]
            row_of[column] = free
            free = before if column != start else -1
    return True


@lean_kernel
def fill_up(amounts: Floats, matrix: Floats) -> None:
    """Fill amounts by item and position up to a square matrix of equal row and column sums.

    Item k < n_positions is shown at position k whatever the amounts leave of it, and items may be
    left out; so item k must be elsewhere at most as often as others are at position k.
    """
    n_items, n_positions = amounts.shape
    total = 0.0
    for k in range(n_positions):
        column = 0.0
        for i in range(n_items):
            column += amounts[i, k]
        total = max(total, column)
    for i in range(n_positions, n_items):
        row = 0.0
        for k in range(n_positions):
            row += amounts[i, k]
        total = max(total, row)
    for i in range(n_items):
        for k in range(n_items):
            matrix[i, k] = amounts[i, k] if k < n_positions else 0.0
    for k in range(n_positions):
        column = 0.0
        for i in range(n_items):
            column += amounts[i, k]
        matrix[k, k] = total - column
    # What an item lacks of the total, it is not shown: spread over the columns of no position.
    hidden = n_positions
    room = total
    for i in range(n_items):
        lack = total
        for k in range(n_positions):
            lack -= matrix[i, k]
        while hidden < n_items and lack > 0.0:
            part = min(lack, room)
            matrix[i, hidden] += part
            lack -= part
            room -= part
            if room <= 0.0:
                hidden += 1
                room = total
