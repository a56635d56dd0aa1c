"""The KL index of each item at each position, computed only where it is needed.

The index of a cell is the largest click probability within δ of its counts. It is concave in δ, so
once it is known at one δ, the tangent there bounds it from above for every other δ: in most rounds
few indices need to be computed again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import inline_kernel
from clickrank.numerics.kl_bounds import STEEP, kl_upper, kl_upper_rate
from clickrank.types import Floats, Ints

# Far above the rounding of an index, far below any difference that matters.
SLACK = 1e-9
NEVER = -1.0


class KLCells(NamedTuple):
    """The index of each cell when it was last computed; all of shape (n_items, n_positions)."""

    value: Floats  # the index
    rate: Floats  # its derivative by δ
    delta: Floats  # the δ it was computed for; `NEVER` if the counts have changed since


def no_cells(n_items: int, n_positions: int) -> KLCells:
    """Return cells of which no index has been computed."""
    shape = (n_items, n_positions)
    return KLCells(value=np.ones(shape), rate=np.zeros(shape), delta=np.full(shape, NEVER))


@inline_kernel
def cell_index(
    clicks: Ints, misses: Ints, cells: KLCells, item: int, position: int, delta: float
) -> float:
    """Return the index at ``delta``, computed unless it is known."""
    if cells.delta[item, position] != delta:
        hits = clicks[item, position]
        others = misses[item, position]
        upper = kl_upper(hits, others, delta, cells.value[item, position])
        cells.value[item, position] = upper
        cells.rate[item, position] = kl_upper_rate(hits, others, upper)
        cells.delta[item, position] = delta
    return float(cells.value[item, position])


@inline_kernel
def cell_bound(cells: KLCells, item: int, position: int, delta: float) -> float:
    """Return an upper bound of a computed index at another ``delta``: the tangent.

    At the ``delta`` that the index was computed for, it is the index itself.
    """
    moved = delta - cells.delta[item, position]
    if moved == 0.0:
        return float(cells.value[item, position])
    if moved < 0.0 and cells.rate[item, position] >= STEEP:  # no tangent, but it grows with δ
        return float(cells.value[item, position])
    tangent = cells.value[item, position] + cells.rate[item, position] * moved + SLACK
    return min(1.0, float(tangent))
