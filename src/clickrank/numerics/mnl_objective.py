"""Objectives of the multinomial logit model for counts of epochs, and their minima.

There are two tables: N clicks on item j at position k, and Ñ complete epochs that showed it there.
With x = log α, y = log λ and z = x_j + y_k, two objectives can be minimised, both convex in (x, y):

    Σ_jk N e^(−z) + Ñ z                      the limit of the alternating scheme of grant2020,
                                             eq. 5 and 6 (exponential counts of mean e^z)
    Σ_jk (N + Ñ) log(1 + e^z) − N z          the composite likelihood, grant2020, eq. 50
                                             (geometric counts of mean e^z, as if independent)

These are not the likelihood of the model: the counts of one epoch depend on each other through the
list that was shown, which the tables do not record. The likelihood of lists, with log(1 + Σ e^z)
over each list, is in `clickrank.fit.mnl`; on lists of one item it is the composite likelihood.

The method is projected Newton: the items are eliminated from each step, which leaves one system
with one row per position. A pull of c counts as c clicks in c epochs at a bias (or for positions an
attraction) of 1. It makes the minimum unique if the clicks determine a product α_j λ_k but not its
factors, and with c = 1 it is the prior of `epoch-ts-unknown`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import inline_kernel, kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.cholesky import solve_positive

PULL = 1e-3
#: More steps than any fit takes.
MOST_STEPS = 300
_CLOSE = 0.05  # shorter steps are taken without a check that they improve
_DONE = 1e-8  # the next step would be about the square of this

#: Rows of the buffers; the matrices of positions begin at the last.
SLOPE, BEND, STEP, HELD, MATRIX = 0, 1, 2, 3, 4


class Objective(NamedTuple):
    """The objective, and the bounds of the logarithms."""

    composite: int  # 1 for the composite likelihood, 0 for the alternating scheme
    item_pull: float
    position_pull: float
    reference: int  # 1 if the bias of the first position is fixed at 1
    low_x: float
    high_x: float
    low_y: float
    high_y: float


class Tables(NamedTuple):
    """The two tables, and buffers for the steps of Newton's method."""

    n: Floats  # (n_items, n_positions), clicks N
    m: Floats  # (n_items, n_positions), complete epochs Ñ
    bend: Floats  # (n_items, n_positions), second derivatives by cell
    items: Floats  # (4, n_items): slope, curvature, step, and 1 for values at a bound
    positions: Floats  # (4 + 3 n_positions, n_positions): four rows as for items, three matrices


def no_tables(n_items: int, n_positions: int) -> Tables:
    """Return tables without counts."""
    cells = (n_items, n_positions)
    items, positions = np.zeros((4, n_items)), np.zeros((4 + 3 * n_positions, n_positions))
    return Tables(np.zeros(cells), np.zeros(cells), np.zeros(cells), items, positions)


_no_tables = kernel(no_tables)


@kernel
def tables_of(clicks: Ints, epochs: Ints, finished_only: bool) -> Tables:
    """Return tables with counts; see `load_tables`."""
    tables = _no_tables(clicks.shape[0], clicks.shape[1])
    load_tables(clicks, epochs, finished_only, tables)
    return tables


@lean_kernel
def load_tables(clicks: Ints, epochs: Ints, finished_only: bool, tables: Tables) -> None:
    """Write counts into tables; ``finished_only`` ignores clicks without a complete epoch."""
    n_items, n_positions = clicks.shape
    for j in range(n_items):
        shown = 0
        for k in range(n_positions):
            shown += epochs[j, k]
        for k in range(n_positions):
            tables.n[j, k] = clicks[j, k] if shown > 0 or not finished_only else 0.0
            tables.m[j, k] = epochs[j, k]


