"""Multinomial logit model: the items shown and leaving compete for at most one click."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from clickrank._compile.jit import inline_kernel
from clickrank._core.arrays import Floats, Ints, bounded_vector, frozen
from clickrank.clickmodels.attraction import LinearAttraction
from clickrank.clickmodels.click_model import ClickModel, Kernels, register
from clickrank.rankings.selection import match_by_rank


class MNLParams(NamedTuple):
    """Parameters of the kernels."""

    attraction: Floats  # (n_items,)
    position_bias: Floats  # (n_positions,)


class MNL(ClickModel):
    """Multinomial logit model with position bias: at most one click, in proportion to weights.

    Item k at position l has weight w_l = position_bias[l] · attraction[k], and no click has weight
    1:

    P(click at l) = w_l / (1 + Σ_j w_j).

    The reward is whether there is a click. Here attraction is a weight and not a probability: an
    item of attraction 1, alone at a position of bias 1, is clicked half of the time.

    **Source**: grant2020, section 1.1, eq. 1. There attractions are above 0; here 0 is allowed too,
    for an item that is never clicked.

    Parameters
    ----------
    attraction
        Weight of item k, between 0 and 1 (α_k in grant2020); or a `LinearAttraction`.
    position_bias
        Prominence of position l, above 0 and at most 1 (λ_l); it need not decrease.

    Examples
    --------
    >>> model = MNL(attraction=[0.25, 0.5, 1.0], position_bias=[0.5, 1.0])
    >>> model.best_ranking()
    array([1, 2])
    >>> model.click_probabilities([1, 2]).round(3)
    array([0.111, 0.444])
    """

    name = "mnl"
    reward = "any click"
    is_a = ("mnl",)
    complexity = 3
    reads_in_order = False

    def __init__(self, attraction: ArrayLike | LinearAttraction, position_bias: ArrayLike) -> None:
        """Check the parameters and store read-only copies."""
        bias = bounded_vector("MNL", "position_bias", position_bias, 0.0, 1.0, open_low=True)
        self._set_shape(attraction, bias.size)
        self.position_bias: Floats = frozen(bias)
        self.params = MNLParams(self.attraction, self.position_bias)

    def relabelled(self, order: Ints) -> MNL:
        """Return the model whose item i is this model's item ``order[i]``."""
        return MNL(self.attraction[order], self.position_bias)

    def shortened(self, n_positions: int) -> MNL:
        """Return the model of a page that ends after the first positions.

        Items below them are not shown, so that they do not compete.
        """
        return MNL(self.attraction, self.position_bias[: self._shorter(n_positions)])


@inline_kernel
def _shown_weight(params: MNLParams, ranking: Ints) -> float:
    total = 0.0
    for position in range(ranking.shape[0]):
        total += params.position_bias[position] * params.attraction[ranking[position]]
    return total


def _sample(params: MNLParams, ranking: Ints, rng: np.random.Generator, out: Ints) -> None:
    # The weights in the order of the list, followed by the weight 1 of no click.
    rest = rng.random() * (1.0 + _shown_weight(params, ranking))
    clicked = False
    for position in range(ranking.shape[0]):
        rest -= params.position_bias[position] * params.attraction[ranking[position]]
        hit = rest < 0.0 and not clicked
        out[position] = 1 if hit else 0
        clicked = clicked or hit


def _log_prob(params: MNLParams, ranking: Ints, clicks: Ints) -> float:
    weight = 1.0
    n_clicks = 0
    for position in range(ranking.shape[0]):
        if clicks[position] == 1:
            weight = params.position_bias[position] * params.attraction[ranking[position]]
            n_clicks += 1
    if n_clicks > 1 or weight <= 0.0:
        return -math.inf
    return math.log(weight) - math.log(1.0 + _shown_weight(params, ranking))


def _click_probabilities(params: MNLParams, ranking: Ints, out: Floats) -> None:
    total = 1.0 + _shown_weight(params, ranking)
    for position in range(ranking.shape[0]):
        weight = params.position_bias[position] * params.attraction[ranking[position]]
        out[position] = weight / total


def _value(params: MNLParams, ranking: Ints) -> float:
    shown = _shown_weight(params, ranking)
    return shown / (1.0 + shown)


def _best_ranking(params: MNLParams, out: Ints) -> None:
    # The value grows with Σ bias · attraction, so that the k-th best item takes the k-th most
    # prominent position, in any order of positions.
    match_by_rank(params.attraction, params.position_bias, out)


register(MNL, MNLParams, Kernels(_sample, _log_prob, _click_probabilities, _value, _best_ranking))
