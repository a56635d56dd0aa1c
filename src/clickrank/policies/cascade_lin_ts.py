"""CascadeLinTS: draws the weights of the features, and sorts items by the attraction they give."""

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
    """Sums over the examined items."""

    gram: FloatStatistic  # (n_features, n_features), M; only its lower half
    response: FloatStatistic  # (n_features,), B


class Params(NamedTuple):
    """Constants."""

    features: Floats  # (n_features, n_items), column e is x_e
    precision: float  # 1/σ²
    n_positions: int


@dataclass(frozen=True)
class CascadeLinTS(Policy, ItemsComeAndGo, HasFeatures):
    """CascadeLinTS learns how attraction depends on features, and sorts by a draw of the weights.

    People scan from the top and click once. All items down to the click were examined, or the whole
    list if there is no click. Each observation of an item also informs about all others.

    θ̃ ~ N(M⁻¹B/σ², M⁻¹), where M = I + Σ x xᵀ/σ² over the examined items and B = Σ x over the
    clicked ones. The items with the largest ⟨x_e, θ̃⟩ are shown, best first.

    **Assumes**: cascade clicks, attractions linear in known features. No horizon.

    **Source**: zong2016, Algorithm 1.

    **Differences**: 1. M is stored and factorised in every round, instead of updating its inverse.
    Compared with computing the scores this takes no longer, and errors do not accumulate. 2. Clicks
    after the first, which a cascade does not have, are ignored. 3. Ties, which occur only between
    items with the same features, are broken at random. 4. The prior of θ is N(0, I) whatever the
    scale of the features. If they are far below 1, estimated attractions stay near 0 for long:
    rescale the features so that rows have norms of about 1.

    **Complexity**: O(d³) per round, and O(d) per item.

    **Guarantee**: none is known. In the experiments of zong2016 it is better than CascadeLinUCB.

    Parameters
    ----------
    features
        One row of numbers per item.
    sigma
        Standard deviation σ of a click, above 0. The policy learns more slowly if it is larger.

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
        """Return the constants that the kernels read."""
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
    """Add the examined items to M, and the clicked one to B."""
    observe(params.features, params.precision, state.gram, state.response, ranking, clicks)


register(CascadeLinTS, State, score=score, update=update, draw_ties=True)
