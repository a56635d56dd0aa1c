"""Single lists of one query, in the order they were shown: what evaluation goes through."""

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
    """The lists of one query.

    Parameters
    ----------
    items
        Names of the query's items, in the order of their text.
    rankings
        Numbers of the items shown, a row a list; -1 where no item is, or none is known: after the
        end of a shorter list, and around the position of a display whose list is not known.
    clicks
        1 where an item was clicked, else 0.
    propensity
        The probability that the item was shown at its position; NaN where it is not known. None if
        the log has none.
    prefix_propensity
        The probability that the list began as it did, down to this position; as above.
    timestamp
        When each list was shown, in microseconds since 1970; None if the log has no times.
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
                "clicks must be 0 or 1, and 0 where no item is; "
                f"of list {row} at position {position}"
            )
            raise invalid("Impressions", rule, self.clicks[row, position].item())
        if self.timestamp is not None and self.timestamp.shape != (len(self),):
            rule = f"timestamp must have one entry a list ({len(self)})"
            raise invalid("Impressions", rule, self.timestamp.shape)

    def __len__(self) -> int:
        return int(self.rankings.shape[0])

    @property
    def n_items(self) -> int:
        """How many items were shown to the query."""
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
        """Make them from numbers; items are called by their number if they have no names.

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
        """Count the lists."""
        return Counts.of_lists(self.rankings, self.clicks, names=self.items.tolist(), query=query)
