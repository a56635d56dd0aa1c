"""Cascade examination: the displays that were examined, if people scan lists from the top."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import Floats
from clickrank.logs.counts import NOTHING, Counts, Sessions


def examined_displays(counts: Counts, sessions: Sessions) -> tuple[Floats, Floats]:
    """Return, per pair, the number of displays with no click above, and of clicks on these."""
    examined = no_click_above(sessions.clicks) & (sessions.items != NOTHING)
    row, position = np.nonzero(examined)
    items, times = sessions.items[row, position], sessions.times[row]
    clicked = times * sessions.clicks[row, position]
    shown, won = (np.bincount(items, n, counts.n_pairs) for n in (times, clicked))
    return shown.astype(np.float64, copy=False), won.astype(np.float64, copy=False)


def no_click_above(clicks: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Return at which positions there was no click above; one row per list.

    >>> no_click_above(np.array([[0, 1, 0], [0, 0, 0]]))
    array([[ True,  True, False],
           [ True,  True,  True]])
    """
    found = np.ones(clicks.shape, dtype=np.bool_)
    found[:, 1:] = np.maximum.accumulate(clicks, axis=1)[:, :-1] == 0
    return found
