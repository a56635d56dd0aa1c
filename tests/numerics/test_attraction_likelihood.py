"""The likelihood of one attraction, against that of all cells and against differences."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clickrank.numerics.attraction_likelihood import attraction_loss
from clickrank.numerics.pbm_likelihood import PBMCells, log_likelihood

CLICKS = np.array([3.0, 0.0, 2.0])
MISSES = np.array([5.0, 7.0, 0.0])
KAPPA = np.array([0.9, 0.5, 0.3])


def loss(x: float) -> tuple[float, float, float]:
    return attraction_loss(0.0, float(CLICKS.sum()), MISSES, KAPPA, x)


@pytest.mark.parametrize("x", [0.05, 0.4, 0.9, 1.0])
def test_value_is_that_of_one_row_of_all_cells(x: float) -> None:
    cells = PBMCells(np.array([0, 3]), np.arange(3), CLICKS, MISSES)
    whole = log_likelihood(cells, np.array([math.log(x)]), np.log(KAPPA))
    of_examination = float(CLICKS @ np.log(KAPPA))  # which does not depend on x
    assert -loss(x)[0] == pytest.approx(whole - of_examination, rel=1e-13)


@pytest.mark.parametrize("x", [0.05, 0.4, 0.9])
def test_derivatives_are_those_of_differences(x: float) -> None:
    step = 1e-5
    below, here, above = (loss(x + move) for move in (-step, 0.0, step))
    assert here[1] == pytest.approx((above[0] - below[0]) / (2.0 * step), rel=1e-6, abs=1e-6)
    assert here[2] == pytest.approx((above[1] - below[1]) / (2.0 * step), rel=1e-6)


def test_an_examined_miss_of_a_certain_item_is_impossible() -> None:
    assert attraction_loss(0.0, 0.0, np.ones(1), np.ones(1), 1.0)[0] == math.inf
    assert attraction_loss(2.5, 0.0, np.zeros(1), np.ones(1), 1.0) == (2.5, 0.0, 0.0)
