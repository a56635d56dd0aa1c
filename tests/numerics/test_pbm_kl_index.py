"""The KL index of an item at several positions, against its definition in 50 digits."""

import math
from decimal import Decimal, getcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.kl_bounds import SLACK
from clickrank.numerics.pbm_kl_index import divergence, divergence_constant, kl_index, kl_ucb
from tests.naive import kl
from tests.numerics.strategies import COUNTS


def index_of(clicks: Ints, misses: Ints, kappa: Floats, delta: float) -> tuple[float, float, float]:
    constant = sum(
        divergence_constant(s, f, k) for s, f, k in zip(clicks, misses, kappa, strict=True)
    )
    seen = float(kappa @ (clicks + misses))
    return kl_index(int(clicks.sum()), misses, kappa, constant, seen, delta)


def exact_divergence(rows: list[tuple[int, int, float]], q: Decimal) -> Decimal:
    """Φ(q) in 50 digits."""
    total = Decimal(0)
    for clicks, misses, kappa in rows:
        views = Decimal(clicks + misses)
        p = Decimal(kappa) * q
        if clicks > 0:
            total += clicks * (Decimal(clicks) / views / p).ln()
        if misses > 0:
            if p >= 1:
                return Decimal("Infinity")
            total += misses * (Decimal(misses) / views / (1 - p)).ln()
    return total


@settings(max_examples=400, deadline=None, derandomize=True)
@given(COUNTS, st.floats(0.0, 40.0))
def test_index_is_the_root(rows: list[tuple[int, int, float]], delta: float) -> None:
    """In 50 digits, Φ crosses δ within 2e-11 of the index (a fiftieth of the slack).

    Where positions contradict each other it has its minimum there, and is above δ.
    """
    getcontext().prec = 50
    clicks, misses = (np.array([r[i] for r in rows]) for i in (0, 1))
    kappa = np.array([r[2] for r in rows])
    if clicks.sum() + misses.sum() == 0:
        return
    index, _, until = index_of(clicks, misses, kappa, delta)
    assert 0.0 < index <= 1.0
    assert kl_ucb(clicks, misses, kappa, delta) == pytest.approx(index, abs=2e-11)
    q, away = Decimal(index), Decimal("2e-11")
    here = exact_divergence(rows, q)
    below, above = (exact_divergence(rows, x) for x in (max(q - away, q / 2), q + away))
    # In float64, a sum of this size determines Φ - δ only up to its rounding error.
    blur = Decimal("1e-15") * (clicks.sum() + misses.sum() + 1).item()
    if index == 1.0:
        assert here <= Decimal(delta) + blur or below >= here
    elif until > delta:  # no q fits
        assert here >= Decimal(delta) - blur
        flat = exact_divergence(rows, q * (1 - Decimal("1e-7"))) - here
        assert flat >= -blur
        assert exact_divergence(rows, q * (1 + Decimal("1e-7"))) - here >= -blur
    else:
        assert below <= Decimal(delta) + blur
        assert above >= Decimal(delta) - blur


def test_index_known_values() -> None:
    assert (
        kl_ucb(np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64), np.ones(2), 1.0)
        == math.inf
    )
    # One position, no click in n views: (1 - q)^n = e^-δ.
    q, _, _ = index_of(np.array([0]), np.array([20]), np.array([1.0]), 3.0)
    assert q == pytest.approx(-math.expm1(-3.0 / 20), abs=1e-12)
    # Clicks alone are compatible with certainty.
    assert index_of(np.array([5]), np.array([0]), np.array([1.0]), 1.0) == (1.0, 0.0, math.inf)
    # Fewer than κ·n misses at a hidden position leave attraction 1 possible.
    assert index_of(np.array([1]), np.array([1]), np.array([0.5]), 1.0)[0] == 1.0
    # Half the views clicked at κ = 1/2: the minimum is at 1, so is the index.
    assert index_of(np.array([10]), np.array([10]), np.array([0.5]), 0.0)[0] == pytest.approx(1.0)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(COUNTS, st.floats(0.1, 20.0), st.floats(0.0, 10.0))
def test_tangent_bounds_the_index(
    rows: list[tuple[int, int, float]], delta: float, more: float
) -> None:
    clicks, misses = (np.array([r[i] for r in rows]) for i in (0, 1))
    if clicks.sum() + misses.sum() == 0:
        return
    kappa = np.array([r[2] for r in rows])
    q, rate, until = index_of(clicks, misses, kappa, delta)
    later, _, _ = index_of(clicks, misses, kappa, delta + more)
    grown = rate * (delta + more - until) + SLACK if delta + more > until else 0.0
    assert q - SLACK <= later <= q + grown


def test_divergence_equals_its_definition() -> None:
    clicks, misses, kappa = np.array([3, 0, 7]), np.array([10, 4, 1]), np.array([0.9, 0.5, 0.8])
    constant = sum(map(divergence_constant, clicks, misses, kappa))
    for q in (0.05, 0.4, 0.9):
        want = sum(
            (s + f) * kl(s / (s + f), k * q) for s, f, k in zip(clicks, misses, kappa, strict=True)
        )
        value, slope, curvature = divergence(10, misses, kappa, constant, q)
        assert value == pytest.approx(want, abs=1e-12)
        up, slope_up, _ = divergence(10, misses, kappa, constant, q + 1e-6)
        down, slope_down, _ = divergence(10, misses, kappa, constant, q - 1e-6)
        assert slope == pytest.approx((up - down) / 2e-6, rel=1e-6)
        assert curvature == pytest.approx((slope_up - slope_down) / 2e-6, rel=1e-6)
