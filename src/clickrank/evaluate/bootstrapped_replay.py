"""Bootstrapped replay: replay on logs drawn again from the log, as long as it takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clickrank._core.validate import check_int
from clickrank.errors import CannotEvaluate
from clickrank.evaluate.base import rewards_of
from clickrank.evaluate.replay import Replay, pairs_to_replay
from clickrank.evaluate.result import Estimate
from clickrank.logs import Impressions
from clickrank.policies import Policy
from clickrank.rankings.distributions import RankingDistribution
from clickrank.stats.intervals import Interval, student_quantile


@dataclass(frozen=True, kw_only=True)
class BootstrappedReplay(Replay):
    """Bootstrapped replay: how a policy does in the long run, though replay keeps little.

    Replay keeps a share c of the log, so that a policy that learns is judged by its first n c
    rounds. Here logs of n / c impressions are drawn from the log with replacement, and each is
    replayed: it learns for about n rounds. The value is the mean over these logs.

    **Source**: mary2014, Algorithm 3 (BRED).

    **Differences**: 1. The text shakes the features of visitors, so that a policy does not meet the
    same one twice; here are none. A policy then learns of the log's own click rates rather than of
    the true ones: the value is somewhat too high for a log with few impressions of each list.
    2. The text draws the long logs from the log itself. Their values then differ too little: they
    do not know that the log's few impressions of a list might have been others. Here each is drawn
    from a log of n impressions, which is drawn from the log first. 3. The interval is Student's,
    from the spread of these values: quantiles of 40 are too near to each other.

    Parameters
    ----------
    resamples
        How many logs to draw.
    most_rounds
        Of all logs together; with more to play, they are shorter and a note says so.
    propensities, floor, least_effective
        See `clickrank.evaluate.Replay`.
    reward, level, repeats, seed
        See `clickrank.evaluate.Estimator`; ``repeats`` is not used.
    """

    resamples: int = 40
    most_rounds: int = 20_000_000

    name = "bootstrapped-replay"
    assumes = "Holds however people click, but for what the log's own click rates are off by."

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
        # However long the logs drawn from it are, they know no more than what it has itself.
        real, own = self.replayed(pairs, rng)
        n = own.size
        sums = np.zeros(self.resamples)
        counts = np.zeros(self.resamples)
        most = self.most_rounds // self.resamples
        for one, wanted in pairs:
            rewards = rewards_of(one, self.reward).sum(axis=1)
            size = len(rewards)
            _, share = self.chances(one)
            allowed = max(most * size // n, 1)
            length = int(min(size / share, allowed))
            if length < int(size / share):
                notes.append(
                    f"Logs of {length} impressions were drawn, so that the policy is judged by "
                    f"about {length * share:.0f} rounds and not {size}."
                )
            for r in range(self.resamples):
                other = rng.integers(0, size, size)
                kept = self.kept(one, wanted, other[rng.integers(0, size, length)], rng)
                sums[r] += rewards[kept].sum()
                counts[r] += kept.size
        least = max(self.least_effective, 1)
        if counts.min() < least:
            raise CannotEvaluate(
                f"Too little overlap: of a drawn log only {counts.min():.0f} impressions can be "
                f"kept, and at least {least:g} are needed."
            )
        values = sums / counts
        value = float(values.mean())
        # The mean of few logs is itself off, by chance.
        error = float(values.std(ddof=1)) * math.sqrt(1.0 + 1.0 / self.resamples)
        half = student_quantile(self.resamples, self.level) * error
        interval = Interval(value - half, value + half)
        return self.told(value, interval, real, own, pairs, notes)
