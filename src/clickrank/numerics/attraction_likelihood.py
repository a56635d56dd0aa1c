"""The likelihood of one attraction under position-based clicks with known examination.

With S clicks, and F_l misses at positions of examination κ_l, the log-likelihood of the attraction
x is h(x) = S log x + Σ_l F_l log(1 - κ_l x), which is concave. It is the likelihood of one row of
`pbm_likelihood`, as a function of x instead of log x: the KL indices and the posteriors of policies
that know the examination need it on the whole interval [0, 1].
"""

from __future__ import annotations

import math

from clickrank._compile.jit import inline_kernel
from clickrank._core.arrays import Floats, Ints


@inline_kernel
def attraction_loss(
    constant: float, clicks: float, misses: Ints | Floats, examination: Floats, x: float
) -> tuple[float, float, float]:
    """Return constant - h(x) and its first two derivatives; infinite where a miss is impossible.

    x must be above 0 if there are clicks.
    """
    value = constant
    slope = 0.0
    curvature = 0.0
    if clicks > 0:
        value -= clicks * math.log(x)
        slope -= clicks / x
        curvature += clicks / (x * x)
    for position in range(misses.shape[0]):
        if misses[position] > 0:
            unseen = 1.0 - examination[position] * x
            if unseen <= 0.0:
                return math.inf, math.inf, math.inf
            value -= misses[position] * math.log(unseen)
            ratio = examination[position] / unseen
            slope += misses[position] * ratio
            curvature += misses[position] * ratio * ratio
    return value, slope, curvature
