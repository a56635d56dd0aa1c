"""Items that come and go, for policies that count how often each leader has led.

A leader is the same list, or the same ordered partition, whatever other items there are, so that
its count continues. Its hash is computed from labels, which stay with their items.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import Ints
from clickrank.policies.capabilities import HasMemo, ItemsComeAndGo, ReadsEarlierStates


def keep_labels(labels: Ints, numbers: Ints) -> None:
    """Give the items of a state just carried over the labels that they had before.

    ``numbers[i]`` is the new number of the old item i, -1 if it is gone. Without labels, a state of
    some items of a catalogue could not read the counts of the whole catalogue.
    """
    kept = numbers >= 0
    new = np.ones(labels.size, dtype=bool)
    new[numbers[kept]] = False
    labels[numbers[kept]] = np.flatnonzero(kept)
    labels[new] = numbers.size + np.arange(new.sum())


class LeadingLists(HasMemo, ItemsComeAndGo, ReadsEarlierStates):
    """Items that come and go in GRAB and S-GRAB, whose memo is the leader, a list."""

    by_item = ("clicks", "misses")

    def name_items(self, cache: Any, numbers: Ints) -> None:
        """Continue the counts of leaders with the new numbers of the items."""
        keep_labels(cache.labels, numbers)

    def memos_for(self, memos: Ints, numbers: Ints, n_items: int) -> Ints:
        """Return memos in which the leader's items have their new numbers."""
        return numbers[memos]

    def upgraded(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return saved statistics with the present name of a field."""
        return {"lists_since_feedback" if k == "ahead" else k: v for k, v in arrays.items()}


class LeadingPartitions(HasMemo, ItemsComeAndGo):
    """Items that come and go in UniRank, whose memo has two partitions, one number per item."""

    by_item = ()
    by_pair = ("wins",)

    def name_items(self, cache: Any, numbers: Ints) -> None:
        """Continue the counts of leaders with the new numbers of the items."""
        keep_labels(cache.labels, numbers)

    def memos_for(self, memos: Ints, numbers: Ints, n_items: int) -> Ints:
        """Return memos for another catalogue; items that are new there are in no subset."""
        n_before = numbers.size
        found = np.zeros((len(memos), 2 * n_items), dtype=np.int64)
        there = np.flatnonzero(numbers >= 0)
        for half in (0, 1):
            part = memos[:, half * n_before : (half + 1) * n_before]
            found[:, half * n_items + numbers[there]] = part[:, there]
        return found

    def memo_limit(self, n_items: int) -> int:
        """Return the upper bound of the numbers of subsets, which count from 1."""
        return n_items + 1
