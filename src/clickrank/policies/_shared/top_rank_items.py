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

from clickrank._compile.jit import interpreted
from clickrank._core.arrays import Ints
from clickrank.errors import invalid
from clickrank.policies._shared.ordered_partition import peel
from clickrank.policies.capabilities import ExactLists, HasMemo, ItemsComeAndGo, ReadsEarlierStates
from clickrank.rankings.closed_form import ListSource, ShuffledBlocks

_RESTARTS = 64  # more than doubling reaches


class TopRankItems(HasMemo, ItemsComeAndGo, ExactLists, ReadsEarlierStates):
    """How TopRank goes on with other items."""

    by_item = ("clicks",)
    by_pair = ("won", "beats")

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

    def lists(self, source: ListSource) -> ShuffledBlocks:
        """Return the lists that respect the partition, which are equally likely."""
        # The fast kernels keep the partition, and a log of clicks has no matrix that tells it.
        block = peeled(source.state.beats) if source.cache is None else source.cache.block
        order, starts = cut(block)
        return ShuffledBlocks.of_partition(order, starts, source.n_positions)

    def upgraded(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return what was saved, with wins and all rounds instead of S, N and those of an epoch.

        Files of the fast kernels have wins, which are W in another form, and those of many items a
        log of clicks that only these kernels read.
        """
        found = dict(arrays)
        if self.reference and "crowd" in found and found["crowd"][0] > 0:
            raise invalid("TopRank", "reference must be False for this file", True)
        if "difference" in found:  # less the clicks on both, S and N were half a win each
            found["wins"] = (found["difference"] + found["disagreement"]) // 2
            found["rounds"] = found["rounds"] + self.guess * (2 ** int(found["epoch"][0]) - 1)
            if "crowd" in found and found["crowd"][0] == 0:  # there is a log no more
                for name in ("crowd", "log", "superiors", "traces"):
                    del found[name]
        plain = self.reference or "crowd" not in found  # also what a log has become
        if plain and "won" not in found and "wins" in found:
            found["won"] = with_clicks(found["wins"], found["clicks"], found["beats"], 1)
        return found


def with_clicks(wins: Ints, clicks: Ints, beats: Ints, sign: int) -> Ints:
    """Return wins with the clicks on an item added for all others of its block, or subtracted.

    Without any click this is the array itself.
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
    """Return each item's block, from 0."""
    block = np.zeros(beats.shape[0], dtype=np.int64)
    with interpreted():
        peel(beats, block.size, block)
    return block - 1


def cut(block: Ints) -> tuple[Ints, Ints]:
    """Return the items by block, from 0, and by number within, and where each block begins.

    There are as many beginnings as items and one more: all beyond the last block are its end.

    >>> [array.tolist() for array in cut(np.array([1, 0, 1]))]
    [[1, 0, 2], [0, 1, 3, 3]]
    """
    sizes = np.bincount(block, minlength=block.size)
    return np.argsort(block, kind="stable"), np.append(0, np.cumsum(sizes))
