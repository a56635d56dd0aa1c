"""Bootstrapped replay: replay on long logs that are drawn from the log with replacement.

V̂ = mean of replay's estimates on logs of n / c impressions, where replay keeps a share c
(mary2014)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clickrank._core.validate import check_int
from clickrank.errors import CannotEvaluate
from clickrank.evaluate.estimate import Estimate
from clickrank.evaluate.estimator import rewards_of
from clickrank.evaluate.replay import Replay, pairs_to_replay
from clickrank.logs import Impressions
from clickrank.policies import Policy
from clickrank.rankings.distributions import RankingDistribution
from clickrank.stats.intervals import Interval, student_quantile


@dataclass(frozen=True, kw_only=True)
class BootstrappedReplay(Replay):
    """Bootstrapped replay: the long-run value of a policy, although replay keeps little of a log.

    Replay keeps a share c of the log, so that a policy that learns is evaluated on its first n c
    rounds. Here logs of n / c impressions are drawn from the log with replacement and replayed, so
    that the policy learns for about n rounds. The value is the mean over these logs.

    **Source**: mary2014, Algorithm 3 (BRED).

    **Differences**: 1. The paper adds noise to the features of visitors, so that a policy does not
    meet the same visitor twice; here visitors have no features. A policy then learns the click
    rates of the log rather than the true ones, and the value is somewhat too high for a log with
    few impressions of each list. 2. The paper draws the long logs from the log itself. Their values
    then vary too little, as they ignore that the log's few impressions of a list are random. Here
    each long log is drawn from a log of n impressions that is itself drawn from the log. 3. The
    interval is Student's, from the standard deviation of these values: the quantiles of 40 values
    are too close together.

    Parameters
    ----------
    resamples
        Number of logs to draw.
    most_rounds
        Largest number of impressions in all drawn logs together. If they would have more, they are
        shortened and a note says so.
    propensities, floor, least_effective
        See `clickrank.evaluate.Replay`.
    reward, level, repeats, seed
        See `clickrank.evaluate.Estimator`; ``repeats`` is not used.
    """

    resamples: int = 40
    most_rounds: int = 20_000_000

    name = "bootstrapped-replay"
    assumes = "Holds however people click, apart from errors in the click rates of the log."

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        check_int(type(self).__name__, "resamples", self.resamples, 2)
        check_int(type(self).__name__, "most_rounds", self.most_rounds, 1)

    def estimate(
        self,
        log: Impressions | Sequence[Impressions],
        target: RankingDistribution | Policy | Sequence[RankingDistribution | Policy],
    ) -> Estimate:
        """Return the value of a target, or of a policy that learns for about n rounds."""
        pairs, notes = pairs_to_replay(log, target, self.propensities)
        rng = self.rng()
        # The drawn logs are long, but have no more information than the log itself.
        rewards_kept, logged = self.replayed(pairs, rng)
        n = logged.size
        sums = np.zeros(self.resamples)
        counts = np.zeros(self.resamples)
        most = self.most_rounds // self.resamples
        for one, wanted in pairs:
            rewards = rewards_of(one, self.reward).sum(axis=1)
            size = len(rewards)
            _, share = self.acceptance_rates(one)
            allowed = max(most * size // n, 1)
            length = int(min(size / share, allowed))
            if length < int(size / share):
                notes.append(
                    f"Logs of {length} impressions were drawn, so that the policy is evaluated on "
                    f"about {length * share:.0f} rounds instead of {size}."
                )
            for r in range(self.resamples):
                other = rng.integers(0, size, size)
                kept = self.kept(one, wanted, other[rng.integers(0, size, length)], rng)
                sums[r] += rewards[kept].sum()
                counts[r] += kept.size
        least = max(self.least_effective, 1)
        if counts.min() < least:
            raise CannotEvaluate(
                f"Too little overlap: only {counts.min():.0f} impressions of a drawn log can be "
                f"kept, and at least {least:g} are needed."
            )
        values = sums / counts
        value = float(values.mean())
        # The mean of a few logs has a standard error of its own.
        error = float(values.std(ddof=1)) * math.sqrt(1.0 + 1.0 / self.resamples)
        half = student_quantile(self.resamples, self.level) * error
        interval = Interval(value - half, value + half)
        return self._result(value, interval, rewards_kept, logged, pairs, notes)
