"""Counts of a log, drawn again from themselves."""

from __future__ import annotations

import dataclasses

import numpy as np

from clickrank.logs import Counts
from clickrank.logs.resampling import resampled


def test_lists_are_drawn_again_or_else_the_clicks_of_cells() -> None:
    rng = np.random.default_rng(0)
    lists = np.argsort(rng.random((500, 6)), axis=1)[:, :3]
    clicks = (rng.random(lists.shape) < 0.3).astype(np.uint8)
    counts = Counts.of_lists(lists, clicks)
    again = resampled(counts, np.random.default_rng(0))
    assert again.n_impressions == 500
    assert again.cells.clicked.sum() != counts.cells.clicked.sum()
    flat = dataclasses.replace(counts, sessions=None)
    cells = resampled(flat, np.random.default_rng(0)).cells
    assert np.array_equal(cells.shown, flat.cells.shown)
    assert (cells.clicked <= cells.shown).all()
