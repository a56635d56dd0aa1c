"""Reward interaction inverse propensity scoring: weights of prefixes of lists.

V̂ = 1/n Σ_i Σ_k w_ik c_ik,  w_ik = π(a_i1, …, a_ik) / μ(a_i1, …, a_ik)  (mcinerney2020)
"""

from __future__ import annotations

from dataclasses import dataclass

from clickrank.evaluate.estimator import rewards_of
from clickrank.evaluate.weighted_terms import WeightedTerms
from clickrank.evaluate.weighting import WeightingEstimator, ratio
from clickrank.logs import Impressions
from clickrank.rankings.distributions import RankingDistribution


@dataclass(frozen=True, kw_only=True)
class RewardInteractionIPS(WeightingEstimator):
    """Reward interaction IPS: a click is weighted by the prefix of the list that ends with it.

    V̂ = 1/n Σ_i Σ_k w_ik c_ik,  w_ik = π(a_i1, …, a_ik) / μ(a_i1, …, a_ik), where π is the target,
    μ the policy that chose the lists, a_ik the item at position k of list i and c_ik its click.
    Self-normalised: each position is divided by its average weight.

    It is unbiased if a click depends on the clicked item and the items above it, but not on those
    below, as for people who read from the top down. Its weights are smaller than those of whole
    lists.

    **Source**: mcinerney2020, section 4.

    **Differences**: the paper's estimator is the self-normalised one.

    Parameters
    ----------
    reward, level, repeats, seed
        See `clickrank.evaluate.Estimator`.
    propensities, self_normalised, clip, largest_weight, least_effective
        See `clickrank.evaluate.WeightingEstimator`.
    """

    name = "rips"
    assumes = "Holds if people read from the top down: a click depends on no item below."
    needs = "prefixes of lists"

    def terms(self, log: Impressions, target: RankingDistribution) -> WeightedTerms:
        """Return the terms of each impression, without checking that the log is sufficient."""
        logged = self.propensities_in(log).prefixes()
        uncut = ratio(target.prefix_probabilities(log.rankings), logged)
        weights = self.cut(uncut)
        possible, drawn = self.prefix_bounds(log, target)
        bound = self.bound(uncut, possible)
        # With the reward "any click", only one position of a list has a reward.
        high = float(bound.sum() if self.reward == "clicks" else bound.max())
        values = weights * rewards_of(log, self.reward)
        return WeightedTerms(values, weights, uncut, 0.0, high, drawn=drawn)
