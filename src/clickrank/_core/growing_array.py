"""Growing array: a NumPy array to which rows are added at the end, without a second copy."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

T = TypeVar("T", bound=np.generic)


class GrowingArray(Generic[T]):
    """An array that grows by rows, and reserves at most an eighth more than it holds.

    The allocator of the operating system moves the pages of a large array instead of copying them
    (mremap), so that growing does not hold two copies either. Where it cannot, the second copy
    exists only for a moment.

    Examples
    --------
    >>> growing = GrowingArray(np.int64, row_shape=(2,))
    >>> growing.append([1, 2])
    >>> growing.extend(np.array([[3, 4], [5, 6]]))
    >>> growing.size, growing.copy().sum()
    (3, np.int64(21))
    """

    def __init__(self, dtype: type[T], row_shape: tuple[int, ...] = ()) -> None:
        """Start without rows."""
        self._array: NDArray[T] = np.zeros((0, *row_shape), dtype=dtype)
        self.size = 0  # rows

    def add_zeros(self, count: int) -> NDArray[T]:
        """Add rows of zeros and return a view of them, which is valid until the next change."""
        start, self.size = self.size, self.size + count
        reserved = len(self._array)
        if self.size > reserved:
            longer = max(self.size, reserved * 9 // 8 + 1)
            # NumPy's check would count references of callers, who do not use old views.
            self._array.resize((longer, *self._array.shape[1:]), refcheck=False)
        return self._array[start : self.size]

    def append(self, row: ArrayLike) -> None:
        """Add one row."""
        self.add_zeros(1)[0] = row

    def extend(self, rows: NDArray[T]) -> None:
        """Add these rows."""
        self.add_zeros(len(rows))[:] = rows

    def view(self) -> NDArray[T]:
        """Return a view of all rows, which is valid until the next change."""
        return self._array[: self.size]

    def copy(self) -> NDArray[T]:
        """Return a copy of all rows."""
        return self.view().copy()

    def finish(self) -> NDArray[T]:
        """Return the array itself, cut to its rows; nothing can be added afterwards."""
        self._array.resize((self.size, *self._array.shape[1:]), refcheck=False)
        return self._array
