"""Upper quantiles of the posterior of an attraction under position-based clicks, by integration.

With a Beta(α, β) prior, the density x^(α - 1) (1 - x)^(β - 1) Π_l (1 - κ_l x)^F_l has no simple
integral. As a function of the log-odds t it is f(t) = x^α (1 - x)^β Π_l (1 - κ_l x)^F_l, which is
smooth, with one mode and exponential tails. Gauss–Legendre rules on pieces around the mode
integrate it with an error of about 1e-12. Far out, where f is exp(αt) or exp(-βt) up to rounding,
the remaining integral and its quantiles are known in closed form.
"""

from __future__ import annotations

import math

import numpy as np

from clickrank._compile.jit import lean_kernel
from clickrank._core.arrays import Floats

_NODES, _WEIGHTS = (np.ascontiguousarray(v) for v in np.polynomial.legendre.leggauss(16))
_MOST_PIECES = 64  # on each side of the mode
#: Size of the buffer of `posterior_upper_quantile`: the ends and the masses of pieces.
BUFFER_SIZE = 4 * (_MOST_PIECES + 2)
_DEEP = 30.0  # log-height below the mode at which pieces end
_FLAT = 1e-16  # negligible compared with 1


@lean_kernel
def log_height(alpha: float, exponents: Floats, examination: Floats, t: float) -> float:
    """Return log f(t); ``exponents`` holds F_l for each position, and β as the last entry."""
    last = exponents.shape[0] - 1
    small = math.exp(-abs(t))
    fall = math.log1p(small)
    x = small / (1.0 + small) if t < 0.0 else 1.0 / (1.0 + small)
    total = alpha * (min(t, 0.0) - fall) + exponents[last] * (min(-t, 0.0) - fall)
    for position in range(last):
        if exponents[position] > 0.0:
            total += exponents[position] * math.log1p(-examination[position] * x)
    return float(total)


@lean_kernel
def _slopes(alpha: float, exponents: Floats, examination: Floats, t: float) -> tuple[float, float]:
    """Return the first and second derivatives of log f at t."""
    last = exponents.shape[0] - 1
    x = 1.0 / (1.0 + math.exp(-t))
    y = 1.0 / (1.0 + math.exp(t))
    first = alpha * y - exponents[last] * x
    second = -(alpha + exponents[last]) * x * y
    for position in range(last):
        if exponents[position] > 0.0:
            kappa = examination[position]
            pull = exponents[position] * kappa * x * y / (1.0 - kappa * x)
            first -= pull
            second -= pull * (y - x + kappa * x * y / (1.0 - kappa * x))
    return first, second


@lean_kernel
def _mode(alpha: float, exponents: Floats, examination: Floats) -> float:
    """Return a point near the mode, by Newton's method on the decreasing first derivative."""
    last = exponents.shape[0] - 1
    seen = alpha + exponents[last]
    for position in range(last):
        seen += examination[position] * exponents[position]
    low, high = -740.0, 740.0
    t = -math.log(max(seen / alpha - 1.0, 1e-300))
    for _ in range(200):
        first, second = _slopes(alpha, exponents, examination, t)
        if first > 0.0:
            low = t
        else:
            high = t
        step = -first / second if second < 0.0 else math.inf
        t += step
        if not low < t < high:
            t = 0.5 * (low + high)
        elif step * step * -second < 1e-4:
            break
    return t


@lean_kernel
def _mass(
    alpha: float, exponents: Floats, examination: Floats, top: float, a: float, b: float
) -> float:
    """Return the integral of f/exp(top) from a to b, which is one piece."""
    centre = 0.5 * (a + b)
    half = 0.5 * (b - a)
    total = 0.0
    for i in range(_NODES.shape[0]):
        t = centre + half * _NODES[i]
        total += _WEIGHTS[i] * math.exp(log_height(alpha, exponents, examination, t) - top)
    return total * half


