"""TopRank when items come and go, the distribution of its lists, and its older files.

S and N of two items, and whether one beats the other for good, say nothing about a third item: in
each round their clicks differ by a fair coin or one that favours the better, whatever else is in
their block (lattimore2018, Lemma 1, holds for any block that is chosen before the clicks). So all
of it stays. The partition is what follows from it for the items that are there. An item that is
new has beaten none and is in the first block; where an item has gone, those that only it had beaten
move up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank.errors import invalid
from clickrank.policies.capabilities import ExactLists, HasMemo, ItemsComeAndGo, ReadsEarlierStates
from clickrank.rankings.lists import Lists, ListSource, partition
from clickrank.types import Ints

_RESTARTS = 64  # more than doubling reaches


class TopRankItems(HasMemo, ItemsComeAndGo, ExactLists, ReadsEarlierStates):
    """How TopRank goes on with other items."""

    by_item = ("clicks",)
    by_pair = ("wins", "beats")

    doubling: bool
    guess: int
    reference: bool

    def memo_limit(self, n_items: int) -> int:
        """Return what blocks and restarts are below; ``n_items`` itself stands for no block."""
        return max(n_items + 1, _RESTARTS) if self.doubling else n_items + 1

    def memos_for(self, memos: Ints, numbers: Ints, n_items: int) -> Ints:
        """Return memos for another catalogue; further items that it has were in no block.

        Nor do blocks from the number of items on count: lists end before them.
        """
        there = np.flatnonzero(numbers >= 0)
        found = np.full((len(memos), n_items), n_items, dtype=np.int64)
        blocks = memos[:, there]
        found[:, numbers[there]] = np.where(blocks < min(numbers.size, n_items), blocks, n_items)
        return np.column_stack([found, memos[:, numbers.size :]])

    def lists(self, source: ListSource) -> Lists:
        """Return the lists that respect the partition, which are equally likely."""
        order, starts = cut(peeled(source.state.beats))
        return partition(order, starts, source.n_positions)

    def before_change(self, state: Any) -> Any:
        """Return a copy with the W of all pairs, which do not depend on who shares a block."""
        copied = state._replace(wins=state.wins.copy())
        _add_clicks(copied, 1)
        return copied

    def mend(self, state: Any, numbers: Ints) -> None:
        """Take from the W of a state just carried what the clicks on items of one block tell."""
        _add_clicks(state, -1)

    def upgraded(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return what was saved, with wins and all rounds instead of S, N and those of an epoch.

        A file of many items has a log of clicks that only the fast kernels read.
        """
        if self.reference and "crowd" in arrays and arrays["crowd"][0] > 0:
            raise invalid("TopRank", "reference must be False for this file", True)
        if "difference" not in arrays:
            return dict(arrays)
        # Less the clicks on both, S and N were half a win each.
        wins = (arrays["difference"] + arrays["disagreement"]) // 2
        before = self.guess * (2 ** int(arrays["epoch"][0]) - 1)
        found = {**arrays, "wins": wins, "rounds": arrays["rounds"] + before}
        if "crowd" in arrays and arrays["crowd"][0] == 0:  # there is a log no more
            for name in ("crowd", "log", "superiors", "traces"):
                del found[name]
        return found


def _add_clicks(state: Any, sign: int) -> None:
    """Add the clicks on items to their wins over others of their block, one row at a time."""
    block = peeled(state.beats)
    for item in np.flatnonzero(state.clicks):
        together = block == block[item]
        together[item] = False
        state.wins[item] += sign * state.clicks[item] * together


def peeled(beats: Ints) -> Ints:
    """Return each item's block, from 0: who is beaten by none, then by none of the rest, and so on.

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


def cut(block: Ints) -> tuple[Ints, Ints]:
    """Return the items by block, from 0, and by number within, and where each block begins.

    There are as many beginnings as items and one more: all beyond the last block are its end.

    >>> [array.tolist() for array in cut(np.array([1, 0, 1]))]
    [[1, 0, 2], [0, 1, 3, 3]]
    """
    sizes = np.bincount(block, minlength=block.size)
    return np.argsort(block, kind="stable"), np.append(0, np.cumsum(sizes))
