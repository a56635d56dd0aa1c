"""Draws from the normal distribution truncated to (0, 1), and its normalising constants.

The mean μ is in [0, 1], and σ is the standard deviation. Drawing from the normal distribution until
a draw is inside takes about 2.5 σ attempts: thousands for the wide steps of samplers. Here a draw
is exact and takes fewer than 2.1 attempts on average for any σ.
"""

from __future__ import annotations

import math

import numpy as np

from clickrank._compile.jit import kernel

# From this σ on, a uniform proposal is accepted more often than a normal one.
_WIDE = 0.5
# From this σ on, three terms of a series in 1/σ² are exact up to rounding.
_VERY_WIDE = 64.0
_ROOT_HALF = math.sqrt(0.5)


@kernel
def sample_truncated_normal(mean: float, deviation: float, rng: np.random.Generator) -> float:
    """Draw from the normal distribution truncated to (0, 1), by rejection."""
    if deviation < _WIDE:
        while True:
            x = mean + deviation * rng.standard_normal()
            if 0.0 < x < 1.0:
                return x
    shrink = 0.5 / (deviation * deviation)
    while True:
        x = rng.random()
        height = rng.random()
        fall = shrink * (x - mean) * (x - mean)
        # As exp(-fall) ≥ 1 - fall, the exponential is rarely needed.
        if x > 0.0 and (height < 1.0 - fall or height < math.exp(-fall)):
            return x


@kernel
def unit_mass(mean: float, deviation: float) -> float:
    """Return Φ((1 - μ)/σ) - Φ(-μ/σ), the mass of the normal distribution between 0 and 1.

    For μ in [0, 1] this is a sum of two positive terms, so that nothing cancels.
    """
    scale = _ROOT_HALF / deviation
    return 0.5 * (math.erf(scale * (1.0 - mean)) + math.erf(scale * mean))


@kernel
def log_mass_ratio(mean: float, other: float, deviation: float) -> float:
    """Return log(unit_mass(mean, σ) / unit_mass(other, σ)); its absolute value is at most log 2.

    For large σ the ratio is 1 - O(1/σ²), and its logarithm is lost in the rounding of the masses.
    Then the integral of exp(-s (x - μ)²), s = 1/(2σ²), is computed from its series in s, where x
    and y are the squared distances of the means from 1/2.
    """
    if deviation < _VERY_WIDE:
        return math.log(unit_mass(mean, deviation) / unit_mass(other, deviation))
    s = 0.5 / (deviation * deviation)
    y = (other - 0.5) * (other - 0.5)
    both = (mean - 0.5) * (mean - 0.5) + y
    squares = both * both - (both - y) * y  # x² + xy + y²
    slope = 1.0 - s * (0.25 + 0.5 * both - s / 6.0 * (0.1875 + 1.25 * both + squares))
    mass = 1.0 - s * (1.0 / 12.0 + y - s * (1.0 / 160.0 + y * (0.25 + 0.5 * y)))
    return math.log1p(-s * (mean - other) * (mean + other - 1.0) * slope / mass)
