"""Counts by item and position, each with a lazily computed KL index.

The index of a cell is the largest click probability within δ of its counts. It is concave in δ, so
once it is known at one δ, the tangent there bounds it from above for every other δ: most rounds
need no index to be computed anew.

These kernels take any state that has the fields of `KLCells`.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from clickrank._jit import inline_kernel
from clickrank.numerics.kl_bounds import STEEP, kl_upper, kl_upper_rate
from clickrank.types import Floats, Ints

# Far above the rounding of an index, far below any difference that matters.
SLACK = 1e-9
NEVER = -1.0


class KLCells(Protocol):
    """The fields that a state must have, all of shape (n_items, n_positions)."""

    @property
    def clicks(self) -> Ints:
        """Statistic: clicks on the item at the position."""

    @property
    def misses(self) -> Ints:
        """Statistic: views without a click."""

    @property
    def value(self) -> Floats:
        """Scratch: the index when last computed."""

    @property
    def rate(self) -> Floats:
        """Scratch: its derivative by δ there."""

    @property
    def at(self) -> Floats:
        """Scratch: that δ; `NEVER` if the counts have changed since."""


def no_cells(n_items: int, n_positions: int) -> dict[str, Any]:
    """Return the fields of `KLCells` before the first click."""
    cells = (n_items, n_positions)
    return {
        "clicks": np.zeros(cells, dtype=np.int64),
        "misses": np.zeros(cells, dtype=np.int64),
        "value": np.ones(cells),
        "rate": np.zeros(cells),
        "at": np.full(cells, NEVER),
    }


@inline_kernel
def count_cell(cells: KLCells, item: int, position: int, click: int) -> None:
    """Count one view."""
    cells.clicks[item, position] += click
    cells.misses[item, position] += 1 - click
    cells.at[item, position] = NEVER


@inline_kernel
def cell_index(cells: KLCells, item: int, position: int, delta: float) -> float:
    """Return the index at ``delta``, computed unless it is known."""
    if cells.at[item, position] != delta:
        clicks = cells.clicks[item, position]
        misses = cells.misses[item, position]
        upper = kl_upper(clicks, misses, delta, cells.value[item, position])
        cells.value[item, position] = upper
        cells.rate[item, position] = kl_upper_rate(clicks, misses, upper)
        cells.at[item, position] = delta
    return float(cells.value[item, position])


@inline_kernel
def cell_bound(cells: KLCells, item: int, position: int, delta: float) -> float:
    """Return a bound on a known index at another ``delta``: its tangent. Its own at its own."""
    moved = delta - cells.at[item, position]
    if moved == 0.0:
        return float(cells.value[item, position])
    if moved < 0.0 and cells.rate[item, position] >= STEEP:  # no tangent, but it grows with δ
        return float(cells.value[item, position])
    tangent = cells.value[item, position] + cells.rate[item, position] * moved + SLACK
    return min(1.0, float(tangent))
