"""Single lists in the order they were shown, with their clicks: what evaluation looks at."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank.errors import invalid
from clickrank.types import Floats, Ints


@dataclasses.dataclass(frozen=True, eq=False)
class Impressions:
    """The lists shown for one query, in shown order.

    Parameters
    ----------
    items
        What the items are called; lists hold their numbers, from 0 on.
    rankings
        The lists, a row each, (n, n_positions).
    clicks
        1 where an item was clicked, else 0; of the same shape.
    propensity
        How likely the item was at its position when it was chosen.
    prefix_propensity
        How likely the list was to begin as it did, down to each position.
    timestamp
        When each list was shown, in microseconds since 1970, (n,).
    """

    items: NDArray[Any]
    rankings: Ints
    clicks: NDArray[np.uint8]
    propensity: Floats | None = None
    prefix_propensity: Floats | None = None
    timestamp: Ints | None = None

    def __post_init__(self) -> None:
        """Check that the arrays fit."""
        shape = self.rankings.shape
        if self.rankings.ndim != 2:
            raise invalid("Impressions", "rankings must have a row a list", shape)
        for name in ("clicks", "propensity", "prefix_propensity"):
            array = getattr(self, name)
            if array is not None and array.shape != shape:
                raise invalid("Impressions", f"{name} must be of shape {shape}", array.shape)
