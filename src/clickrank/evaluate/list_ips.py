"""Inverse propensity scoring of whole lists.

V̂ = 1/n Σ_i w_i r_i,  w_i = π(A_i) / μ(A_i)  (horvitz1952; li2018)
"""

from __future__ import annotations

from dataclasses import dataclass

from clickrank.evaluate.estimator import rewards_of
from clickrank.evaluate.weighted_terms import WeightedTerms
from clickrank.evaluate.weighting import WeightingEstimator, ratio
from clickrank.logs import Impressions
from clickrank.rankings.distributions import RankingDistribution


@dataclass(frozen=True, kw_only=True)
class ListIPS(WeightingEstimator):
    """Inverse propensity scoring by list: lists that the target shows more often count more.

    V̂ = 1/n Σ_i w_i r_i,  w_i = π(A_i) / μ(A_i), where π is the target, μ the policy that chose the
    lists A_i and r_i the reward of list i. Self-normalised: Σ_i w_i r_i / Σ_i w_i.

    It is unbiased however people click. As there are many lists, the weights are large: it needs a
    small page, a target near the log's policy, or a very long log.

    **Source**: horvitz1952; li2018, section 4.1; self-normalised: swaminathan2015.

    **Differences**: none.

    Parameters
    ----------
    reward, level, repeats, seed
        See `clickrank.evaluate.Estimator`.
    propensities, self_normalised, clip, largest_weight, least_effective
        See `clickrank.evaluate.WeightingEstimator`.

    Examples
    --------
    >>> import numpy as np
    >>> from clickrank.evaluate import Mixture, UniformLists
    >>> shown, clicks = np.array([[0, 1], [1, 0]] * 50), np.array([[1, 0], [0, 0]] * 50)
    >>> log = Impressions(np.array(["a", "b"]), shown, clicks)
    >>> estimator = ListIPS(propensities=UniformLists(2, 2))
    >>> estimator.estimate(log, Mixture([[0, 1]], n_items=2)).value
    1.0
    """

    name = "list-ips"
    assumes = "Holds however people click."
    needs = "whole lists"

    def terms(self, log: Impressions, target: RankingDistribution) -> WeightedTerms:
        """Return the terms of each impression, without checking that the log is sufficient."""
        logged = self.propensities_in(log).prefixes()[:, -1:]
        uncut = ratio(target.prefix_probabilities(log.rankings)[:, -1:], logged)
        weights = self.cut(uncut)
        rewards = rewards_of(log, self.reward).sum(axis=1, keepdims=True)
        most = self.largest_reward(log.rankings.shape[1])
        possible, drawn = self.prefix_bounds(log, target)
        bound = self.bound(uncut, None if possible is None else possible[-1:])
        high = float(bound.sum()) * most
        return WeightedTerms(weights * rewards, weights, uncut, 0.0, high, most, drawn=drawn)
