"""CascadeLinUCB: sorts items by a confidence bound that is linear in their features."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from clickrank._core.arrays import Floats, FloatStatistic, Ints
from clickrank._core.features import Features
from clickrank._core.validate import check_float, check_int
from clickrank.errors import invalid
from clickrank.numerics.jacobi_pseudo_inverse import factor_pseudo_inverse
from clickrank.policies._shared.ridge import (
    check_regression,
    features_by_column,
    fit,
    invert_factor,
    observe,
    predict,
    squared_norm,
)
from clickrank.policies._shared.rounding_grid import on_grid
from clickrank.policies.capabilities import HasFeatures, ItemsComeAndGo
from clickrank.policies.contract import Request
from clickrank.policies.policy_spec import Assumes, Policy
from clickrank.policies.registration import register


class State(NamedTuple):
    """Sums over the examined items."""

    gram: FloatStatistic  # (n_features, n_features), M, or S for the square; only its lower half
    response: FloatStatistic  # (n_features,), B


class Params(NamedTuple):
    """Constants."""

    features: Floats  # (n_features, n_items), column e is x_e
    precision: float  # 1/σ²
    width: float  # c
    limit: float  # the largest value of a bound
    squared: bool  # whether the bonus is the square, and M lacks the identity
    n_positions: int


@dataclass(frozen=True)
class CascadeLinUCB(Policy, ItemsComeAndGo, HasFeatures):
    """CascadeLinUCB learns how attraction depends on features, and sorts items by upper bounds.

    People scan from the top and click once. All items down to the click were examined, or the whole
    list if there is no click. Each observation of an item also informs about all others.

    U(e) = min(⟨x_e, θ̂⟩ + c √(x_eᵀ M⁻¹ x_e), 1), θ̂ = M⁻¹B/σ², where M = I + Σ x xᵀ/σ² over the
    examined items and B = Σ x over the clicked ones. The items with the largest U are shown, best
    first.

    **Assumes**: cascade clicks, attractions linear in known features. The horizon, or `width`.

    **Source**: zong2016, Algorithm 1; shuaili2016 has it with discounts.

    **Differences**: 1. c is that of the paper's Theorem 1 with ‖θ‖ = 1,
    √(d log(1 + TK/(dσ²)) + 2 log(TK))/σ + 1, unless `width` is given; with d = 5, K = 10 and
    T = 500,000 this is 11.0. 2. Ties are broken at random; as U is at most 1, all lists are
    equally likely until bounds fall below 1. 3. M is stored and factorised in every round, instead
    of updating its inverse. Compared with computing the scores this takes no longer, and errors do
    not accumulate. 4. Clicks after the first, which a cascade does not have, are ignored. 5. The
    authors of li2019 compare with a program of their own, which ``bonus="square"`` follows:
    U(e) = ⟨x_e, θ̂⟩ + c x_eᵀS†x_e and θ̂ = S†B/σ² with S = Σ x xᵀ/σ², without the root, identity
    and limit of 1, and c = √(d log(1 + T/d + 2 log(4T))) + 1, which is about 9 there. This
    bonus shrinks with the number of views instead of its root, so that the policy stays with the
    first list that does well: good in their cascade, bad with position-based clicks. Here its ties
    are random, too; their program shows the item with the largest number. Eigenvalues below 1e-12
    times the largest one count as 0 in S†, and U is rounded to multiples of 2⁻³⁰.

    **Complexity**: O(d³) per round, and O(d²) per item.

    **Guarantee**: with the norm as the bonus, for ‖x_e‖ ≤ 1 and ‖θ‖ ≤ 1 regret at most
    2cK √(dT log(1 + TK/(dσ²)) / log(1 + 1/σ²)) + 1, whatever the number of items (zong2016,
    Theorem 1). None if clicks are not a cascade: under position-based clicks, items at lower
    positions seem less attractive than they are, and it may settle on a wrong list.

    Parameters
    ----------
    features
        One row of numbers per item.
    horizon
        Number of rounds T, for c. It is not needed, and not used, if `width` is given.
    width
        The factor c of the bound, at least 0.
    sigma
        Standard deviation σ of a click, above 0. The policy learns more slowly if it is larger.
    bonus
        "norm", or "square" for the program of li2019's authors, see above.

    Examples
    --------
    >>> import clickrank as cr
    >>> attraction = cr.clickmodels.LinearAttraction([[1, 0], [0.5, 0.5], [0, 1]], [0.2, 0.8])
    >>> model = cr.clickmodels.Cascade(attraction, n_positions=2)
    >>> cr.simulate("cascade-lin-ucb", model, horizon=100, runs=2, seed=0).runs
    2
    """

    name = "cascade-lin-ucb"
    assumes = Assumes(click_models=("cascade",), horizon=True, features=True)
    by_item = ()

    features: Features
    horizon: int | None = None
    width: float | None = None
    sigma: float = 1.0
    bonus: Literal["norm", "square"] = "norm"

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_regression(self, self.features, self.sigma)
        if self.horizon is not None:
            check_int("CascadeLinUCB", "horizon", self.horizon, 1)
        if self.width is not None:
            check_float("CascadeLinUCB", "width", self.width, 0.0)
        elif self.horizon is None:
            rule = "horizon must be given, or width"
            raise invalid("CascadeLinUCB", rule, self.horizon)
        if self.bonus not in ("norm", "square"):
            raise invalid("CascadeLinUCB", "bonus must be 'norm' or 'square'", self.bonus)

    def params(self, n_items: int, n_positions: int) -> Params:
        """Return the constants that the kernels read."""
        x = features_by_column(self, self.features, n_items)
        width = self._default_width(n_positions) if self.width is None else self.width
        squared = self.bonus == "square"
        limit = 1.0 if width > 0.0 and not squared else math.inf
        return Params(x, 1.0 / (self.sigma * self.sigma), width, limit, squared, n_positions)

    def _default_width(self, n_positions: int) -> float:
        assert self.horizon is not None  # checked in __post_init__
        d, rounds = self.features.n_features, self.horizon
        if self.bonus == "square":
            return math.sqrt(d * math.log(1.0 + rounds / d + 2.0 * math.log(4.0 * rounds))) + 1.0
        views = rounds * n_positions
        information = d * math.log1p(views / (d * self.sigma**2))
        return math.sqrt(information + 2.0 * math.log(views)) / self.sigma + 1.0

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        d = self.features.n_features
        gram = np.zeros((d, d)) if self.bonus == "square" else np.eye(d)
        return State(gram=gram, response=np.zeros(d))


def score(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    items: Floats,
    positions: Floats,
) -> None:
    """Write U(e) for each item."""
    d = state.response.shape[0]
    factor, inverse, weights = np.zeros((d, d)), np.zeros((d, d)), np.zeros(d)
    if params.squared:
        factor_pseudo_inverse(state.gram, factor, inverse)
    else:
        invert_factor(state.gram, factor, inverse)
    fit(inverse, state.response, params.precision, weights)
    for item in range(items.shape[0]):
        mean = predict(params.features, weights, item)
        bonus = squared_norm(params.features, inverse, item)
        if params.squared:
            # With fewer than d examined items, many bounds are equal except for rounding errors.
            items[item] = on_grid(mean + params.width * bonus)
        else:
            items[item] = min(mean + params.width * math.sqrt(bonus), params.limit)


def update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    """Add the examined items to M, and the clicked one to B."""
    observe(params.features, params.precision, state.gram, state.response, ranking, clicks)


register(CascadeLinUCB, State, score=score, update=update, draw_ties=True)
