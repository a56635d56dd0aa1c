"""Cascade doubly robust: a click model's guess, corrected from the top down by what was clicked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clickrank._core.arrays import Floats, Ints
from clickrank.clickmodels import ClickModel
from clickrank.evaluate.base import WeightingEstimator, ratio, rewards_of
from clickrank.evaluate.models import (
    ModelOrFit,
    check_model,
    expected_rewards,
    model_of,
)
from clickrank.evaluate.propensities import known_policy
from clickrank.evaluate.reward_interaction import largest_prefix_weights
from clickrank.evaluate.terms import Terms
from clickrank.evaluate.usable_part import part
from clickrank.logs import Impressions
from clickrank.rankings.distributions import Mixture, RankingDistribution
from clickrank.rankings.enumeration import number_prefixes


@dataclass(frozen=True, kw_only=True)
class CascadeDR(WeightingEstimator):
    """Cascade doubly robust: the fitted model's value, and weights only for where it errs.

    V̂ = 1/n Σ_i Σ_k [ w_ik (c_ik - Q̂_k(a_i1, …, a_ik))
    + w_i,k-1 Σ_a π(a | a_i1, …, a_i,k-1) Q̂_k(a_i1, …, a_i,k-1, a) ],
    w_ik = π(a_i1, …, a_ik) / μ(a_i1, …, a_ik) and w_i0 = 1. Q̂_k is what a click model expects from
    position k on, after this beginning, if the target goes on.

    Unbiased under the assumption of reward-interaction IPS, whatever the click model says; the
    better that is, the smaller the variance. Self-normalised: each sum of weighted terms is divided
    by the average of its weights.

    **Source**: kiyohara2022, section 4.1.

    **Differences**: 1. A click model that is fitted is fitted on one half of the log for the terms
    of the other and the other way round, so that it does not know the clicks that it is corrected
    by. 2. With any click, the model's chance of one is spread over the positions as its clicks are.

    Parameters
    ----------
    model
        A click model, the name of one to fit to the log, or a function from counts to one.
    reward, level, repeats, seed
        See `clickrank.evaluate.Estimator`.
    propensities, self_normalised, clip, largest_weight, least_effective
        See `clickrank.evaluate.WeightingEstimator`.
    """

    model: ModelOrFit = "pbm"

    name = "cascade-dr"
    assumes = "Holds if people read from the top down: a click depends on no item below."
    needs = "beginnings of lists"

    def terms(self, log: Impressions, target: RankingDistribution) -> Terms:
        """Return the terms of each impression, without a look at whether the log suffices."""
        owner = type(self).__name__
        lists = target.as_mixture(self.seed)
        logged = self.propensities_in(log).prefixes()
        full = ratio(lists.prefix_probabilities(log.rankings), logged)
        possible, drawn = None, False
        logging = known_policy(log, self.propensities)
        if logging is not None:
            possible, drawn = largest_prefix_weights(lists, logging, self.seed)
        bound = np.append(1.0, self.bound(full, possible))
        n, width = log.rankings.shape
        now, ahead = np.empty((n, width)), np.empty((n, width))
        if isinstance(self.model, ClickModel):
            check_model(self.model, log, owner)
            now[:], ahead[:] = self._expected(self.model, lists, log)
        else:
            for half in (0, 1):
                other = model_of(self.model, part(log, slice(1 - half, None, 2)).counts(), owner)
                now[half::2], ahead[half::2] = self._expected(
                    other, lists, part(log, slice(half, None, 2))
                )
        weights = self.cut(full)
        before = np.hstack([np.ones((n, 1)), weights[:, :-1]])
        rewards = rewards_of(log, self.reward)
        misses = weights * (rewards - now)
        most_now, most_ahead = now.max(axis=0), ahead.max(axis=0)
        return Terms(
            np.hstack([misses, before * ahead]),
            np.hstack([weights, before]),
            np.hstack([full, np.ones((n, 1)), full[:, :-1]]),
            low=float(-bound[1:] @ most_now),
            high=float(bound[1:].sum() + bound[:-1] @ most_ahead),
            scale=width,
            clicked=np.any(weights * rewards > 0.0, axis=1),
            drawn=drawn,
        )

    @property
    def independent(self) -> bool:
        """Whether its terms are independent: not so if the click model is fitted to the log."""
        return super().independent and isinstance(self.model, ClickModel)

    def _expected(
        self, model: ClickModel, lists: Mixture, log: Impressions
    ) -> tuple[Floats, Floats]:
        """Return Q̂ of each beginning in the log, and its expectation one item before.

        Both are averages over the target's lists that begin so. What none of them begins with has
        no weight, and gets 0.
        """
        rewards = expected_rewards(model, lists.rankings, self.reward)
        rest = np.cumsum(rewards[:, ::-1], axis=1)[:, ::-1]  # from each position on
        chances = lists.probabilities
        (own, other), sizes = number_prefixes(lists.n_items, lists.rankings, log.rankings)
        now, ahead = np.empty(other.shape), np.empty(other.shape)
        for k, size in enumerate(sizes):
            now[:, k] = _average(own[:, k], chances, rest[:, k], size)[other[:, k]]
            if k == 0:
                ahead[:, 0] = chances @ rest[:, 0]
            else:
                after = _average(own[:, k - 1], chances, rest[:, k], sizes[k - 1])
                ahead[:, k] = after[other[:, k - 1]]
        return now, ahead


def _average(number: Ints, chances: Floats, values: Floats, size: int) -> Floats:
    """Return the mean of values by number, and a 0 after the last."""
    mass = np.bincount(number, weights=chances, minlength=size + 1)
    total = np.bincount(number, weights=chances * values, minlength=size + 1)
    return np.divide(total, mass, out=np.zeros(size + 1), where=mass > 0.0)
