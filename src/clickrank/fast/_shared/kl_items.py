"""Lists of the largest KL indices, of which most need not be computed.

The index of an item is the largest click probability within δ of its counts. It grows with δ and is
concave in it. So once it is known at one δ, it is at least that for every larger δ, and at most its
tangent: two items whose intervals do not overlap need no index to be computed to tell which is
better. Nor do two items of the same counts, which are tied for every δ.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import inline_kernel, tell_apart
from clickrank._select import contenders, draw_ties, enter
from clickrank.fast._shared.kl_cells import NEVER, SLACK
from clickrank.numerics.kl_bounds import STEEP, kl_upper, kl_upper_rate
from clickrank.types import Floats, Ints


class KLItems(NamedTuple):
    """What is known of the index of each item, and the last list."""

    value: Floats  # (n_items,), the index when last computed; below all if counts have changed
    tangent: Floats  # (n_items,), a bound on the index is `tangent` + `rate` · δ
    rate: Floats  # (n_items,), see `tangent`
    at: Floats  # (n_items,), the δ of `value`; `NEVER` if it must be computed
    ceiling: Floats  # (n_items,), the bound at the present δ
    best: Ints  # (n_positions,), items by decreasing index, tied ones by number
    items_buffer: Ints  # (2, n_items); this and the next: see `contenders`
    ceilings_buffer: Floats  # (n_positions,)


tell_apart(KLItems)


def no_indices(n_items: int, n_positions: int) -> KLItems:
    """Return what is known before any index is computed: nothing."""
    return KLItems(
        value=np.full(n_items, NEVER),
        tangent=np.full(n_items, math.inf),
        rate=np.zeros(n_items),
        at=np.full(n_items, NEVER),
        ceiling=np.zeros(n_items),
        best=np.arange(n_positions),
        items_buffer=np.zeros((2, n_items), dtype=np.int64),
        ceilings_buffer=np.zeros(n_positions),
    )


@inline_kernel
def forget_index(known: KLItems, item: int, click: int) -> None:
    """Forget an index whose item got a click or a miss more."""
    known.value[item] = NEVER
    known.at[item] = NEVER
    if click == 1:  # a miss only lowers the index, so that its bound still holds
        known.tangent[item] = math.inf
        known.rate[item] = 0.0


@inline_kernel
def rank_by_index(
    known: KLItems,
    clicks: Ints,
    misses: Ints,
    delta: float,
    rng: np.random.Generator,
    ranking: Ints,
) -> None:
    """Write the items of the largest indices at δ, best first, ties at random.

    An item without a view has an infinite index. δ must not fall from call to call.
    """
    k = known.best.shape[0]
    buffer = known.items_buffer
    for item in range(known.ceiling.shape[0]):
        known.ceiling[item] = known.tangent[item] + known.rate[item] * delta
    found = -1
    sure = False
    while not sure:
        for i in range(k + max(found, 0)):
            item = known.best[i] if i < k else buffer[0, i - k]
            if known.at[item] == NEVER:
                _compute(known, clicks, misses, item, delta)
        if found < 0:
            found = contenders(
                known.value, known.ceiling, known.best, buffer, known.ceilings_buffer
            )
        enter(known.value, known.best, buffer, found)
        sure = True
        for i in range(1, k):
            sure &= _told_apart(known, clicks, misses, known.best[i - 1], known.best[i], delta)
        last = known.best[k - 1]
        for j in range(found):
            if known.ceiling[buffer[0, j]] >= known.value[last]:
                sure &= _told_apart(known, clicks, misses, last, buffer[0, j], delta)
    draw_ties(known.value, rng, known.best, buffer, found, ranking)


@inline_kernel
def _told_apart(
    known: KLItems, clicks: Ints, misses: Ints, better: int, worse: int, delta: float
) -> bool:
    """Return whether the order of two items is sure; if not, mark them to be computed."""
    if known.value[better] > known.ceiling[worse]:
        return True
    if known.at[better] == known.at[worse] and (
        known.at[better] == delta
        or (
            clicks[better] == clicks[worse]
            and misses[better] == misses[worse]
            and known.at[better] != NEVER
        )
    ):
        return True
    if known.at[better] != delta:
        known.at[better] = NEVER
    if known.at[worse] != delta:
        known.at[worse] = NEVER
    return False


@inline_kernel
def _compute(known: KLItems, clicks: Ints, misses: Ints, item: int, delta: float) -> None:
    """Compute an item's index at δ, from its counts alone: the same for the same counts."""
    s, f = clicks[item], misses[item]
    upper = kl_upper(s, f, delta) if s + f > 0 else math.inf
    rate = kl_upper_rate(s, f, upper)
    steep = rate >= STEEP  # no tangent that bounds anything
    known.value[item] = upper
    known.ceiling[item] = upper
    known.rate[item] = 0.0 if steep else rate
    known.tangent[item] = math.inf if steep else upper - rate * delta + SLACK
    known.at[item] = delta
