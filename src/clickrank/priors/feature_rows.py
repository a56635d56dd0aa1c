"""Arrays that grow as a file is read, in place: no second copy at the end."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from clickrank._compile.jit import kernel_for
from clickrank._core.arrays import Ints
from clickrank.priors import letor_lines
from clickrank.priors.judgements import Features

T = TypeVar("T", np.int64, np.int32, np.float32)


class Growing(Generic[T]):
    """A vector that grows at its end, and is at most an eighth longer than what it holds.

    The system's allocator moves the pages of a large array rather than copying them (mremap), so
    that growing does not hold two copies either; where it cannot, one of them is short-lived.
    """

    def __init__(self, dtype: type[T]) -> None:
        """Start empty."""
        self._array: NDArray[T] = np.zeros(0, dtype=dtype)
        self.size = 0

    def room(self, count: int) -> NDArray[T]:
        """Add ``count`` zeros and return a view of them, good until the next call."""
        start, self.size = self.size, self.size + count
        if self.size > self._array.size:
            # No view outlives a call of this class's users: the check would see only their names.
            self._array.resize(max(self.size, self._array.size * 9 // 8), refcheck=False)
        return self._array[start : self.size]

    def extend(self, values: NDArray[T]) -> None:
        """Add these values."""
        self.room(values.size)[:] = values

    def held(self) -> NDArray[T]:
        """Return a view of all there is, good until the next call."""
        return self._array[: self.size]

    def finished(self) -> NDArray[T]:
        """Return the vector, cut to its length; nothing can be added after."""
        self._array.resize(self.size, refcheck=False)
        return self._array


class DenseRows:
    """Rows of a dense matrix that may become wider."""

    def __init__(self) -> None:
        """Start empty."""
        self._flat = Growing(np.float32)
        self._rows, self._width = 0, 0

    def add(
        self, width: int, ends: Ints, columns: NDArray[np.int32], values: NDArray[np.float32]
    ) -> None:
        """Add rows, given by their features that are not 0."""
        if width > self._width:
            self._widen(width)
        room = self._flat.room(ends.size * width).reshape(ends.size, width)
        kernel_for(letor_lines.scatter, "")(ends, columns, values, room)
        self._rows += ends.size

    def _widen(self, width: int) -> None:
        """Spread the rows, last first, so that none is written over before it was moved."""
        old, self._width = self._width, width
        self._flat.room(self._rows * (width - old))
        flat = self._flat.held()
        for row in range(self._rows - 1, -1, -1):
            kept = flat[row * old : (row + 1) * old].copy()
            flat[row * width : row * width + old] = kept
            flat[row * width + old : (row + 1) * width] = 0.0

    def finished(self, width: int) -> Features:
        """Return the matrix."""
        return self._flat.finished().reshape(self._rows, width)


class SparseRows:
    """Rows of a sparse matrix."""

    def __init__(self) -> None:
        """Start empty."""
        self._pointers, self._columns = Growing(np.int64), Growing(np.int32)
        self._values = Growing(np.float32)
        self._pointers.room(1)

    def add(
        self, width: int, ends: Ints, columns: NDArray[np.int32], values: NDArray[np.float32]
    ) -> None:
        """Add rows, given by their features that are not 0."""
        self._pointers.extend(ends + self._values.size)
        self._columns.extend(columns)
        self._values.extend(values)

    def finished(self, width: int) -> Features:
        """Return the matrix."""
        pointers, columns = self._pointers.finished(), self._columns.finished()
        shape = (pointers.size - 1, width)
        if pointers[-1] <= letor_lines.LARGEST_INDEX:  # of one type, or SciPy widens the columns
            parts = (self._values.finished(), columns, pointers.astype(np.int32))
            return csr_matrix(parts, shape=shape, copy=False)
        return csr_matrix((self._values.finished(), columns, pointers), shape=shape, copy=False)
