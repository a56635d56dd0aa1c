"""Refold log: the impressions of one context that a policy may have to learn from again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import Ints
from clickrank._core.growing_array import GrowingArray


class RefoldLog:
    """Settled impressions in order, in arrays with one row per impression."""

    def __init__(self, n_positions: int, memo_size: int) -> None:
        """Start without impressions."""
        self._rankings = GrowingArray(np.int32, (n_positions,))
        self._memos = GrowingArray(np.int64, (memo_size,))
        self._clicks = GrowingArray(np.int8, (n_positions,))

    def add(self, ranking: Ints, memo: Ints, clicks: Ints) -> None:
        """Add one impression."""
        self._rankings.append(ranking)
        self._memos.append(memo)
        self._clicks.append(clicks)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return copies of rankings, memos and clicks, with one row per impression."""
        return {
            "rankings": self._rankings.copy(),
            "memos": self._memos.copy(),
            "clicks": self._clicks.copy(),
        }

    @classmethod
    def of(cls, arrays: dict[str, NDArray[Any]]) -> RefoldLog:
        """Return the log from which `arrays` returned these arrays."""
        rankings, memos, clicks = (arrays[name] for name in ("rankings", "memos", "clicks"))
        log = cls(rankings.shape[1], memos.shape[1])
        log._rankings.extend(rankings)
        log._memos.extend(memos)
        log._clicks.extend(clicks)
        return log
