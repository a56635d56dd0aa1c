"""Dominance between items as bits, and the ordered partition that follows: UniRank's leader.

Item i dominates j when ŝ_ij ≥ √(log log t / T_ij), that is S_ij ≥ 0 and S_ij² ≥ T_ij log log t. A
round changes this for the pairs whose clicks differ, and the growth of log log t for the few pairs
that it overtakes, so that it is stored as bits. The leader is peeled off from the top: the items
that none dominates, then those that none of the rest dominates, until they fill the list.

To avoid reading all pairs, each dominated item has a witness, one of those that dominate it. Only
when the witness is peeled off, another one is searched among the remaining items. After a change of
bits the leader stays the same unless the bit was a witness, or is a new one from the rest or from
below upon an item of the leader's blocks.

``cache`` is that of `clickrank.fast.uni_rank`. `rebuild` computes everything from the wins.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank._compile.jit import lean_kernel
from clickrank._core.arrays import Ints
from clickrank.policies._shared.ordered_partition import hash_of_partition

_BITS = 32  # per word
# Relative error of a product and a quotient, with a margin.
_ROUNDING = 1e-12


def no_dominance(n_items: int) -> dict[str, NDArray[Any]]:
    """Return the fields of a cache that these functions use, before `rebuild`."""
    words = (n_items + _BITS - 1) // _BITS
    return {
        "labels": np.arange(n_items),
        "ready": np.zeros(1, dtype=np.int64),
        "stale": np.ones(1, dtype=np.int64),
        "dominators": np.zeros((n_items, words), dtype=np.int64),
        "floor": np.full(n_items + 1, np.inf),
        "witness": np.full(n_items, -1, dtype=np.int64),
        "head": np.full(n_items + 1, -1, dtype=np.int64),
        "after": np.full(n_items, -1, dtype=np.int64),
        "before": np.full(n_items, -1, dtype=np.int64),
        "remaining": np.zeros(words, dtype=np.int64),
        "leader": np.zeros(n_items, dtype=np.int64),
        "key": np.zeros(1, dtype=np.int64),
        "n_blocks": np.zeros(1, dtype=np.int64),
        "order": np.arange(n_items),
        "starts": np.zeros(n_items + 2, dtype=np.int64),
    }


@lean_kernel
def rebuild(wins: Ints, cache: Any, loglog: float) -> None:
    """Compute everything from the wins."""
    n_items = cache.witness.shape[0]
    cache.ready[0] = 1
    cache.stale[0] = 1
    cache.head[:] = -1
    cache.dominators[:, :] = 0
    cache.floor[:] = math.inf
    for item in range(n_items):
        cache.witness[item] = -1
        _attach(cache, item, -1)
    for i in range(n_items):
        for j in range(n_items):
            if i != j:
                weigh_pair(wins, cache, i, j, loglog)


@lean_kernel
def weigh_pair(wins: Ints, cache: Any, i: int, j: int, loglog: float) -> None:
    """Decide which of two items dominates the other, after their wins have changed."""
    s = wins[i, j] - wins[j, i]
    trials = wins[i, j] + wins[j, i]
    if trials == 0:
        return
    square = float(s * s)
    enough = square >= trials * loglog
    _set(cache, i, j, enough and s >= 0, square / trials)
    _set(cache, j, i, enough and s <= 0, square / trials)


@lean_kernel
def expire(wins: Ints, cache: Any, loglog: float) -> None:
    """Remove the dominance of pairs that log log t has overtaken."""
    n_items = cache.witness.shape[0]
    limit = loglog * (1.0 + _ROUNDING)
    if cache.floor[n_items] > limit:
        return
    cache.floor[n_items] = math.inf
    for j in range(n_items):
        if cache.floor[j] <= limit:
            cache.floor[j] = math.inf
            for word in range(cache.dominators.shape[1]):
                bits = cache.dominators[j, word]
                i = word * _BITS
                while bits > 0:
                    if bits & 1 == 1:
                        weigh_pair(wins, cache, i, j, loglog)
                    bits >>= 1
                    i += 1
        cache.floor[n_items] = min(cache.floor[n_items], cache.floor[j])


@lean_kernel
def _set(cache: Any, i: int, j: int, on: bool, ratio: float) -> None:
    """Store whether i dominates j, and update witnesses and the leader."""
    n_items = cache.witness.shape[0]
    word = i // _BITS
    bit = 1 << (i % _BITS)
    if on and ratio < cache.floor[j]:
        cache.floor[j] = ratio
        cache.floor[n_items] = min(cache.floor[n_items], ratio)
    if on == (cache.dominators[j, word] & bit != 0):
        return
    cache.dominators[j, word] ^= bit
    if on:
        if cache.witness[j] < 0:
            _detach(cache, j)
            _attach(cache, j, i)
        own = cache.leader[j]
        if own > 0 and (cache.leader[i] == 0 or cache.leader[i] >= own):
            cache.stale[0] = 1
    elif cache.witness[j] == i:
        _detach(cache, j)
        _attach(cache, j, _find(cache, j, False))
        cache.stale[0] = 1


@lean_kernel
def _attach(cache: Any, item: int, witness: int) -> None:
    """Put an item into the list of its witness; items without a witness have their own list."""
    n_items = cache.witness.shape[0]
    cache.witness[item] = witness
    head = witness if witness >= 0 else n_items
    first = cache.head[head]
    cache.after[item] = first
    cache.before[item] = -1
    if first >= 0:
        cache.before[first] = item
    cache.head[head] = item


@lean_kernel
def _detach(cache: Any, item: int) -> None:
    n_items = cache.witness.shape[0]
    before = cache.before[item]
    after = cache.after[item]
    if before >= 0:
        cache.after[before] = after
    else:
        witness = cache.witness[item]
        cache.head[witness if witness >= 0 else n_items] = after
    if after >= 0:
        cache.before[after] = before


@lean_kernel
def _find(cache: Any, j: int, among_remaining: bool) -> int:
    """Return an item that dominates j, of all or of those not yet peeled off; -1 if none does."""
    # From the end: the leader does not depend on which one is found.
    for word in range(cache.dominators.shape[1] - 1, -1, -1):
        bits = cache.dominators[j, word]
        if among_remaining:
            bits &= cache.remaining[word]
        if bits > 0:
            i = word * _BITS - 1
            while bits > 0:
                bits >>= 1
                i += 1
            return i
    return -1


@lean_kernel
def elicit(cache: Any, n_positions: int, queue: Ints) -> None:
    """Peel off the leader's blocks; ``queue`` is a buffer of one number per item."""
    n_items = cache.witness.shape[0]
    cache.stale[0] = 0
    cache.leader[:] = 0
    cache.remaining[:] = (1 << _BITS) - 1
    begin = 0
    end = 0
    item = cache.head[n_items]
    while item >= 0:
        queue[end] = item
        end += 1
        item = cache.after[item]
    block = 0
    while end > begin:
        block += 1
        for place in range(begin, end):
            cache.leader[queue[place]] = block
            cache.remaining[queue[place] // _BITS] ^= 1 << (queue[place] % _BITS)
        if end >= n_positions:
            break
        new = end
        for place in range(begin, end):
            item = cache.head[queue[place]]
            while item >= 0:
                following = cache.after[item]
                if cache.leader[item] == 0:
                    witness = _find(cache, item, True)
                    if witness >= 0:
                        _detach(cache, item)
                        _attach(cache, item, witness)
                    else:
                        queue[new] = item
                        new += 1
                item = following
        begin = end
        end = new
    if end < n_positions:  # items dominate each other in cycles: all of them are the last block
        block += 1
        for item in range(n_items):
            if cache.leader[item] == 0:
                cache.leader[item] = block
    cache.n_blocks[0] = block
    _sort(cache, queue)


@lean_kernel
def _sort(cache: Any, places: Ints) -> None:
    """Sort the items by block, then by number, those of no block last; hash the leader."""
    n_items = cache.witness.shape[0]
    n_blocks = cache.n_blocks[0]
    cache.starts[: n_blocks + 2] = 0
    for item in range(n_items):
        if cache.leader[item] > 0:
            cache.starts[cache.leader[item]] += 1
    cache.key[0] = hash_of_partition(cache.leader, cache.labels)
    for block in range(n_blocks):
        cache.starts[block + 1] += cache.starts[block]
        places[block] = cache.starts[block]
    rest = cache.starts[n_blocks]
    for item in range(n_items):
        block = cache.leader[item]
        if block == 0:
            cache.order[rest] = item
            rest += 1
        else:
            cache.order[places[block - 1]] = item
            places[block - 1] += 1
