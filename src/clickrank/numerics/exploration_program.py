"""How often to show which item where: the program of the lower bound for unknown examination.

Items and positions are sorted, best first, so that the best list has item k at position k. With
μ_ik = θ_i κ_k, the amounts q_ik ≥ 0 of showing item i at position k ≠ i minimise the regret

    Σ q_ik (μ_kk - μ_ik)   subject to   Σ q_ik d(μ_ik, μ'_ik) ≥ 1

for every μ' = θ'κ' that agrees with μ on the best list and for which that list is not the best
one (komiyama2017: the constant C* of the lower bound), and such that lists can have these amounts:
item k appears elsewhere at most as often as others appear at position k.

Agreement on the best list leaves μ'_ik = μ_ik exp(w_i - w_k), where w_i is the change of log θ_i.
Then d is convex in w, and the list ceases to be the best one where two neighbours tie: w_a - w_b
= g for one of n_items - 1 pairs of items and n_positions - 1 pairs of positions, its *rivals*. So
the most confusing μ' comes from that many convex minimisations, and the program is solved by
cutting planes: solve it for some μ', find the μ' that are violated most, add them.

A plan (this program, and its amounts as lists) takes 0.09 ms at 5 × 3, 0.56 ms at 10 × 5 and 4.4 ms
at 20 × 5. The same loop with each linear program solved by SciPy's HiGHS takes 6.7, 9.3 and 66 ms
for the same costs, nearly all of it in HiGHS, and would have to leave compiled code.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.cholesky import solve_positive
from clickrank.numerics.linear_program import OPTIMAL, add_constraint, drop_row, dual_simplex, pivot

#: Part of the mean amount that every cell gets when the most confusing μ' is looked for: first the
#: one, then the other. Without it μ' would be anything in cells of amount 0, and cuts be shallow.
_COARSE, _FINE = 1e-2, 1e-7
#: Cuts that are violated by less would differ from others by rounding alone.
_CLOSEST = 1e-7
_MOST_STEPS = 60


class Workspace(NamedTuple):
    """Work space for solving the program."""

    amounts: Floats  # (n_items, n_positions), q
    mu: Floats  # (n_items, n_positions), μ
    table: Floats  # (rows, n_items · n_positions + 1), the linear program
    basic: Ints  # (rows,)
    nonbasic: Ints  # (n_items · n_positions + 1,)
    cut: Floats  # (n_items · n_positions,), d(μ, μ') of one μ'
    changes: Floats  # (rivals, n_items), w where each rival was last minimised
    step: Floats  # (n_items,), Newton's step
    inner: Floats  # (n_positions, n_positions), Hessian of w_k at the positions
    right: Floats  # (n_positions,), its right-hand side
    bend: Floats  # (n_items, n_positions), second derivatives by cell


def workspace(n_items: int, n_positions: int) -> Workspace:
    """Return room for programs of this shape."""
    cells = n_items * n_positions
    rivals = (n_items - 1) + (n_positions - 1)  # ties that can make another list the best one
    rows = 1 + n_positions + 4 * rivals + 40
    return Workspace(
        amounts=np.zeros((n_items, n_positions)),
        mu=np.zeros((n_items, n_positions)),
        table=np.zeros((rows, cells + 1)),
        basic=np.zeros(rows, dtype=np.int64),
        nonbasic=np.zeros(cells + 1, dtype=np.int64),
        cut=np.zeros(cells),
        changes=np.zeros((rivals, n_items)),
        step=np.zeros(n_items),
        inner=np.zeros((n_positions, n_positions)),
        right=np.zeros(n_positions),
        bend=np.zeros((n_items, n_positions)),
    )


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
    """Write the amounts for log θ = x and log κ = y, which must fall (x outside the list need not).

    Returns bounds of the program's value: the amounts satisfy every constraint and cost the upper
    one; the lower one is at least (1 - tolerance) times that, unless ``most_rounds`` rounds of
    cuts were not enough. If the amounts are too far from satisfying the constraints to be of use,
    the upper bound is infinite and the amounts are 0.
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
        _start_rival(work, x, y, rival)

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
            value = _minimise(work, x, y, rival, extra)
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
                last = True  # cut short: see how good the amounts of before are
    return _finish(work, lower, weakest)


@lean_kernel
def _start_program(work: Workspace) -> int:
    """Write the program without cuts, at a basis whose objective has no negative coefficient.

    That basis trades item k at position k for item k + 1: its prices are those of the assignment
    of items to positions, which the sorted list solves.
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
def _rival(x: Floats, y: Floats, n_positions: int, rival: int) -> tuple[int, int, float]:
    """Return a, b and g: this rival ties where w_a - w_b = g."""
    n_items = x.shape[0]
    if rival < n_items - 1:
        other = min(rival, n_positions - 1)
        return rival + 1, other, x[other] - x[rival + 1]
    k = rival - (n_items - 1)
    return k, k + 1, y[k] - y[k + 1]


@lean_kernel
def _start_rival(work: Workspace, x: Floats, y: Floats, rival: int) -> None:
    """Write a w at which the rival ties, and all μ' are below 1: one item or position moves."""
    n_items, n_positions = work.mu.shape
    a, b, gap = _rival(x, y, n_positions, rival)
    for i in range(n_items):
        work.changes[rival, i] = 0.0
    if rival < n_items - 1:
        work.changes[rival, a] = gap
    else:
        work.changes[rival, b] = -gap


