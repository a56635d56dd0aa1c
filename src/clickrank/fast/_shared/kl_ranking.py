"""Lists of the largest KL indices, of which most need not be computed.

Two items of which one has an index above the bound of the other need no index to be computed to
tell which is better. Nor do two items of the same counts, which are tied for every δ.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import inline_kernel, tell_apart
from clickrank._core.arrays import Floats, Ints
from clickrank.fast._shared.kept_indices import NEVER, KLIndices, keep, no_indices, tangent
from clickrank.numerics.kl_bounds import kl_upper, kl_upper_rate
from clickrank.rankings.selection import contenders, draw_entered, enter, leave_out


class KLRanking(NamedTuple):
    """The index of each item where it is known, and the last list."""

    kept: KLIndices  # (n_items,), when last computed
    best: Ints  # (n_positions,), items by decreasing index, tied ones by number
    bounds_buffer: Floats  # (n_items,), the index at the present δ, or a number above it
    items_buffer: Ints  # (2, n_items); this and the next: see `contenders`
    ceilings_buffer: Floats  # (n_positions,)


tell_apart(KLRanking)


def no_ranking(n_items: int, n_positions: int) -> KLRanking:
    """Return what is known before any index is computed: nothing."""
    return KLRanking(
        kept=no_indices(n_items),
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
    """Write the candidates of the largest indices at δ, best first, ties at random.

    All items are candidates if none are given. An item without a view has an infinite index. δ must
    not fall from call to call.
    """
    kept, best, bounds, buffer = last.kept, last.best, last.bounds_buffer, last.items_buffer
    for item in range(bounds.shape[0]):
        bounds[item] = tangent(kept, item, delta)
    if candidates.shape[0] > 0:
        leave_out(candidates, bounds, best)
    k = best.shape[0]
    found = -1  # contenders: to be found once the indices of the last list are known
    sure = False
    while not sure:
        for i in range(k + max(found, 0)):
            item = best[i] if i < k else buffer[0, i - k]
            if kept.delta[item] == NEVER:
                _compute(last, clicks, misses, item, delta)
        if found < 0:
            found = contenders(kept.value, bounds, best, buffer, last.ceilings_buffer)
            continue
        enter(kept.value, best, buffer, found)
        sure = True
        for i in range(1, k):
            sure &= _tell_apart(last, clicks, misses, best[i - 1], best[i], delta)
        worst = best[k - 1]
        for j in range(found):
            if bounds[buffer[0, j]] >= kept.value[worst]:
                sure &= _tell_apart(last, clicks, misses, worst, buffer[0, j], delta)
    draw_entered(kept.value, rng, best, buffer, found, ranking)


@inline_kernel
def _tell_apart(
    last: KLRanking, clicks: Ints, misses: Ints, better: int, worse: int, delta: float
) -> bool:
    """Return whether the order of two items is sure; if not, mark them to be computed."""
    kept = last.kept
    if kept.value[better] > last.bounds_buffer[worse]:
        return True
    if kept.delta[better] == kept.delta[worse] and (
        kept.delta[better] == delta
        or (clicks[better] == clicks[worse] and misses[better] == misses[worse])
    ):
        return True
    if kept.delta[better] != delta:
        kept.delta[better] = NEVER
    if kept.delta[worse] != delta:
        kept.delta[worse] = NEVER
    return False


@inline_kernel
def _compute(last: KLRanking, clicks: Ints, misses: Ints, item: int, delta: float) -> None:
    """Compute an item's index at δ, from its counts alone: the same for the same counts."""
    s, f = clicks[item], misses[item]
    value = kl_upper(s, f, delta) if s + f > 0 else math.inf
    keep(last.kept, item, value, kl_upper_rate(s, f, value), delta)
    last.bounds_buffer[item] = value
