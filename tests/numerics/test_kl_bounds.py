"""KL bounds of a probability, against SciPy's root finder and known values."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from clickrank.numerics.kl_bounds import exploration_budget, kl_lower, kl_upper, kl_upper_rate


def divergence(clicks: int, misses: int, p: float) -> float:
    n = clicks + misses
    return clicks * math.log(clicks / (n * p)) + misses * math.log(misses / (n * (1 - p)))


def counts(seed: int, size: int) -> list[tuple[int, int, float]]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(size):
        n = int(10 ** rng.uniform(0.4, 7))
        clicks = int(rng.binomial(n, 10 ** rng.uniform(-4, 0)))
        clicks = min(max(clicks, 1), n - 1)
        found.append((clicks, n - clicks, float(10 ** rng.uniform(-2, 2))))
    return found


@pytest.mark.parametrize(("clicks", "misses", "delta"), counts(0, 300))
def test_bounds_solve_their_equation(clicks: int, misses: int, delta: float) -> None:
    mean = clicks / (clicks + misses)
    # The divergence is a difference of terms up to n·|log|: its rounding limits both solvers.
    noise = 1e-14 * (clicks + misses) / delta + 1e-9
    upper, lower = kl_upper(clicks, misses, delta), kl_lower(clicks, misses, delta)
    assert lower < mean < upper
    for found, low, high in ((upper, mean, 1 - 1e-15), (lower, 1e-280, mean)):
        if (divergence(clicks, misses, low) - delta) * (
            divergence(clicks, misses, high) - delta
        ) > 0:
            continue  # the root is nearer to 0 or 1 than the bracket
        root = brentq(
            lambda p: divergence(clicks, misses, p) - delta, low, high, xtol=1e-300, rtol=1e-14
        )
        assert abs(found - root) <= noise * abs(root - mean) + 1e-15
    # A guess, good or bad, changes nothing but rounding.
    for guess in (upper, mean, 0.5 * (1 + upper), mean + 1e-9, 1.0, 0.0):
        assert abs(kl_upper(clicks, misses, delta, guess) - upper) <= noise * (upper - mean) + 1e-15


def test_bounds_at_the_edges() -> None:
    assert kl_upper(0, 0, 3.0) == 1.0
    assert kl_lower(0, 0, 3.0) == 0.0
    assert kl_upper(5, 0, 3.0) == 1.0
    assert kl_lower(0, 5, 3.0) == 0.0
    assert kl_upper(0, 5, 3.0) == pytest.approx(1 - math.exp(-3 / 5), rel=1e-15)
    assert kl_lower(5, 0, 3.0) == pytest.approx(math.exp(-3 / 5), rel=1e-15)
    assert kl_upper(3, 5, 0.0) == kl_lower(3, 5, 0.0) == 3 / 8
    assert 0.0 < kl_lower(1, 97330, 145.0) < 1e-60  # where a bisection on p would stall
    assert kl_upper(1, 1, 500.0) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    ("clicks", "misses", "delta"), [*counts(1, 50), (0, 7, 2.0), (7, 0, 2.0), (10**6, 1, 25.0)]
)
def test_the_tangent_bounds_the_upper_bound_everywhere(
    clicks: int, misses: int, delta: float
) -> None:
    upper = kl_upper(clicks, misses, delta)
    rate = kl_upper_rate(clicks, misses, upper)
    for other in delta * np.array([0.01, 0.5, 0.999, 1.0, 1.001, 2.0, 50.0]):
        tangent = upper + rate * (other - delta)
        assert kl_upper(clicks, misses, float(other)) <= tangent + 1e-12
    if misses > 0 and upper < 1 - 1e-9:
        step = 0.01 * delta  # smaller steps drown in the rounding of the divergence
        slope = (
            kl_upper(clicks, misses, delta + step) - kl_upper(clicks, misses, delta - step)
        ) / (2 * step)
        assert slope == pytest.approx(rate, rel=1e-3)


def test_exploration_budget() -> None:
    assert exploration_budget(0.0) == exploration_budget(1.0) == 0.0
    assert exploration_budget(2.0) == math.log(2)  # log log 2 is negative: left out
    assert exploration_budget(100.0) == math.log(100) + 3 * math.log(math.log(100))
    values = [exploration_budget(t) for t in np.linspace(1, 10, 200)]
    assert values == sorted(values)