@lean_kernel
def cell_divergence(mu: float, change: float) -> float:
    """Return d(μ, μ e^u), without cancellation for small u; infinite where μ e^u ≥ 1."""
    less = mu * math.expm1(change) / (1.0 - mu)  # (μ' - μ) / (1 - μ)
    if less >= 1.0:
        return math.inf
    if abs(change) < 1e-4:
        # Two terms of the series in u; the third is of the order u² of the first.
        odds = mu / (1.0 - mu)
        return 0.5 * odds * change * change * (1.0 + change * (1.0 + 2.0 * odds) / 3.0)
    return -mu * change - (1.0 - mu) * math.log1p(-less)


@lean_kernel
def _minimise(work: Workspace, x: Floats, y: Floats, rival: int, extra: float) -> float:
    """Move the rival's w to the minimum of Σ (q_ik + extra) d; returns Σ q_ik d there."""
    n_items, n_positions = work.mu.shape
    a, b, _ = _rival(x, y, n_positions, rival)
    w = work.changes[rival]
    for _ in range(_MOST_STEPS):
        here, decrement, reach = _newton(work, w, a, b, extra)
        if decrement <= 1e-9 * here:
            break
        size = min(1.0, reach)
        for _ in range(40):
            there = _objective(work, w, extra, size)
            if there <= here - 0.1 * size * decrement:
                break
            size *= 0.5
        else:
            break
        for i in range(n_items):
            w[i] += size * work.step[i]
    total = 0.0
    for i in range(n_items):
        for k in range(n_positions):
            if i != k and work.amounts[i, k] > 0.0:
                total += work.amounts[i, k] * cell_divergence(work.mu[i, k], w[i] - w[k])
    return total


@lean_kernel
def _objective(work: Workspace, w: Floats, extra: float, size: float) -> float:
    n_items, n_positions = work.mu.shape
    total = 0.0
    for i in range(n_items):
        for k in range(n_positions):
            if i != k:
                change = w[i] - w[k] + size * (work.step[i] - work.step[k])
                total += (work.amounts[i, k] + extra) * cell_divergence(work.mu[i, k], change)
    return total


@lean_kernel
def _newton(work: Workspace, w: Floats, a: int, b: int, extra: float) -> tuple[float, float, float]:
    """Write Newton's step with w_a and w_b held.

    Returns the objective, the decrement (twice the decrease to expect), and how far one may go.
    """
    n_items, n_positions = work.mu.shape
    for k in range(n_positions):
        work.right[k] = 0.0
        for other in range(n_positions):
            work.inner[k, other] = 0.0
    value = 0.0
    # Items outside the list meet positions only: they are eliminated first.
    for i in range(n_items - 1, -1, -1):
        slope_i = 0.0
        total = 0.0
        for k in range(n_positions):
            work.bend[i, k] = 0.0
            if i == k:
                continue
            weight = work.amounts[i, k] + extra
            value += weight * cell_divergence(work.mu[i, k], w[i] - w[k])
            moved = work.mu[i, k] * math.exp(w[i] - w[k])
            slope = weight * (moved - work.mu[i, k]) / (1.0 - moved)
            bend = weight * (1.0 - work.mu[i, k]) * moved / ((1.0 - moved) * (1.0 - moved))
            work.bend[i, k] = bend
            slope_i += slope
            total += bend
            work.right[k] += slope
            work.inner[k, k] += bend
        work.step[i] = -slope_i
        if i < n_positions:
            work.right[i] -= slope_i
            work.inner[i, i] += total
            for k in range(n_positions):
                work.inner[max(i, k), min(i, k)] -= work.bend[i, k]
        elif i != a:
            for k in range(n_positions):
                part = work.bend[i, k] / total
                work.right[k] -= part * slope_i
                for other in range(k + 1):
                    work.inner[k, other] -= part * work.bend[i, other]
    for k in range(n_positions):
        if k in (a, b):  # held
            for other in range(n_positions):
                work.inner[max(k, other), min(k, other)] = 0.0
            work.inner[k, k] = 1.0
            work.right[k] = 0.0
    solve_positive(work.inner, work.right)
    decrement = 0.0
    for k in range(n_positions):
        work.step[k] = work.right[k]
    for i in range(n_positions, n_items):
        if i == a:
            work.step[i] = 0.0
            continue
        right = work.step[i]
        total = 0.0
        for k in range(n_positions):
            right += work.bend[i, k] * work.step[k]
            total += work.bend[i, k]
        work.step[i] = right / total
    reach = math.inf
    for i in range(n_items):
        for k in range(n_positions):
            if i == k:
                continue
            change = work.step[i] - work.step[k]
            decrement += work.bend[i, k] * change * change
            if change > 0.0:
                room = -math.log(work.mu[i, k]) - (w[i] - w[k])
                reach = min(reach, 0.95 * room / change)
    return value, decrement, reach


@lean_kernel
def _write_cut(work: Workspace, rival: int) -> float:
    """Write d(μ, μ') of the rival's μ' as a constraint, its largest entry 1; returns that entry."""
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
    """Forget old cuts that are satisfied and not tight; returns how many rows are left."""
    n_items, n_positions = work.mu.shape
    first = n_items * n_positions + n_positions  # labels of cuts; the older, the smaller
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
    """Scale the amounts so that the weakest constraint holds; returns bounds of the value."""
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
