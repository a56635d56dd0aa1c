"""Attraction and examination from clicks by item and position: the likelihood's maximum.

In x = log θ and y = log κ the negative log-likelihood of the position-based model,

    Σ_ik - S_ik (x_i + y_k) - F_ik log(1 - exp(x_i + y_k)),

is convex, so that Newton's method finds the maximum from anywhere. Only sums x_i + y_k matter;
y_0 = 0. Of the clicks only their sums by item and by position matter. Each cell has `PRIOR` clicks
and misses more than were counted: then the maximum exists, is unique, and has all probabilities
strictly between 0 and 1, whatever the counts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.cholesky import solve_positive

PRIOR = 0.05
#: Estimates are rounded to this part, so that they depend on the counts, not on the iterations.
GRID = 1e-6
_MOST_STEPS = 60


class PBMEstimates(NamedTuple):
    """The maximum of the likelihood, and the same rounded to `GRID`."""

    x: Floats  # (n_items,), log θ
    y: Floats  # (n_positions,), log κ
    log_theta: Floats  # (n_items,), rounded
    log_kappa: Floats  # (n_positions,), rounded


@kernel
def estimate_pbm(clicks: Ints, misses: Ints) -> PBMEstimates:
    """Return log θ and log κ of a table of clicks and misses."""
    n_items, n_positions = clicks.shape
    found = PBMEstimates(
        np.zeros(n_items), np.zeros(n_positions), np.zeros(n_items), np.zeros(n_positions)
    )
    bend = np.zeros((n_items, n_positions))
    inner = np.zeros((n_positions, n_positions))
    fitted = np.zeros(1, dtype=np.int64)
    fit_likelihood(
        clicks, misses, fitted, found.x, found.y, found.log_theta, found.log_kappa, bend, inner
    )
    return found


@lean_kernel
def fit_likelihood(
    clicks: Ints,
    misses: Ints,
    fitted: Ints,
    x: Floats,
    y: Floats,
    log_theta: Floats,
    log_kappa: Floats,
    bend: Floats,
    inner: Floats,
) -> None:
    """Write log θ and log κ, rounded; x and y hold them exactly.

    The iterations start at x and y if ``fitted`` says so, and else afresh: the result is the same.
    ``bend`` (n_items, n_positions) and ``inner`` (n_positions, n_positions) are work space.
    """
    if fitted[0] == 0:
        start_likelihood(clicks, misses, x, y)
    found = maximise_likelihood(clicks, misses, x, y, log_theta, log_kappa, bend, inner)
    fitted[0] = 1 if found else 0
    for i in range(x.shape[0]):
        log_theta[i] = rounded(x[i])
    for k in range(y.shape[0]):
        log_kappa[k] = rounded(y[k])


@lean_kernel
def start_likelihood(clicks: Ints | Floats, misses: Ints, x: Floats, y: Floats) -> None:
    """Write a starting point: each item's share of clicks, all positions alike."""
    n_items, n_positions = clicks.shape
    for i in range(n_items):
        s = n_positions * PRIOR
        n = 2.0 * s
        for k in range(n_positions):
            s += clicks[i, k]
            n += clicks[i, k] + misses[i, k]
        x[i] = math.log(s / n)
    for k in range(n_positions):
        y[k] = 0.0


@lean_kernel
def maximise_likelihood(
    clicks: Ints | Floats,
    misses: Ints,
    x: Floats,
    y: Floats,
    step_x: Floats,
    step_y: Floats,
    curvature: Floats,
    schur: Floats,
) -> bool:
    """Move x and y, a feasible point, to the maximum; returns whether it was found.

    ``curvature`` (n_items, n_positions) and ``schur`` (n_positions, n_positions) are work space.
    """
    n_items, n_positions = clicks.shape
    for _ in range(_MOST_STEPS):
        before, decrement = _newton_step(clicks, misses, x, y, step_x, step_y, curvature, schur)
        longest = 0.0  # the step, beside the distance from a probability of 1
        reach = 1.0
        for i in range(n_items):
            for k in range(n_positions):
                change = step_x[i] + step_y[k]
                distance = -(x[i] + y[k])
                longest = max(longest, abs(change) / min(1.0, distance))
                if change > 0.0:
                    reach = min(reach, 0.9 * distance / change)
        size = reach
        # Close to the maximum the loss no longer shows whether a step is good; it is.
        if longest > 1e-4:
            for _ in range(40):
                after = _loss(clicks, misses, x, y, step_x, step_y, size)
                if after <= before - 0.1 * size * decrement:
                    break
                size *= 0.5
        # Below a few units of rounding no step comes closer, whatever the distances say.
        settled = True
        for i in range(n_items):
            x[i] += size * step_x[i]
            settled &= abs(step_x[i]) <= 1e-15 * max(1.0, abs(x[i]))
        for k in range(n_positions):
            y[k] += size * step_y[k]
            settled &= abs(step_y[k]) <= 1e-15 * max(1.0, abs(y[k]))
        if longest < 1e-9 or settled:
            return True
    return False


