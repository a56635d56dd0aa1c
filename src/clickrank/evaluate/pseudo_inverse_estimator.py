"""The pseudo-inverse estimator of whole lists (slates).

V̂ = 1/n Σ_i r_i q_πᵀ Γ_μ⁺ 1_{A_i},  Γ_μ = E_μ[1_A 1_Aᵀ],  q_π = E_π[1_A]  (swaminathan2017)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clickrank._core.arrays import Floats, Ints
from clickrank.errors import CannotEvaluate
from clickrank.evaluate.estimator import rewards_of
from clickrank.evaluate.log_propensities import OTHER_SOURCES, known_policy
from clickrank.evaluate.targets import check_of_log, shown_in
from clickrank.evaluate.weighted_terms import WeightedTerms
from clickrank.evaluate.weighting import WeightingEstimator
from clickrank.logs import Impressions
from clickrank.rankings.distributions import Mixture, RankingDistribution

#: Largest number of pairs of item and position; a matrix of this size is inverted.
MOST_PAIRS = 3000
#: Eigenvalues below this share of the largest one count as 0.
LEAST_EIGENVALUE = 1e-9


@dataclass(frozen=True, kw_only=True)
class PseudoInverse(WeightingEstimator):
    """Pseudo-inverse estimator: the reward of a list is a sum over its items at their positions.

    V̂ = 1/n Σ_i r_i q_πᵀ Γ_μ⁺ 1_{A_i},  Γ_μ = E_μ[1_A 1_Aᵀ],  q_π = E_π[1_A], where π is the
    target, μ the policy that chose the lists, r_i the reward of list i, Γ⁺ the Moore-Penrose
    inverse, and 1_A the vector with one entry per pair of item and position, which is 1 if list A
    has the item there. Self-normalised: divided by the average of q_πᵀ Γ_μ⁺ 1_{A_i}.

    It is unbiased if the expected reward of a list is a sum of unknown numbers, one per pair of
    item and position, and if q_π is a combination of lists that μ shows. It uses only the reward of
    the whole list, and need not know which item earned it. Where the clicks of positions are
    logged, item-position-ips uses them under nearly the same assumption. Weights may be negative.

    **Source**: swaminathan2017, eq. 4; self-normalised (wPI): its section 3.

    **Differences**: 1. Γ_μ is computed from the policy that chose the lists if it is given, or from
    the frequencies of the log's lists. It cannot be computed from the propensities of single
    impressions, so that "logged" is refused. 2. A policy with very many lists is replaced by lists
    drawn from it. 3. If q_π is not a combination of lists that μ shows, an error is raised instead
    of returning a biased value.

    Parameters
    ----------
    reward, level, repeats, seed
        See `clickrank.evaluate.Estimator`.
    propensities, self_normalised, clip, largest_weight, least_effective
        See `clickrank.evaluate.WeightingEstimator`.

    Examples
    --------
    >>> from clickrank.evaluate import Mixture
    >>> shown, clicks = np.array([[0, 1], [1, 0]] * 50), np.array([[1, 0], [0, 0]] * 50)
    >>> log = Impressions(np.array(["a", "b"]), shown, clicks)
    >>> estimator = PseudoInverse(propensities="uniform")
    >>> round(estimator.estimate(log, Mixture([[0, 1]], n_items=2)).value, 6)
    1.0
    """

    name = "pseudo-inverse"
    assumes = "Holds if the reward of a list is a sum over its items at their positions."
    needs = "combinations of items at positions"

    def terms(self, log: Impressions, target: RankingDistribution) -> WeightedTerms:
        """Return the terms of each impression, without checking that the log is sufficient."""
        logging = self._logging(log)
        pairs, weight_of_pair = _weights(logging, target)

        def weights_of(rankings: Ints) -> Floats:
            numbers = pairs[rankings, np.arange(rankings.shape[1])]
            found: Floats = np.where(numbers >= 0, weight_of_pair[numbers], 0.0).sum(axis=1)
            return found[:, None]

        uncut = weights_of(log.rankings)
        weights = self.cut(uncut)
        rewards = rewards_of(log, self.reward).sum(axis=1, keepdims=True)
        most = self.largest_reward(log.rankings.shape[1])
        possible = weights_of(logging.rankings[logging.probabilities > 0.0])
        bound = self.bound(uncut, possible.max(axis=0))
        low = min(0.0, float(possible.min()) * most)
        high = float(bound.sum()) * most
        drawn = not logging.exact
        return WeightedTerms(weights * rewards, weights, uncut, low, high, most, drawn=drawn)

    def _logging(self, log: Impressions) -> Mixture:
        """Return the policy that chose the lists as a mixture of lists."""
        if self.propensities == "estimated":
            return shown_in(log).as_mixture(self.seed)
        logging = known_policy(log, self.propensities)
        if logging is None:
            raise CannotEvaluate(
                "Propensities of impressions do not say how often items are shown together: "
                f"{OTHER_SOURCES} or, in Python, to the policy that chose the lists."
            )
        check_of_log(logging, log, "propensities")
        return logging.as_mixture(self.seed)


def _weights(logging: Mixture, target: RankingDistribution) -> tuple[Ints, Floats]:
    """Return the number of each pair of item and position, -1 if it is never shown, and Γ⁺q."""
    marginals = logging.marginals()
    shown = marginals > 0.0
    pairs = np.where(shown, np.cumsum(shown).reshape(shown.shape) - 1, -1)
    size = int(shown.sum())
    if size > MOST_PAIRS:
        raise CannotEvaluate(
            f"Too many pairs of item and position: {size} are shown, and at most {MOST_PAIRS} are "
            "possible."
        )
    wanted = target.marginals()
    rankings = logging.rankings[logging.probabilities > 0.0]
    weights = logging.probabilities[logging.probabilities > 0.0]
    numbers = pairs[rankings, np.arange(rankings.shape[1])]
    gamma = np.zeros((size, size))
    for one in numbers.T:
        for two in numbers.T:
            np.add.at(gamma, (one, two), weights)
    values, vectors = np.linalg.eigh(gamma)
    large = values > LEAST_EIGENVALUE * values[-1]
    along = vectors[:, large].T @ wanted[shown]
    rest = wanted[shown] - vectors[:, large] @ along
    if wanted[~shown].any() or np.abs(rest).max() > np.sqrt(LEAST_EIGENVALUE):
        raise CannotEvaluate(
            "No overlap: what the policy shows is not a combination of lists of the log (this "
            "estimator compares items at their positions)."
        )
    return pairs, vectors[:, large] @ (along / values[large])
