"""Cascade doubly robust estimator: a click model's value, corrected by the clicks of the log.

V̂ = 1/n Σ_i Σ_k [ w_ik (c_ik - Q̂_k(a_i1, …, a_ik)) + w_i,k-1 E_π Q̂_k(a_i1, …, a_i,k-1, ·) ],
w_ik = π(a_i1, …, a_ik) / μ(a_i1, …, a_ik)  (kiyohara2022)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clickrank._core.arrays import Floats, Ints
from clickrank._core.defaults import DEFAULT_CLICK_MODEL
from clickrank.clickmodels import ClickModel
from clickrank.evaluate.click_model_rewards import (
    ModelOrFit,
    check_model,
    expected_rewards,
    model_of,
)
from clickrank.evaluate.estimator import rewards_of
from clickrank.evaluate.usable_impressions import part
from clickrank.evaluate.weighted_terms import WeightedTerms
from clickrank.evaluate.weighting import WeightingEstimator, ratio
from clickrank.logs import Impressions
from clickrank.rankings.distributions import Mixture, RankingDistribution
from clickrank.rankings.enumeration import number_prefixes


@dataclass(frozen=True, kw_only=True)
class CascadeDR(WeightingEstimator):
    """Cascade doubly robust: the value of a click model, with weights only for its errors.

    V̂ = 1/n Σ_i Σ_k [ w_ik (c_ik - Q̂_k(a_i1, …, a_ik))
    + w_i,k-1 Σ_a π(a | a_i1, …, a_i,k-1) Q̂_k(a_i1, …, a_i,k-1, a) ],
    w_ik = π(a_i1, …, a_ik) / μ(a_i1, …, a_ik) and w_i0 = 1, where π is the target, μ the policy
    that chose the lists, a_ik the item at position k of list i and c_ik its click. Q̂_k is the
    reward that a click model expects from position k on, if the target continues this prefix.

    It is unbiased under the assumption of reward interaction IPS, whatever the click model says.
    The better the click model, the smaller the variance. Self-normalised: each sum of weighted
    terms is divided by the average of its weights.

    **Source**: kiyohara2022, section 4.1.

    **Differences**: 1. A click model that is to be fitted is fitted to each half of the log, for
    the terms of the other half: it has not seen the clicks that correct it. 2. For the reward "any
    click", the model's probability of a click is divided among the positions in proportion to their
    click probabilities.

    Parameters
    ----------
    model
        A click model, the name of one to fit to the log, or a function from counts to one.
    reward, level, repeats, seed
        See `clickrank.evaluate.Estimator`.
    propensities, self_normalised, clip, largest_weight, least_effective
        See `clickrank.evaluate.WeightingEstimator`.
    """

    model: ModelOrFit = DEFAULT_CLICK_MODEL

    name = "cascade-dr"
    assumes = "Holds if people read from the top down: a click depends on no item below."
    needs = "prefixes of lists"

    def terms(self, log: Impressions, target: RankingDistribution) -> WeightedTerms:
        """Return the terms of each impression, without checking that the log is sufficient."""
        owner = type(self).__name__
        lists = target.as_mixture(self.seed)
        logged = self.propensities_in(log).prefixes()
        uncut = ratio(lists.prefix_probabilities(log.rankings), logged)
        possible, drawn = self.prefix_bounds(log, lists)
        bound = np.append(1.0, self.bound(uncut, possible))
        n, width = log.rankings.shape
        with_item, before_item = np.empty((n, width)), np.empty((n, width))
        if isinstance(self.model, ClickModel):
            check_model(self.model, log, owner)
            with_item[:], before_item[:] = self._expected(self.model, lists, log)
        else:
            for half in (0, 1):
                other = model_of(self.model, part(log, slice(1 - half, None, 2)).counts(), owner)
                with_item[half::2], before_item[half::2] = self._expected(
                    other, lists, part(log, slice(half, None, 2))
                )
        weights = self.cut(uncut)
        before = np.hstack([np.ones((n, 1)), weights[:, :-1]])
        rewards = rewards_of(log, self.reward)
        errors = weights * (rewards - with_item)
        most_with, most_before = with_item.max(axis=0), before_item.max(axis=0)
        return WeightedTerms(
            np.hstack([errors, before * before_item]),
            np.hstack([weights, before]),
            np.hstack([uncut, np.ones((n, 1)), uncut[:, :-1]]),
            low=float(-bound[1:] @ most_with),
            high=float(bound[1:].sum() + bound[:-1] @ most_before),
            largest_factor=width,
            clicked=np.any(weights * rewards > 0.0, axis=1),
            drawn=drawn,
        )

    @property
    def independent(self) -> bool:
        """Whether the terms are independent, which they are not if the click model is fitted."""
        return super().independent and isinstance(self.model, ClickModel)

    def _expected(
        self, model: ClickModel, lists: Mixture, log: Impressions
    ) -> tuple[Floats, Floats]:
        """Return Q̂ of each prefix in the log, and its expectation before the prefix's last item.

        Both are averages over the target's lists with that prefix. Prefixes that none of them has
        get 0; their weight is 0 too.
        """
        rewards = expected_rewards(model, lists.rankings, self.reward)
        rest = np.cumsum(rewards[:, ::-1], axis=1)[:, ::-1]  # from each position on
        weights = lists.probabilities
        (ours, theirs), sizes = number_prefixes(lists.n_items, lists.rankings, log.rankings)
        with_item, before_item = np.empty(theirs.shape), np.empty(theirs.shape)
        for k, size in enumerate(sizes):
            with_item[:, k] = _average(ours[:, k], weights, rest[:, k], size)[theirs[:, k]]
            if k == 0:
                before_item[:, 0] = weights @ rest[:, 0]
            else:
                after = _average(ours[:, k - 1], weights, rest[:, k], sizes[k - 1])
                before_item[:, k] = after[theirs[:, k - 1]]
        return with_item, before_item


def _average(number: Ints, weights: Floats, values: Floats, size: int) -> Floats:
    """Return the weighted mean of the values with each number, and a 0 after the last."""
    mass = np.bincount(number, weights=weights, minlength=size + 1)
    total = np.bincount(number, weights=weights * values, minlength=size + 1)
    return np.divide(total, mass, out=np.zeros(size + 1), where=mass > 0.0)
