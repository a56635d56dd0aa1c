"""CascadeLinTS: draw how attraction depends on features, and sort items by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Floats, FloatStatistic, Ints
from clickrank._core.features import Features
from clickrank.policies._shared.ridge import (
    check_regression,
    features_by_column,
    fit,
    invert_factor,
    observe,
    perturb,
    predict,
)
from clickrank.policies.capabilities import HasFeatures, ItemsComeAndGo
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy
from clickrank.policies.registration import register


class State(NamedTuple):
    """Sums over the items looked at."""

    gram: FloatStatistic  # (n_features, n_features), M; its lower half
    response: FloatStatistic  # (n_features,), B


class Params(NamedTuple):
    """Constants."""

    features: Floats  # (n_features, n_items), x of an item in its column
    precision: float  # 1/σ²
    n_positions: int


@dataclass(frozen=True)
class CascadeLinTS(Policy, ItemsComeAndGo, HasFeatures):
    """CascadeLinTS learns how attraction depends on features, and sorts by a draw of the weights.

    People scan from the top and click once. So the items down to the click were looked at, and
    without a click all were; what is seen of one item teaches about all.

    θ̃ ~ N(M⁻¹B/σ², M⁻¹), where M = I + Σ x xᵀ/σ² over the items looked at and B = Σ x over those
    clicked; the list is that of the largest ⟨x_e, θ̃⟩, best first.

    **Assumes**: cascade clicks, attractions linear in known features. No horizon.

    **Source**: zong2016, Algorithm 1.

    **Differences**: 1. M is kept and factorised in every round, not its inverse updated: that takes
    no longer beside the scores, and no error adds up. 2. If there are several clicks, which no
    cascade has, those after the first are not looked at. 3. Ties, which only items of the same
    features have, are broken at random. 4. The prior of θ is N(0, I) whatever the scale of the
    features: if they are far below 1, attractions of θ are near 0 until much was seen. Rescale them
    so that rows have norms of about 1.

    **Complexity**: O(d³) a round, and O(d) for each item.

    **Guarantee**: none is known; in the experiments of zong2016 it is the better one of the two.

    Parameters
    ----------
    features
        One row of numbers an item.
    sigma
        Spread σ of a click about its expectation, above 0: the larger, the slower it learns.

    Examples
    --------
    >>> import clickrank as cr
    >>> attraction = cr.clickmodels.LinearAttraction([[1, 0], [0.5, 0.5], [0, 1]], [0.2, 0.8])
    >>> model = cr.clickmodels.Cascade(attraction, n_positions=2)
    >>> cr.simulate("cascade-lin-ts", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "cascade-lin-ts"
    assumes = Assumes(click_models=("cascade",), features=True)
    by_item = ()

    features: Features
    sigma: float = 1.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_regression(self, self.features, self.sigma)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the kernels' constants."""
        x = features_by_column(self, self.features, n_items)
        return Params(x, 1.0 / (self.sigma * self.sigma), n_positions)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        d = self.features.n_features
        return State(gram=np.eye(d), response=np.zeros(d))


def score(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    items: Floats,
    positions: Floats,
) -> None:
    """Draw θ̃, and write ⟨x_e, θ̃⟩ for each item."""
    d = state.response.shape[0]
    factor, inverse = np.zeros((d, d)), np.zeros((d, d))
    mean, draw = np.zeros(d), np.zeros(d)
    invert_factor(state.gram, factor, inverse)
    fit(inverse, state.response, params.precision, mean)
    perturb(inverse, mean, rng, draw)
    for item in range(items.shape[0]):
        items[item] = predict(params.features, draw, item)


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Add the items looked at to M, and the one clicked to B."""
    observe(params.features, params.precision, state.gram, state.response, ranking, clicks)


register(CascadeLinTS, State, score=score, update=update, draw_ties=True)
