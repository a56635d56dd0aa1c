"""A check that a restart costs no clicks: statistics suffice to continue."""

from __future__ import annotations

import numpy as np

from clickrank._core.rng import streams
from clickrank.checks.playing import Make, matched_model, reward_of_run
from clickrank.learning import Learner
from clickrank.policies import Policy

LEARNED, MORE = 3000, 300  # rounds before and after the restart
# If a restart makes no difference, both are equally likely to earn less. The probability that the
# restarted one does so in 35 or more of 40 runs is Σ_{j ≤ 5} C(40, j) / 2^40 = 7e-7.
RUNS, WORSE = 40, 35


def check_restart(cls: type[Policy], make: Make) -> None:
    """After a restart from its statistics, a policy earns as much as without one.

    In each run it learns, and then plays some more rounds twice: as it is, and with the cache of
    a new process. Both meet the same visitors. The check fails if the restarted one earns less in
    nearly all runs; for a policy that loses nothing the probability of that is below 1e-6.
    """
    model = matched_model(cls, 6, 3)
    policy = make(model, LEARNED + MORE)
    lost = np.zeros(RUNS)
    for run in range(RUNS):
        learner, restarted = (Learner(policy, 6, model.n_positions) for _ in range(2))
        rng = streams(16, run)
        reward_of_run(learner, model, LEARNED, rng.policy, rng.users)
        restarted.state = restarted.state._replace(**learner.statistics())
        for each, sign in ((learner, 1.0), (restarted, -1.0)):
            rng = streams(17, run)
            lost[run] += sign * reward_of_run(each, model, MORE, rng.policy, rng.users)
    worse = int((lost > 0.0).sum())
    assert worse < WORSE, (
        f"{cls.__name__}: after a restart from its statistics it earns less in {worse} of {RUNS} "
        f"runs, on average by {lost.mean():.2f} in {MORE} rounds"
    )
