"""Inverse propensity scoring of items, whatever their positions.

V̂ = 1/n Σ_i Σ_k w(a_ik) c_ik,  w(a) = Σ_k π(a at k) / Σ_k μ(a at k)  (li2018)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clickrank._core.arrays import Floats
from clickrank.evaluate.position_based_ips import PositionBasedIPS


@dataclass(frozen=True, kw_only=True)
class DocumentIPS(PositionBasedIPS):
    """Inverse propensity scoring by item: a click is weighted by how often its item is shown.

    V̂ = 1/n Σ_i Σ_k w(a_ik) c_ik,  w(a) = Σ_k π(a at k) / Σ_k μ(a at k): the position-based
    estimator if all positions are examined equally.

    It is unbiased if a click depends on the item alone, and not on its position.

    **Source**: li2018, section 4.3.

    **Differences**: those of `PositionBasedIPS`.

    Parameters
    ----------
    reward, level, repeats, seed
        See `clickrank.evaluate.Estimator`. The reward must be "clicks".
    propensities, self_normalised, clip, largest_weight, least_effective
        See `clickrank.evaluate.WeightingEstimator`.
    examination
        Not used.
    """

    name: ClassVar[str] = "document-ips"
    assumes = "Holds if a click depends on the item alone, at whatever position."

    def _kappa(self, n_positions: int) -> Floats:
        """Return an examination of 1 for every position."""
        return np.ones(n_positions)
