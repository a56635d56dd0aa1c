"""A log drawn again from itself: how far a fit depends on the visitors that happened to come."""

from __future__ import annotations

import dataclasses

import numpy as np

from clickrank.logs import Counts, Sessions
from clickrank.logs.counts import cells_of


def resampled(counts: Counts, rng: np.random.Generator) -> Counts:
    """Draw as many lists as a log has from it, with replacement; else the clicks of each cell."""
    if counts.sessions is None:
        cells = counts.cells
        clicked = rng.binomial(cells.shown, cells.clicked / np.maximum(cells.shown, 1))
        return dataclasses.replace(counts, cells=dataclasses.replace(cells, clicked=clicked))
    sessions = counts.sessions
    total = int(sessions.times.sum())
    times = rng.multinomial(total, sessions.times / total)
    rows = np.flatnonzero(times)
    drawn = Sessions(sessions.items[rows], sessions.clicks[rows], times[rows])
    return dataclasses.replace(counts, sessions=drawn, cells=cells_of(drawn))
