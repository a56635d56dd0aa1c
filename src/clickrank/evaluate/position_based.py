"""Inverse propensity scoring of items, wherever they are shown, in the position-based model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clickrank._core.arrays import Floats, Vector, bounded_vector
from clickrank.errors import CannotEvaluate
from clickrank.evaluate.base import WeightingEstimator, ratio, rewards_of
from clickrank.evaluate.propensities import known_policy
from clickrank.evaluate.terms import Terms
from clickrank.logs import Impressions
from clickrank.rankings.distributions import RankingDistribution
from clickrank.rankings.enumeration import item_shares


@dataclass(frozen=True, kw_only=True)
class PositionBasedIPS(WeightingEstimator):
    """Inverse propensity by examination: a click counts as the target shows that item to be seen.

    V̂ = 1/n Σ_i Σ_k w(a_ik) c_ik,  w(a) = Σ_k κ_k π(a at k) / Σ_k κ_k μ(a at k). Self-normalised:
    divided by the average of Σ_k κ_k w(a_ik) / Σ_k κ_k.

    Unbiased if people click by the position-based model and its examination κ is right, up to a
    factor. An item may then be shown by the log at other positions than by the target.

    **Source**: li2018, section 4.4.

    **Differences**: the text's μ is estimated from the log by frequencies. So it is here unless the
    policy that chose the lists is given: a log states how likely an item was where it was shown,
    and not where else it might have been. The frequencies stand for the average of a policy that
    changed, as one that learns does; the terms of the estimate then still have the right mean.

    Parameters
    ----------
    examination
        κ of each position, up to a factor; `clickrank.fit` finds it.
    reward, level, repeats, seed
        See `clickrank.evaluate.Estimator`.
    propensities, self_normalised, clip, largest_weight, least_effective
        See `clickrank.evaluate.WeightingEstimator`. The reward
        must be "clicks".
    """

    examination: Vector | None = None

    name = "position-based-ips"
    assumes = "Holds if a click needs an attractive item at a position looked at, whatever is near."
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
        """Whether its propensities are frequencies of the log."""
        return self.propensities in ("logged", "estimated")

    def terms(self, log: Impressions, target: RankingDistribution) -> Terms:
        """Return the terms of each impression, without a look at whether the log suffices."""
        kappa = self._kappa(log.rankings.shape[1])
        source = known_policy(log, self.propensities)
        shown = item_shares(len(log.items), log.rankings) if source is None else source.marginals()
        by_item = ratio(target.marginals() @ kappa, shown @ kappa)
        full_at = by_item[log.rankings]
        weights_at = self.cut(full_at)
        clicks = rewards_of(log, self.reward)
        values = (weights_at * clicks).sum(axis=1, keepdims=True)
        share = kappa / kappa.sum()
        bound = self.bound(full_at, np.full(kappa.size, by_item.max())).sum()
        return Terms(
            values,
            (weights_at @ share)[:, None],
            (full_at @ share)[:, None],
            0.0,
            float(bound),
            kappa.size,
        )

    def _kappa(self, n_positions: int) -> Floats:
        if self.examination is None:
            raise CannotEvaluate(
                "The position-based estimator needs the examination of each position: fit the "
                "position-based model to a log whose items were shown at several positions."
            )
        kappa: Floats = np.array(self.examination)
        if kappa.size != n_positions:
            raise CannotEvaluate(
                f"The examination is of {kappa.size} positions, the log has {n_positions}."
            )
        return kappa


@dataclass(frozen=True, kw_only=True)
class DocumentIPS(PositionBasedIPS):
    """Inverse propensity by item: a click counts as the target shows that item at all.

    V̂ = 1/n Σ_i Σ_k w(a_ik) c_ik,  w(a) = Σ_k π(a at k) / Σ_k μ(a at k): the position-based
    estimator with all positions looked at alike.

    Unbiased if a click depends on the item alone, and not on its position.

    **Source**: li2018, section 4.3.

    **Differences**: as of `PositionBasedIPS`.

    Parameters
    ----------
    reward, level, repeats, seed
        See `clickrank.evaluate.Estimator`.
    propensities, self_normalised, clip, largest_weight, least_effective
        See `clickrank.evaluate.WeightingEstimator`.
    examination
        Must be left out.
    """

    name: ClassVar[str] = "document-ips"
    assumes = "Holds if a click depends on the item alone, at whatever position."

    def _kappa(self, n_positions: int) -> Floats:
        return np.ones(n_positions)
