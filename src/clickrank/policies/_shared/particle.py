"""The particle (θ, κ) of an MCMC policy: a random walk in the posterior of the page.

It cannot be computed from the statistics, and one that starts at random takes thousands of rounds
to reach the region where the old one was. It is therefore carried over when items come and go; how
one starts is in `particle_start`. It always covers all items, because examination is estimated from
all of them.
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
    """Return arrays for a particle, which the next ranking will start."""
    n_items, n_positions = state.misses.shape
    return Particle(np.zeros(1, dtype=np.int64), np.zeros(n_items), np.zeros(n_positions))


def take_over(learner: Any, former: Any, clicks: Ints, prior: Beta = UNIFORM) -> None:
    """Continue the particle of a learner in another one, which has as many items or more.

    New items begin at their posterior mean as if all their impressions had been examined.
    ``clicks`` has the clicks on each item of the new learner.
    """
    particle: Particle = learner.cache.cache
    walked: Particle = former.cache.cache
    if walked.started[0] == 0:
        return
    alpha, beta = prior.for_items(clicks.size)
    wins, losses = alpha + clicks, beta + learner.state.misses.sum(axis=1)
    theta, kappa = wins / (wins + losses), walked.examination.copy()
    theta[: walked.attraction.size] = walked.attraction
    # If a walk has only just begun, its particle may be incomplete: then it begins again.
    if (theta > 0).all() and (theta < 1).all() and (kappa > 0).all() and (kappa <= 1).all():
        particle.attraction[:], particle.examination[:] = theta, kappa
        particle.started[0] = 1
