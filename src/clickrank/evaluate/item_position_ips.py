"""Inverse propensity scoring of items at positions.

V̂ = 1/n Σ_i Σ_k w_ik c_ik,  w_ik = π(a_ik at k) / μ(a_ik at k)  (li2018)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clickrank.evaluate.estimator import rewards_of
from clickrank.evaluate.weighted_terms import WeightedTerms
from clickrank.evaluate.weighting import WeightingEstimator, ratio
from clickrank.logs import Impressions
from clickrank.logs.counts import NOTHING
from clickrank.rankings.distributions import RankingDistribution


@dataclass(frozen=True, kw_only=True)
class ItemPositionIPS(WeightingEstimator):
    """Inverse propensity scoring by item and position.

    V̂ = 1/n Σ_i Σ_k w_ik c_ik,  w_ik = π(a_ik at k) / μ(a_ik at k), where π is the target, μ the
    policy that chose the lists, a_ik the item at position k of list i and c_ik its click.
    Self-normalised: each position is divided by its average weight.

    It is unbiased if a click depends on the item and its position alone, and not on the other items
    of the page. It then needs far fewer impressions than estimators of whole lists.

    **Source**: li2018, section 4.2.

    **Differences**: it also takes a log of single displays, which does not say which items were
    shown together. Each position is then averaged over its own displays.

    Parameters
    ----------
    reward, level, repeats, seed
        See `clickrank.evaluate.Estimator`. The reward must be "clicks".
    propensities, self_normalised, clip, largest_weight, least_effective
        See `clickrank.evaluate.WeightingEstimator`.
    """

    name = "item-position-ips"
    assumes = "Holds if a click depends on the item and its position alone."
    needs = "items at their positions"
    needs_lists = False
    knows_any_click = False

    def terms(self, log: Impressions, target: RankingDistribution) -> WeightedTerms:
        """Return the terms of each impression, without checking that the log is sufficient."""
        found = self.propensities_in(log)
        table = target.marginals()
        width = log.rankings.shape[1]
        there = log.rankings != NOTHING
        wanted = np.where(there, table[log.rankings, range(width)], 0.0)
        uncut = ratio(wanted, found.marginals())
        weights = self.cut(uncut)
        possible = None
        if found.source == "known":
            possible = ratio(table, found.table).max(axis=0)
        bound = self.bound(uncut, possible)
        values = weights * rewards_of(log, self.reward)
        if there.all():
            return WeightedTerms(values, weights, uncut, 0.0, float(bound.sum()))
        observed = there.astype(np.float64)
        return WeightedTerms(values, weights, uncut, 0.0, float(bound.max()), observed=observed)
