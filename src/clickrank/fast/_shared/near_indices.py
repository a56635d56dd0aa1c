"""KL indices between bounds that follow the counts of a cell without a logarithm.

The bounds are so close that the index itself is rarely needed. Let U be the index of a cell with S
clicks and F misses, N = S + F and mean m, that is the root of
Φ(p) = S log(m/p) + F log((1 - m)/(1 - p)) = δ. After a more clicks and b more misses, Φ(U) has
grown by

    a log(m/U) + b log((1 - m)/(1 - U)) + (aF - bS)²/(2SFN)

with S, F and N somewhere between the old and the new counts (Taylor's theorem in S and F). Let e be
the growth of δ minus that of Φ(U), and φ the new slope of Φ at U. As Φ is convex in p, the new
index is at most U + e/φ. It is at least U + e/φ - ce²/φ³ if c is at least the curvature of Φ at
this bound and at U, and 4c|e| ≤ φ².
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np

from clickrank._compile.jit import inline_kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.kl_bounds import SLACK, kl_upper, kl_upper_rate

Cell: TypeAlias = tuple[int, int]

# The δ of an index that has not been computed.
_NEVER = -1.0


class NearIndices(NamedTuple):
    """The index of each cell, an item at a position, when it was last computed."""

    value: Floats  # (n_items, n_positions), U
    rate: Floats  # dU/dδ; infinite if counts have changed since; all have this shape
    delta: Floats  # δ
    clicks: Floats  # S
    misses: Floats  # F
    by_click: Floats  # log(m/U)
    by_miss: Floats  # log((1 - m)/(1 - U))


def no_near_indices(shape: tuple[int, int]) -> NearIndices:
    """Return arrays in which no index has been computed."""
    never = np.full(shape, _NEVER)
    return NearIndices(np.ones(shape), np.full(shape, math.inf), never, *np.zeros((4, *shape)))


@inline_kernel
def change(near: NearIndices, cell: Cell) -> None:
    """Note that the counts of a cell have changed."""
    near.rate[cell] = math.inf


@lean_kernel
def compute(near: NearIndices, clicks: Ints, misses: Ints, cell: Cell, delta: float) -> float:
    """Return the index of a cell, computed unless it is known."""
    if near.rate[cell] == math.inf or near.delta[cell] != delta:
        s, f = clicks[cell], misses[cell]
        upper = kl_upper(s, f, delta, near.value[cell])
        near.value[cell] = upper
        near.rate[cell] = kl_upper_rate(s, f, upper)
        near.delta[cell] = delta
        near.clicks[cell] = s
        near.misses[cell] = f
        if s > 0 and f > 0 and upper < 1.0:
            mean = s / (s + f)
            near.by_click[cell] = math.log(mean / upper)
            near.by_miss[cell] = math.log((1.0 - mean) / (1.0 - upper))
        else:  # changed counts have no bounds
            near.by_click[cell] = math.nan
    return float(near.value[cell])


@inline_kernel
def _surplus(
    near: NearIndices, clicks: Ints, misses: Ints, cell: Cell, delta: float, most: bool
) -> float:
    """Return a bound of e, from above or from below; NaN if there is none."""
    s, f = near.clicks[cell], near.misses[cell]
    a, b = clicks[cell] - s, misses[cell] - f
    turn = a * f - b * s
    if most:
        s, f = s + a, f + b
    growth = a * near.by_click[cell] + b * near.by_miss[cell]
    growth += 0.5 * turn * turn / (s * f * (s + f))
    return float(delta - near.delta[cell] - growth)


@inline_kernel
def above(near: NearIndices, clicks: Ints, misses: Ints, cell: Cell, delta: float) -> float:
    """Return an upper bound of the index of a cell, which is computed if there is no bound."""
    value = near.value[cell]
    rate = near.rate[cell]
    if rate < math.inf:
        moved = delta - near.delta[cell]
        return float(value) if moved == 0.0 else float(value + rate * moved + SLACK)
    if near.delta[cell] != _NEVER:
        surplus = _surplus(near, clicks, misses, cell, delta, True)
        slope = misses[cell] / (1.0 - value) - clicks[cell] / value
        if slope > 0.0 and not math.isnan(surplus):
            return float(value + surplus / slope + SLACK)
    return compute(near, clicks, misses, cell, delta)


@inline_kernel
def below(near: NearIndices, clicks: Ints, misses: Ints, cell: Cell, delta: float) -> float:
    """Return a lower bound of the index of a cell, which is computed if there is no bound."""
    value = near.value[cell]
    if near.rate[cell] < math.inf and near.delta[cell] == delta:
        return float(value)
    if near.delta[cell] != _NEVER:
        s, f = float(clicks[cell]), float(misses[cell])
        surplus = _surplus(near, clicks, misses, cell, delta, False)
        slope = f / (1.0 - value) - s / value
        step = surplus / slope
        least, most = value + min(2.0 * step, 0.0), value + max(step, 0.0)
        if slope > 0.0 and least > 0.0 and most < 1.0:
            curvature = f / ((1.0 - most) * (1.0 - most)) + s / (least * least)
            if 4.0 * curvature * math.fabs(step) <= slope:
                return float(value + step - curvature * step * step / slope - SLACK)
    return compute(near, clicks, misses, cell, delta)
