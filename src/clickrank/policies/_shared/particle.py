"""A particle (θ, κ) that walks about the posterior of attractions and examinations.

It cannot be computed from the statistics, and one that starts at random takes thousands of rounds
to get to where the old one was. So it is kept while items come and go, and one that has to start in
the middle, in a new process, starts at the maximum of the likelihood. It is always of all items, as
what is known of positions comes from all of them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from clickrank._compile.jit import array_kernel, lean_kernel
from clickrank.numerics.pbm_likelihood import maximise_likelihood, start_likelihood
from clickrank.types import FloatParticle, Floats, IntParticle, Ints

#: How close to 0 and 1 a particle may start.
EDGE = 1e-9


class Particle(NamedTuple):
    """One point of the posterior."""

    started: IntParticle  # (1,), 1 if there is a particle, else 0
    attraction: FloatParticle  # (n_items,), θ
    examination: FloatParticle  # (n_positions,), κ


class HasParticle(Protocol):
    """A `Particle`, or a cache that contains its fields."""

    @property
    def started(self) -> Ints:
        """(1,), 1 if there is a particle."""

    @property
    def attraction(self) -> Floats:
        """(n_items,), θ."""

    @property
    def examination(self) -> Floats:
        """(n_positions,), κ."""


def no_particle(params: Any, state: Any) -> Particle:
    """Return room for a particle, which the next ranking will start."""
    n_items, n_positions = state.misses.shape
    return Particle(np.zeros(1, dtype=np.int64), np.zeros(n_items), np.zeros(n_positions))


def take_over(particle: HasParticle, former: HasParticle, means: Floats) -> None:
    """Let a particle go on with as many items or more; new items begin at their ``means``."""
    if former.started[0] == 0:
        return
    theta, kappa = means.copy(), former.examination.copy()
    theta[: former.attraction.size] = former.attraction
    # Read while another thread was starting the walk, it may not be one yet.
    if (theta > 0).all() and (theta < 1).all() and (kappa > 0).all() and (kappa <= 1).all():
        particle.attraction[:], particle.examination[:] = theta, kappa
        particle.started[0] = 1


@array_kernel
def most_likely(clicks: Ints | Floats, misses: Ints, theta: Floats, kappa: Floats) -> None:
    """Write the θ and κ of the largest likelihood, the largest κ being 1.

    Each item and position has `pbm_likelihood.PRIOR` clicks and misses more than were counted, so
    that there is a maximum.
    """
    n_items, n_positions = misses.shape
    steps = np.empty(n_items), np.empty(n_positions)
    curvature, schur = np.empty((n_items, n_positions)), np.empty((n_positions, n_positions))
    start_likelihood(clicks, misses, theta, kappa)
    maximise_likelihood(clicks, misses, theta, kappa, steps[0], steps[1], curvature, schur)
    largest = kappa[0]
    for k in range(1, n_positions):
        largest = max(largest, kappa[k])
    for i in range(n_items):
        theta[i] = min(max(math.exp(theta[i] + largest), EDGE), 1.0 - EDGE)
    for k in range(n_positions):
        kappa[k] = math.exp(kappa[k] - largest)


@lean_kernel
def open_uniform(rng: np.random.Generator) -> float:
    """Draw a uniform number above 0 and below 1."""
    while True:
        x = rng.random()
        if x > 0.0:
            return x
