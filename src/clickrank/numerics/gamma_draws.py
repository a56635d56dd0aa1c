"""Exact Gamma and Beta draws, with constants that are computed once per distribution.

The method is that of Marsaglia and Tsang (2000). For a shape a ≥ 1, with d = a - 1/3 and c =
1/sqrt(9 d), the variable d·(1 + c·x)³ of a normal x is nearly Gamma(a), and rejection makes it
exact. The ratio G/(G + H) of two such draws of shapes a and b has the distribution Beta(a, b).
"""

from __future__ import annotations

import math

import numpy as np

from clickrank._compile.jit import inline_kernel, kernel, lean_kernel
from clickrank._core.arrays import Floats

#: Number of constants of a Beta distribution, see `set_beta_constants`.
BETA_SIZE = 6
_LARGEST_POWER = 1e300  # finite when multiplied by the logarithm of any uniform draw


def plain_gamma_constants(shape: float) -> tuple[float, float]:
    """Return the constants (d, c) of a shape of at least 1."""
    d = shape - 1.0 / 3.0
    return d, 1.0 / math.sqrt(9.0 * d)


gamma_constants = kernel(plain_gamma_constants)


@inline_kernel
def sample_gamma(d: float, c: float, rng: np.random.Generator) -> float:
    """Draw from the Gamma distribution with these constants and scale 1."""
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
    """Draw from Beta(a, b), where a and b are at least 1."""
    d, c = gamma_constants(a)
    win = sample_gamma(d, c, rng)
    d, c = gamma_constants(b)
    return win / (win + sample_gamma(d, c, rng))


@lean_kernel
def set_beta_constants(alpha: float, beta: float, constants: Floats, row: int) -> None:
    """Write the constants for drawing the odds of Beta(α, β) into one row of ``constants``.

    They are (d, c) for each of two Gamma draws, followed by two powers. For a shape a < 1, a draw
    of shape a + 1 times U^(1/a), U uniform, is Gamma(a). For other shapes the power is 0.
    """
    for side in range(2):
        shape = alpha if side == 0 else beta
        d, c = gamma_constants(shape if shape >= 1.0 else shape + 1.0)
        constants[row, 2 * side] = d
        constants[row, 2 * side + 1] = c
        constants[row, 4 + side] = 0.0 if shape >= 1.0 else min(1.0 / shape, _LARGEST_POWER)


@inline_kernel
def draw_odds(constants: Floats, row: int, rng: np.random.Generator) -> tuple[float, float]:
    """Draw the odds of a Beta variable: return (r, u) such that the odds are r · u^power.

    The power is ``constants[row, 4]``; u is 1 if it does not apply. As the odds are at most r, a
    caller that compares them with a number above r does not need the power.
    """
    win = sample_gamma(constants[row, 0], constants[row, 1], rng)
    ratio = win / sample_gamma(constants[row, 2], constants[row, 3], rng)
    uniform = 1.0
    if constants[row, 4] > 0.0:
        uniform -= rng.random()
    if constants[row, 5] > 0.0:
        # In logarithms, because both draws may be too small for a float.
        gain = -constants[row, 5] * math.log(1.0 - rng.random())
        if uniform < 1.0:
            gain += constants[row, 4] * math.log(uniform)
        ratio *= math.exp(gain)
        uniform = 1.0
    return ratio, uniform
