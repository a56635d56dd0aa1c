"""The truncated normal distribution against SciPy's, from steps of 1e-4 to steps of 1e5."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from clickrank._compile.jit import kernel
from clickrank._core.arrays import Floats
from clickrank.numerics.truncated_normal import (
    log_mass_ratio,
    sample_truncated_normal,
    unit_mass,
)

MEANS = (0.0, 1e-5, 0.3, 0.5, 0.999, 1.0)
WIDTHS = (1e-4, 0.01, 0.3, 0.499, 0.5, 1.0, 7.0, 63.0, 64.0, 1e3, 1e5)
# A false alarm of the whole file has a probability below 1e-5.
P_VALUE = 1e-5 / (3 * len(MEANS) * len(WIDTHS))


@kernel
def fill(mean: float, width: float, rng: np.random.Generator, out: Floats) -> None:
    for i in range(out.shape[0]):
        out[i] = sample_truncated_normal(mean, width, rng)


def moment(mean: float, width: float, power: int) -> float:
    """E[x^power], by integration: SciPy's own moments lose all digits at large widths."""
    low, high = max(0.0, mean - 10.0 * width), min(1.0, mean + 10.0 * width)

    def density(x: float) -> float:
        return math.exp(-0.5 * ((x - mean) / width) ** 2)

    parts = [
        integrate.quad(lambda x, p=p: x**p * density(x), low, high, epsrel=1e-12, epsabs=0.0)[0]
        for p in (power, 0)
    ]
    return float(parts[0] / parts[1])


@pytest.mark.parametrize("width", WIDTHS)
def test_draws_have_the_distribution(width: float) -> None:
    rng = np.random.default_rng(5)
    draws = np.empty(40_000)
    for mean in MEANS:
        fill(mean, width, rng, draws)
        want = stats.truncnorm(-mean / width, (1.0 - mean) / width, loc=mean, scale=width)
        assert draws.min() > 0.0
        assert draws.max() < 1.0
        assert stats.kstest(draws, want.cdf).pvalue > P_VALUE
        # The first two moments, by the normal distribution of their sums.
        bound = stats.norm.isf(P_VALUE / 2) / math.sqrt(draws.size)
        for power in (1, 2):
            gap = (draws**power).mean() - moment(mean, width, power)
            spread = moment(mean, width, 2 * power) - moment(mean, width, power) ** 2
            assert abs(gap) < bound * math.sqrt(spread) + 1e-12


def test_few_attempts_are_needed() -> None:
    """Count the random numbers: wide steps take two an attempt, narrow ones fail by the mass."""
    for width in WIDTHS:
        for mean in MEANS:
            rng, same = np.random.default_rng(6), np.random.default_rng(6)
            draws = np.empty(2000)
            fill(mean, width, rng, draws)
            if width >= 0.5:
                used = 0
                while same.bit_generator.state != rng.bit_generator.state:
                    same.random()
                    used += 1
                assert (
                    used / 2 / draws.size < 1.8
                )  # 1.67 at the worst, a mean of 0 and a width of 1/2
            else:
                assert unit_mass(mean, width) > 0.475


@pytest.mark.parametrize("width", WIDTHS)
def test_mass(width: float) -> None:
    for mean in MEANS:
        want = stats.norm.cdf((1.0 - mean) / width) - stats.norm.cdf(-mean / width)
        # What the difference of two numbers near 1/2 can lose.
        assert unit_mass(mean, width) == pytest.approx(want, rel=1e-14, abs=4e-16)


@pytest.mark.parametrize("width", [0.3, 1.0, 7.0, 63.0, 64.0, 65.0, 1e3, 1e5])
def test_log_mass_ratio(width: float) -> None:
    """By integrals of exp(-s (x - μ)²) - 1, which do not lose the small difference from 1."""
    s = 0.5 / width**2

    def excess(mean: float) -> float:
        def part(x: float) -> float:
            return math.expm1(-s * (x - mean) ** 2)

        points = [mean] if 0.0 < mean < 1.0 else None
        return float(integrate.quad(part, 0.0, 1.0, points=points, epsabs=0.0, epsrel=1e-13)[0])

    for mean in MEANS:
        for other in (*MEANS, 0.7, 1e-9):
            one, two = excess(mean), excess(other)
            want = math.log1p((one - two) / (1.0 + two))
            found = log_mass_ratio(mean, other, width)
            # The series is exact in proportion; logarithms of masses only to their rounding.
            room = 1e-12 * s if width >= 64.0 else 4e-16 + 1e-12 * s
            assert found == pytest.approx(want, rel=1e-11, abs=room)
            assert abs(found) <= min(math.log(2.0), s) + 1e-15  # the bound that PB-MHB uses
