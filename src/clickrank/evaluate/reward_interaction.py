"""Reward interaction inverse propensity scoring: weights of what was shown from the top down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clickrank._core.arrays import Floats
from clickrank.evaluate.base import WeightingEstimator, ratio, rewards_of
from clickrank.evaluate.propensities import known_policy
from clickrank.evaluate.terms import Terms
from clickrank.logs import Impressions
from clickrank.rankings.distributions import RankingDistribution


@dataclass(frozen=True, kw_only=True)
class RewardInteractionIPS(WeightingEstimator):
    """Reward interaction IPS: a click counts as the target begins lists like that, down to it.

    V̂ = 1/n Σ_i Σ_k w_ik c_ik,  w_ik = π(a_i1, …, a_ik) / μ(a_i1, …, a_ik). Self-normalised: each
    position is divided by its own average weight.

    Unbiased if a click depends on the items above and on its own, and not on those below: people
    who read from the top down. Weights are smaller than those of whole lists.

    **Source**: mcinerney2020, section 4.

    **Differences**: the paper's own estimator is the self-normalised one.

    Parameters
    ----------
    reward, level, repeats, seed
        See `clickrank.evaluate.Estimator`.
    propensities, self_normalised, clip, largest_weight, least_effective
        See `clickrank.evaluate.WeightingEstimator`.
    """

    name = "rips"
    assumes = "Holds if people read from the top down: a click depends on no item below."
    needs = "beginnings of lists"

    def terms(self, log: Impressions, target: RankingDistribution) -> Terms:
        """Return the terms of each impression, without a look at whether the log suffices."""
        logged = self.propensities_in(log).prefixes()
        full = ratio(target.prefix_probabilities(log.rankings), logged)
        weights = self.cut(full)
        possible, drawn = None, False
        logging = known_policy(log, self.propensities)
        if logging is not None:
            possible, drawn = largest_prefix_weights(target, logging, self.seed)
        bound = self.bound(full, possible)
        # With any click, only one position earns.
        high = float(bound.sum() if self.reward == "clicks" else bound.max())
        values = weights * rewards_of(log, self.reward)
        return Terms(values, weights, full, 0.0, high, drawn=drawn)


def largest_prefix_weights(
    target: RankingDistribution, logging: RankingDistribution, seed: int
) -> tuple[Floats, bool]:
    """Return the largest weight of beginnings of lists, by position, and if only of draws."""
    found = target.as_mixture(seed)
    lists = found.rankings
    ours, theirs = target.prefix_probabilities(lists), logging.prefix_probabilities(lists)
    return np.asarray(ratio(ours, theirs).max(axis=0)), not found.exact
