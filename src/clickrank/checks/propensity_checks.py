"""A check of propensities: the probabilities that policies state for their lists."""

from __future__ import annotations

import numpy as np

from clickrank.checks.playing import Make, assert_same, learner_for, play
from clickrank.policies import Policy
from clickrank.policies._shared.packed_states import first_state


def check_propensities(cls: type[Policy], make: Make) -> None:
    """Propensities sum to one, asking for them changes nothing, and lists shown are possible.

    They do not depend on what `rank` leaves in the cache, unless the policy declares that.
    """
    name = cls.__name__
    for rounds in (0, 40):
        learner, model = learner_for(cls, make)
        play(learner, model, rounds, seed=17)
        rng = np.random.default_rng(0)
        learner.rank(rng)  # a list in flight
        before = learner.arrays()
        found = learner.propensities(seed=1, accuracy=0.05)
        assert_same(before, learner.arrays(), f"{name}: asking for propensities changed")
        marginals = found.marginals
        assert (marginals >= 0).all(), f"{name}: a propensity is {marginals.min()}"
        by_position, by_item = marginals.sum(axis=0), marginals.sum(axis=1)
        assert np.allclose(by_position, 1.0), f"{name}: propensities sum to {by_position}"
        assert (by_item < 1.0 + 1e-9).all(), f"{name}: an item is shown {by_item.max()} times"
        for _ in range(20):
            ranking, _ = learner.fork().rank(rng)
            prefix = found.of_shown(ranking)[1]
            falls = (np.diff(prefix) < 1e-12).all() and prefix[-1] > 0.0
            assert falls, f"{name}: {ranking} came, with propensities {prefix}"
        if not cls.rank_remembers:
            made = first_state(learner.policy, learner.n_items, learner.n_positions)
            learner.state = made._replace(**learner.statistics())
            fresh = learner.propensities(seed=1, accuracy=0.05).marginals
            same = np.array_equal(marginals, fresh)
            assert same, f"{name}: rank_remembers must be set: lists depend on those before"
