"""Impressions of one query, in the order in which they were shown, for evaluation."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clickrank._core.arrays import Floats, Ints
from clickrank.errors import invalid
from clickrank.logs.counts import NOTHING, Counts


@dataclasses.dataclass(frozen=True, eq=False)
class Impressions:
    """The lists that were shown for one query, with their clicks.

    Parameters
    ----------
    items
        The names of the items of the query, sorted.
    rankings
        Numbers of the items shown, one row per list. -1 stands for no item (after the end of a
        shorter list) or for an unknown item (around a display whose list is not known).
    clicks
        1 where an item was clicked, otherwise 0.
    propensity
        The probability that the item was shown at its position; NaN where it is unknown. None if
        the log has no propensities.
    prefix_propensity
        The probability of the items from the first position down to this one; unknown as above.
    timestamp
        The time at which each list was shown, in microseconds since 1970; None if the log has no
        times.
    """

    items: NDArray[Any]
    rankings: Ints  # (n, n_positions)
    clicks: NDArray[np.uint8]  # (n, n_positions)
    propensity: Floats | None = None  # (n, n_positions)
    prefix_propensity: Floats | None = None  # (n, n_positions)
    timestamp: Ints | None = None  # (n,)

    def __post_init__(self) -> None:
        if self.rankings.ndim != 2:
            raise invalid("Impressions", "rankings must have two dimensions", self.rankings.shape)
        for name in ("clicks", "propensity", "prefix_propensity"):
            found = getattr(self, name)
            if found is not None and found.shape != self.rankings.shape:
                rule = f"{name} must have the shape of rankings {self.rankings.shape}"
                raise invalid("Impressions", rule, found.shape)
        if not ((self.rankings >= NOTHING) & (self.rankings < self.items.size)).all():
            rule = f"rankings must be between -1 and {self.items.size - 1}"
            raise invalid("Impressions", rule, int(self.rankings.max(initial=-1)))
        odd = (self.clicks != 0) & ((self.clicks != 1) | (self.rankings == NOTHING))
        if odd.any():
            row, position = np.argwhere(odd)[0].tolist()
            rule = (
                "clicks must be 0 or 1, and 0 where there is no item; "
                f"see list {row}, position {position}"
            )
            raise invalid("Impressions", rule, self.clicks[row, position].item())
        if self.timestamp is not None and self.timestamp.shape != (len(self),):
            rule = f"timestamp must have one entry per list ({len(self)})"
            raise invalid("Impressions", rule, self.timestamp.shape)

    def __len__(self) -> int:
        return int(self.rankings.shape[0])

    @property
    def n_items(self) -> int:
        """The number of items that were shown for the query."""
        return int(self.items.size)

    @property
    def n_positions(self) -> int:
        """The length of the longest list."""
        return int(self.rankings.shape[1])

    @classmethod
    def of_arrays(
        cls,
        rankings: ArrayLike,
        clicks: ArrayLike,
        *,
        names: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        prefix_propensity: ArrayLike | None = None,
    ) -> Impressions:
        """Return impressions from arrays; items without names are named by their numbers.

        >>> len(Impressions.of_arrays([[0, 1], [1, 0]], [[1, 0], [0, 0]]))
        2
        """
        lists = np.array(rankings, dtype=np.int64)
        called = (
            [str(i) for i in range(int(lists.max(initial=-1)) + 1)]
            if names is None
            else [str(name) for name in np.asarray(names).tolist()]
        )
        return cls(
            np.array(called, dtype=np.dtypes.StringDType()),
            lists,
            np.array(clicks, dtype=np.uint8),
            None if propensity is None else np.array(propensity, dtype=np.float64),
            None if prefix_propensity is None else np.array(prefix_propensity, dtype=np.float64),
        )

    def counts(self, query: str = "") -> Counts:
        """Return the counts of these impressions."""
        return Counts.of_lists(self.rankings, self.clicks, names=self.items.tolist(), query=query)
