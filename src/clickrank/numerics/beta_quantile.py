"""Upper quantiles of Beta distributions: the x that a variable exceeds with probability δ.

The equation P(X > x) = δ is solved in the log-odds t = log(x/(1 - x)), where a Beta density is
log-concave for all parameters. So log P(X > x) is concave in t too: Newton's method converges from
any start, and Halley's method, whose second derivative costs nothing extra, in two or three steps.
The tail probability is computed as a continued fraction. The result depends on (α, β, δ) alone, bit
for bit, so that equal parameters give equal quantiles.
"""

from __future__ import annotations

import math

from clickrank._compile.jit import inline_kernel, lean_kernel

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
#: Log-odds below which x is 0, and above which it is 1, in float64.
_LOWEST, _HIGHEST = -740.0, 40.0
_MOST_TERMS = 20_000  # of a continued fraction: enough for parameters beyond 1e8
_HUGE = 1e100


@lean_kernel
def stirling_rest(z: float) -> float:
    """Return log Γ(z) minus Stirling's (z - 1/2) log z - z + log(2π)/2, for z > 0."""
    if z < 10.0:
        w = z
        product = 1.0
        while w < 10.0:
            product *= w
            w += 1.0
        return (
            stirling_rest_of_large(w)
            + (w - 0.5) * math.log(w)
            - w
            - math.log(product)
            - ((z - 0.5) * math.log(z) - z)
        )
    return stirling_rest_of_large(z)


@inline_kernel
def stirling_rest_of_large(z: float) -> float:
    """Return `stirling_rest` for z ≥ 10, by its series in 1/z, with an error of 1e-16."""
    u = 1.0 / (z * z)
    return (
        1.0 / 12.0
        - u * (1.0 / 360.0 - u * (1.0 / 1260.0 - u * (1.0 / 1680.0 - u * (1.0 / 1188.0
        - u * (691.0 / 360360.0 - u * (1.0 / 156.0 - u * (3617.0 / 122400.0)))))))
    ) / z  # fmt: skip


@lean_kernel
def log_scale(alpha: float, beta: float) -> float:
    """Return the log-density of Beta(α, β) with respect to t, at its mode α/(α + β)."""
    total = alpha + beta
    return (
        0.5 * math.log(alpha * (beta / total))
        - _HALF_LOG_TWO_PI
        - stirling_rest(alpha)
        - stirling_rest(beta)
        + stirling_rest(total)
    )


@inline_kernel
def _log_ratio(value: float, reference: float, difference: float) -> float:
    """Return log(value/reference), which is precise even if the two are close."""
    change = difference / reference
    return math.log1p(change) if abs(change) < 0.5 else math.log(value / reference)


@lean_kernel
def _fraction(a: float, b: float, x: float) -> float:
    """Return I_x(a, b) in units of x^a (1 - x)^b / (a B(a, b)); best for x < (a + 1)/(a + b + 2).

    This is the even part of the usual continued fraction, by its forward recurrence.
    """
    odd = -(a + b) * x / (a + 1.0)
    term = 1.0 + odd
    top, bottom = 1.0, term
    top_before, bottom_before = 0.0, 1.0
    for m in range(1, _MOST_TERMS):
        step = a + 2.0 * m
        even = m * (b - m) * x / ((step - 1.0) * step)
        numerator = -odd * even
        odd = -(a + m) * (a + b + m) * x / (step * (step + 1.0))
        term = 1.0 + even + odd
        top_next = term * top + numerator * top_before
        bottom_next = term * bottom + numerator * bottom_before
        top_before, bottom_before = top, bottom
        top, bottom = top_next, bottom_next
        gap = top * bottom_before - top_before * bottom
        if abs(gap) <= 1e-15 * abs(top * bottom_before):
            break
        if abs(bottom) > _HUGE or abs(bottom) < 1.0 / _HUGE:
            scale = 1.0 / bottom
            top *= scale
            top_before *= scale
            bottom_before *= scale
            bottom = 1.0
    return top / bottom


@lean_kernel
def _guess(alpha: float, beta: float, log_delta: float, normal: float, scale: float) -> float:
    """Return log-odds near the quantile, to start from; any start gives the same result."""
    if alpha >= 1.0 and beta >= 1.0:
        # Half the logarithm of an F ratio is nearly normal (Carter); log-odds are twice that.
        r = 1.0 / (2.0 * alpha - 1.0)
        s = 1.0 / (2.0 * beta - 1.0)
        h = 2.0 / (r + s)
        third = (normal * normal - 3.0) / 6.0
        w = normal * math.sqrt(h + third) / h if h + third > 0.0 else 0.0
        w += (s - r) * (third + 5.0 / 6.0 - 2.0 / (3.0 * h))
        return 2.0 * w + math.log(alpha / beta)
    total = alpha + beta
    log_constant = scale - alpha * math.log(alpha / total) - beta * math.log(beta / total)
    if beta < 1.0:  # from the power of the density at 1
        t = (log_constant - math.log(beta) - log_delta) / beta
        if t > 0.0 or alpha >= 1.0:
            return t
    lower = -math.expm1(log_delta)  # from the power of the density at 0
    t = (math.log(lower) + math.log(alpha) - log_constant) / alpha if lower > 0.0 else -math.inf
    if beta < 1.0 or t < -math.log(beta) - 1.0:
        return t
    # From the tail of Beta(1, β), which shrinks with α.
    rest = math.expm1((math.log(alpha) - log_delta) / beta)
    return max(t, math.log(rest)) if rest > 0.0 else t


@lean_kernel
def beta_upper_quantile(alpha: float, beta: float, log_delta: float, normal: float) -> float:
    """Return the x that a Beta(α, β) variable exceeds with probability δ.

    ``log_delta`` is log δ < 0, and ``normal`` is the number that a standard normal variable exceeds
    with probability δ. The result may be rounded to 0 or to 1.
    """
    total = alpha + beta
    p = alpha / total
    q = beta / total
    scale = log_scale(alpha, beta)
    low, high = _LOWEST, _HIGHEST
    t = min(max(_guess(alpha, beta, log_delta, normal, scale), low), high)
    for _ in range(100):
        small = math.exp(-abs(t))
        large = 1.0 / (1.0 + small)
        small *= large
        x, y = (large, small) if t > 0.0 else (small, large)
        beyond = x - p if p < 0.5 else q - y
        log_density = (
            scale + alpha * _log_ratio(x, p, beyond) + beta * _log_ratio(y, q, -beyond)
        )  # with respect to t
        # The probability of the tail, and the rate at which its logarithm falls.
        if y * (total + 2.0) < beta + 1.0:
            ratio = beta / _fraction(beta, alpha, y)
            error = log_density - math.log(ratio) - log_delta
        else:
            density = math.exp(log_density)
            tail = 1.0 - density / alpha * _fraction(alpha, beta, x)
            ratio = density / tail
            error = math.log(tail) - log_delta
        if error > 0.0:
            low = t
        else:
            high = t
        newton = error / ratio
        bend = 0.5 * error * (alpha * y - beta * x + ratio) / ratio
        step = newton / min(max(1.0 + bend, 0.5), 4.0)
        t += step
        if not low <= t <= high:
            t = 0.5 * (low + high)
            if not low < t < high:
                break
        elif abs(step) < 1e-5 * min(1.0, 1.0 / ratio):  # convergence is cubic: nothing is left
            break
    if t >= _HIGHEST - 1.0:
        return 1.0
    if t <= _LOWEST + 1.0:
        return 0.0
    return 1.0 / (1.0 + math.exp(-t))
