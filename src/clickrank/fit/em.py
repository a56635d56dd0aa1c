"""Expectation maximisation with extrapolated steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Floats


class Path(NamedTuple):
    """Result of expectation maximisation."""

    params: Floats
    log_likelihoods: Floats  # never decreasing; the last is that of ``params``
    converged: bool


def maximise(
    step: Callable[[Floats], tuple[Floats, float]],
    start: Floats,
    *,
    tolerance: float,
    steps: int,
) -> Path:
    """Repeat steps of EM on probabilities, with extrapolation, until they are below a tolerance.

    From three points in a row p₀, p₁, p₂ with r = p₁ − p₀ and v = (p₂ − p₁) − r, the point
    p₀ − 2αr + α²v, α = −‖r‖ / ‖v‖, is far ahead if steps shrink slowly. It is accepted only if its
    likelihood is not below that of p₁; otherwise p₂ is accepted, whose likelihood never is.

    **Source**: varadhan2008, scheme SqS3.

    **Differences**: the point goes at most nine tenths of the way from p₂ to 0 or 1, where EM can
    get stuck.

    Parameters
    ----------
    step
        Function that returns the point after a step of EM, and the likelihood before it.
    start
        Probabilities to start from.
    tolerance
        Largest change of a parameter in the last step.
    steps
        Maximum number of steps of EM.
    """
    p0 = start
    p1, value = step(p0)
    path, taken = [value], 1
    while taken < steps:
        if np.abs(p1 - p0).max(initial=0.0) <= tolerance:
            break
        p2, value = step(p1)
        taken += 1
        if value < path[-1]:  # the maximum, up to rounding
            return Path(p0, np.array(path), path[-1] - value <= 1e-12 * abs(path[-1]))
        path.append(value)
        r = p1 - p0
        v = p2 - p1 - r
        size = float(np.linalg.norm(v))
        ratio = float(np.linalg.norm(r)) / size if size > 0.0 else 1.0
        if ratio <= 1.0:
            p0, p1 = p1, p2
            continue
        far = p0 + 2.0 * ratio * r + ratio**2 * v
        far = np.clip(far, 0.1 * p2, 1.0 - 0.1 * (1.0 - p2))
        after, value = step(far)
        taken += 1
        if value >= path[-1]:
            path.append(value)
            p0, p1 = far, after
        else:
            p0, p1 = p1, p2
    converged = bool(np.abs(p1 - p0).max(initial=0.0) <= tolerance)
    return Path(p0, np.array(path), converged)
