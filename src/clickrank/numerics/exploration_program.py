"""PMED's linear program: how often each item must be shown at each position.

This is the lower bound on the regret under position-based clicks with unknown examination. Items
and positions are sorted, best first, so that the best list has item k at position k. With
μ_ik = θ_i κ_k, the amounts q_ik ≥ 0 of showing item i at position k ≠ i minimise the regret

    Σ q_ik (μ_kk - μ_ik)   subject to   Σ q_ik d(μ_ik, μ'_ik) ≥ 1

for every μ' = θ'κ' that equals μ on the best list and has another best list (komiyama2017: the
minimum is the constant C* of the lower bound). The amounts must also be possible for lists: item k
appears at other positions at most as often as other items appear at position k.

If μ' equals μ on the best list, then μ'_ik = μ_ik exp(w_i - w_k), where w_i is the change of log
θ_i. Then d is convex in w, and the list stops being the best one where two neighbours tie: w_a -
w_b = g for one of n_items - 1 pairs of items and n_positions - 1 pairs of positions, the *rivals*.
So the most confusing μ' is found by that many convex minimisations (`exploration_rivals`), and the
program is solved by cutting planes: solve it for some μ', add the most violated μ', and repeat.

A plan (this program, and its amounts as lists) takes 0.09 ms for 5 items and 3 positions, 0.56 ms
for 10 and 5, and 4.4 ms for 20 and 5. With SciPy's HiGHS for each linear program, the loop takes
6.7, 9.3 and 66 ms for the same costs, nearly all of it in HiGHS, and must leave compiled code.
"""

from __future__ import annotations

import math

from clickrank._compile.jit import kernel, lean_kernel
from clickrank._core.arrays import Floats
from clickrank.numerics.exploration_rivals import (
    Workspace,
    cell_divergence,
    minimise_rival,
    start_rival,
    workspace,
)
from clickrank.numerics.linear_program import OPTIMAL, add_constraint, drop_row, dual_simplex, pivot

#: Share of the mean amount that is added to every cell in the search for the most confusing μ':
#: first the coarse one, then the fine one. Without it μ' would be arbitrary in cells of amount 0,
#: and cuts would be shallow.
_COARSE, _FINE = 1e-2, 1e-7
#: A cut that is violated by less differs from existing ones by rounding alone.
_CLOSEST = 1e-7


_new_workspace = kernel(workspace)


@kernel
def exploration_amounts(
    x: Floats, y: Floats, tolerance: float, most_rounds: int
) -> tuple[Floats, float]:
    """Return the amounts for log θ = x and log κ = y, and their cost: see `solve_program`."""
    work = _new_workspace(x.shape[0], y.shape[0])
    _, cost = solve_program(work, x, y, tolerance, most_rounds)
    return work.amounts, cost


@lean_kernel
def solve_program(
    work: Workspace, x: Floats, y: Floats, tolerance: float, most_rounds: int
) -> tuple[float, float]:
    """Write the amounts for log θ = x and log κ = y; return bounds of the program's value.

    Both must decrease, except for x outside the list. The amounts satisfy every constraint, and
    their cost is the upper bound. The lower bound is at least (1 - tolerance) times that, unless
    ``most_rounds`` rounds of cuts were not enough. If the amounts are too far from satisfying the
    constraints to be useful, the upper bound is infinite and the amounts are 0.
    """
    n_items, n_positions = work.mu.shape
    for i in range(n_items):
        for k in range(n_positions):
            work.mu[i, k] = math.exp(x[i] + y[k])
            work.amounts[i, k] = 0.0
    rivals = work.changes.shape[0]
    if rivals == 0:
        return 0.0, 0.0
    n_columns = _start_program(work)
    n_rows = n_positions
    label = n_items * n_positions + n_positions
    for rival in range(rivals):
        start_rival(work, x, y, rival)

    tolerance = max(tolerance, _CLOSEST)
    spread = _COARSE
    lower = 0.0
    weakest = 0.0
    last = False
    for attempt in range(most_rounds):
        total = 0.0
        for i in range(n_items):
            for k in range(n_positions):
                total += work.amounts[i, k]
        if attempt > 0 and not total > 0.0:
            break
        last = last or attempt == most_rounds - 1
        if last:
            spread = _FINE
        # The first cuts are for equal amounts everywhere.
        extra = 1.0 if attempt == 0 else spread * total / (n_items * n_positions)
        weakest = math.inf
        added = 0
        for rival in range(rivals):
            value = minimise_rival(work, x, y, rival, extra)
            weakest = min(weakest, value)
            if last or value >= 1.0 - 0.5 * tolerance:
                continue
            if n_rows + 1 >= work.table.shape[0]:
                n_rows = _drop_slack(work, n_rows, n_columns)
                if n_rows + 1 >= work.table.shape[0]:
                    continue
            largest = _write_cut(work, rival)
            add_constraint(
                work.table,
                n_rows,
                work.basic,
                work.nonbasic,
                n_columns,
                work.cut,
                1.0 / largest,
                label,
            )
            n_rows += 1
            label += 1
            added += 1
        if last or (spread == _FINE and weakest >= 1.0 - tolerance):
            break
        if weakest >= 1.0 - tolerance:
            spread = _FINE
        if added > 0:
            most = 20 * (n_rows + n_columns)
            found = dual_simplex(work.table, n_rows, work.basic, work.nonbasic, n_columns, most)
            if found == OPTIMAL:
                lower = work.table[0, 0]
                _read_amounts(work, n_rows)
            else:
                last = True  # not solved: check how good the previous amounts are
    return _finish(work, lower, weakest)


