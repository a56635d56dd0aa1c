"""PropensityCache: computes the propensities of a snapshot once for all lists drawn from it.

The log has those of each list as bytes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Floats, Ints
from clickrank.learning import Propensities
from clickrank.service.runtime.fold import Snapshot

#: Maximum number of contexts; propensities take more memory than most states.
_MOST = 1_000


class _Entry(NamedTuple):
    seq: int
    version: int
    found: Propensities


class PropensityCache:
    """The propensities of the most recently used contexts. Threads may share it."""

    def __init__(self) -> None:
        """Start empty."""
        self._entries: OrderedDict[int, _Entry] = OrderedDict()
        self._lock = threading.Lock()

    def of(
        self,
        stream_id: int,
        snapshot: Snapshot,
        rng: np.random.Generator,
        candidates: Ints | None,
    ) -> Propensities:
        """Return the propensities of the next list.

        If a policy's lists depend on the previous ones, propensities hold for one list only, and
        are computed again each time. So are those of candidates.
        """
        learned = snapshot.state
        if candidates is not None or learned.policy.rank_remembers:
            return learned.propensities(candidates, rng)
        with self._lock:
            entry = self._entries.get(stream_id)
            if entry is not None and entry[:2] == (snapshot.seq, snapshot.version):
                self._entries.move_to_end(stream_id)
                return entry.found
        found = learned.propensities(None, rng)
        with self._lock:
            self._entries[stream_id] = _Entry(snapshot.seq, snapshot.version, found)
            if len(self._entries) > _MOST:
                self._entries.popitem(last=False)
        return found


def pack_propensities(marginal: Floats, prefix: Floats) -> bytes:
    """Return the probability of each item of a list, and of each of its beginnings, as bytes."""
    return np.concatenate([marginal, prefix]).astype("<f8").tobytes()


def unpack_propensities(packed: bytes) -> tuple[list[float], list[float]]:
    """Return the two lists of probabilities that were given to `pack_propensities`.

    >>> unpack_propensities(pack_propensities(np.array([0.5, 1.0]), np.array([0.5, 0.5])))
    ([0.5, 1.0], [0.5, 0.5])
    """
    values = np.frombuffer(packed, "<f8").tolist()
    return values[: len(values) // 2], values[len(values) // 2 :]
