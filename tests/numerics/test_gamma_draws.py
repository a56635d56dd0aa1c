"""Gamma draws against SciPy's distribution."""

import numpy as np
import pytest
from scipy import stats

from clickrank._compile.jit import kernel
from clickrank._core.arrays import Floats
from clickrank.numerics.gamma_draws import gamma_constants, sample_gamma


@kernel
def _gammas(d: float, c: float, rng: np.random.Generator, out: Floats) -> None:
    for i in range(out.shape[0]):
        out[i] = sample_gamma(d, c, rng)


@pytest.mark.parametrize("shape", [1.0, 1.2, 2.0, 7.5, 300.0, 1e6])
def test_gamma_sampler(shape: float) -> None:
    draws = np.zeros(50_000)
    _gammas(*gamma_constants(shape), np.random.default_rng(4), draws)
    assert stats.kstest(draws, stats.gamma(shape).cdf).pvalue > 1e-6
