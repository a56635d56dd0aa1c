"""The linear assignment problem: one row for each column, with the largest sum of values.

`assign` keeps an optimal assignment up to date. Values change little between two calls, so that the
last optimum is tried first: an assignment is optimal if and only if no cyclic exchange improves it.
SciPy's `linear_sum_assignment` solves it from scratch, cannot be called from compiled code, and
does not say whether the optimum is unique.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clickrank._compile.jit import kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.shuffling import shuffle, swap_at_random

# Sums closer than this count as equal, and chance decides. This is far above the rounding of a sum
# of probabilities (1e-15), far below any difference that matters.
TIE = 1e-11


@kernel
def best_assignment(values: Floats, rng: np.random.Generator, best: Ints) -> None:
    """Write the optimal row of each column into ``best``, breaking ties at random.

    ``values`` has shape (n_rows, n_columns).
    """
    n_rows, n_columns = values.shape
    best[:] = np.arange(n_columns)
    float_buffer = np.zeros((5, n_rows))
    int_buffer = np.zeros((4, n_rows), dtype=np.int64)
    graph_buffer = np.zeros((n_columns + 1, n_columns + 1))
    assign(values, rng, best, float_buffer, int_buffer, graph_buffer)


@lean_kernel
def assign(
    values: Floats,
    rng: np.random.Generator,
    best: Ints,
    float_buffer: Floats,
    int_buffer: Ints,
    graph_buffer: Floats,
) -> float:
    """Write the optimal assignment into ``best``, breaking ties at random; return its lead.

    ``best`` must hold distinct rows; the optimum of similar values saves time. The lead is the
    difference between the optimum and the second best assignment, at most `TIE` if some are tied.
    Random numbers are drawn only then, so that the draws depend on the values alone.

    Parameters
    ----------
    values
        (n_rows, n_columns).
    rng
        Breaks ties.
    best
        (n_columns,), the row of each column.
    float_buffer, int_buffer, graph_buffer
        Work space of shapes (5, n_rows), (4, n_rows), (n_columns + 1, n_columns + 1);
        ``int_buffer[3]`` is the order in which rows are tried, a permutation.
    """
    lead = optimise(values, best, float_buffer, int_buffer, graph_buffer)
    if lead <= TIE:
        break_ties(values, rng, best, float_buffer, int_buffer)
    return lead


@lean_kernel
def optimise(
    values: Floats, best: Ints, float_buffer: Floats, int_buffer: Ints, graph_buffer: Floats
) -> float:
    """Write any optimal assignment into ``best``; return its lead."""
    lead = exchange_cost(values, best, int_buffer[0], graph_buffer)
    if lead < -TIE:
        for row in range(values.shape[0]):
            float_buffer[3, row] = 0.0
            int_buffer[3, row] = row
        solve_assignment(values, float_buffer[3], best, float_buffer, int_buffer)
        lead = exchange_cost(values, best, int_buffer[0], graph_buffer)
    return lead


@lean_kernel
def break_ties(
    values: Floats, rng: np.random.Generator, best: Ints, float_buffer: Floats, int_buffer: Ints
) -> None:
    """Choose among tied optima by random bonuses that are too small to change anything else.

    The bonus of a cell is that of the row times the weight of the column, 1/K, 2/K, ..., 1 in
    random order, so that the order of rows and columns makes no difference. Rows are tried in
    random order too: with many of them rounding may make two bonuses equal. The previous content of
    the work space makes no difference either.
    """
    bonus = float_buffer[3]
    weights = float_buffer[4]
    order = int_buffer[3]
    n_rows = values.shape[0]
    for row in range(n_rows):
        bonus[row] = rng.random() * (TIE / best.shape[0])
        order[row] = row
    for column in range(best.shape[0]):
        weights[column] = (column + 1.0) / best.shape[0]
        swap_at_random(rng, weights, column, 0, column + 1)
    shuffle(rng, order, 0, n_rows)
    solve_assignment(values, bonus, best, float_buffer, int_buffer)


@lean_kernel
def solve_assignment(
    values: Floats, bonus: Floats, best: Ints, float_buffer: Floats, int_buffer: Ints
) -> None:
    """Solve the problem from scratch by shortest augmenting paths, O(n_columns² · n_rows).

    In a column the bonus of a row is multiplied by the weight in ``float_buffer[4]``. Rows are
    tried in the order of ``int_buffer[3]``, a permutation.
    """
    n_rows, n_columns = values.shape
    price = float_buffer[0]  # of each row
    profit = float_buffer[1]  # of each column, in the first n_columns places
    distance = float_buffer[2]
    column_of = int_buffer[0]
    previous = int_buffer[1]  # the row before this one on the shortest path, -1 for none
    done = int_buffer[2]
    order = int_buffer[3]
    for row in range(n_rows):
        price[row] = 0.0
        profit[row] = 0.0
        column_of[row] = -1
    for start in range(n_columns):
        for row in range(n_rows):
            distance[row] = math.inf
            done[row] = 0
        column = start
        last = -1
        reached = 0.0
        while True:
            nearest = -1
            weight = float_buffer[4, column]
            offset = reached + profit[column]
            for place in range(n_rows):
                row = order[place]
                if done[row] == 1:
                    continue
                gain = values[row, column] + bonus[row] * weight
                length = offset + price[row] - gain
                if length < distance[row]:
                    distance[row] = length
                    previous[row] = last
                if nearest < 0 or distance[row] < distance[nearest]:
                    nearest = row
            reached = distance[nearest]
            last = nearest
            if column_of[nearest] < 0:
                break
            done[nearest] = 1
            column = column_of[nearest]
        profit[start] -= reached
        for row in range(n_rows):
            if done[row] == 1:
                price[row] += reached - distance[row]
                profit[column_of[row]] -= reached - distance[row]
        while last >= 0:
            before = previous[last]
            column_of[last] = column_of[before] if before >= 0 else start
            last = before
    for row in range(n_rows):
        if column_of[row] >= 0:
            best[column_of[row]] = row


@lean_kernel
def exchange_cost(values: Floats, best: Ints, used: Ints, graph_buffer: Floats) -> float:
    """Return the least cost of an exchange: negative if some exchange improves the assignment.

    In an exchange each column of a cycle takes the row of the next, or one takes an unused row and
    the row of the first becomes unused. Two assignments differ by exchanges, so the cheapest one
    leads to the second best assignment.

    The graph has a node for each column, and a last one for the unused rows. An edge k → l costs
    what column k loses by taking the row of l. Cycles are exchanges.
    """
    n_rows, n_columns = values.shape
    outside = n_columns
    for row in range(n_rows):
        used[row] = 0
    for row in best:
        used[row] = 1
    for k in range(n_columns):
        current = values[best[k], k]
        for other in range(n_columns):
            graph_buffer[k, other] = current - values[best[other], k]
        graph_buffer[k, k] = math.inf
        graph_buffer[k, outside] = math.inf
        graph_buffer[outside, k] = 0.0
    graph_buffer[outside, outside] = math.inf
    for row in range(n_rows):
        if used[row] == 0:
            for k in range(n_columns):
                loss = values[best[k], k] - values[row, k]
                graph_buffer[k, outside] = min(graph_buffer[k, outside], loss)
    # Nodes are removed from the last to the first, each replaced by the shortcuts through it. Every
    # cycle is then found at its node of lowest number.
    for via in range(n_columns, 0, -1):
        for k in range(via):
            first = graph_buffer[k, via]
            for other in range(via):
                graph_buffer[k, other] = min(
                    graph_buffer[k, other], first + graph_buffer[via, other]
                )
    least = math.inf
    for k in range(n_columns):
        least = min(least, graph_buffer[k, k])
    return least


def assignment_buffers(n_rows: int, n_columns: int) -> dict[str, Any]:
    """Return a first assignment and the work space of `assign`, by the names of its parameters."""
    return {
        "best": np.arange(n_columns),
        "float_buffer": np.zeros((5, n_rows)),
        "int_buffer": np.zeros((4, n_rows), dtype=np.int64),
        "graph_buffer": np.zeros((n_columns + 1, n_columns + 1)),
    }
