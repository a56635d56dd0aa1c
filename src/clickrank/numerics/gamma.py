"""Exact Gamma draws with their constants kept, for Beta posteriors that rarely change.

Marsaglia and Tsang (2000): for a shape a ≥ 1, with d = a - 1/3 and c = 1/sqrt(9 d), the variable
d·(1 + c·x)³ of a normal x is nearly Gamma(a), and rejection makes it exact. A ratio G/(G + H) of
two such draws of shapes a and b is Beta(a, b).
"""

from __future__ import annotations

import math

import numpy as np

from clickrank._jit import kernel


def plain_gamma_constants(shape: float) -> tuple[float, float]:
    """Return the constants (d, c) of a shape of at least 1."""
    d = shape - 1.0 / 3.0
    return d, 1.0 / math.sqrt(9.0 * d)


gamma_constants = kernel(plain_gamma_constants)


@kernel
def sample_gamma(d: float, c: float, rng: np.random.Generator) -> float:
    """Draw from the Gamma distribution that has these constants, of scale 1."""
    while True:
        x = rng.standard_normal()
        root = 1.0 + c * x
        if root <= 0.0:
            continue
        v = root * root * root
        u = rng.random()
        square = x * x
        if u < 1.0 - 0.0331 * square * square:
            return d * v
        if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return d * v
