"""TopRank's pairs as a log of clicks, while all clicks are on its first block: the crowd.

From 1,024 items on, the fast kernels first run on another state than the plain ones: a log, which
takes memory per click instead of per pair. It holds the same W of all pairs, and becomes the
matrices of `packed_pairs` when the log ends.

Suppose that so far only items of the first block were clicked, as it fills the list, and that
clicks came back for the partition that was shown. Blocks only ever lose items to later ones, so
that two items that are both still in the first block have always shared it, and

    W_ij = c_i - c_ij

with c_i the clicks on i and c_ij the lists in which both were clicked. No other pair changes. An
item that is beaten leaves the first block at once and is not shown again. It is therefore beaten
only in the round in which it leaves, by the few items clicked then, and its block is one below the
deepest of these. There are no cycles, because an item that beats another one has more clicks.

Pairs that have been separated may meet again in a later block, with the W of the time that they
were together. It can be computed from the log, which holds the items clicked in each list, and
those that left. The log is read when it ends: when an item of another block is clicked, when clicks
come back for a partition that is no longer shown, or when the log is full (`write_pairs`).

For each click on a list with several, the log also holds where the item last had such a click. The
c_ij of one item with all others are thus found in the time that it takes to read its own lists,
which are short while many items share the clicks. Once fewer than a quarter of the items are left
in the first block, their c_ij are counted as clicks come, in a table at the end of the log.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clickrank._compile.jit import inline_kernel, kernel_for, lean_kernel
from clickrank._core.arrays import Ints, IntStatistic
from clickrank.fast._shared.packed_pairs import PackedState, pack_pairs, unpack_pairs
from clickrank.policies.top_rank import State

#: With fewer items than this, there are matrices from the start.
LARGE = 1024
#: Constants of the log: a click that begins a list, and the bits of an item.
FIRST = 1 << 31
ITEM = FIRST - 1


class LoggedState(NamedTuple):
    """A state of TopRank with a log of clicks: the matrices are not written to until it ends.

    The first fields are those of `PackedState`, which has matrices from the start.
    """

    rounds: IntStatistic  # (1,)
    clicks: IntStatistic  # (n_items,)
    wins: IntStatistic  # (n_items, n_items)
    beats: IntStatistic  # (n_items, n_items)
    crowd: IntStatistic  # (2,), 1 if the log holds all pairs, 2 with a table, else 0; its length
    log: IntStatistic  # (n_items² / 4,), clicked items by list, items that left; then the table
    superiors: IntStatistic  # (n_items,), how many items are known to beat i, while there is a log
    traces: IntStatistic  # (n_items, n_positions + 3), see below


#: Columns of the traces, which are used while there is a log. The first columns of row i are the
#: items that beat i; then follow
PLACE = -3  # row and column of i in the table, from 1; 0 for those that had left before;
LATEST = -2  # 1 + the last entry of the log that is a click on i in a list with several;
LEFT = -1  # the item that left the first block as number i, for as many as have left it.


def pack(state: State, n_positions: int) -> PackedState | LoggedState:
    """Return the state that the fast kernels run on: for many items, one with a log.

    The log is used if the state is that before the first round.
    """
    n_items = state.beats.shape[0]
    if n_items < LARGE:
        return pack_pairs(state)
    return LoggedState(
        **pack_pairs(state)._asdict(),
        crowd=np.array([not state.clicks.any(), 0], dtype=np.int64),
        log=np.zeros(n_items * n_items // 4, dtype=np.int64),
        superiors=np.zeros(n_items, dtype=np.int64),
        traces=np.zeros((n_items, n_positions + 3), dtype=np.int64),
    )


def unpack(state: State | PackedState | LoggedState) -> State:
    """Return the plain form of a state that `pack` made; a plain state is returned as it is."""
    if isinstance(state, State):
        return state
    if isinstance(state, LoggedState) and state.crowd[0] > 0:
        block, buffer = blocks_in(state), np.zeros((2, state.clicks.size), dtype=np.int64)
        state = LoggedState(*(array.copy() for array in state))
        kernel_for(_write, "")(state, block, buffer)
    return unpack_pairs(state)


def _write(state: LoggedState, block: Ints, buffer: Ints) -> None:
    write_pairs(state, block, buffer[0], buffer[1])


def blocks_in(state: LoggedState) -> Ints:
    """Return the block of each item while there is a log: one below the deepest that beats it.

    An item that beats another one leaves the first block after it, or not at all.
    """
    block = np.zeros(state.clicks.size, dtype=np.int64)
    for at in range(np.count_nonzero(state.superiors) - 1, -1, -1):
        item = state.traces[at, LEFT]
        block[item] = 1 + block[state.traces[item, : state.superiors[item]]].max()
    return block


@inline_kernel
def table_side(state: LoggedState) -> int:
    """Return the number of rows of the table, and of columns."""
    return int(state.clicks.shape[0] // 4)


@inline_kernel
def table_entry(state: LoggedState, row: int, column: int) -> int:
    """Return the index in the log of this entry of the table."""
    side = table_side(state)
    return int(state.log.shape[0] + (row - side) * side + column)


@lean_kernel
def write_pairs(state: LoggedState, block: Ints, counted: Ints, present: Ints) -> None:
    """End the log: write the wins of all pairs, and which items beat which.

    ``counted`` and ``present`` are buffers of one number per item.
    """
    n_items = state.clicks.shape[0]
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
                state.wins[item, other] -= 1
                state.wins[other, item] -= 1
            continue
        item = -1 - state.log[at]
        present[item] = 0
        for other in range(n_items):
            if present[other] == 1:
                state.wins[item, other] += counted[item]
                state.wins[other, item] += counted[other]
    for item in range(n_items):
        for i in range(state.superiors[item]):
            state.beats[state.traces[item, i], item] = 1
        for other in range(n_items):
            # For items of one block, the matrix holds W minus the clicks.
            if item != other and block[item] == block[other] > 0:
                state.wins[item, other] -= state.clicks[item]
    forget_log(state)
    state.crowd[0] = 0


@lean_kernel
def forget_log(state: LoggedState) -> None:
    """Clear the log, and the fields that belong to it."""
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