@lean_kernel
def _start_program(work: Workspace) -> int:
    """Write the program without cuts, with a basis whose objective has no negative coefficient.

    The basis exchanges item k at position k for item k + 1. Its prices are those of the assignment
    of items to positions, whose solution is the sorted list.
    """
    n_items, n_positions = work.mu.shape
    columns = 0
    for i in range(n_items):
        for k in range(n_positions):
            if i == k:
                continue
            columns += 1
            work.nonbasic[columns] = i * n_positions + k
            work.table[0, columns] = work.mu[k, k] - work.mu[i, k]
            for row in range(1, n_positions + 1):
                work.table[row, columns] = 0.0
            work.table[k + 1, columns] = 1.0
            if i < n_positions:
                work.table[i + 1, columns] = -1.0
    for row in range(n_positions + 1):
        work.table[row, 0] = 0.0
    for k in range(n_positions):
        work.basic[k + 1] = n_items * n_positions + k
    for k in range(n_positions - 1, -1, -1):
        if k + 1 == n_items:
            continue
        for j in range(1, columns + 1):
            if work.nonbasic[j] == (k + 1) * n_positions + k:
                pivot(work.table, n_positions, k + 1, j, work.basic, work.nonbasic, columns)
                break
    for j in range(1, columns + 1):
        work.table[0, j] = max(work.table[0, j], 0.0)
    return columns


@lean_kernel
def _write_cut(work: Workspace, rival: int) -> float:
    """Write the constraint of the rival's μ', divided by its largest d; return that d."""
    n_items, n_positions = work.mu.shape
    w = work.changes[rival]
    largest = 0.0
    for i in range(n_items):
        for k in range(n_positions):
            d = 0.0
            if i != k:
                d = cell_divergence(work.mu[i, k], w[i] - w[k])
            work.cut[i * n_positions + k] = d
            largest = max(largest, d)
    for cell in range(n_items * n_positions):
        work.cut[cell] /= largest
    return largest


@lean_kernel
def _drop_slack(work: Workspace, n_rows: int, n_columns: int) -> int:
    """Remove old cuts that are satisfied and not tight; return the number of rows that remain."""
    n_items, n_positions = work.mu.shape
    first = (
        n_items * n_positions + n_positions
    )  # the label of the first cut; older cuts have smaller labels
    while n_rows > work.table.shape[0] // 2:
        oldest = 0
        for row in range(1, n_rows + 1):
            droppable = work.basic[row] >= first and work.table[row, 0] >= 0.0
            if droppable and (oldest == 0 or work.basic[row] < work.basic[oldest]):
                oldest = row
        if oldest == 0:
            break
        drop_row(work.table, n_rows, oldest, work.basic, n_columns)
        n_rows -= 1
    return n_rows


@lean_kernel
def _read_amounts(work: Workspace, n_rows: int) -> None:
    n_items, n_positions = work.mu.shape
    for i in range(n_items):
        for k in range(n_positions):
            work.amounts[i, k] = 0.0
    for row in range(1, n_rows + 1):
        cell = work.basic[row]
        if cell < n_items * n_positions:
            work.amounts[cell // n_positions, cell % n_positions] = max(work.table[row, 0], 0.0)


@lean_kernel
def _finish(work: Workspace, lower: float, weakest: float) -> tuple[float, float]:
    """Scale the amounts so that the weakest constraint holds; return bounds of the value."""
    n_items, n_positions = work.mu.shape
    if not weakest > 1e-3:
        for i in range(n_items):
            for k in range(n_positions):
                work.amounts[i, k] = 0.0
        return lower, math.inf
    scale = 1.0 / min(weakest, 1.0)
    cost = 0.0
    for i in range(n_items):
        for k in range(n_positions):
            work.amounts[i, k] *= scale
            cost += work.amounts[i, k] * (work.mu[k, k] - work.mu[i, k])
    return lower, cost
