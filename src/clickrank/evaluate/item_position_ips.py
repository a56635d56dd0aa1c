"""Inverse propensity scoring of items at positions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clickrank.evaluate.base import WeightingEstimator, ratio, rewards_of
from clickrank.evaluate.terms import Terms
from clickrank.logs import Impressions
from clickrank.logs.counts import NOTHING
from clickrank.rankings.distributions import RankingDistribution


@dataclass(frozen=True, kw_only=True)
class ItemPositionIPS(WeightingEstimator):
    """Inverse propensity by item and position: a click counts as the target shows that item there.

    V̂ = 1/n Σ_i Σ_k w_ik c_ik,  w_ik = π(a_ik at k) / μ(a_ik at k), with a_ik the item at position
    k of list i and c_ik its click. Self-normalised: each position is divided by its own average
    weight.

    Unbiased if a click depends on the item and its position alone, and not on what else is on the
    page. Then it needs far fewer impressions than whole lists do.

    **Source**: li2018, section 4.2.

    **Differences**: a log of single displays, which does not say what was shown together, will
    do: each position is averaged over its own displays.

    Parameters
    ----------
    reward, level, repeats, seed
        See `clickrank.evaluate.Estimator`.
    propensities, self_normalised, clip, largest_weight, least_effective
        See `clickrank.evaluate.WeightingEstimator`. The reward
        must be "clicks".
    """

    name = "item-position-ips"
    assumes = "Holds if a click depends on the item and its position alone."
    needs = "items at their positions"
    needs_lists = False
    knows_any_click = False

    def terms(self, log: Impressions, target: RankingDistribution) -> Terms:
        """Return the terms of each impression, without a look at whether the log suffices."""
        found = self.propensities_in(log)
        table = target.marginals()
        width = log.rankings.shape[1]
        there = log.rankings != NOTHING
        wanted = np.where(there, table[log.rankings, range(width)], 0.0)
        full = ratio(wanted, found.marginals())
        weights = self.cut(full)
        possible = None
        if found.source == "known":
            possible = ratio(table, found.table).max(axis=0)
        bound = self.bound(full, possible)
        values = weights * rewards_of(log, self.reward)
        if there.all():
            return Terms(values, weights, full, 0.0, float(bound.sum()))
        known = there.astype(np.float64)
        return Terms(values, weights, full, 0.0, float(bound.max()), there=known)
