"""Exact draws from the posterior of an attraction under position-based clicks, by rejection.

With a uniform prior, S clicks and F_l misses at positions of examination κ_l, the posterior density
on [0, 1] is proportional to exp h(x), h(x) = S log x + Σ_l F_l log(1 - κ_l x). As h is concave, its
tangents lie above it and its chords below. The proposal density, the hat, is exponential, flat and
exponential. Rejection sampling from it is exact and accepts about 88 % of the proposals for any
counts; half of the draws need no more than the chord. One position with κ = 1 gives the
distribution Beta(S + 1, F + 1).

A hat is an array of `HAT_SIZE` numbers that depend on the counts alone; build it again when the
counts change.

A Beta(α, β) prior is included by real exponents: S + α - 1 clicks, and β - 1 additional misses at a
position of κ = 1. The density stays log-concave if neither exponent is negative. S + α < 1 is
possible only without clicks; then x is of the order of 1/Σ κ_l F_l, and `sample_unclicked` draws
it. If β < 1 and no miss was certainly examined, the density has a pole at 1, often in addition to
a mode; then `sample_with_pole` draws.
"""

from __future__ import annotations

import math

import numpy as np

from clickrank._compile.jit import inline_kernel, kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.attraction_likelihood import attraction_loss
from clickrank.numerics.gamma_draws import gamma_constants, sample_gamma

# Indices of the numbers of a hat. Heights are logarithms relative to the top of the hat.
_MODE = 0  # a point at or near the mode
_TOP = 1  # the level of the flat piece, in units of h
_DIP = 2  # height of the density at _MODE, just below or at 0
_LEFT_AT, _RIGHT_AT = 3, 4  # tangent points
_LEFT_CHORD, _RIGHT_CHORD = 5, 6  # slopes of the chords from _MODE to the tangent points
_LEFT_RATE, _RIGHT_RATE = 7, 8  # rates at which the tails fall
_FLAT_FROM, _FLAT_TO = 9, 10  # the flat piece
_LEFT_BASE = 11  # height of the left tail at 0
_LEFT_AREA, _FLAT_AREA, _AREA = 12, 13, 14  # cumulative areas of the three pieces
_POLE_FROM = 15  # s: the pole is the part of the density above its level at 1 - s
_POLE_TOP = 16  # an upper bound of h from 1 - s to 1
_POLE_SHARE = 17  # probability of a proposal from the pole
HAT_SIZE = 18


@kernel
def log_density(clicks: float, misses: Ints | Floats, examination: Floats, x: float) -> float:
    """Return h(x), or minus infinity outside the support."""
    if clicks > 0 and x <= 0.0:
        return -math.inf
    return -attraction_loss(0.0, clicks, misses, examination, x)[0]


@kernel
def log_density_slopes(
    clicks: float, misses: Ints | Floats, examination: Floats, x: float
) -> tuple[float, float]:
    """Return h'(x) and -h''(x) for x > 0, if κ_l x < 1 at every position with misses."""
    _, slope, curvature = attraction_loss(0.0, clicks, misses, examination, x)
    return -slope, curvature


@kernel
def near_mode(clicks: float, misses: Ints | Floats, examination: Floats, start: float) -> float:
    """Return a point near the mode of the posterior; exactly 0 or 1 if the mode is there.

    The search begins at ``start``, which may be any number; an estimate of the attraction is best.
    """
    if clicks == 0:
        return 0.0
    largest = 0.0  # the density vanishes at 1 if a miss was certainly examined
    for position in range(misses.shape[0]):
        if misses[position] > 0:
            largest = max(largest, examination[position])
    if largest < 1.0 and log_density_slopes(clicks, misses, examination, 1.0)[0] >= 0.0:
        return 1.0
    low = 0.0
    high = 1.0
    x = start if 0.0 < start < 1.0 else 0.5
    for _ in range(60):
        first, second = log_density_slopes(clicks, misses, examination, x)
        if first > 0.0:
            low = x
        else:
            high = x
        # Newton on x·h'(x), which is concave. Any point near the mode keeps the hat exact.
        step = x * first / (x * second - first)
        x += step
        if not low < x < high:
            x = 0.5 * (low + high)
        elif step * step * second < 0.01:  # a tenth of a standard deviation; the error is far less
            break
    return x


@kernel
def _reach(slope: float, curvature: float) -> float:
    """Return the distance over which a parabola of this slope and curvature falls by 1."""
    root = abs(slope) + math.sqrt(slope * slope + 2.0 * curvature)
    return 2.0 / root if root > 0.0 else math.inf


@kernel
def _tangent(
    clicks: float, misses: Ints | Floats, examination: Floats, mode: float, x: float
) -> tuple[float, float]:
    """Return h(x) - h(mode) and h'(x)."""
    height = 0.0
    slope = 0.0
    if clicks > 0:
        height += clicks * math.log(x / mode)
        slope += clicks / x
    for position in range(misses.shape[0]):
        if misses[position] > 0:
            unseen = 1.0 - examination[position] * x
            height += misses[position] * math.log(unseen / (1.0 - examination[position] * mode))
            slope -= misses[position] * examination[position] / unseen
    return height, slope


