"""Items that come and go, for policies that count how often each leader has led.

A leader is the same list, or the same ordered partition, whatever other items there are, so its
count goes on. Its hash is made of labels, which stay with their items.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import Ints
from clickrank.policies.capabilities import HasMemo, ItemsComeAndGo, ReadsEarlierStates


def keep_labels(labels: Ints, numbers: Ints) -> None:
    """Let hashes call the items of a state just carried by the numbers that they had before.

    ``numbers[i]`` is what the old item i has become, -1 if it is gone. Without labels, counts of a
    catalogue could not be read by a state of some of its items.
    """
    kept = numbers >= 0
    new = np.ones(labels.size, dtype=bool)
    new[numbers[kept]] = False
    labels[numbers[kept]] = np.flatnonzero(kept)
    labels[new] = numbers.size + np.arange(new.sum())


class LeadingLists(HasMemo, ItemsComeAndGo, ReadsEarlierStates):
    """How GRAB and S-GRAB go on with other items: the memo is the leader, a list."""

    by_item = ("clicks", "misses")

    def name_items(self, cache: Any, numbers: Ints) -> None:
        """Let the counts of leaders go on under other numbers of the items."""
        keep_labels(cache.labels, numbers)

    def memos_for(self, memos: Ints, numbers: Ints, n_items: int) -> Ints:
        """Return memos with the leader's items called by other numbers."""
        return numbers[memos]

    def upgraded(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return what was saved, with a field that once had another name."""
        return {"lists_since_feedback" if k == "ahead" else k: v for k, v in arrays.items()}


class LeadingPartitions(HasMemo, ItemsComeAndGo):
    """How UniRank goes on with other items: the memo has two partitions, one number per item."""

    by_item = ()
    by_pair = ("wins",)

    def name_items(self, cache: Any, numbers: Ints) -> None:
        """Let the counts of leaders go on under other numbers of the items."""
        keep_labels(cache.labels, numbers)

    def memos_for(self, memos: Ints, numbers: Ints, n_items: int) -> Ints:
        """Return memos for another catalogue; further items that it has were in no subset."""
        n_before = numbers.size
        found = np.zeros((len(memos), 2 * n_items), dtype=np.int64)
        there = np.flatnonzero(numbers >= 0)
        for half in (0, 1):
            part = memos[:, half * n_before : (half + 1) * n_before]
            found[:, half * n_items + numbers[there]] = part[:, there]
        return found

    def memo_limit(self, n_items: int) -> int:
        """Return what subsets are below: they count from 1."""
        return n_items + 1
