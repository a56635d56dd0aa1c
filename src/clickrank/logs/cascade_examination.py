"""Which displays of a log were surely looked at, where people scan lists from the top."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import Floats
from clickrank.logs.counts import NOTHING, Counts, Sessions


def examined_displays(counts: Counts, sessions: Sessions) -> tuple[Floats, Floats]:
    """Count by pair how often nothing above was clicked, and the clicks then."""
    seen = no_click_above(sessions.clicks) & (sessions.items != NOTHING)
    row, position = np.nonzero(seen)
    items, times = sessions.items[row, position], sessions.times[row]
    clicked = times * sessions.clicks[row, position]
    shown, won = (np.bincount(items, n, counts.n_pairs) for n in (times, clicked))
    return shown.astype(np.float64, copy=False), won.astype(np.float64, copy=False)


def no_click_above(clicks: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Return where nothing above was clicked; one row per list.

    >>> no_click_above(np.array([[0, 1, 0], [0, 0, 0]]))
    array([[ True,  True, False],
           [ True,  True,  True]])
    """
    seen = np.ones(clicks.shape, dtype=np.bool_)
    seen[:, 1:] = np.maximum.accumulate(clicks, axis=1)[:, :-1] == 0
    return seen