@kernel
def _mass(depth: float) -> float:
    """Return 1 - exp(-depth), which is 1 in float64 from a depth of 40."""
    return -math.expm1(-depth) if depth < 40.0 else 1.0


@kernel
def build_hat(
    clicks: float, misses: Ints | Floats, examination: Floats, start: float, hat: Floats
) -> None:
    """Write the hat of a posterior into ``hat``; for ``start``, see `near_mode`."""
    mode = near_mode(clicks, misses, examination, start)
    if mode > 0.0:
        slope, curvature = log_density_slopes(clicks, misses, examination, mode)
    else:
        slope, curvature = log_density_slopes(0, misses, examination, 0.0)
    reach = _reach(slope if mode == 0.0 or mode == 1.0 else 0.0, curvature)
    left = max(mode - reach, 0.2 * mode)
    right = mode + reach
    if right >= 1.0:
        right = 0.5 * (mode + 1.0)
    # The mode is approximate: the tangent there bounds how far the density rises above it.
    dip = -abs(slope) * (right - left) if 0.0 < mode < 1.0 else 0.0
    hat[_MODE] = mode
    hat[_TOP] = log_density(clicks, misses, examination, mode) - dip
    hat[_DIP] = dip
    flat_from = 0.0
    flat_to = 1.0
    left_area = 0.0
    right_area = 0.0
    if mode > 0.0:
        height, rate = _tangent(clicks, misses, examination, mode, left)
        height += dip
        # Not above the mode, even if the dip is deep: overlapping pieces would be proposed twice.
        flat_from = min(left - height / rate, mode)
        hat[_LEFT_AT] = left
        hat[_LEFT_CHORD] = (height - dip) / (mode - left)
        hat[_LEFT_RATE] = rate
        mass = _mass(rate * flat_from)
        hat[_LEFT_BASE] = 1.0 - mass
        left_area = mass / rate
    else:
        hat[_LEFT_AT] = 0.0
    if mode < 1.0:
        height, slope = _tangent(clicks, misses, examination, mode, right)
        height += dip
        rate = -slope
        hat[_RIGHT_AT] = right
        hat[_RIGHT_CHORD] = (height - dip) / (right - mode)
        hat[_RIGHT_RATE] = rate
        if rate > 0.0:  # otherwise there are no counts, and the density is flat
            flat_to = min(1.0, max(right + height / rate, mode))
            right_area = _mass(rate * (1.0 - flat_to)) / rate
    else:
        hat[_RIGHT_AT] = 1.0
    hat[_FLAT_FROM] = flat_from
    hat[_FLAT_TO] = flat_to
    hat[_LEFT_AREA] = left_area
    hat[_FLAT_AREA] = left_area + (flat_to - flat_from)
    hat[_AREA] = hat[_FLAT_AREA] + right_area


