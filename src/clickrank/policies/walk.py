"""A walk about the posterior of attractions and examinations goes on while items come and go.

The particle is scratch, but more than a cache: a new one takes many rounds to get to where the old
one was. And it is of all items, as what is known of positions comes from all of them: a list of
some items is the best of these by the particle, not that of a walk of their own.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from clickrank.types import Floats, Ints


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


def best_by(values: Floats, places: Ints, allowed: Ints) -> Ints:
    """Return the list of the largest of some items, the first of ``places`` for the largest.

    Values are drawn from continuous distributions, so that there are no ties to break.
    """
    ranking = np.empty(places.size, dtype=np.int64)
    ranking[places] = allowed[np.argsort(-values[allowed])[: places.size]]
    return ranking
