"""Feature rows: dense and sparse matrices of features that grow by rows, without a second copy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from clickrank._compile.jit import kernel_for
from clickrank._core.arrays import Ints
from clickrank._core.growing_array import GrowingArray
from clickrank.priors import letor_lines
from clickrank.priors.judgements import Features


class DenseRows:
    """A dense matrix that grows by rows, and may become wider."""

    def __init__(self) -> None:
        """Start without rows."""
        self._flat = GrowingArray(np.float32)
        self._rows, self._width = 0, 0

    def add(
        self, width: int, ends: Ints, columns: NDArray[np.int32], values: NDArray[np.float32]
    ) -> None:
        """Add rows, given by their features that are not 0."""
        if width > self._width:
            self._widen(width)
        new_rows = self._flat.add_zeros(ends.size * width).reshape(ends.size, width)
        kernel_for(letor_lines.scatter, "")(ends, columns, values, new_rows)
        self._rows += ends.size

    def _widen(self, width: int) -> None:
        """Move the rows apart, the last one first, so that none is overwritten before its move."""
        old, self._width = self._width, width
        self._flat.add_zeros(self._rows * (width - old))
        flat = self._flat.view()
        for row in range(self._rows - 1, -1, -1):
            moved = flat[row * old : (row + 1) * old].copy()
            flat[row * width : row * width + old] = moved
            flat[row * width + old : (row + 1) * width] = 0.0

    def finish(self, width: int) -> Features:
        """Return the matrix."""
        return self._flat.finish().reshape(self._rows, width)


class SparseRows:
    """A sparse matrix that grows by rows."""

    def __init__(self) -> None:
        """Start without rows."""
        self._pointers, self._columns = GrowingArray(np.int64), GrowingArray(np.int32)
        self._values = GrowingArray(np.float32)
        self._pointers.add_zeros(1)

    def add(
        self, width: int, ends: Ints, columns: NDArray[np.int32], values: NDArray[np.float32]
    ) -> None:
        """Add rows, given by their features that are not 0."""
        self._pointers.extend(ends + self._values.size)
        self._columns.extend(columns)
        self._values.extend(values)

    def finish(self, width: int) -> Features:
        """Return the matrix."""
        pointers, columns = self._pointers.finish(), self._columns.finish()
        shape = (pointers.size - 1, width)
        # With pointers of another type, SciPy would widen the columns.
        if pointers[-1] <= letor_lines.LARGEST_INDEX:
            parts = (self._values.finish(), columns, pointers.astype(np.int32))
            return csr_matrix(parts, shape=shape, copy=False)
        return csr_matrix((self._values.finish(), columns, pointers), shape=shape, copy=False)
