"""The base class of all estimators, and the rewards of impressions."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Sequence
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from clickrank._core.arrays import Floats
from clickrank._core.validate import check_choice, check_float, check_int
from clickrank.evaluate.estimate import Estimate
from clickrank.logs import Impressions
from clickrank.rankings.distributions import RankingDistribution

#: What a list earns: the number of its "clicks", or 1 if it has "any click".
Reward: TypeAlias = Literal["clicks", "any click"]
#: The log of one query, or the logs of several.
Logs: TypeAlias = Impressions | Sequence[Impressions]
#: The policy to evaluate, or one per query.
Targets: TypeAlias = RankingDistribution | Sequence[RankingDistribution]

#: Importance weights average 1 if the log could show everything that the target shows. An average
#: below this number is refused.
LEAST_COVERAGE = 0.95
#: Number of standard errors by which an average of weights may be off.
TOLERATED_ERRORS = 4.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Estimator(abc.ABC):
    """An estimator of the reward that a target policy would have earned on another policy's log.

    Parameters
    ----------
    reward
        What to count: "clicks", or whether a list has "any click".
    level
        Probability with which each interval is to contain the true value.
    repeats, seed
        Number of bootstrap draws, and the seed of the random numbers.
    """

    #: Its registered name.
    name: ClassVar[str]
    #: One sentence that says what must hold for the value to be right.
    assumes: ClassVar[str]

    reward: Reward = "clicks"
    level: float = 0.95
    repeats: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the settings."""
        owner = type(self).__name__
        check_choice(owner, "reward", self.reward, ("clicks", "any click"))
        check_float(owner, "level", self.level, 0.5, 1.0 - 1e-9)
        check_int(owner, "repeats", self.repeats, 2)
        check_int(owner, "seed", self.seed, 0)

    @abc.abstractmethod
    def estimate(self, log: Logs, target: Targets) -> Estimate:
        """Return the value of a target with its intervals, or raise `CannotEvaluate`.

        For several queries, give one log and one target per query. Every impression has the same
        weight.
        """

    def largest_reward(self, n_positions: int) -> float:
        """Return the largest reward that a list can have."""
        return float(n_positions) if self.reward == "clicks" else 1.0


def rewards_of(log: Impressions, reward: Reward) -> Floats:
    """Return the reward of each position: its click, or whether it has the list's first click."""
    clicks = log.clicks.astype(np.float64)
    if reward == "clicks":
        return clicks
    before = np.cumsum(clicks, axis=1) - clicks
    return np.where(before == 0.0, clicks, 0.0)
