"""Views of items, each with a lazily computed KL index, and the list of the largest indices.

The index of an item is the largest click probability within δ of its counts. It grows with δ and is
concave in it. So once it is known at one δ, it is at least that for every larger δ, and at most its
tangent: two items whose intervals do not overlap need no index to be computed to tell which is
better. Nor do two items of the same counts, which are tied for every δ.

These kernels take any state that has the fields of `KLItems`.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from clickrank._jit import inline_kernel
from clickrank._select import contenders, draw_ties, enter
from clickrank.numerics.kl_bounds import STEEP, kl_upper, kl_upper_rate
from clickrank.policies.kl_cells import NEVER, SLACK
from clickrank.types import Floats, Ints


class KLItems(Protocol):
    """The fields that a state must have, of shape (n_items,) unless another is given."""

    @property
    def clicks(self) -> Ints:
        """Statistic: clicks on the item."""

    @property
    def misses(self) -> Ints:
        """Statistic: views without a click."""

    @property
    def value(self) -> Floats:
        """Scratch: the index when last computed; below all indices if the counts have changed."""

    @property
    def tangent(self) -> Floats:
        """Scratch: a bound on the index is `tangent` + `rate` · δ."""

    @property
    def rate(self) -> Floats:
        """Scratch: see `tangent`."""

    @property
    def at(self) -> Floats:
        """Scratch: the δ at which the index was computed; `NEVER` if it must be computed anew."""

    @property
    def ceiling(self) -> Floats:
        """Scratch: the bound at the present δ."""

    @property
    def best(self) -> Ints:
        """Scratch (n_positions,): items by decreasing index, tied ones by number."""

    @property
    def room(self) -> Ints:
        """Scratch (2, n_items), see `contenders`."""

    @property
    def kept(self) -> Floats:
        """Scratch (n_positions,), see `contenders`."""


def no_items(n_items: int, n_positions: int) -> dict[str, Any]:
    """Return the fields of `KLItems` before the first click."""
    return {
        "clicks": np.zeros(n_items, dtype=np.int64),
        "misses": np.zeros(n_items, dtype=np.int64),
        "value": np.full(n_items, NEVER),
        "tangent": np.full(n_items, math.inf),
        "rate": np.zeros(n_items),
        "at": np.full(n_items, NEVER),
        "ceiling": np.zeros(n_items),
        "best": np.arange(n_positions),
        "room": np.zeros((2, n_items), dtype=np.int64),
        "kept": np.zeros(n_positions),
    }


@inline_kernel
def count_item(items: KLItems, item: int, click: int) -> None:
    """Count one view."""
    items.clicks[item] += click
    items.misses[item] += 1 - click
    items.value[item] = NEVER
    items.at[item] = NEVER
    if click == 1:  # a miss only lowers the index, so that its bound still holds
        items.tangent[item] = math.inf
        items.rate[item] = 0.0


@inline_kernel
def rank_by_index(items: KLItems, delta: float, rng: np.random.Generator, ranking: Ints) -> None:
    """Write the items of the largest indices at δ, best first, ties at random.

    An item without a view has an infinite index. δ must not fall from call to call.
    """
    k = items.best.shape[0]
    for item in range(items.ceiling.shape[0]):
        items.ceiling[item] = items.tangent[item] + items.rate[item] * delta
    found = -1
    sure = False
    while not sure:
        for i in range(k + max(found, 0)):
            item = items.best[i] if i < k else items.room[0, i - k]
            if items.at[item] == NEVER:
                _compute(items, item, delta)
        if found < 0:
            found = contenders(items.value, items.ceiling, items.best, items.room, items.kept)
        enter(items.value, items.best, items.room, found)
        sure = True
        for i in range(1, k):
            sure &= _told_apart(items, items.best[i - 1], items.best[i], delta)
        last = items.best[k - 1]
        for j in range(found):
            if items.ceiling[items.room[0, j]] >= items.value[last]:
                sure &= _told_apart(items, last, items.room[0, j], delta)
    draw_ties(items.value, rng, items.best, items.room, found, ranking)


@inline_kernel
def _told_apart(items: KLItems, better: int, worse: int, delta: float) -> bool:
    """Return whether the order of two items is sure; if not, mark them to be computed."""
    if items.value[better] > items.ceiling[worse]:
        return True
    if items.at[better] == items.at[worse] and (
        items.at[better] == delta
        or (
            items.clicks[better] == items.clicks[worse]
            and items.misses[better] == items.misses[worse]
            and items.at[better] != NEVER
        )
    ):
        return True
    if items.at[better] != delta:
        items.at[better] = NEVER
    if items.at[worse] != delta:
        items.at[worse] = NEVER
    return False


@inline_kernel
def _compute(items: KLItems, item: int, delta: float) -> None:
    """Compute an item's index at δ, from its counts alone: the same for the same counts."""
    clicks, misses = items.clicks[item], items.misses[item]
    upper = kl_upper(clicks, misses, delta) if clicks + misses > 0 else math.inf
    rate = kl_upper_rate(clicks, misses, upper)
    steep = rate >= STEEP  # no tangent that bounds anything
    items.value[item] = upper
    items.ceiling[item] = upper
    items.rate[item] = 0.0 if steep else rate
    items.tangent[item] = math.inf if steep else upper - rate * delta + SLACK
    items.at[item] = delta
