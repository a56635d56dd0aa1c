"""The terms of an estimate by importance weights, one row per impression."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import Floats


@dataclasses.dataclass(frozen=True, eq=False)
class WeightedTerms:
    """The terms of an estimate, one row per impression.

    Parameters
    ----------
    values
        Terms of the estimate, (n, columns). The value is the sum of the columns' means.
    weights
        The importance weights in the values, of expectation 1.
    uncut_weights
        The weights before those above ``clip`` were cut.
    low, high
        Bounds of one impression's sum of values, given the largest weights.
    largest_factor
        The largest number that a weight is multiplied with; it bounds the bias of cutting weights.
    observed
        1 where an impression has an item in the column and 0 elsewhere, in the shape of values.
        Means are taken over these impressions. None if every impression has all columns.
    clicked
        Whether an impression has a click that counts; None if these are the values other than 0.
    drawn
        Whether the largest weights come from lists that were drawn from the target.
    """

    values: Floats
    weights: Floats
    uncut_weights: Floats
    low: float
    high: float
    largest_factor: float = 1.0
    observed: Floats | None = None
    clicked: NDArray[np.bool_] | None = None
    drawn: bool = False

    @property
    def with_clicks(self) -> int:
        """Number of impressions that have a click that counts."""
        clicked = (self.values != 0.0).any(axis=1) if self.clicked is None else self.clicked
        return int(clicked.sum())


def joined(found: Sequence[WeightedTerms]) -> WeightedTerms:
    """Return the terms of several queries as those of one."""
    if len(found) == 1:
        return found[0]
    observed = None
    if any(t.observed is not None for t in found):
        every = [np.ones_like(t.values) if t.observed is None else t.observed for t in found]
        observed = np.vstack(every)
    clicked = None
    if all(t.clicked is not None for t in found):
        clicked = np.concatenate([t.clicked for t in found if t.clicked is not None])
    return WeightedTerms(
        np.vstack([t.values for t in found]),
        np.vstack([t.weights for t in found]),
        np.vstack([t.uncut_weights for t in found]),
        low=min(t.low for t in found),
        high=max(t.high for t in found),
        largest_factor=max(t.largest_factor for t in found),
        observed=observed,
        clicked=clicked,
        drawn=any(t.drawn for t in found),
    )
