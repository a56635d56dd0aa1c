"""A growing array holds what was added, in little more memory than that."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from clickrank._core.growing_array import GrowingArray


@pytest.mark.parametrize("row_shape", [(), (3,), (0,)])
def test_rows_are_those_that_were_added(row_shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    growing = GrowingArray(np.int64, row_shape)
    added = np.zeros((0, *row_shape), dtype=np.int64)
    for count in [0, 1, 1, 7, 100, 3]:
        rows = rng.integers(100, size=(count, *row_shape))
        growing.extend(rows)
        row = rng.integers(100, size=row_shape)
        growing.append(row)
        growing.add_zeros(2)
        zeros = np.zeros((2, *row_shape), dtype=np.int64)
        added = np.concatenate([added, rows, row[None], zeros])
        np.testing.assert_array_equal(growing.view(), added)
    copied = growing.copy()
    np.testing.assert_array_equal(growing.finish(), added)
    np.testing.assert_array_equal(copied, added)


def test_copies_survive_growth() -> None:
    growing = GrowingArray(np.int32, (2,))
    growing.append([1, 2])
    copied = growing.copy()
    growing.extend(np.full((100_000, 2), 9, dtype=np.int32))
    assert copied.tolist() == [[1, 2]]


def test_memory_is_at_most_an_eighth_more() -> None:
    rows = np.zeros((1000, 10))
    tracemalloc.start()
    try:
        growing = GrowingArray(np.float64, (10,))
        for _ in range(100):
            growing.extend(rows)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert growing.view().nbytes <= held < 1.13 * growing.view().nbytes
