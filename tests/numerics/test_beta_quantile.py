"""Upper quantiles of Beta distributions, against their equation and SciPy."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from scipy import special

from clickrank._compile.jit import kernel
from clickrank._core.arrays import Floats
from clickrank.numerics.beta_quantile import beta_upper_quantile, stirling_rest


@kernel
def _quantiles(alpha: Floats, beta: Floats, log_delta: float, normal: float, out: Floats) -> None:
    for i in range(out.shape[0]):
        out[i] = beta_upper_quantile(alpha[i], beta[i], log_delta, normal)


def quantiles(alpha: Floats, beta: Floats, delta: float) -> Floats:
    out = np.zeros(alpha.size)
    _quantiles(alpha, beta, math.log(delta), -NormalDist().inv_cdf(delta), out)
    return out


def pairs(values: Floats) -> tuple[Floats, Floats]:
    return tuple(np.ascontiguousarray(g.ravel()) for g in np.meshgrid(values, values))  # type: ignore[return-value]


def test_stirling() -> None:
    for z in np.geomspace(1e-8, 1e8, 200):
        rest = stirling_rest(z)
        want = special.gammaln(z) - ((z - 0.5) * math.log(z) - z + 0.5 * math.log(2 * math.pi))
        # Both are differences of numbers as large as these.
        assert abs(rest - want) < 1e-14 * (1.0 + 30.0 + z * abs(math.log(z)))


@pytest.mark.parametrize("delta", [1e-6, 1 / 5000, 1e-3, 0.05, 0.3, 0.5, 0.9])
def test_beta_quantile_solves_its_equation(delta: float) -> None:
    """SciPy's tail crosses δ within a relative 2e-13 of the answer.

    Of more than that for small α, where log x is divided by α and its rounding with it, and for
    large β, where 1 - x is rounded. (SciPy's own inverse is wrong by 1e-9 here and there.)
    """
    alpha, beta = pairs(np.geomspace(1e-3, 1e6, 40))
    found = quantiles(alpha, beta, delta)
    assert ((found >= 0) & (found <= 1)).all()
    slack = 2e-13 * np.maximum(1.0, 1.0 / alpha) * np.maximum(1.0, np.sqrt(beta / 100.0))
    below = special.betaincc(alpha, beta, found * (1.0 - slack))
    above = special.betaincc(alpha, beta, np.minimum(found * (1.0 + slack), 1.0))
    small = found < 1e-300  # a number that has no 13 digits
    assert (below[~small] >= delta).all()
    assert (above[~small] <= delta).all()
    assert (special.betaincc(alpha[small], beta[small], 1e-299) <= delta).all()


@pytest.mark.parametrize("delta", [1e-6, 0.01])
def test_beta_quantile_agrees_with_scipy(delta: float) -> None:
    alpha, beta = pairs(np.geomspace(0.1, 900.0, 40))
    want = special.betainccinv(alpha, beta, delta)
    np.testing.assert_allclose(quantiles(alpha, beta, delta), want, rtol=2e-12)


def test_beta_quantile_at_the_ends() -> None:
    tiny, one = np.array([1e-9, 1e-300]), np.ones(2)
    assert quantiles(tiny, one, 0.01).tolist() == [0.0, 0.0]
    assert quantiles(one, tiny, 0.01).tolist() == [1.0, 1.0]
    assert quantiles(tiny, 1e15 * one, 0.5).tolist() == [0.0, 0.0]
    huge = quantiles(1e15 * one, 1e15 * one, 0.01)
    np.testing.assert_allclose(huge, 0.5, rtol=1e-7)
    uniform = quantiles(one, one, 0.25)
    np.testing.assert_allclose(uniform, 0.75, rtol=1e-15)


def test_beta_quantile_is_ordered() -> None:
    """A click raises it, a miss lowers it, and a smaller δ raises it."""
    alpha, beta = pairs(np.geomspace(0.01, 1e4, 30))
    base = quantiles(alpha, beta, 0.01)
    assert (quantiles(alpha + 1, beta, 0.01) >= base).all()
    assert (quantiles(alpha, beta + 1, 0.01) <= base).all()
    assert (quantiles(alpha, beta, 0.001) >= base).all()
