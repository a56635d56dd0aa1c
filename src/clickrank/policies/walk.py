"""A walk about the posterior of attractions and examinations goes on while items come and go.

The particle is scratch, but more than a cache: one that starts at random takes thousands of rounds
to get to where the old one was. So one that has to start in the middle, in a new process, starts at
the maximum of the likelihood. And it is of all items, as what is known of positions comes from all
of them: a list of some items is the best of these by the particle, not that of a walk of their own.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from clickrank._jit import lean_kernel
from clickrank.numerics.pbm_likelihood import maximise_likelihood, start_likelihood
from clickrank.types import Floats, Ints

#: How close to 0 and 1 a particle may start.
EDGE = 1e-9


class Walk(Protocol):
    """The fields of a state that this module reads and writes, all scratch."""

    @property
    def started(self) -> Ints:
        """(1,), 1 if there is a particle."""

    @property
    def attraction(self) -> Floats:
        """(n_items,), the particle's θ."""

    @property
    def examination(self) -> Floats:
        """(n_positions,), the particle's κ."""


def take_over(state: Walk, former: Walk, means: Floats) -> None:
    """Let a particle go on with as many items or more; ``means`` is where those begin."""
    if former.started[0] == 0:
        return
    theta, kappa = means.copy(), former.examination.copy()
    theta[: former.attraction.size] = former.attraction
    # Read while another thread was starting the walk, it may not be one yet.
    if (theta > 0).all() and (theta < 1).all() and (kappa > 0).all() and (kappa <= 1).all():
        state.attraction[:], state.examination[:], state.started[0] = theta, kappa, 1


@lean_kernel
def maximum(
    clicks: Ints | Floats,
    misses: Ints,
    theta: Floats,
    kappa: Floats,
    step_buffer: Floats,
    curvature_buffer: Floats,
    system_buffer: Floats,
) -> None:
    """Write the θ and κ of the largest likelihood, the largest κ being 1.

    Each item and position has `pbm_likelihood.PRIOR` clicks and misses more than were counted. The
    buffers are of shapes (n_items,), (n_items, n_positions) and (n_positions + 1, n_positions).
    """
    n_items, n_positions = misses.shape
    start_likelihood(clicks, misses, theta, kappa)
    last = system_buffer[n_positions]
    buffers = step_buffer, last, curvature_buffer, system_buffer
    maximise_likelihood(clicks, misses, theta, kappa, *buffers)
    largest = kappa[0]
    for k in range(1, n_positions):
        largest = max(largest, kappa[k])
    for i in range(n_items):
        theta[i] = min(max(math.exp(theta[i] + largest), EDGE), 1.0 - EDGE)
    for k in range(n_positions):
        kappa[k] = math.exp(kappa[k] - largest)


@lean_kernel
def inside(rng: np.random.Generator) -> float:
    """Draw a uniform number above 0 and below 1."""
    while True:
        x = rng.random()
        if x > 0.0:
            return x


def best_by(values: Floats, places: Ints, allowed: Ints) -> Ints:
    """Return the list of the largest of some items, the first of ``places`` for the largest.

    Values are drawn from continuous distributions, so that there are no ties to break.
    """
    ranking = np.empty(places.size, dtype=np.int64)
    ranking[places] = allowed[np.argsort(-values[allowed])[: places.size]]
    return ranking
