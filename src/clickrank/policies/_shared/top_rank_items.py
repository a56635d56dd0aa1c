"""TopRank's pairs when items come and go.

S and N of two items, and whether one beats the other for good, say nothing about a third item: in
each round their clicks differ by a fair coin or one that favours the better, whatever else is in
their block (lattimore2018, Lemma 1, holds for any block that is chosen before the clicks). So all
of it stays. The partition is what follows from it for the items that are there. An item that is
new has beaten none and is in the first block; where an item has gone, those that only it had beaten
move up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clickrank.policies._shared.click_log import LoggedState
from clickrank.types import Ints


def mend_pairs(state: Any, numbers: Ints) -> None:
    """Divide the items again, and write S and N as the fields have them for these blocks.

    The fields are those of old items and their old blocks, see `Policy.mend`; a pair with a new
    item has S = N = 0.
    """
    n_items = state.block.size
    old = np.zeros(n_items, dtype=bool)
    old[numbers[numbers >= 0]] = True
    before = np.where(old, state.block, -1 - np.arange(n_items))  # new items were in no block
    state.block[:] = peeled(state.beats)
    for item in range(n_items):
        _write_row(state, item, before)
    if isinstance(state, LoggedState):  # it begins with a log if it has no past
        state.crowd[:] = not state.clicks.any(), 0


def peeled(beats: Ints) -> Ints:
    """Return each item's block: who is beaten by none, then by none of the rest, and so on.

    Items that beat each other in circles, and those below them, are the last block.
    """
    missing = beats.sum(axis=0)
    block = np.full(missing.size, -1, dtype=np.int64)
    number = 0
    while (block < 0).any():
        free = (block < 0) & (missing == 0)
        if not free.any():
            free = block < 0
        block[free] = number
        missing = missing - beats[free].sum(axis=0)
        number += 1
    return block


def _write_row(state: Any, item: int, before: Ints) -> None:
    """Change an item's row from the old blocks to the new ones: many rows stay as they are."""
    together = (state.block == state.block[item]).astype(np.int64)
    sign = (before == before[item]) - together
    others = np.flatnonzero(sign)  # not the item itself
    if others.size:
        own, clicks, sign = state.clicks[item], state.clicks[others], sign[others]
        state.difference[item, others] += sign * (own - clicks)
        state.disagreement[item, others] += sign * (own + clicks)
