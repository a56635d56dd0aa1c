"""Uncertainty of the estimates of `mnl_objective`: effects of a click, and draws of biases."""

from __future__ import annotations

import math

import numpy as np

from clickrank._compile.jit import lean_kernel
from clickrank._core.arrays import Floats
from clickrank.numerics.cholesky import factorise, invert_positive
from clickrank.numerics.mnl_objective import (
    BEND,
    HELD,
    MATRIX,
    SLOPE,
    STEP,
    Objective,
    Tables,
    best_given_biases,
    cell_slope,
    derivatives,
    eliminate,
)


@lean_kernel
def click_effects(
    tables: Tables, objective: Objective, x: Floats, y: Floats, squares: Floats
) -> None:
    """Write Σ_ks Ñ_ks (α_j^ks − α_j)² for each item j, where α^ks is α with one more click in N_ks.

    Nothing is fitted again. The clicked item moves to its best value for the present biases, which
    may be far away. This changes the slopes of the biases, which move by one step of Newton's
    method with the curvature at the minimum (x, y), and all items with them. For large counts this
    is the derivative by the implicit function theorem. That derivative alone is useless for an
    estimate at a bound: it is 0 for an item without clicks.
    """
    n, m, bend, items, positions = tables
    n_items, n_positions = n.shape
    derivatives(tables, objective, x, y)
    eliminate(tables)
    inverse = MATRIX + n_positions
    spread = inverse + n_positions
    invert_positive(
        positions[MATRIX : MATRIX + n_positions],
        n_positions,
        positions[inverse : inverse + n_positions],
    )
    for k in range(n_positions):
        for other in range(n_positions):
            positions[spread + k, other] = 0.0
            if positions[HELD, k] == 1.0 or positions[HELD, other] == 1.0:
                positions[inverse + k, other] = 0.0
    for i in range(n_items):
        squares[i] = 0.0
        for k in range(n_positions):
            if m[i, k] == 0.0:
                continue
            best = _best_with_click(tables, objective, i, k, x[i], y)
            kept = min(max(best, objective.low_x), objective.high_x)
            curve = _item_change(tables, objective, i, k, x[i], kept, y)
            drawn_along = 0.0  # effect of the biases on the clicked item
            shared = 0.0
            for row in range(n_positions):
                move = 0.0
                for other in range(n_positions):
                    move -= positions[inverse + row, other] * positions[SLOPE, other]
                # Biases stay within their bounds: one step of Newton's method may be far too long.
                # Held biases do not move; the reference among them has no bounds.
                if positions[HELD, row] == 0.0:
                    move = min(max(move, objective.low_y - y[row]), objective.high_y - y[row])
                positions[BEND, row] = move
                drawn_along -= move * positions[STEP, row]
                shared -= move * bend[i, row]
            moved = best + drawn_along / curve
            moved = min(max(moved, objective.low_x), objective.high_x)
            change = math.exp(moved) - math.exp(x[i])
            squares[i] += m[i, k] * change * change
            if items[HELD, i] == 0.0:  # its term in the sum below
                part = math.exp(x[i]) * shared / items[BEND, i]
                squares[i] -= m[i, k] * part * part
            for row in range(n_positions):
                weight = m[i, k] * positions[BEND, row]
                for other in range(n_positions):
                    positions[spread + row, other] += weight * positions[BEND, other]
    for j in range(n_items):
        if items[HELD, j] == 1.0:
            continue
        total = 0.0
        for k in range(n_positions):
            for other in range(n_positions):
                total += bend[j, k] * positions[spread + k, other] * bend[j, other]
        part = math.exp(x[j]) / items[BEND, j]
        squares[j] = max(squares[j] + part * part * total, 0.0)


@lean_kernel
def _best_with_click(
    tables: Tables, objective: Objective, i: int, k: int, x: float, y: Floats
) -> float:
    """Return the best log α of an item for these biases with one more click at position k.

    The result may be outside the bounds.
    """
    n, m, n_positions = tables.n, tables.m, y.shape[0]
    if objective.composite == 0:
        return best_given_biases(tables, objective, i, y, math.exp(-y[k]))
    low, high, at = x, math.inf, x  # a click increases it
    for _ in range(100):
        slope, curve = cell_slope(1, objective.item_pull, objective.item_pull, at)
        for position in range(n_positions):
            more = 1.0 if position == k else 0.0
            s, b = cell_slope(1, n[i, position] + more, m[i, position], at + y[position])
            slope += s
            curve += b
        if slope < 0.0:
            low = at
        else:
            high = at
        step = min(max(-slope / curve, -1.0), 1.0)
        found = at + step
        if not low <= found <= high:
            found = 0.5 * (low + high)
        if abs(found - at) < 1e-12:
            return found
        at = found
    return at


@lean_kernel
def _item_change(
    tables: Tables, objective: Objective, i: int, k: int, x: float, best: float, y: Floats
) -> float:
    """Write the changes of the slopes of the biases due to the click and the move of its item.

    The curvatures of the item's cells after the move are written to the row of steps; their sum is
    returned.
    """
    n, m, positions = tables.n, tables.m, tables.positions
    total = cell_slope(objective.composite, objective.item_pull, objective.item_pull, best)[1]
    for position in range(y.shape[0]):
        more = 1.0 if position == k else 0.0
        before = cell_slope(objective.composite, n[i, position], m[i, position], x + y[position])
        after = cell_slope(
            objective.composite, n[i, position] + more, m[i, position], best + y[position]
        )
        positions[SLOPE, position] = after[0] - before[0]
        positions[STEP, position] = after[1]
        total += after[1]
    return total


@lean_kernel
def draw_log_biases(
    tables: Tables,
    objective: Objective,
    x: Floats,
    y: Floats,
    rng: np.random.Generator,
    drawn: Floats,
) -> None:
    """Draw log λ from the normal distribution whose precision is the curvature at (x, y)."""
    n_positions = y.shape[0]
    derivatives(tables, objective, x, y)
    eliminate(tables)
    matrix = tables.positions[MATRIX : MATRIX + n_positions]
    factorise(matrix, n_positions, matrix)
    for k in range(n_positions):
        drawn[k] = rng.standard_normal()
    for k in range(n_positions - 1, -1, -1):  # solve Lᵀ u = ξ
        for other in range(k + 1, n_positions):
            drawn[k] -= matrix[other, k] * drawn[other]
        drawn[k] /= matrix[k, k]
    for k in range(n_positions):
        drawn[k] += y[k]
