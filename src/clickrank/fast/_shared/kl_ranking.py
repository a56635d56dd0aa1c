"""Lists of the items with the largest KL indices, without computing most of them.

If the index of one item is above the bound of another, their order is known without computing the
other index. Two items with the same counts are tied for every δ.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import inline_kernel, tell_apart
from clickrank._core.arrays import Floats, Ints
from clickrank.fast._shared.kl_index_cache import NEVER, KLIndices, no_indices, store_index, tangent
from clickrank.numerics.kl_bounds import kl_upper, kl_upper_rate
from clickrank.rankings.selection import contenders, draw_entered, enter, leave_out


class KLRanking(NamedTuple):
    """The known indices of items, and the last list."""

    indices: KLIndices  # (n_items,), when last computed
    best: Ints  # (n_positions,), items by decreasing index, ties by number
    bounds_buffer: Floats  # (n_items,), the index at the present δ, or a number above it
    items_buffer: Ints  # (2, n_items); this and the next: see `contenders`
    ceilings_buffer: Floats  # (n_positions,)


tell_apart(KLRanking)


def no_ranking(n_items: int, n_positions: int) -> KLRanking:
    """Return the ranking before any index is computed."""
    return KLRanking(
        indices=no_indices(n_items),
        best=np.arange(n_positions),
        bounds_buffer=np.zeros(n_items),
        items_buffer=np.zeros((2, n_items), dtype=np.int64),
        ceilings_buffer=np.zeros(n_positions),
    )


@inline_kernel
def rank_by_index(
    last: KLRanking,
    candidates: Ints,
    clicks: Ints,
    misses: Ints,
    delta: float,
    rng: np.random.Generator,
    ranking: Ints,
) -> None:
    """Write the candidates with the largest indices at δ, best first, ties at random.

    All items are candidates if none are given. An item without a view has an infinite index. δ must
    not decrease from call to call.
    """
    indices, best, bounds, buffer = last.indices, last.best, last.bounds_buffer, last.items_buffer
    for item in range(bounds.shape[0]):
        bounds[item] = tangent(indices, item, delta)
    if candidates.shape[0] > 0:
        leave_out(candidates, bounds, best)
    k = best.shape[0]
    found = -1  # contenders, which are found once the indices of the last list are known
    sure = False
    while not sure:
        for i in range(k + max(found, 0)):
            item = best[i] if i < k else buffer[0, i - k]
            if indices.delta[item] == NEVER:
                _compute(last, clicks, misses, item, delta)
        if found < 0:
            found = contenders(indices.value, bounds, best, buffer, last.ceilings_buffer)
            continue
        enter(indices.value, best, buffer, found)
        sure = True
        for i in range(1, k):
            sure &= _tell_apart(last, clicks, misses, best[i - 1], best[i], delta)
        worst = best[k - 1]
        for j in range(found):
            if bounds[buffer[0, j]] >= indices.value[worst]:
                sure &= _tell_apart(last, clicks, misses, worst, buffer[0, j], delta)
    draw_entered(indices.value, rng, best, buffer, found, ranking)


@inline_kernel
def _tell_apart(
    last: KLRanking, clicks: Ints, misses: Ints, better: int, worse: int, delta: float
) -> bool:
    """Return whether the order of two items is certain; if not, mark them to be computed."""
    indices = last.indices
    if indices.value[better] > last.bounds_buffer[worse]:
        return True
    if indices.delta[better] == indices.delta[worse] and (
        indices.delta[better] == delta
        or (clicks[better] == clicks[worse] and misses[better] == misses[worse])
    ):
        return True
    if indices.delta[better] != delta:
        indices.delta[better] = NEVER
    if indices.delta[worse] != delta:
        indices.delta[worse] = NEVER
    return False


@inline_kernel
def _compute(last: KLRanking, clicks: Ints, misses: Ints, item: int, delta: float) -> None:
    """Compute an item's index at δ from its counts only: equal counts give equal indices."""
    s, f = clicks[item], misses[item]
    value = kl_upper(s, f, delta) if s + f > 0 else math.inf
    store_index(last.indices, item, value, kl_upper_rate(s, f, value), delta)
    last.bounds_buffer[item] = value