@inline_kernel
def _propose(hat: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """Draw from the hat; return the point and the height of the hat there."""
    u = rng.random() * hat[_AREA]
    if u < hat[_LEFT_AREA]:  # invert the integral of exp(rate·(x - flat_from))
        fall = math.log(hat[_LEFT_BASE] + u * hat[_LEFT_RATE])
        x = hat[_FLAT_FROM] + fall / hat[_LEFT_RATE]
    elif u < hat[_FLAT_AREA]:
        fall = 0.0
        x = hat[_FLAT_FROM] + (u - hat[_LEFT_AREA])
    else:
        fall = math.log(1.0 - (u - hat[_FLAT_AREA]) * hat[_RIGHT_RATE])
        x = hat[_FLAT_TO] - fall / hat[_RIGHT_RATE]
    return x, fall


@kernel
def sample_posterior(
    clicks: float, misses: Ints | Floats, examination: Floats, hat: Floats, rng: np.random.Generator
) -> float:
    """Draw once from the posterior, with the hat of these counts."""
    mode = hat[_MODE]
    while True:
        x, fall = _propose(hat, rng)
        if not 0.0 <= x <= 1.0:
            continue  # rounding errors at the ends of the support
        # The chord is below the density, and 1 + y below exp(y): most proposals end here.
        v = rng.random()
        if hat[_LEFT_AT] <= x <= hat[_RIGHT_AT]:
            slope = hat[_LEFT_CHORD] if x < mode else hat[_RIGHT_CHORD]
            if v <= 1.0 + (hat[_DIP] + slope * abs(x - mode) - fall):
                return float(x)
        if math.log(v) + fall <= log_density(clicks, misses, examination, x) - hat[_TOP]:
            return float(x)


@kernel
def sample_unclicked(
    alpha: float, misses: Floats, examination: Floats, rng: np.random.Generator
) -> float:
    """Draw once from the density x^(α - 1) Π_l (1 - κ_l x)^F_l on [0, 1], where α ≤ 1.

    As (1 - κx) is at most exp(-κx), the proposal is a Gamma draw of rate Σ κ_l F_l. The rate must
    be well above 0, so that most draws are within the interval.
    """
    rate = 0.0
    for position in range(misses.shape[0]):
        rate += examination[position] * misses[position]
    d, c = gamma_constants(alpha + 1.0)
    while True:
        x = sample_gamma(d, c, rng) / rate * (1.0 - rng.random()) ** (1.0 / alpha)
        if x >= 1.0:
            continue
        excess = 0.0
        for position in range(misses.shape[0]):
            if misses[position] > 0:
                seen = examination[position] * x
                excess += misses[position] * (math.log1p(-seen) + seen)
        if math.log(1.0 - rng.random()) <= excess:
            return float(x)


# Here the posterior is g(x) (1 - x)^(β - 1), β < 1, g(x) = x^(α - 1) Π_l (1 - κ_l x)^F_l, each κ_l
# < 1. With t = 1 - x, t^(β - 1) is the sum of two parts: the body, which is the smaller of t^(β -
# 1) and s^(β - 1), and the rest, which is the pole. The body is at most s^(β - 1) times the hat of
# g, the pole at most t^(β - 1) times the largest g on [1 - s, 1]. s is chosen to make the sum of
# both areas small.


@kernel
def _doubt(misses: Floats, examination: Floats) -> float:
    """Return Σ κ_l F_l, the expected number of misses that were examined."""
    total = 0.0
    for position in range(misses.shape[0]):
        if misses[position] > 0:
            total += examination[position] * misses[position]
    return total


@kernel
def build_pole(alpha: float, beta: float, misses: Floats, examination: Floats, hat: Floats) -> None:
    """Add the numbers that `sample_with_pole` needs to a hat of ``α - 1`` clicks."""
    if alpha >= 1.0:
        log_area = hat[_TOP] + math.log(hat[_AREA])
    else:
        doubt = _doubt(misses, examination)
        log_area = -math.log(alpha)
        if doubt >= 2.0:
            log_area = math.lgamma(alpha) - alpha * math.log(doubt)
    least = math.inf
    s = 1.0
    for _ in range(50):
        s *= 0.5
        body = (beta - 1.0) * math.log(s) + log_area
        if body >= least:
            break
        # g is log-concave, apart from a decreasing factor x^(α - 1) if α < 1: its tangent bounds
        # it.
        slope = log_density_slopes(alpha - 1.0, misses, examination, 1.0 - s)[0]
        top = log_density(alpha - 1.0, misses, examination, 1.0 - s) + max(slope, 0.0) * s
        if alpha >= 1.0:
            top = min(top, hat[_TOP])
        else:
            top += (alpha - 1.0) * math.log(1.0 - s)
        pole = top + beta * math.log(s) - math.log(beta)
        both = max(body, pole) + math.log1p(math.exp(-abs(body - pole)))
        if both < least:
            least = both
            hat[_POLE_FROM] = s
            hat[_POLE_TOP] = top
            hat[_POLE_SHARE] = math.exp(pole - both)


@kernel
def sample_with_pole(
    alpha: float,
    beta: float,
    misses: Floats,
    examination: Floats,
    hat: Floats,
    rng: np.random.Generator,
) -> float:
    """Draw the odds x/(1 - x) once, with the hat and the pole of these counts."""
    s = hat[_POLE_FROM]
    doubt = _doubt(misses, examination)
    d, c = gamma_constants(min(alpha, 1.0) + 1.0)
    while True:
        if rng.random() < hat[_POLE_SHARE]:
            t = s * (1.0 - rng.random()) ** (1.0 / beta)
            x = 1.0 - t
            height = log_density(alpha - 1.0, misses, examination, x) - hat[_POLE_TOP]
            if alpha < 1.0:
                height += (alpha - 1.0) * math.log(x)
            if rng.random() >= math.exp(height) * (1.0 - (t / s) ** (1.0 - beta)):
                continue
        else:
            if alpha >= 1.0:
                x, fall = _propose(hat, rng)
                fall += hat[_TOP]
            elif doubt >= 2.0:  # as in `sample_unclicked`
                x = sample_gamma(d, c, rng) / doubt * (1.0 - rng.random()) ** (1.0 / alpha)
                fall = -doubt * x
            else:
                x = (1.0 - rng.random()) ** (1.0 / alpha)
                fall = 0.0
            if not 0.0 <= x <= 1.0:
                continue
            t = 1.0 - x
            height = log_density(alpha - 1.0, misses, examination, x) - fall
            if t > s:
                height -= (1.0 - beta) * math.log(t / s)
            if math.log(1.0 - rng.random()) > height:
                continue
        return float(x / t) if t > 0.0 else math.inf
