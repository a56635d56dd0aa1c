"""TopRank's pairs without a matrix, as long as all clicks are on its first block.

Say that so far only items of the first block were clicked, as it fills the list, and that clicks
came back for the partition that was played. Blocks only ever lose items to later ones, so two items
that are both still in the first block have always shared it, and

    S_ij = c_i - c_j,    N_ij = c_i + c_j - 2 c_ij

with c_i the clicks on i and c_ij the lists in which both were clicked. No other pair changes. An
item that is beaten leaves the first block at once and is not shown again. So it is beaten only in
the round in which it leaves, by the few items clicked then, and its block is one below the deepest
of these. As whoever beats another one has more clicks, there are no circles.

Pairs that have parted may meet again in a later block, with the S and N of the time that they were
together. Those are in the log: the items clicked in each list, and who left. It is read when the
crowd ends: when an item of another block is clicked, when clicks come back for a partition that is
no longer played, or when the log is full. Then S and N of all pairs are written as matrices
(`write_pairs`).

The log also holds, for each click beside others, where the item was last clicked beside others: so
c_ij of one item with all others is found in the time that it takes to read its own lists. Those
are short while many items share the clicks. Once fewer than a quarter of the items are left in the
first block, the c_ij of these are counted as clicks come, in a table at the end of the log.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clickrank._jit import inline_kernel, lean_kernel
from clickrank.types import Ints

#: Fewer items than this have matrices from the start.
LARGE = 2048
#: Of the log: a click that begins a list, and the bits of an item.
_FIRST = 1 << 31
_ITEM = _FIRST - 1
#: Columns of the traces. The first ones of row i are the items that beat i; then
PLACE = -3  # row and column of i in the table, from 1; 0 for those that had left before;
LATEST = -2  # 1 + the last entry of the log that is a click on i beside others;
LEFT = -1  # the item that left the first block as number i, of as many as are no longer in it.


def no_crowd(n_items: int, n_positions: int) -> dict[str, Ints]:
    """Return the fields that a state has for it, before the first round; empty for few items."""
    size = n_items if n_items >= LARGE else 0
    return {
        "crowd": np.array([size > 0, 0], dtype=np.int64),
        "log": np.zeros(size * size // 4, dtype=np.int64),
        "traces": np.zeros((size, n_positions + 3), dtype=np.int64),
    }


@inline_kernel
def _side(state: Any) -> int:
    """Return the number of rows of the table, and of columns."""
    return int(state.block.shape[0] // 4)


@inline_kernel
def _pair(state: Any, row: int, column: int) -> int:
    """Return where the log has this entry of the table."""
    return int(state.log.shape[0] + (row - _side(state)) * _side(state) + column)


@inline_kernel
def _stays_crowd(state: Any, ranking: Ints, clicks: Ints) -> bool:
    """Say whether clicks on a list of the present partition can be counted as those of a crowd."""
    lower = 0
    for position in range(ranking.shape[0]):
        lower += clicks[position] * state.block[ranking[position]]
    room = _pair(state, 0, 0) - state.crowd[1]
    fits = room >= ranking.shape[0] + state.block.shape[0]
    return bool(lower == 0 and fits)


@lean_kernel
def count_in_crowd(state: Any, ranking: Ints, clicks: Ints, present: bool) -> bool:
    """Count the clicks on a list and write them to the log; or end the crowd and return False.

    ``present`` says whether the list is of the present partition.
    """
    if not present or not _stays_crowd(state, ranking, clicks):
        write_pairs(state)
        return False
    together = 0
    for position in range(ranking.shape[0]):
        together += clicks[position]
    first = _FIRST
    for position in range(ranking.shape[0]):
        if clicks[position] == 0:
            continue
        item = ranking[position]
        state.clicks[item] += 1
        at = state.crowd[1]
        state.log[at] = item | first
        if state.crowd[0] == 2:
            _count_beside(state, at)
        elif together > 1:
            state.log[at] |= state.traces[item, LATEST] << 32
            state.traces[item, LATEST] = at + 1
        state.crowd[1] = at + 1
        first = 0
    return True


@inline_kernel
def _count_beside(state: Any, at: int) -> None:
    """Add a click of the log to the table, with each one before it in its list."""
    row = state.traces[state.log[at] & _ITEM, PLACE]
    before = at
    while state.log[before] & _FIRST == 0:
        before -= 1
        other = state.traces[state.log[before] & _ITEM, PLACE]
        state.log[_pair(state, row, other)] += 1
        state.log[_pair(state, other, row)] += 1


@lean_kernel
def _begin_table(state: Any) -> None:
    """Count all pairs of the first block; those of others share row and column 0, never read."""
    place = 0
    for item in range(state.block.shape[0]):
        if state.block[item] == 0:
            place += 1
            state.traces[item, PLACE] = place
    for at in range(state.crowd[1]):
        if state.log[at] >= 0:
            _count_beside(state, at)
    state.crowd[0] = 2


@lean_kernel
def mark_together(state: Any, item: int, sign: int) -> None:
    """Add to the marks of the first block in how many lists each was clicked beside an item."""
    if state.crowd[0] == 2:
        row = state.traces[item, PLACE]
        for place in range(state.starts[1]):
            other = state.order[place]
            together = state.log[_pair(state, row, state.traces[other, PLACE])]
            state.clicked[other] += sign * together
        return
    end = state.crowd[1]
    at = state.traces[item, LATEST] - 1
    while at >= 0:
        other = at
        while state.log[other] & _FIRST == 0:
            other -= 1
            state.clicked[state.log[other] & _ITEM] += sign
        other = at + 1
        while other < end and state.log[other] >= 0 and state.log[other] & _FIRST == 0:
            state.clicked[state.log[other] & _ITEM] += sign
            other += 1
        at = (state.log[at] >> 32) - 1


@inline_kernel
def note_superior(state: Any, item: int, other: int) -> None:
    """Note that an item beats another one of the first block."""
    state.traces[other, state.superiors[other]] = item
    state.superiors[other] += 1
    state.wins[item] += 1


@lean_kernel
def leave_crowd(state: Any) -> None:
    """Let items that are beaten leave the first block, and find the depth of all that have left."""
    n_items = state.block.shape[0]
    left = n_items - state.starts[1]
    for place in range(state.starts[1]):
        item = state.order[place]
        if state.superiors[item] > 0:
            # Those of fewer clicks first, as none beats one of more.
            at = left
            while at > 0:
                other = state.traces[at - 1, LEFT]
                if state.block[other] > 0 or state.clicks[other] <= state.clicks[item]:
                    break
                state.traces[at, LEFT] = other
                at -= 1
            state.traces[at, LEFT] = item
            left += 1
            state.log[state.crowd[1]] = -1 - item
            state.crowd[1] += 1
    for item in range(n_items):
        state.depth[item] = 0
    # From the last on: who beats an item leaves after it.
    for at in range(left - 1, -1, -1):
        item = state.traces[at, LEFT]
        deepest = 0
        for i in range(state.superiors[item]):
            deepest = max(deepest, state.depth[state.traces[item, i]])
        state.depth[item] = deepest + 1
    for item in range(n_items):
        if state.block[item] != state.depth[item]:
            state.block[item] = state.depth[item]
            state.due[item] = 0
    if state.crowd[0] == 1 and n_items - left < _side(state):
        _begin_table(state)


@lean_kernel
def write_pairs(state: Any) -> None:
    """End the crowd: write S and N of all pairs, and who beats whom, from the log."""
    n_items = state.block.shape[0]
    counted = state.depth
    present = state.work
    for item in range(n_items):
        counted[item] = 0
        present[item] = 1
    for at in range(state.crowd[1]):
        if state.log[at] >= 0:
            item = state.log[at] & _ITEM
            counted[item] += 1
            before = at
            while state.log[before] & _FIRST == 0:
                before -= 1
                other = state.log[before] & _ITEM
                state.disagreement[item, other] -= 2
                state.disagreement[other, item] -= 2
            continue
        item = -1 - state.log[at]
        present[item] = 0
        for other in range(n_items):
            if present[other] == 1:
                s = counted[item] - counted[other]
                n = counted[item] + counted[other]
                state.difference[item, other] = s
                state.difference[other, item] = -s
                state.disagreement[item, other] += n
                state.disagreement[other, item] += n
    for item in range(n_items):
        for i in range(state.superiors[item]):
            state.beats[state.traces[item, i], item] = 1
        for other in range(n_items):
            # Of items in one block the matrices hold what their clicks do not tell.
            if item != other and state.block[item] == state.block[other] > 0:
                state.difference[item, other] -= state.clicks[item] - state.clicks[other]
                state.disagreement[item, other] -= state.clicks[item] + state.clicks[other]
    forget_log(state)
    state.crowd[0] = 0


@lean_kernel
def forget_log(state: Any) -> None:
    """Clear what the crowd alone needs."""
    for at in range(state.crowd[1]):
        state.log[at] = 0
    state.crowd[1] = 0
    if state.crowd[0] == 2:
        for at in range(_pair(state, 0, 0), state.log.shape[0]):
            state.log[at] = 0
    for item in range(state.traces.shape[0]):
        for i in range(state.traces.shape[1]):
            state.traces[item, i] = 0
