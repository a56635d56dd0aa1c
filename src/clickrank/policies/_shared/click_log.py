"""TopRank's pairs as a log of clicks, as long as all clicks are on its first block: the crowd.

From 2,048 items on, matrices of all pairs are too much to write to. Say that so far only items of
the first block were clicked, as it fills the list, and that clicks came back for the partition that
was played. Blocks only ever lose items to later ones, so two items that are both still in the first
block have always shared it, and

    S_ij = c_i - c_j,    N_ij = c_i + c_j - 2 c_ij

with c_i the clicks on i and c_ij the lists in which both were clicked. No other pair changes. An
item that is beaten leaves the first block at once and is not shown again. So it is beaten only in
the round in which it leaves, by the few items clicked then, and its block is one below the deepest
of these. As whoever beats another one has more clicks, there are no circles.

Pairs that have parted may meet again in a later block, with the S and N of the time that they were
together. Those are in the log: the items clicked in each list, and who left. It is read when the
log ends: when an item of another block is clicked, when clicks come back for a partition that is
no longer played, or when the log is full. Then S and N of all pairs are written as matrices
(`write_pairs`).

The log also holds, for each click on a list with several, where the item last had such a click: so
c_ij of one item with all others is found in the time that it takes to read its own lists. Those
are short while many items share the clicks. Once fewer than a quarter of the items are left in the
first block, the c_ij of these are counted as clicks come, in a table at the end of the log.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clickrank._compile.jit import inline_kernel, kernel_for, lean_kernel
from clickrank.types import Ints, IntStatistic

#: Fewer items than this have matrices from the start.
LARGE = 2048
#: Of the log: a click that begins a list, and the bits of an item.
FIRST = 1 << 31
ITEM = FIRST - 1


class LoggedState(NamedTuple):
    """A state of TopRank with a log of clicks: until it ends, the matrices are not written to.

    The first fields are those of TopRank's own state, which has matrices from the start.
    """

    epoch: IntStatistic  # (1,)
    rounds: IntStatistic  # (1,)
    clicks: IntStatistic  # (n_items,)
    difference: IntStatistic  # (n_items, n_items)
    disagreement: IntStatistic  # (n_items, n_items)
    beats: IntStatistic  # (n_items, n_items)
    block: IntStatistic  # (n_items,)
    crowd: IntStatistic  # (2,), 1 if the log holds all pairs, 2 with a table, else 0; its length
    log: IntStatistic  # (n_items² / 4,), clicked items by list, who left the first block; the table
    superiors: IntStatistic  # (n_items,), how many items are known to beat i, while there is a log
    # (n_items, n_positions + 3), while there is a log: the items that beat i, and in the last three
    # columns what `clickrank.fast.top_rank_log` needs to read the log fast
    traces: IntStatistic


def with_log(state: Any, n_positions: int) -> LoggedState:
    """Return a state before the first round with a log."""
    n_items = state.block.size
    return LoggedState(
        **state._asdict(),
        crowd=np.array([1, 0], dtype=np.int64),
        log=np.zeros(n_items * n_items // 4, dtype=np.int64),
        superiors=np.zeros(n_items, dtype=np.int64),
        traces=np.zeros((n_items, n_positions + 3), dtype=np.int64),
    )


def with_matrices(state: Any) -> LoggedState:
    """Return a state without a log whose matrices hold all pairs: a copy if it had a log."""
    if not isinstance(state, LoggedState):
        none, no_crowd = np.zeros((0, 0), dtype=np.int64), np.zeros(2, dtype=np.int64)
        empty = {"log": none.ravel(), "superiors": none.ravel(), "traces": none}
        return LoggedState(**state._asdict(), crowd=no_crowd, **empty)
    if state.crowd[0] == 0:
        return state
    copied = LoggedState(*(array.copy() for array in state))
    kernel_for(_write, "")(copied, np.zeros((2, state.block.size), dtype=np.int64))
    return copied


def _write(state: LoggedState, buffer: Ints) -> None:
    write_pairs(state, buffer[0], buffer[1])


@inline_kernel
def table_side(state: LoggedState) -> int:
    """Return the number of rows of the table, and of columns."""
    return int(state.block.shape[0] // 4)


@inline_kernel
def table_entry(state: LoggedState, row: int, column: int) -> int:
    """Return where the log has this entry of the table."""
    side = table_side(state)
    return int(state.log.shape[0] + (row - side) * side + column)


@lean_kernel
def write_pairs(state: LoggedState, counted: Ints, present: Ints) -> None:
    """End the log: write S and N of all pairs, and who beats whom.

    ``counted`` and ``present`` are buffers of one number per item.
    """
    n_items = state.block.shape[0]
    for item in range(n_items):
        counted[item] = 0
        present[item] = 1
    for at in range(state.crowd[1]):
        if state.log[at] >= 0:
            item = state.log[at] & ITEM
            counted[item] += 1
            before = at
            while state.log[before] & FIRST == 0:
                before -= 1
                other = state.log[before] & ITEM
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
def forget_log(state: LoggedState) -> None:
    """Clear the log, and what belongs to it."""
    for at in range(state.crowd[1]):
        state.log[at] = 0
    state.crowd[1] = 0
    if state.crowd[0] == 2:
        for at in range(table_entry(state, 0, 0), state.log.shape[0]):
            state.log[at] = 0
    for item in range(state.traces.shape[0]):
        state.superiors[item] = 0
        for i in range(state.traces.shape[1]):
            state.traces[item, i] = 0