@lean_kernel
def fit_tables(tables: Tables, objective: Objective, x: Floats, y: Floats) -> int:
    """Move x = log α and y = log λ to the minimum within their bounds; return the number of steps.

    ``x`` and ``y`` hold the starting point, which affects the number of steps only. If no minimum
    is found, the result is `MOST_STEPS`.
    """
    _start(tables, objective, x, y)
    for step in range(1, MOST_STEPS):
        derivatives(tables, objective, x, y)
        _direction(tables, objective, x, y)
        longest = _longest(tables, objective, x, y)
        size = 1.0
        if longest > _CLOSE:
            before = table_loss(tables, objective, x, y, 0.0)
            for _ in range(60):
                after = table_loss(tables, objective, x, y, size)
                if after <= before:
                    break
                size *= 0.5
        for j in range(x.shape[0]):
            x[j] = _moved_x(objective, x[j], size * tables.items[STEP, j])
        for k in range(y.shape[0]):
            y[k] = _moved_y(objective, k, y[k], size * tables.positions[STEP, k])
        if longest < _DONE:
            return step
    return MOST_STEPS


@inline_kernel
def _moved_x(objective: Objective, value: float, step: float) -> float:
    return min(max(value + step, objective.low_x), objective.high_x)


@inline_kernel
def _moved_y(objective: Objective, k: int, value: float, step: float) -> float:
    if k == 0 and objective.reference == 1:
        return 0.0
    return min(max(value + step, objective.low_y), objective.high_y)


@lean_kernel
def _start(tables: Tables, objective: Objective, x: Floats, y: Floats) -> None:
    """Move the starting point within the bounds; without clicks, to the lower bound."""
    n = tables.n
    n_items, n_positions = n.shape
    for k in range(n_positions):
        y[k] = _moved_y(objective, k, y[k], 0.0)
        clicks = objective.position_pull
        for j in range(n_items):
            clicks += n[j, k]
        if clicks == 0.0 and not (k == 0 and objective.reference == 1):
            y[k] = objective.low_y
    for j in range(n_items):
        clicks = objective.item_pull
        for k in range(n_positions):
            clicks += n[j, k]
        if clicks == 0.0:
            x[j] = objective.low_x
        elif objective.composite == 0:
            x[j] = best_given_biases(tables, objective, j, y, 0.0)
        x[j] = _moved_x(objective, x[j], 0.0)


@inline_kernel
def best_given_biases(
    tables: Tables, objective: Objective, j: int, y: Floats, more: float
) -> float:
    """Return log α_j by eq. 6 of grant2020: Σ_k N_jk / λ_k, plus ``more``, per epoch."""
    scaled = objective.item_pull + more
    shown = objective.item_pull
    for k in range(y.shape[0]):
        scaled += tables.n[j, k] * math.exp(-y[k])
        shown += tables.m[j, k]
    return math.log(scaled / shown)


@inline_kernel
def _cell_loss(composite: int, n: float, m: float, z: float) -> float:
    if n == 0.0 and m == 0.0:
        return 0.0
    if composite == 0:
        return n * math.exp(-z) + m * z
    if z > 0.0:
        return (n + m) * (z + math.log1p(math.exp(-z))) - n * z
    return (n + m) * math.log1p(math.exp(z)) - n * z


@inline_kernel
def cell_slope(composite: int, n: float, m: float, z: float) -> tuple[float, float]:
    """Return the first and the second derivative of the objective of a cell by z."""
    if n == 0.0 and m == 0.0:
        return 0.0, 0.0
    if composite == 0:
        part = n * math.exp(-z)
        return m - part, part
    p = 1.0 / (1.0 + math.exp(-z))
    return (n + m) * p - n, (n + m) * p * (1.0 - p)


@lean_kernel
def table_loss(tables: Tables, objective: Objective, x: Floats, y: Floats, size: float) -> float:
    """Return the objective after this part of the step that the tables hold; 0 for none of it."""
    n, m, _, items, positions = tables
    n_items, n_positions = n.shape
    total = 0.0
    for k in range(n_positions):
        b = _moved_y(objective, k, y[k], size * positions[STEP, k])
        positions[MATRIX, k] = b
        pull = objective.position_pull
        total += _cell_loss(objective.composite, pull, pull, b)
    for j in range(n_items):
        a = _moved_x(objective, x[j], size * items[STEP, j])
        pull = objective.item_pull
        total += _cell_loss(objective.composite, pull, pull, a)
        for k in range(n_positions):
            total += _cell_loss(objective.composite, n[j, k], m[j, k], a + positions[MATRIX, k])
    return total