@lean_kernel
def _newton_step(
    clicks: Ints | Floats,
    misses: Ints,
    x: Floats,
    y: Floats,
    step_x: Floats,
    step_y: Floats,
    curvature: Floats,
    schur: Floats,
) -> tuple[float, float]:
    """Write Newton's step, with y_0 held; returns the loss and twice the decrease to expect."""
    n_items, n_positions = clicks.shape
    loss = 0.0
    for k in range(n_positions):
        step_y[k] = 0.0
        for other in range(n_positions):
            schur[k, other] = 0.0
    # With diagonal blocks for items and for positions, items are eliminated first.
    for i in range(n_items):
        slope_x = 0.0
        total = 0.0
        for k in range(n_positions):
            s = clicks[i, k] + PRIOR
            f = misses[i, k] + PRIOR
            odds = 1.0 / math.expm1(-(x[i] + y[k]))  # p / (1 - p)
            loss -= s * (x[i] + y[k]) + f * math.log(-math.expm1(x[i] + y[k]))
            slope = s - f * odds
            bend = f * odds * (1.0 + odds)
            curvature[i, k] = bend
            slope_x += slope
            total += bend
            step_y[k] += slope
            schur[k, k] += bend
        step_x[i] = slope_x
        for k in range(n_positions):
            part = curvature[i, k] / total
            step_y[k] -= part * slope_x
            for other in range(k + 1):
                schur[k, other] -= part * curvature[i, other]
    for k in range(1, n_positions):
        schur[k, 0] = 0.0
    schur[0, 0] = 1.0
    step_y[0] = 0.0
    solve_positive(schur, step_y)
    decrement = 0.0
    for i in range(n_items):
        total = 0.0
        slope_x = step_x[i]
        right = slope_x
        for k in range(n_positions):
            total += curvature[i, k]
            right -= curvature[i, k] * step_y[k]
        step_x[i] = right / total
        for k in range(n_positions):
            change = step_x[i] + step_y[k]
            decrement += curvature[i, k] * change * change
    return loss, decrement


@lean_kernel
def _loss(
    clicks: Ints | Floats,
    misses: Ints,
    x: Floats,
    y: Floats,
    step_x: Floats,
    step_y: Floats,
    size: float,
) -> float:
    """Return the negative log-likelihood after a step of this size."""
    n_items, n_positions = clicks.shape
    total = 0.0
    for i in range(n_items):
        for k in range(n_positions):
            z = x[i] + y[k] + size * (step_x[i] + step_y[k])
            if z >= 0.0:
                return math.inf
            total -= (clicks[i, k] + PRIOR) * z
            total -= (misses[i, k] + PRIOR) * math.log(-math.expm1(z))
    return total


@lean_kernel
def rounded(value: float) -> float:
    """Return the multiple of `GRID` next to a value."""
    return math.floor(value / GRID + 0.5) * GRID


@lean_kernel
def explains(estimates: PBMEstimates, clicks: Ints, misses: Ints, limit: float) -> bool:
    """Return whether N d(μ̂, θκ) ≤ limit · √N in each cell, of N views with μ̂ clicks each."""
    n_items, n_positions = clicks.shape
    for i in range(n_items):
        for k in range(n_positions):
            s, f = clicks[i, k], misses[i, k]
            expected = math.exp(estimates.x[i] + estimates.y[k])
            divergence = 0.0
            if s > 0:
                divergence += s * math.log(s / ((s + f) * expected))
            if f > 0:
                divergence += f * math.log(f / ((s + f) * (1.0 - expected)))
            if divergence > limit * math.sqrt(s + f):
                return False
    return True
