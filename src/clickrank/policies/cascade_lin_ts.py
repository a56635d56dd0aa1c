"""CascadeLinTS: draw how attraction depends on features, and sort items by it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from clickrank.features import Features
from clickrank.policies.base import Assumes, Policy
from clickrank.policies.contract import Request, register
from clickrank.policies.linear import (
    Params,
    check_regression,
    fit,
    no_regression,
    observe,
    perturb,
    rank_by_score,
    regression_params,
)
from clickrank.types import FloatScratch, FloatStatistic, Ints, IntScratch


class State(NamedTuple):
    """The regression, and the items that may reach the list."""

    gram: FloatStatistic  # (n_features, n_features), M; its lower half
    response: FloatStatistic  # (n_features,), B
    factor: FloatScratch  # (n_features, n_features), of Cholesky, of M
    inverse: FloatScratch  # (n_features, n_features), its inverse
    weights: FloatScratch  # (2, n_features), θ̂ and the draw
    value: FloatScratch  # (n_items,), scores of the near items
    best: IntScratch  # (n_positions,), places of the list among them; for these, see `contenders`
    room: IntScratch  # (2, n_items)
    kept: FloatScratch  # (n_positions,)
    near: IntScratch  # (n_items,), the near items, by number
    near_features: FloatScratch  # (n_features, n_items), theirs
    sizes: IntScratch  # (3,), how many are near, n_items for all; rounds since; how many contend
    cut: FloatScratch  # (1,), what others were below
    near_weights: FloatScratch  # (n_features,), θ₀ when they were chosen
    near_factor: FloatScratch  # (n_features, n_features), of M₀
    work: FloatScratch  # (2, n_items)


@dataclass(frozen=True)
class CascadeLinTS(Policy):
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

    **Complexity**: O(d³) a round, and O(d) for each item that may reach the list: a small part of a
    large catalogue but for the first rounds, as bounds show.

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
        # The square of a draw's distance has as many degrees of freedom as there are features.
        budget = math.sqrt(self.features.n_features) + 3.0
        return regression_params(self, self.features, n_items, 0.0, self.sigma, budget)

    def init(self, n_items: int, n_positions: int) -> State:
        """Return the state before the first round."""
        return State(**no_regression(n_items, self.features.n_features, n_positions))

    def relabelled(self, origin: Ints, new: ArrayLike | Features | None = None) -> CascadeLinTS:
        """Return the spec for a catalogue whose item i is this spec's item ``origin[i]``."""
        features = self.features.relabelled(origin, None if new is None else Features(new))
        return CascadeLinTS(features, self.sigma)


def _rank(
    params: Params,
    state: State,
    cache: None,
    request: Request,
    rng: np.random.Generator,
    ranking: Ints,
    memo: Ints,
) -> None:
    fit(params, state)
    perturb(state, rng)
    rank_by_score(params, state, 1, rng, ranking)


def _update(
    params: Params, state: State, cache: None, ranking: Ints, memo: Ints, clicks: Ints
) -> None:
    observe(params, state, ranking, clicks)


register(CascadeLinTS, State, _rank, _update, lean=True)
