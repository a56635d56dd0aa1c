"""A particle (θ, κ) that walks about the posterior of attractions and examinations.

It cannot be computed from the statistics, and one that starts at random takes thousands of rounds
to get to where the old one was. So it is kept while items come and go; how one starts is in
`particle_start`. It is always of all items, as what is known of positions comes from all of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clickrank._core.arrays import FloatParticle, IntParticle, Ints
from clickrank.stats.beta_prior import UNIFORM, Beta


class Particle(NamedTuple):
    """One point of the posterior."""

    started: IntParticle  # (1,), 1 if there is a particle, else 0
    attraction: FloatParticle  # (n_items,), θ
    examination: FloatParticle  # (n_positions,), κ


def no_particle(params: Any, state: Any) -> Particle:
    """Return room for a particle, which the next ranking will start."""
    n_items, n_positions = state.misses.shape
    return Particle(np.zeros(1, dtype=np.int64), np.zeros(n_items), np.zeros(n_positions))


def take_over(learner: Any, former: Any, clicks: Ints, prior: Beta = UNIFORM) -> None:
    """Let the particle of a learner go on in one of as many items or more.

    New items begin at the mean of their posterior if all were looked at. ``clicks`` are those of
    each item of the new learner.
    """
    particle: Particle = learner.cache.cache
    walked: Particle = former.cache.cache
    if walked.started[0] == 0:
        return
    alpha, beta = prior.for_items(clicks.size)
    wins, losses = alpha + clicks, beta + learner.state.misses.sum(axis=1)
    theta, kappa = wins / (wins + losses), walked.examination.copy()
    theta[: walked.attraction.size] = walked.attraction
    # If a walk has only just begun, not all of its particle may be there: then it begins again.
    if (theta > 0).all() and (theta < 1).all() and (kappa > 0).all() and (kappa <= 1).all():
        particle.attraction[:], particle.examination[:] = theta, kappa
        particle.started[0] = 1
