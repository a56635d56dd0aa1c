"""KL upper confidence index of an item seen at several positions (lagree2016, eq. 7).

With S_l clicks in N_l views at a position of examination κ_l, the divergence of the data from an
attraction q is Φ(q) = Σ_l N_l d(S_l/N_l, κ_l q), convex in q. The index is the largest q ≤ 1 with
Φ(q) ≤ δ. One position with κ = 1 gives the classic KL-UCB index.

Φ depends on the counts through S = Σ S_l, the misses F_l = N_l - S_l, and a constant:
Φ(q) = constant - S log q - Σ_l F_l log(1 - κ_l q).
"""

from __future__ import annotations

import math

from clickrank._compile.jit import kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.attraction_likelihood import attraction_loss
from clickrank.numerics.kl_bounds import STEEP


@kernel
def divergence_constant(clicks: int, misses: int, examination: float) -> float:
    """Return the term of one position in the constant of Φ: S log(S/(κN)) + F log(F/N)."""
    views = clicks + misses
    total = 0.0
    if clicks > 0:
        total += clicks * math.log(clicks / (examination * views))
    if misses > 0:
        total += misses * math.log(misses / views)
    return total


@kernel
def divergence(
    clicks: int, misses: Ints, examination: Floats, constant: float, q: float
) -> tuple[float, float, float]:
    """Return Φ(q), Φ'(q) and Φ''(q) for q > 0."""
    return attraction_loss(constant, clicks, misses, examination, q)


@kernel
def best_fit(clicks: int, misses: Ints, examination: Floats) -> float:
    """Return the q in (0, 1] that minimises Φ and fits the counts best (θ^min in lagree2016)."""
    low = 0.0
    high = 1.0
    while True:
        q = 0.5 * (low + high)
        if not low < q < high:
            return high
        slope = -clicks / q
        for position in range(misses.shape[0]):
            if misses[position] > 0:
                slope += misses[position] * examination[position] / (1 - examination[position] * q)
        if slope < 0.0:
            low = q
        else:
            high = q


@kernel
def kl_index(
    clicks: int, misses: Ints, examination: Floats, constant: float, seen: float, delta: float
) -> tuple[float, float, float]:
    """Return the index U(δ) of an item with at least one view, and a bound for larger δ.

    The result is (U, rate, until): U(δ') ≤ U + rate · max(δ' - until, 0) for δ' ≥ δ, and U(δ') = U
    if δ' ≤ until. The bound is a tangent, because U is concave in δ if some q has Φ(q) ≤ δ. If
    positions contradict each other, there may be no such q; then U is the best fit.

    ``seen`` is Σ_l κ_l N_l, which only decides where the search begins. The result depends on the
    arguments alone, not on earlier calls.
    """
    mean = clicks / seen
    q = mean + math.sqrt(2.0 * delta * mean * max(1.0 - mean, 0.1) / seen) + delta / (3.0 * seen)
    low = 0.0  # left of the index
    high = 1.0  # right of the index, once evaluated
    high_tried = False
    rate = STEEP
    for _ in range(200):
        if q >= high and not high_tried:
            value, slope, curvature = divergence(clicks, misses, examination, constant, 1.0)
            if value <= delta or slope <= 0.0:
                return 1.0, 0.0, math.inf
            high_tried = True
        if not low < q < high:
            q = 0.5 * (low + high)
        value, slope, curvature = divergence(clicks, misses, examination, constant, q)
        if slope <= 0.0 and low == 0.0:  # left of the minimum: is there any q with Φ(q) ≤ δ?
            low = best_fit(clicks, misses, examination)
            least, slope, curvature = divergence(clicks, misses, examination, constant, low)
            if least > delta:
                return low, STEEP, least
            q = low + math.sqrt(2.0 * (delta - least) / curvature)
            continue
        if value <= delta:
            low = q
        else:
            high = q
            high_tried = True
        rate = 1.0 / slope if slope > 0.0 else STEEP
        if value <= 0.0:  # rounding at the minimum
            q = 0.5 * (low + high)
            step = high - low
        else:
            # Halley's step for sqrt(Φ) - sqrt(δ), which is nearly linear as Φ is nearly quadratic.
            short = 1.0 - math.sqrt(delta / value)
            bend = 2.0 * value * curvature * rate * rate - 1.0
            step = 2.0 * value * short * rate / (1.0 - 0.5 * short * bend)
            q -= step
        # Convergence is cubic in the distance to the poles of Φ at 0 and 1 (or beyond): a further
        # step would be below rounding errors.
        if abs(step) <= 1e-6 * min(q, 1.0 - q) and low <= q <= high:
            if abs(value - delta) <= 2.0 * slope * abs(step) + 1e-9 * (1.0 + value):
                rate = 1.0 / (slope - curvature * step)  # at the index itself
                break
            q = 0.5 * (low + high)  # trapped at a minimum above δ
    return min(q, 1.0), rate, delta


@kernel
def kl_ucb(clicks: Ints, misses: Ints, examination: Floats, delta: float) -> float:
    """Return the index U(δ) of an item from its clicks and misses at each position.

    An item without a view has an infinite index.
    """
    return kl_ucb_and_bound(clicks, misses, examination, delta)[0]


@kernel
def kl_ucb_and_bound(
    clicks: Ints, misses: Ints, examination: Floats, delta: float
) -> tuple[float, float, float]:
    """Return the index U(δ) of an item, with the bound of `kl_index` for larger δ."""
    constant = 0.0
    total = 0
    seen = 0.0
    for position in range(examination.shape[0]):
        constant += divergence_constant(clicks[position], misses[position], examination[position])
        total += clicks[position]
        seen += examination[position] * (clicks[position] + misses[position])
    if seen == 0.0:
        return math.inf, 0.0, math.inf
    return kl_index(total, misses, examination, constant, seen, delta)
