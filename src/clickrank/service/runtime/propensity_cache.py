"""The propensities of lists, found once for all lists that are drawn from the same snapshot."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Ints
from clickrank.learning import Propensities
from clickrank.service.runtime.fold import Snapshot

#: Contexts for which they are kept: they take more memory than most states.
_MOST = 1_000


class _Kept(NamedTuple):
    seq: int
    version: int
    found: Propensities


class PropensityCache:
    """Propensities of the contexts that were used last. Threads may share it."""

    def __init__(self) -> None:
        """Keep none yet."""
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def of(
        self,
        stream_id: int,
        snapshot: Snapshot,
        rng: np.random.Generator,
        candidates: Ints | None,
    ) -> Propensities:
        """Return the propensities of the next list.

        Of a policy whose lists depend on those before them they hold for one list alone.
        """
        learned = snapshot.state
        if candidates is not None or learned.policy.rank_remembers:
            return learned.propensities(candidates, rng)
        with self._lock:
            kept = self._kept.get(stream_id)
            if kept is not None and kept[:2] == (snapshot.seq, snapshot.version):
                self._kept.move_to_end(stream_id)
                return kept.found
        found = learned.propensities(None, rng)
        with self._lock:
            self._kept[stream_id] = _Kept(snapshot.seq, snapshot.version, found)
            if len(self._kept) > _MOST:
                self._kept.popitem(last=False)
        return found
