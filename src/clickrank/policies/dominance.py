"""Which items dominate which others, and the ordered partition that follows: UniRank's leader.

Item i dominates j when ŝ_ij ≥ √(log log t / T_ij), that is S_ij ≥ 0 and S_ij² ≥ T_ij log log t. A
round changes this for the pairs whose clicks differ, and the growth of log log t for the few pairs
that it overtakes, so it is kept as bits. The leader is peeled off from the top: the items that
none dominates, then those that none dominates of the rest, until they fill the list.

So that peeling does not look at all pairs, each item that is dominated has a witness, one of those
which dominate it. Only when the witness is taken off is another one looked for among the items
left; and after a change of bits the leader stays what it is unless the bit was a witness, or is a
new one from the rest or from below upon an item of the leader's blocks.

Everything here is scratch: `rebuild` makes it from the counts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank._jit import lean_kernel
from clickrank.policies._shared.leader_counts import mixed
from clickrank.types import Ints

_BITS = 32  # in a word
_KEY = 2**62 - 1
# Relative error of a product and a quotient, with room.
_ROUNDING = 1e-12


def no_dominance(n_items: int) -> dict[str, NDArray[Any]]:
    """Return the fields of the state that these functions use, before `rebuild`."""
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
        "left": np.zeros(words, dtype=np.int64),
        "leader": np.zeros(n_items, dtype=np.int64),
        "key": np.zeros(1, dtype=np.int64),
        "n_blocks": np.zeros(1, dtype=np.int64),
        "order": np.arange(n_items),
        "starts": np.zeros(n_items + 2, dtype=np.int64),
    }


@lean_kernel
def rebuild(state: Any, loglog: float) -> None:
    """Make everything anew from the counts."""
    n_items = state.witness.shape[0]
    state.ready[0] = 1
    state.stale[0] = 1
    state.head[:] = -1
    state.dominators[:, :] = 0
    state.floor[:] = math.inf
    for item in range(n_items):
        state.witness[item] = -1
        _attach(state, item, -1)
    for i in range(n_items):
        for j in range(n_items):
            if i != j:
                weigh_pair(state, i, j, loglog)


@lean_kernel
def weigh_pair(state: Any, i: int, j: int, loglog: float) -> None:
    """Decide anew which of two items dominates the other, after their counts have changed."""
    s = state.wins[i, j] - state.wins[j, i]
    trials = state.wins[i, j] + state.wins[j, i]
    if trials == 0:
        return
    square = float(s * s)
    enough = square >= trials * loglog
    _set(state, i, j, enough and s >= 0, square / trials)
    _set(state, j, i, enough and s <= 0, square / trials)


@lean_kernel
def expire(state: Any, loglog: float) -> None:
    """Take back the dominance of pairs that log log t has overtaken."""
    n_items = state.witness.shape[0]
    limit = loglog * (1.0 + _ROUNDING)
    if state.floor[n_items] > limit:
        return
    state.floor[n_items] = math.inf
    for j in range(n_items):
        if state.floor[j] <= limit:
            state.floor[j] = math.inf
            for word in range(state.dominators.shape[1]):
                bits = state.dominators[j, word]
                i = word * _BITS
                while bits > 0:
                    if bits & 1 == 1:
                        weigh_pair(state, i, j, loglog)
                    bits >>= 1
                    i += 1
        state.floor[n_items] = min(state.floor[n_items], state.floor[j])


@lean_kernel
def _set(state: Any, i: int, j: int, on: bool, ratio: float) -> None:
    """Note whether i dominates j, and what this means for witnesses and for the leader."""
    n_items = state.witness.shape[0]
    word = i // _BITS
    bit = 1 << (i % _BITS)
    if on and ratio < state.floor[j]:
        state.floor[j] = ratio
        state.floor[n_items] = min(state.floor[n_items], ratio)
    if on == (state.dominators[j, word] & bit != 0):
        return
    state.dominators[j, word] ^= bit
    if on:
        if state.witness[j] < 0:
            _detach(state, j)
            _attach(state, j, i)
        own = state.leader[j]
        if own > 0 and (state.leader[i] == 0 or state.leader[i] >= own):
            state.stale[0] = 1
    elif state.witness[j] == i:
        _detach(state, j)
        _attach(state, j, _find(state, j, False))
        state.stale[0] = 1


@lean_kernel
def _attach(state: Any, item: int, witness: int) -> None:
    """Put an item into the list of those with this witness; items without one have their own."""
    n_items = state.witness.shape[0]
    state.witness[item] = witness
    head = witness if witness >= 0 else n_items
    first = state.head[head]
    state.after[item] = first
    state.before[item] = -1
    if first >= 0:
        state.before[first] = item
    state.head[head] = item


@lean_kernel
def _detach(state: Any, item: int) -> None:
    n_items = state.witness.shape[0]
    before = state.before[item]
    after = state.after[item]
    if before >= 0:
        state.after[before] = after
    else:
        witness = state.witness[item]
        state.head[witness if witness >= 0 else n_items] = after
    if after >= 0:
        state.before[after] = before


@lean_kernel
def _find(state: Any, j: int, among_left: bool) -> int:
    """Return an item that dominates j, of all or of those not yet peeled off; -1 without any."""
    # From the end: which one is found does not matter for the leader.
    for word in range(state.dominators.shape[1] - 1, -1, -1):
        bits = state.dominators[j, word]
        if among_left:
            bits &= state.left[word]
        if bits > 0:
            i = word * _BITS - 1
            while bits > 0:
                bits >>= 1
                i += 1
            return i
    return -1


@lean_kernel
def elicit(state: Any, n_positions: int, queue: Ints) -> None:
    """Peel off the leader's blocks; ``queue`` is room for a number an item."""
    n_items = state.witness.shape[0]
    state.stale[0] = 0
    state.leader[:] = 0
    state.left[:] = (1 << _BITS) - 1
    begin = 0
    end = 0
    item = state.head[n_items]
    while item >= 0:
        queue[end] = item
        end += 1
        item = state.after[item]
    block = 0
    while end > begin:
        block += 1
        for place in range(begin, end):
            state.leader[queue[place]] = block
            state.left[queue[place] // _BITS] ^= 1 << (queue[place] % _BITS)
        if end >= n_positions:
            break
        new = end
        for place in range(begin, end):
            item = state.head[queue[place]]
            while item >= 0:
                following = state.after[item]
                if state.leader[item] == 0:
                    witness = _find(state, item, True)
                    if witness >= 0:
                        _detach(state, item)
                        _attach(state, item, witness)
                    else:
                        queue[new] = item
                        new += 1
                item = following
        begin = end
        end = new
    if end < n_positions:  # items dominate each other in circles: all of them are the last block
        block += 1
        for item in range(n_items):
            if state.leader[item] == 0:
                state.leader[item] = block
    state.n_blocks[0] = block
    _sort(state, queue)


@lean_kernel
def _sort(state: Any, places: Ints) -> None:
    """Sort the items by block, and by number within, those of no block last; hash the leader."""
    n_items = state.witness.shape[0]
    n_blocks = state.n_blocks[0]
    state.starts[: n_blocks + 2] = 0
    key = 0
    for item in range(n_items):
        block = state.leader[item]
        if block > 0:
            key = (key + mixed(int(state.labels[item]), block)) & _KEY
            state.starts[block] += 1
    state.key[0] = key
    for block in range(n_blocks):
        state.starts[block + 1] += state.starts[block]
        places[block] = state.starts[block]
    rest = state.starts[n_blocks]
    for item in range(n_items):
        block = state.leader[item]
        if block == 0:
            state.order[rest] = item
            rest += 1
        else:
            state.order[places[block - 1]] = item
            places[block - 1] += 1


@lean_kernel
def leader_key(leader: Ints, labels: Ints) -> int:
    """Return the hash of a leader: blocks from 1, and 0 for the items of none."""
    key = 0
    for item in range(leader.shape[0]):
        if leader[item] > 0:
            key = (key + mixed(int(labels[item]), leader[item])) & _KEY
    return key
