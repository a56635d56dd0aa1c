"""Convex minimisations of PMED's linear program: the most confusing parameters of each rival.

`exploration_program` explains the program. A rival is a tie of two neighbours that makes another
list the best one. For given amounts q, its most confusing parameters minimise Σ q d(μ, μ'), which
is convex in the changes w of log θ. Newton's method finds the minimum.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import lean_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.cholesky import solve_positive

_MOST_STEPS = 60


class Workspace(NamedTuple):
    """Work space for solving the program, with its result in ``amounts``."""

    amounts: Floats  # (n_items, n_positions), q
    mu: Floats  # (n_items, n_positions), μ
    table: Floats  # (rows, n_items · n_positions + 1), the linear program
    basic: Ints  # (rows,)
    nonbasic: Ints  # (n_items · n_positions + 1,)
    cut: Floats  # (n_items · n_positions,), d(μ, μ') for one μ'
    changes: Floats  # (rivals, n_items), w at the last minimum of each rival
    step: Floats  # (n_items,), Newton's step
    inner: Floats  # (n_positions, n_positions), Hessian in w_k of the items in the list
    right: Floats  # (n_positions,), its right-hand side
    bend: Floats  # (n_items, n_positions), second derivatives by cell


def workspace(n_items: int, n_positions: int) -> Workspace:
    """Return work space for programs of this shape."""
    cells = n_items * n_positions
    rivals = (n_items - 1) + (n_positions - 1)  # the ties that can make another list the best one
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


@lean_kernel
def _rival(x: Floats, y: Floats, n_positions: int, rival: int) -> tuple[int, int, float]:
    """Return a, b and g such that this rival ties where w_a - w_b = g."""
    n_items = x.shape[0]
    if rival < n_items - 1:
        other = min(rival, n_positions - 1)
        return rival + 1, other, x[other] - x[rival + 1]
    k = rival - (n_items - 1)
    return k, k + 1, y[k] - y[k + 1]


@lean_kernel
def start_rival(work: Workspace, x: Floats, y: Floats, rival: int) -> None:
    """Write a w at which the rival ties and all μ' are below 1, by moving one item or position."""
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
    """Return d(μ, μ e^u), infinite if μ e^u ≥ 1; nothing cancels for small u."""
    less = mu * math.expm1(change) / (1.0 - mu)  # (μ' - μ) / (1 - μ)
    if less >= 1.0:
        return math.inf
    if abs(change) < 1e-4:
        # Two terms of the series in u; the third is of the order u² of the first.
        odds = mu / (1.0 - mu)
        return 0.5 * odds * change * change * (1.0 + change * (1.0 + 2.0 * odds) / 3.0)
    return -mu * change - (1.0 - mu) * math.log1p(-less)


@lean_kernel
def minimise_rival(work: Workspace, x: Floats, y: Floats, rival: int, extra: float) -> float:
    """Move the rival's w to the minimum of Σ (q_ik + extra) d; return Σ q_ik d there."""
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

    Returns the objective, twice the expected decrease, and the largest step size that keeps every
    μ' below 1.
    """
    n_items, n_positions = work.mu.shape
    for k in range(n_positions):
        work.right[k] = 0.0
        for other in range(n_positions):
            work.inner[k, other] = 0.0
    value = 0.0
    # Items outside the list share cells with positions only, and are eliminated first.
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
                distance = -math.log(work.mu[i, k]) - (w[i] - w[k])
                reach = min(reach, 0.95 * distance / change)
    return value, decrement, reach
