"""Exact Gamma draws with their constants kept, for Beta posteriors that rarely change.

Marsaglia and Tsang (2000): for a shape a ≥ 1, with d = a - 1/3 and c = 1/sqrt(9 d), the variable
d·(1 + c·x)³ of a normal x is nearly Gamma(a), and rejection makes it exact. A ratio G/(G + H) of
two such draws of shapes a and b is Beta(a, b).
"""

from __future__ import annotations

import math

import numpy as np

from clickrank._compile.jit import inline_kernel, kernel, lean_kernel
from clickrank._core.arrays import Floats

#: Numbers that draws of a Beta distribution need, see `set_beta_constants`.
BETA_SIZE = 6
_LARGEST_POWER = 1e300  # times any logarithm of a uniform, still finite


def plain_gamma_constants(shape: float) -> tuple[float, float]:
    """Return the constants (d, c) of a shape of at least 1."""
    d = shape - 1.0 / 3.0
    return d, 1.0 / math.sqrt(9.0 * d)


gamma_constants = kernel(plain_gamma_constants)


@inline_kernel
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


@lean_kernel
def sample_beta(a: float, b: float, rng: np.random.Generator) -> float:
    """Draw from Beta(a, b), a and b of at least 1."""
    d, c = gamma_constants(a)
    win = sample_gamma(d, c, rng)
    d, c = gamma_constants(b)
    return win / (win + sample_gamma(d, c, rng))


@lean_kernel
def set_beta_constants(alpha: float, beta: float, constants: Floats, item: int) -> None:
    """Write what draws of Beta(α, β) odds need into row ``item`` of ``constants``.

    That is (d, c) of two Gamma draws, and the power of a uniform that each is multiplied by: for a
    shape a < 1, a draw of shape a + 1 times U^(1/a) is Gamma(a). Without a need, the power is 0.
    """
    for side in range(2):
        shape = alpha if side == 0 else beta
        d, c = gamma_constants(shape if shape >= 1.0 else shape + 1.0)
        constants[item, 2 * side] = d
        constants[item, 2 * side + 1] = c
        constants[item, 4 + side] = 0.0 if shape >= 1.0 else min(1.0 / shape, _LARGEST_POWER)


@inline_kernel
def draw_odds(constants: Floats, item: int, rng: np.random.Generator) -> tuple[float, float]:
    """Draw the odds of a Beta variable: return (r, u) whose r · u^power, power > 0, they are.

    Where no power is missing, u is 1. Else the odds are at most r, which may be all that is asked.
    """
    win = sample_gamma(constants[item, 0], constants[item, 1], rng)
    ratio = win / sample_gamma(constants[item, 2], constants[item, 3], rng)
    uniform = 1.0
    if constants[item, 4] > 0.0:
        uniform -= rng.random()
    if constants[item, 5] > 0.0:
        # In logarithms: both draws may be too small for a number.
        gain = -constants[item, 5] * math.log(1.0 - rng.random())
        if uniform < 1.0:
            gain += constants[item, 4] * math.log(uniform)
        ratio *= math.exp(gain)
        uniform = 1.0
    return ratio, uniform
