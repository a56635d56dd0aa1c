"""Inverse propensity scoring of items in the position-based model.

V̂ = 1/n Σ_i Σ_k w(a_ik) c_ik,  w(a) = Σ_k κ_k π(a at k) / Σ_k κ_k μ(a at k)  (li2018)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clickrank._core.arrays import Floats, Vector, bounded_vector
from clickrank.errors import CannotEvaluate
from clickrank.evaluate.estimator import rewards_of
from clickrank.evaluate.log_propensities import known_policy
from clickrank.evaluate.weighted_terms import WeightedTerms
from clickrank.evaluate.weighting import WeightingEstimator, ratio
from clickrank.logs import Impressions
from clickrank.rankings.distributions import RankingDistribution
from clickrank.rankings.enumeration import item_shares


@dataclass(frozen=True, kw_only=True)
class PositionBasedIPS(WeightingEstimator):
    """Inverse propensity scoring by examination: a click is weighted by how much its item is seen.

    V̂ = 1/n Σ_i Σ_k w(a_ik) c_ik,  w(a) = Σ_k κ_k π(a at k) / Σ_k κ_k μ(a at k), where π is the
    target, μ the policy that chose the lists, a_ik the item at position k of list i and c_ik its
    click. Self-normalised: divided by the average of Σ_k κ_k w(a_ik) / Σ_k κ_k.

    It is unbiased if people click by the position-based model and its examination κ is right up to
    a factor. The log may then show an item at other positions than the target does.

    **Source**: li2018, section 4.4.

    **Differences**: like the paper, it estimates μ by frequencies in the log, unless the policy
    that chose the lists is given: a log states how likely an item was at the position where it was
    shown, but not at other positions. For a policy that changed, as one that learns does, the
    frequencies are its average; the terms of the estimate then still have the right mean.

    Parameters
    ----------
    examination
        κ of each position, up to a factor; `clickrank.fit` estimates it.
    reward, level, repeats, seed
        See `clickrank.evaluate.Estimator`. The reward must be "clicks".
    propensities, self_normalised, clip, largest_weight, least_effective
        See `clickrank.evaluate.WeightingEstimator`.
    """

    examination: Vector | None = None

    name = "position-based-ips"
    assumes = "Holds if people click by the position-based model: item and position act separately."
    needs = "items"
    knows_any_click = False

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        if self.examination is not None:
            owner = type(self).__name__
            kappa = bounded_vector(owner, "examination", self.examination, 0.0, 1e300, True)
            object.__setattr__(self, "examination", tuple(kappa.tolist()))

    @property
    def counts(self) -> bool:
        """Whether the propensities are frequencies in the log."""
        return self.propensities in ("logged", "estimated")

    def terms(self, log: Impressions, target: RankingDistribution) -> WeightedTerms:
        """Return the terms of each impression, without checking that the log is sufficient."""
        kappa = self._kappa(log.rankings.shape[1])
        logging = known_policy(log, self.propensities)
        if logging is None:
            shown = item_shares(len(log.items), log.rankings)
        else:
            shown = logging.marginals()
        by_item = ratio(target.marginals() @ kappa, shown @ kappa)
        uncut_at = by_item[log.rankings]
        weights_at = self.cut(uncut_at)
        clicks = rewards_of(log, self.reward)
        values = (weights_at * clicks).sum(axis=1, keepdims=True)
        share = kappa / kappa.sum()
        bound = self.bound(uncut_at, np.full(kappa.size, by_item.max())).sum()
        return WeightedTerms(
            values,
            (weights_at @ share)[:, None],
            (uncut_at @ share)[:, None],
            0.0,
            float(bound),
            kappa.size,
        )

    def _kappa(self, n_positions: int) -> Floats:
        """Return the examination, or raise if it is not that of the log's positions."""
        if self.examination is None:
            raise CannotEvaluate(
                "The position-based estimator needs the examination of each position: fit the "
                "position-based model to a log whose items were shown at several positions."
            )
        kappa: Floats = np.array(self.examination)
        if kappa.size != n_positions:
            raise CannotEvaluate(
                f"The examination has {kappa.size} positions, but the log has {n_positions}."
            )
        return kappa
