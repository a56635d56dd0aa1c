"""Bootstrap of a log: its counts, drawn again from themselves with replacement."""

from __future__ import annotations

import dataclasses

import numpy as np

from clickrank.logs import Counts, Sessions
from clickrank.logs.counts import cells_of
from clickrank.stats.bootstrap import resample_counts


def resampled(counts: Counts, rng: np.random.Generator) -> Counts:
    """Return the counts of a log drawn from this one, with replacement.

    Lists are drawn if they are known. Otherwise the clicks of each cell are drawn.
    """
    if counts.sessions is None:
        cells = counts.cells
        clicked = rng.binomial(cells.shown, cells.clicked / np.maximum(cells.shown, 1))
        return dataclasses.replace(counts, cells=dataclasses.replace(cells, clicked=clicked))
    sessions = counts.sessions
    times = resample_counts(sessions.times, rng)
    rows = np.flatnonzero(times)
    drawn = Sessions(sessions.items[rows], sessions.clicks[rows], times[rows])
    return dataclasses.replace(counts, sessions=drawn, cells=cells_of(drawn))
