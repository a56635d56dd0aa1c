"""The bootstrap's intervals, and counts that are drawn again."""

from __future__ import annotations

import numpy as np
import pytest

from clickrank.stats.bootstrap import bootstrap_interval


def test_bootstrap_in_groups_is_that_of_single_impressions() -> None:
    values = np.random.default_rng(0).exponential(size=(50_000, 1))
    low, high = bootstrap_interval(values, lambda means: means[..., 0], repeats=2000)
    half = 1.96 * values.std() / np.sqrt(len(values))
    assert (high - low) / 2 == pytest.approx(half, rel=0.1)  # error of the draws: 3 %
    assert low < values.mean() < high


def test_bootstrap_of_equal_values_has_no_width() -> None:
    assert bootstrap_interval(np.ones((50, 1)), lambda means: means[..., 0]) == (1.0, 1.0)
