"""Draws from the Beta-prime distribution, the posterior of the mean of a geometric variable."""

from __future__ import annotations

import numpy as np

from clickrank._compile.jit import inline_kernel
from clickrank.numerics.gamma_draws import gamma_constants, sample_gamma


@inline_kernel
def draw_beta_prime(alpha: float, beta: float, rng: np.random.Generator) -> float:
    """Return G/H for Gamma variables G and H of shapes α and β, both of at least 1."""
    d, c = gamma_constants(alpha)
    win = sample_gamma(d, c, rng)
    d, c = gamma_constants(beta)
    return win / sample_gamma(d, c, rng)