@lean_kernel
def derivatives(tables: Tables, objective: Objective, x: Floats, y: Floats) -> None:
    """Write slopes and curvatures, and mark the values that stay at a bound."""
    n, m, bend, items, positions = tables
    n_items, n_positions = n.shape
    for k in range(n_positions):
        pull = objective.position_pull
        slope, curve = cell_slope(objective.composite, pull, pull, y[k])
        positions[SLOPE, k] = slope
        positions[BEND, k] = curve
    for j in range(n_items):
        pull = objective.item_pull
        slope, curve = cell_slope(objective.composite, pull, pull, x[j])
        for k in range(n_positions):
            s, b = cell_slope(objective.composite, n[j, k], m[j, k], x[j] + y[k])
            slope += s
            curve += b
            positions[SLOPE, k] += s
            positions[BEND, k] += b
            bend[j, k] = b
        items[SLOPE, j] = slope
        items[BEND, j] = curve
        down = x[j] <= objective.low_x and slope >= 0.0
        up = x[j] >= objective.high_x and slope <= 0.0
        items[HELD, j] = 1.0 if down or up or curve == 0.0 else 0.0
    for k in range(n_positions):
        slope = positions[SLOPE, k]
        fixed = k == 0 and objective.reference == 1
        down = y[k] <= objective.low_y and slope >= 0.0
        up = y[k] >= objective.high_y and slope <= 0.0
        positions[HELD, k] = 1.0 if fixed or down or up or positions[BEND, k] == 0.0 else 0.0


@lean_kernel
def eliminate(tables: Tables) -> None:
    """Write the curvature in the positions with the items eliminated: a Schur complement."""
    _, _, bend, items, positions = tables
    n_items, n_positions = bend.shape
    for k in range(n_positions):
        for other in range(k):
            positions[MATRIX + k, other] = 0.0
        free = positions[HELD, k] == 0.0
        positions[MATRIX + k, k] = positions[BEND, k] if free else 1.0
    for j in range(n_items):
        if items[HELD, j] == 1.0:
            continue
        part = 1.0 / items[BEND, j]
        for k in range(n_positions):
            if positions[HELD, k] == 1.0 or bend[j, k] == 0.0:
                continue
            share = bend[j, k] * part
            for other in range(k + 1):
                if positions[HELD, other] == 0.0:
                    positions[MATRIX + k, other] -= share * bend[j, other]


@lean_kernel
def _direction(tables: Tables, objective: Objective, x: Floats, y: Floats) -> None:
    """Write Newton's step, in which values at a bound do not move beyond it."""
    _, _, bend, items, positions = tables
    n_items, n_positions = bend.shape
    again = True
    while again:
        eliminate(tables)
        for k in range(n_positions):
            right = -positions[SLOPE, k]
            for j in range(n_items):
                if items[HELD, j] == 0.0:
                    right += bend[j, k] * items[SLOPE, j] / items[BEND, j]
            positions[STEP, k] = right if positions[HELD, k] == 0.0 else 0.0
        solve_positive(positions[MATRIX : MATRIX + n_positions], positions[STEP])
        again = False
        for k in range(n_positions):
            if positions[HELD, k] == 1.0 or (k == 0 and objective.reference == 1):
                continue
            move = positions[STEP, k]
            outwards = (y[k] <= objective.low_y and move < 0.0) or (
                y[k] >= objective.high_y and move > 0.0
            )
            if outwards:
                positions[HELD, k] = 1.0
                again = True
        for j in range(n_items):
            move = 0.0
            if items[HELD, j] == 0.0:
                move = -items[SLOPE, j]
                for k in range(n_positions):
                    move -= bend[j, k] * positions[STEP, k]
                move /= items[BEND, j]
                outwards = (x[j] <= objective.low_x and move < 0.0) or (
                    x[j] >= objective.high_x and move > 0.0
                )
                if outwards:
                    items[HELD, j] = 1.0
                    again = True
            items[STEP, j] = move


@lean_kernel
def _longest(tables: Tables, objective: Objective, x: Floats, y: Floats) -> float:
    """Return the longest step of any logarithm within its bounds."""
    items, positions = tables.items, tables.positions
    longest = 0.0
    for j in range(x.shape[0]):
        longest = max(longest, abs(_moved_x(objective, x[j], items[STEP, j]) - x[j]))
    for k in range(y.shape[0]):
        longest = max(longest, abs(_moved_y(objective, k, y[k], positions[STEP, k]) - y[k]))
    return longest
