"""The impressions of one context that a policy may have to learn from again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import Ints


class Log:
    """Settled impressions in order, compact: grows by doubling."""

    def __init__(self, n_positions: int, memo_size: int) -> None:
        """Start empty."""
        self._size = 0
        self._rankings: NDArray[np.int32] = np.zeros((16, n_positions), dtype=np.int32)
        self._memos: Ints = np.zeros((16, memo_size), dtype=np.int64)
        self._clicks: NDArray[np.int8] = np.zeros((16, n_positions), dtype=np.int8)

    def add(self, ranking: Ints, memo: Ints, clicks: Ints) -> None:
        """Add one."""
        if self._size == len(self._rankings):
            for name in ("_rankings", "_memos", "_clicks"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros_like(old)]))
        self._rankings[self._size] = ranking
        self._memos[self._size] = memo
        self._clicks[self._size] = clicks
        self._size += 1

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return rankings, memos and clicks, one impression a row."""
        end = self._size
        return {
            "rankings": self._rankings[:end],
            "memos": self._memos[:end],
            "clicks": self._clicks[:end],
        }

    @classmethod
    def of(cls, arrays: dict[str, NDArray[Any]]) -> Log:
        """Return the log that had these arrays."""
        rankings, memos, clicks = (arrays[name] for name in ("rankings", "memos", "clicks"))
        made = cls(rankings.shape[1], memos.shape[1])
        for row in zip(rankings, memos, clicks, strict=True):
            made.add(*row)
        return made