@lean_kernel
def _lay_pieces(
    alpha: float, exponents: Floats, examination: Floats, mode: float, buffer: Floats
) -> int:
    """Write the ends of the pieces, in ascending order, into ``buffer``; return their number."""
    last = exponents.shape[0] - 1
    weight = alpha + exponents[last]
    for position in range(last):
        kappa = examination[position]
        weight += exponents[position] * kappa / (1.0 - kappa) if kappa < 1.0 else 0.0
    second = _slopes(alpha, exponents, examination, mode)[1]
    # With many counts f is nearly Gaussian around the mode; with few it changes slowly with t.
    first_width = min(3.5 / math.sqrt(-second), 2.0)
    top = log_height(alpha, exponents, examination, mode)
    n_left = 0
    n = 0
    for side in range(2):
        sign = -1.0 if side == 0 else 1.0
        t = mode
        width = first_width
        n = 0
        while n < _MOST_PIECES:
            t += sign * width
            n += 1
            buffer[side * (_MOST_PIECES + 1) + n] = t
            width *= 1.3 if side == 0 else 1.05
            if weight * math.exp(-abs(t)) < _FLAT and sign * t > 0.0:
                break
            if log_height(alpha, exponents, examination, t) - top < -_DEEP:
                break
        if side == 0:
            n_left = n
    for i in range(n_left // 2):  # the pieces on the left were written from the mode outwards
        other = n_left - i
        buffer[i + 1], buffer[other] = buffer[other], buffer[i + 1]
    for i in range(n_left):
        buffer[i] = buffer[i + 1]
    buffer[n_left] = mode
    count = n_left
    for i in range(1, n + 1):
        count += 1
        buffer[count] = buffer[_MOST_PIECES + 1 + i]
    return count


@lean_kernel
def posterior_upper_quantile(
    alpha: float,
    exponents: Floats,
    examination: Floats,
    log_delta: float,
    buffer: Floats,
) -> float:
    """Return the x that the attraction exceeds with probability δ.

    ``alpha`` is α + S. For ``exponents``, see `log_height`. ``buffer`` has size `BUFFER_SIZE`.
    """
    last = exponents.shape[0] - 1
    mode = _mode(alpha, exponents, examination)
    top = log_height(alpha, exponents, examination, mode)
    n = _lay_pieces(alpha, exponents, examination, mode, buffer)
    masses = 2 * (_MOST_PIECES + 2)  # the place where they begin
    left, right = buffer[0], buffer[n]
    below = math.exp(log_height(alpha, exponents, examination, left) - top) / alpha
    above = math.exp(log_height(alpha, exponents, examination, right) - top)
    above /= exponents[last]
    total = below + above
    for i in range(n):
        buffer[masses + i] = _mass(alpha, exponents, examination, top, buffer[i], buffer[i + 1])
        total += buffer[masses + i]
    wanted = math.exp(log_delta) * total
    if above >= wanted:
        t = right - math.log(wanted / above) / exponents[last]
        return 1.0 / (1.0 + math.exp(-t))
    piece = n
    tail = above
    while piece > 0 and tail < wanted:
        piece -= 1
        tail += buffer[masses + piece]
    if tail < wanted:
        t = left + math.log((total - wanted) / below) / alpha
        return 1.0 / (1.0 + math.exp(-t)) if t > -740.0 else 0.0
    # The tail above the start of this piece is at least the wanted mass, and that above its end
    # less.
    low, high = buffer[piece], buffer[piece + 1]
    t = low
    next_tail = tail - buffer[masses + piece]
    # Newton on the logarithm of the tail, which is nearly linear; the first step is along the
    # chord.
    step = (high - low) * math.log(tail / wanted) / math.log(tail / next_tail)
    for _ in range(60):
        new = t + step
        if not low < new < high:
            new = 0.5 * (low + high)
        step = new - t
        tail -= _mass(alpha, exponents, examination, top, t, new)
        t = new
        if tail > wanted:
            low = t
        else:
            high = t
        height = math.exp(log_height(alpha, exponents, examination, t) - top)
        step = math.log(tail / wanted) * tail / height
        if abs(step) * height < 1e-6 * tail or high - low < 1e-13 * (1.0 + abs(t)):
            t += step
            break
    return 1.0 / (1.0 + math.exp(-t))
