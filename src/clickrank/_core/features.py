"""Feature vectors of items: an immutable matrix that compares and hashes by its contents."""

from __future__ import annotations

import functools
import hashlib
import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from clickrank._core.arrays import Floats, Ints, frozen, origin_of
from clickrank.errors import InvalidValue, invalid


class Features:
    """A read-only matrix with one row of features per item. It compares and hashes by its contents.

    A contiguous float64 matrix is not copied, so do not change it afterwards.

    Examples
    --------
    >>> features = Features([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    >>> features
    Features(3 items, 2 features, ...)
    >>> features == Features([[1, 0], [0, 1], [0.5, 0.5]])
    True
    """

    def __init__(self, values: ArrayLike | Features) -> None:
        """Check that the values are a matrix of finite numbers."""
        if isinstance(values, Features):
            self.values: Floats = values.values
            return
        try:
            array = np.asarray(values)
        except ValueError:  # ragged
            array = np.array("ragged")
        if array.dtype.kind not in "fiub" or array.ndim != 2 or 0 in array.shape:
            raise _no_matrix(values)
        found = np.ascontiguousarray(array, dtype=np.float64)
        wrong = ~np.isfinite(found).all(axis=1)
        if wrong.any():
            item = int(np.argmax(wrong))
            raise invalid("Features", f"the features of item {item} must be finite", found[item])
        self.values = frozen(found.view())

    @property
    def n_items(self) -> int:
        """The number of items."""
        return int(self.values.shape[0])

    @property
    def n_features(self) -> int:
        """The number of features of each item."""
        return int(self.values.shape[1])

    def relabelled(self, origin: Ints, new: Features | None = None) -> Features:
        """Return the features of a catalogue whose item i is this one's item ``origin[i]``.

        An origin of -1 stands for a new item. ``new`` has the features of the new items, in order.
        """
        origin = origin_of("Features", origin, self.n_items)
        fresh = np.flatnonzero(origin < 0)
        values = self.values[origin]
        if fresh.size:
            if new is None:
                raise invalid("Features", "the features of new items must be given")
            if new.values.shape != (fresh.size, self.n_features):
                rule = (
                    f"the features of new items must have shape ({fresh.size}, {self.n_features})"
                )
                raise invalid("Features", rule, new.values.shape)
            values[fresh] = new.values
        return Features(values)

    def for_items(self, owner: str, n_items: int) -> Floats:
        """Return the matrix after checking that it has ``n_items`` rows."""
        if self.n_items != n_items:
            raise invalid(owner, f"features must have {n_items} rows, one per item", self.n_items)
        return self.values

    @functools.cached_property
    def _digest(self) -> str:
        return hashlib.sha256(self.values.data).hexdigest()[:12]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Features) and np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash((self.values.shape, self._digest))

    def __repr__(self) -> str:
        """Show the shape and a digest of the contents."""
        return f"Features({self.n_items} items, {self.n_features} features, {self._digest})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Features, (np.array(self.values),)


def _no_matrix(values: Any) -> InvalidValue:
    """Return the error for values that are not a matrix of numbers; it shows what is wrong."""
    try:
        entries = np.asarray(values, dtype=object)  # text would make text of the numbers
    except ValueError:  # ragged
        entries = np.empty(0, dtype=object)
    rule = "must be a matrix of numbers"
    if entries.ndim == 2:
        for (row, column), entry in np.ndenumerate(entries):
            if not isinstance(entry, numbers.Real):
                return invalid("Features", f"{rule}, also in row {row}, column {column}", entry)
    return invalid("Features", f"{rule}, one row per item", values)
