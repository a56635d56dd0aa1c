"""Dependent click model: people scan from the top, click, and leave when satisfied."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from clickrank._core.arrays import Floats, Ints, frozen, probabilities
from clickrank.clickmodels.attraction import LinearAttraction
from clickrank.clickmodels.click_model import ClickModel, Kernels, register
from clickrank.rankings.selection import match_by_rank


class DCMParams(NamedTuple):
    """Parameters of the kernels."""

    attraction: Floats  # (n_items,)
    satisfaction: Floats  # (n_positions,)


class DCM(ClickModel):
    """Dependent click model: every attractive item is clicked until a click satisfies.

    The first position is examined. An examined position l with item k is clicked with probability
    attraction[k]; a click there satisfies with probability satisfaction[l], and then the user
    leaves. Otherwise the next position is examined:

    P(l + 1 examined | l examined) = 1 − satisfaction[l] · attraction[k].

    The reward is whether the user leaves satisfied, with expectation
    1 − ∏ (1 − satisfaction[l] · attraction[k_l]). Clicks do not show it: the last click may or may
    not have satisfied.

    **Source**: kveton2022, section 6.1.

    Parameters
    ----------
    attraction
        Probability that item k is attractive (θ_k in the source); or a `LinearAttraction`.
    satisfaction
        Probability that a click at position l satisfies (v_l in the source); it need not decrease.

    Examples
    --------
    >>> model = DCM(attraction=[0.5, 0.25, 0.125], satisfaction=[0.5, 1.0])
    >>> model.best_ranking()
    array([1, 0])
    >>> model.value([1, 0])
    0.5625
    >>> model.click_probabilities([1, 0])
    array([0.25  , 0.4375])
    """

    name = "dcm"
    reward = "satisfaction"
    is_a = ("dcm",)
    complexity = 4
    examined_displays = "no click above"
    excludes = ("cascade",)

    def __init__(self, attraction: ArrayLike | LinearAttraction, satisfaction: ArrayLike) -> None:
        """Check the parameters and store read-only copies."""
        satisfied = probabilities("DCM", "satisfaction", satisfaction)
        self._set_shape(attraction, satisfied.size)
        self.satisfaction: Floats = frozen(satisfied)
        self.params = DCMParams(self.attraction, self.satisfaction)

    def relabelled(self, order: Ints) -> DCM:
        """Return the model whose item i is this model's item ``order[i]``."""
        return DCM(self.attraction[order], self.satisfaction)

    def first_positions(self, n_positions: int) -> DCM:
        """Return the model of the first positions of the page alone."""
        return DCM(self.attraction, self.satisfaction[: self._shorter(n_positions)])


def _sample(params: DCMParams, ranking: Ints, rng: np.random.Generator, out: Ints) -> None:
    examined = True
    for position in range(ranking.shape[0]):
        # Both are drawn even for a user who has left, so that every round takes the same number.
        attracted = rng.random() < params.attraction[ranking[position]]
        satisfied = rng.random() < params.satisfaction[position]
        clicked = examined and attracted
        out[position] = 1 if clicked else 0
        if clicked and satisfied:
            examined = False


# The cascade uses the kernels below too: it is this model with satisfaction 1.


def _log_prob(params: DCMParams, ranking: Ints, clicks: Ints) -> float:
    last = -1
    for position in range(ranking.shape[0]):
        if clicks[position] == 1:
            last = position
    total = 0.0
    unattractive = 1.0  # probability that nothing after the last click would have been clicked
    for position in range(ranking.shape[0]):
        attraction = params.attraction[ranking[position]]
        if position > last:
            unattractive *= 1.0 - attraction
            continue
        p = attraction if clicks[position] == 1 else 1.0 - attraction
        if clicks[position] == 1 and position < last:
            p *= 1.0 - params.satisfaction[position]  # continued after this click
        if p <= 0.0:
            return -math.inf
        total += math.log(p)
    # After the last click the user left satisfied, or looked on and was never attracted.
    p = unattractive
    if last >= 0:
        satisfied = params.satisfaction[last]
        p = satisfied + (1.0 - satisfied) * unattractive
    if p <= 0.0:
        return -math.inf
    return total + math.log(p)


def _click_probabilities(params: DCMParams, ranking: Ints, out: Floats) -> None:
    examined = 1.0
    for position in range(ranking.shape[0]):
        attraction = params.attraction[ranking[position]]
        out[position] = examined * attraction
        examined *= 1.0 - params.satisfaction[position] * attraction


def _value(params: DCMParams, ranking: Ints) -> float:
    unsatisfied = 1.0
    for position in range(ranking.shape[0]):
        unsatisfied *= 1.0 - params.satisfaction[position] * params.attraction[ranking[position]]
    return 1.0 - unsatisfied


def _best_ranking(params: DCMParams, out: Ints) -> None:
    # The k-th best item belongs to the k-th most satisfying position, in any order of positions.
    # For items α ≥ β at positions v ≥ w, (1 − vα)(1 − wβ) differs from the product after a swap, (1
    # − vβ)(1 − wα), only in vα + wβ ≥ vβ + wα: the term vwαβ is in both. Replacing an item by a
    # better one makes its factor smaller too.
    match_by_rank(params.attraction, params.satisfaction, out)


register(DCM, DCMParams, Kernels(_sample, _log_prob, _click_probabilities, _value, _best_ranking))
