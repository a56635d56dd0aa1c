"""Optional abilities of TopRank: changing items, the distribution of lists, and older files.

S and N of two items, and whether one beats the other for good, do not depend on a third item: in
each round the difference of their clicks is a fair coin, or one that favours the better item,
whatever else is in their block (lattimore2018, Lemma 1, holds for any block that is chosen before
the clicks). All of these statistics stay. The partition follows from them for the items that are
there. A new item is beaten by none and is in the first block. If an item goes, those that only it
had beaten move up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank._compile.jit import interpreted
from clickrank._core.arrays import Ints
from clickrank.errors import invalid
from clickrank.policies._shared.ordered_partition import peel
from clickrank.policies.capabilities import ExactLists, HasMemo, ItemsComeAndGo, ReadsEarlierStates
from clickrank.rankings.closed_form import ListSource, ShuffledBlocks

_RESTARTS = 64  # more than doubling can reach


class TopRankItems(HasMemo, ItemsComeAndGo, ExactLists, ReadsEarlierStates):
    """The abilities of TopRank besides ranking and learning."""

    by_item = ("clicks",)
    by_pair = ("won", "beats")

    doubling: bool
    guess: int
    reference: bool

    def memo_limit(self, n_items: int) -> int:
        """Return an upper bound of blocks and restarts; ``n_items`` itself stands for no block."""
        return max(n_items + 1, _RESTARTS) if self.doubling else n_items + 1

    def memos_for(self, memos: Ints, numbers: Ints, n_items: int) -> Ints:
        """Return memos for another catalogue; items that are new there are in no block.

        Blocks with a number of at least ``n_items`` do not count, because lists end before them.
        """
        there = np.flatnonzero(numbers >= 0)
        found = np.full((len(memos), n_items), n_items, dtype=np.int64)
        blocks = memos[:, there]
        found[:, numbers[there]] = np.where(blocks < min(numbers.size, n_items), blocks, n_items)
        return np.column_stack([found, memos[:, numbers.size :]])

    def lists(self, source: ListSource) -> ShuffledBlocks:
        """Return the lists that respect the partition, which are equally likely."""
        # The fast kernels keep the partition, and a log of clicks has no matrix that tells it.
        block = peeled(source.state.beats) if source.cache is None else source.cache.block
        order, starts = cut(block)
        return ShuffledBlocks.of_partition(order, starts, source.n_positions)

    def upgraded(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return saved statistics with wins and all rounds, instead of S, N and rounds per epoch.

        Files of the fast kernels have wins, which are W in another form. Those of many items have a
        log of clicks that only the fast kernels can read.
        """
        found = dict(arrays)
        if self.reference and "crowd" in found and found["crowd"][0] > 0:
            raise invalid("TopRank", "reference must be False for this file", True)
        if "difference" in found:  # without the clicks on both, S and N were half a win each
            found["wins"] = (found["difference"] + found["disagreement"]) // 2
            found["rounds"] = found["rounds"] + self.guess * (2 ** int(found["epoch"][0]) - 1)
            if "crowd" in found and found["crowd"][0] == 0:  # the log was replaced by a matrix
                for name in ("crowd", "log", "superiors", "traces"):
                    del found[name]
        plain = self.reference or "crowd" not in found  # includes logs replaced by a matrix
        if plain and "won" not in found and "wins" in found:
            found["won"] = with_clicks(found["wins"], found["clicks"], found["beats"], 1)
        return found


def with_clicks(wins: Ints, clicks: Ints, beats: Ints, sign: int) -> Ints:
    """Return wins with the clicks on an item added, or subtracted, for all others of its block.

    Without clicks, this is the array itself.
    """
    clicked = np.flatnonzero(clicks)
    if clicked.size == 0:
        return wins
    block = peeled(beats)
    found = wins.copy()
    for item in clicked:  # one row at a time needs less memory than all pairs
        together = block == block[item]
        together[item] = False
        found[item] += sign * clicks[item] * together
    return found


def peeled(beats: Ints) -> Ints:
    """Return the block of each item, counted from 0."""
    block = np.zeros(beats.shape[0], dtype=np.int64)
    with interpreted():
        peel(beats, block.size, block)
    return block - 1


def cut(block: Ints) -> tuple[Ints, Ints]:
    """Return the items sorted by block and then by number, and the start of each block.

    There are n_items + 1 starts; all beyond the last block are its end.

    >>> [array.tolist() for array in cut(np.array([1, 0, 1]))]
    [[1, 0, 2], [0, 1, 3, 3]]
    """
    sizes = np.bincount(block, minlength=block.size)
    return np.argsort(block, kind="stable"), np.append(0, np.cumsum(sizes))
