"""The KL upper confidence index of an item seen at several positions (001, eq. 7).

With S_l clicks in N_l views at a position of examination κ_l, the divergence of the data from an
attraction q is Φ(q) = Σ_l N_l d(S_l/N_l, κ_l q), convex in q. The index is the largest q ≤ 1 with
Φ(q) ≤ δ. One position with κ = 1 gives the classic KL-UCB index.

Φ needs the counts through S = Σ S_l, the misses F_l = N_l - S_l, and a constant:
Φ(q) = constant - S log q - Σ_l F_l log(1 - κ_l q).
"""

from __future__ import annotations

import math

from clickrank._jit import kernel
from clickrank.types import Floats, Ints

# Far above the rounding of an index (about 1e-14), far below any difference that matters.
SLACK = 1e-11
# A derivative so large that its tangent never bounds anything, yet 0 · STEEP is 0.
STEEP = 1e300


@kernel
def divergence_constant(clicks: int, misses: int, examination: float) -> float:
    """Return one position's part of the constant of Φ: S log(S/(κN)) + F log(F/N)."""
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
) -> tuple[float, float]:
    """Return Φ(q) and Φ'(q) for q > 0."""
    value = constant
    slope = 0.0
    if clicks > 0:
        value -= clicks * math.log(q)
        slope -= clicks / q
    for position in range(misses.shape[0]):
        if misses[position] > 0:
            unseen = 1.0 - examination[position] * q
            if unseen <= 0.0:
                return math.inf, math.inf
            value -= misses[position] * math.log(unseen)
            slope += misses[position] * examination[position] / unseen
    return value, slope


@kernel
def kl_index(
    clicks: int, misses: Ints, examination: Floats, constant: float, delta: float
) -> tuple[float, float]:
    """Return the index U(δ) and its derivative in δ, for an item with at least one view.

    U is concave in δ where some q has Φ(q) ≤ δ, so U(δ') ≤ U(δ) + U'(δ)·(δ' - δ) for δ' ≥ δ: an
    exact bound for items whose counts have not changed. Positions that contradict each other may
    leave no such q; then U is the q that fits best, and `STEEP` stands for the derivative.

    The result depends on the arguments alone, not on earlier calls.
    """
    # As if clicks had all been examined: only a starting point.
    seen = float(clicks)
    for position in range(misses.shape[0]):
        seen += misses[position] * examination[position]
    mean = clicks / seen
    q = mean + math.sqrt(2.0 * delta * mean / seen) + delta / seen

    low = 0.0  # left of the index or of the minimum of Φ
    low_fits = False  # Φ(low) ≤ δ
    high = 1.0  # right of the index, once tried
    high_tried = False
    slope = STEEP
    while True:
        if q >= high and not high_tried:
            value, slope = divergence(clicks, misses, examination, constant, 1.0)
            if value <= delta or slope <= 0.0:
                # The index stays at 1 as δ grows.
                return 1.0, 0.0
            high_tried = True
        if not low < q < high:
            q = 0.5 * (low + high)
            if not low < q < high or high - low <= 1e-15 * high:
                break
        value, slope = divergence(clicks, misses, examination, constant, q)
        if value <= delta or slope <= 0.0:
            low_fits = value <= delta
            low = q
        else:
            high = q
            high_tried = True
        if slope <= 0.0:
            q = high  # out of the bracket: halve it
            continue
        # Newton on sqrt(Φ) - sqrt(δ), which is nearly linear as Φ is nearly quadratic.
        step = 2.0 * (value - math.sqrt(max(value, 0.0) * delta)) / slope
        q -= step
        # Convergence is quadratic: a further step would be below rounding.
        if abs(step) <= 1e-8 * q and low <= q <= high:
            return min(q, 1.0), 1.0 / slope
    return low, 1.0 / slope if low_fits else STEEP
