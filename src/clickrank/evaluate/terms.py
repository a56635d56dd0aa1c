"""An estimate by importance weights, impression by impression."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import Floats


@dataclasses.dataclass(frozen=True, eq=False)
class Terms:
    """An estimate, impression by impression.

    Parameters
    ----------
    values
        The value is the sum of the columns' means, (n, columns).
    weights
        The importance weights that each column was multiplied with, of expectation 1.
    full
        The weights before they were cut.
    low, high
        What one impression's sum of values can be, given the largest weights.
    scale
        What a weight may at most be multiplied with, for the bias of cutting.
    there
        1 where an impression tells of a column, else 0, in the shape of values; means are over
        these. None if all tell of all.
    clicked
        Whether an impression has a click that counts; None if these are the values other than 0.
    drawn
        Whether the largest weights are those of draws of the target.
    """

    values: Floats
    weights: Floats
    full: Floats
    low: float
    high: float
    scale: float = 1.0
    there: Floats | None = None
    clicked: NDArray[np.bool_] | None = None
    drawn: bool = False

    @property
    def with_clicks(self) -> int:
        """How many impressions have a click that counts."""
        clicked = (self.values != 0.0).any(axis=1) if self.clicked is None else self.clicked
        return int(clicked.sum())


def joined(found: Sequence[Terms]) -> Terms:
    """Return the terms of all queries as those of one."""
    if len(found) == 1:
        return found[0]
    there = None
    if any(t.there is not None for t in found):
        full = [np.ones_like(t.values) if t.there is None else t.there for t in found]
        there = np.vstack(full)
    clicked = None
    if all(t.clicked is not None for t in found):
        clicked = np.concatenate([t.clicked for t in found if t.clicked is not None])
    return Terms(
        np.vstack([t.values for t in found]),
        np.vstack([t.weights for t in found]),
        np.vstack([t.full for t in found]),
        low=min(t.low for t in found),
        high=max(t.high for t in found),
        scale=max(t.scale for t in found),
        there=there,
        clicked=clicked,
        drawn=any(t.drawn for t in found),
    )
