"""Draws and quantiles of the posterior of an item's attraction, with a Beta(α, β) prior.

If it is known which items were examined, each click adds 1 to α and each miss adds 1 to β. Under
position-based clicks a miss at position l is observed with probability κ_l. The posterior is then

    π(θ) ∝ θ^(α + S - 1) (1 - θ)^(β - 1) Π_l (1 - κ_l θ)^F_l

with S clicks, and F_l misses at position l. Misses at a position with κ_l = 1 are certain, and are
part of β. If all misses are certain, the posterior is a Beta distribution again.

``alpha`` is always α + S, and ``examination`` is κ followed by a 1, for the factor 1 - θ.
"""

from __future__ import annotations

import math

import numpy as np

from clickrank._compile.jit import inline_kernel, kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.beta_quantile import beta_upper_quantile
from clickrank.numerics.gamma_draws import BETA_SIZE, draw_odds, set_beta_constants
from clickrank.numerics.posterior_draws import (
    HAT_SIZE,
    build_hat,
    build_pole,
    sample_posterior,
    sample_unclicked,
    sample_with_pole,
)
from clickrank.numerics.posterior_quantile import BUFFER_SIZE, posterior_upper_quantile


@kernel
def sample_beta_odds(alpha: float, beta: float, rng: np.random.Generator) -> float:
    """Draw θ from Beta(α, β) and return its odds θ/(1 - θ), which are precise near θ = 1 too."""
    constants = np.empty((1, BETA_SIZE))
    set_beta_constants(alpha, beta, constants, 0)
    ratio, uniform = draw_odds(constants, 0, rng)
    return float(ratio * uniform ** constants[0, 4])


@kernel
def sample_page_odds(
    alpha: float,
    beta: float,
    misses: Ints,
    item: int,
    examination: Floats,
    rng: np.random.Generator,
) -> float:
    """Draw θ from an item's posterior under position-based clicks, and return its odds."""
    exponents, hat = np.empty(examination.shape[0]), np.empty(HAT_SIZE)
    constants = np.empty((1, BETA_SIZE))
    doubt = set_page_sampler(alpha, beta, misses, item, examination, exponents, hat, constants, 0)
    return draw_page_odds(alpha, beta, doubt, examination, exponents, hat, constants, 0, rng)


@kernel
def page_upper_quantile(
    alpha: float,
    beta: float,
    misses: Ints,
    item: int,
    examination: Floats,
    log_delta: float,
    normal: float,
) -> float:
    """Return the value that an item's attraction exceeds with probability δ under a PBM.

    ``log_delta`` is log δ, ``normal`` the quantile of that level of the normal distribution.
    """
    exponents = np.empty(examination.shape[0])
    doubt = fold_misses(beta, misses, item, examination, exponents)
    return quantile_of(
        alpha, doubt, examination, exponents, log_delta, normal, np.empty(BUFFER_SIZE)
    )


# Parts of the functions above, for kernels that reuse them from one round to the next.


@lean_kernel
def fold_misses(
    beta: float, misses: Ints, item: int, examination: Floats, exponents: Floats
) -> float:
    """Write an item's exponents: F_l where κ_l < 1, else 0; the last is β plus certain misses.

    Returns Σ κ_l F_l over the uncertain misses. If it is 0, the posterior is a Beta distribution.
    """
    n_positions = misses.shape[1]
    doubt = 0.0
    certain = beta
    for position in range(n_positions):
        missed = misses[item, position]
        exponents[position] = 0.0
        if examination[position] < 1.0:
            exponents[position] = missed
            doubt += examination[position] * missed
        else:
            certain += missed
    exponents[n_positions] = certain
    return doubt


@lean_kernel
def quantile_of(
    alpha: float,
    doubt: float,
    examination: Floats,
    exponents: Floats,
    log_delta: float,
    normal: float,
    pieces_buffer: Floats,
) -> float:
    """Return the quantile of the posterior whose exponents `fold_misses` wrote."""
    if doubt > 0.0:
        return posterior_upper_quantile(alpha, exponents, examination, log_delta, pieces_buffer)
    certain = exponents[exponents.shape[0] - 1]
    return beta_upper_quantile(alpha, certain, log_delta, normal)


@inline_kernel
def set_page_sampler(
    alpha: float,
    beta: float,
    misses: Ints,
    item: int,
    examination: Floats,
    exponents: Floats,
    hat: Floats,
    constants: Floats,
    row: int,
) -> float:
    """Write the constants for draws of an item's attraction; return the result of `fold_misses`.

    The last exponent is that of 1 - θ in the density: 1 less than `fold_misses` writes. Only
    ``row`` of the constants is written.
    """
    doubt = fold_misses(beta, misses, item, examination, exponents)
    last = exponents.shape[0] - 1
    set_beta_constants(alpha, exponents[last], constants, row)
    exponents[last] -= 1.0
    if alpha >= 1.0:
        weight = alpha - 1.0 + exponents[last] + doubt
        estimate = (alpha - 1.0) / weight if weight > 0.0 else 0.0
        build_hat(alpha - 1.0, exponents, examination, estimate, hat)
    if exponents[last] < 0.0:  # there is no certain miss, so that β is that of the prior
        build_pole(alpha, beta, exponents, examination, hat)
    return doubt


@inline_kernel
def draw_page_odds(
    alpha: float,
    beta: float,
    doubt: float,
    examination: Floats,
    exponents: Floats,
    hat: Floats,
    constants: Floats,
    row: int,
    rng: np.random.Generator,
) -> float:
    """Draw from the posterior of `set_page_sampler`, with the rejection sampler that suits it."""
    pole = exponents[exponents.shape[0] - 1]
    if pole < 0.0 and doubt > 0.0:
        return sample_with_pole(alpha, beta, exponents, examination, hat, rng)
    if alpha >= 1.0 and doubt > 0.0:
        x = sample_posterior(alpha - 1.0, exponents, examination, hat, rng)
        return x / (1.0 - x)
    if doubt + pole >= 2.0 and doubt > 0.0:
        x = sample_unclicked(alpha, exponents, examination, rng)
        return x / (1.0 - x)
    return _draw_from_beta(doubt, examination, exponents, constants, row, rng)


@kernel
def _draw_from_beta(
    doubt: float,
    examination: Floats,
    exponents: Floats,
    constants: Floats,
    row: int,
    rng: np.random.Generator,
) -> float:
    """Draw from a Beta distribution until the few uncertain misses accept the draw."""
    while True:
        ratio, uniform = draw_odds(constants, row, rng)
        odds = ratio * uniform ** constants[row, 4]
        if doubt == 0.0:
            return float(odds)
        x = odds / (1.0 + odds) if odds < math.inf else 1.0
        fall = 0.0
        for position in range(exponents.shape[0] - 1):
            fall += exponents[position] * math.log1p(-examination[position] * x)
        if math.log(1.0 - rng.random()) <= fall:
            return float(odds)
