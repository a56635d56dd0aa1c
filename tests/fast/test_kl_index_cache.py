"""KL indices that are kept: what bounds them, and when they are computed again."""

from __future__ import annotations

import numpy as np
import pytest

from clickrank._core.arrays import Floats, Ints
from clickrank.fast._shared.kl_index_cache import (
    NEVER,
    KLIndices,
    bound,
    forget,
    index,
    index_over_positions,
    no_indices,
    tangent,
)
from clickrank.numerics.kl_bounds import SLACK, kl_upper
from clickrank.numerics.pbm_kl_index import kl_ucb

DELTAS = np.array([0.0, 1e-3, 0.7, 2.0, 2.0, 5.0, 40.0])
ARMS = [(0, 0), (0, 3), (3, 0), (1, 1), (1, 400), (400, 1), (7, 93)]


@pytest.fixture
def counts() -> tuple[Ints, Ints]:
    pairs = np.array(ARMS, dtype=np.int64)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


@pytest.mark.parametrize("shape", [(7,), (7, 1)])
def test_a_bound_is_above_the_index_at_any_delta(
    shape: tuple[int, ...], counts: tuple[Ints, Ints]
) -> None:
    clicks, misses = (array.reshape(shape) for array in counts)
    for then in DELTAS:
        kept = no_indices(shape)
        for item in range(7):
            arm = item if len(shape) == 1 else (item, 0)
            assert bound(kept, arm, then) == 1.0
            assert index(kept, clicks, misses, arm, then) == kept.value[arm]
            assert bound(kept, arm, then) == kept.value[arm]
            for now in DELTAS:
                known = kl_upper(clicks[arm], misses[arm], now)
                assert known <= bound(kept, arm, now) <= 1.0
                if now >= then:
                    assert known <= tangent(kept, arm, now)
                    assert kept.value[arm] - SLACK <= known


def test_an_index_is_computed_for_another_delta_and_after_it_was_forgotten(
    counts: tuple[Ints, Ints],
) -> None:
    kept = no_indices(7)
    for delta in (2.0, 5.0, 2.0):  # it may fall
        assert index(kept, *counts, 6, delta) == pytest.approx(kl_upper(7, 93, delta), abs=SLACK)
    counts[0][6] += 50
    forget(kept, 6)
    assert kept.delta[6] == NEVER
    assert bound(kept, 6, 2.0) == 1.0
    assert tangent(kept, 6, 2.0) == np.inf
    assert index(kept, *counts, 6, 2.0) == pytest.approx(kl_upper(57, 93, 2.0), abs=SLACK)


# Positions that agree, that contradict each other, without a miss, and without a view.
BY_POSITION = [([3, 1], [9, 9]), ([0, 60], [60, 0]), ([4, 2], [0, 0]), ([0, 0], [0, 0])]


@pytest.mark.parametrize(("clicks", "misses"), BY_POSITION)
def test_over_positions_the_bound_holds_while_delta_grows(
    clicks: list[int], misses: list[int]
) -> None:
    table = np.array([clicks]), np.array([misses])
    examination: Floats = np.array([0.9, 0.4])
    for first, then in enumerate(DELTAS):
        kept: KLIndices = no_indices(1)
        before = index_over_positions(kept, *table, examination, 0, then)
        assert before == kl_ucb(table[0][0], table[1][0], examination, then)
        for now in DELTAS[first:]:
            known = kl_ucb(table[0][0], table[1][0], examination, now)
            assert before - SLACK <= known <= bound(kept, 0, now)
        for now in DELTAS[first:]:
            known = kl_ucb(table[0][0], table[1][0], examination, now)
            assert index_over_positions(kept, *table, examination, 0, now) == known
