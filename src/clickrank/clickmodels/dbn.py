"""Dynamic Bayesian network model: people scan from the top until they are satisfied or give up."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from clickrank._core.arrays import Floats, Ints, frozen, probabilities
from clickrank._core.validate import check_float
from clickrank.clickmodels.attraction import LinearAttraction
from clickrank.clickmodels.click_model import ClickModel, Kernels, register
from clickrank.errors import invalid
from clickrank.rankings.selection import match_by_rank


class DBNParams(NamedTuple):
    """Parameters of the kernels."""

    attraction: Floats  # (n_items,)
    item_satisfaction: Floats  # (n_items,)
    continuation: Floats  # (1,)


class DBN(ClickModel):
    """Dynamic Bayesian network model: whether a click satisfies depends on the item.

    The first position is examined. An examined position with item k is clicked with probability
    attraction[k]; a click satisfies with probability item_satisfaction[k], and then the user
    leaves. A user who is not satisfied, with or without a click, continues to the next position
    with probability continuation:

    P(l + 1 examined | l examined) = continuation · (1 − item_satisfaction[k] · attraction[k]).

    The reward is whether the user leaves satisfied. With r_l = attraction · item_satisfaction of
    the item at l its expectation is Σ_l continuation^l · r_l · ∏_{j<l} (1 − r_j), which is largest
    for the items with the largest r in decreasing order. With continuation 1 this is the simplified
    DBN. If, in addition, all items have the same satisfaction, it is the DCM with equal
    satisfaction, and with satisfaction 1 the cascade.

    **Source**: chapelle2009, section 4 (a, s and γ).

    Parameters
    ----------
    attraction
        Probability that item k is attractive (a); or a `LinearAttraction`.
    item_satisfaction
        Probability that a click on item k satisfies (s).
    n_positions
        Length of the list.
    continuation
        Probability that an unsatisfied user continues (γ), the same at every position.

    Examples
    --------
    >>> model = DBN([0.5, 0.25, 0.5], [0.5, 0.5, 0.25], n_positions=2, continuation=0.5)
    >>> model.best_ranking()
    array([0, 1])
    >>> model.value([0, 1])
    0.296875
    >>> model.click_probabilities([0, 1])
    array([0.5    , 0.09375])
    """

    name = "dbn"
    reward = "satisfaction"
    is_a = ("dbn",)
    complexity = 6
    excludes = ("cascade",)
    stand_ins = ("dcm", "pbm")

    def __init__(
        self,
        attraction: ArrayLike | LinearAttraction,
        item_satisfaction: ArrayLike,
        n_positions: int,
        continuation: float = 1.0,
    ) -> None:
        """Check the parameters and store read-only copies."""
        satisfied = probabilities("DBN", "item_satisfaction", item_satisfaction)
        self._set_shape(attraction, n_positions)
        if satisfied.size != self.n_items:
            rule = f"item_satisfaction must have one entry per item ({self.n_items})"
            raise invalid("DBN", rule, satisfied.size)
        self.item_satisfaction: Floats = frozen(satisfied)
        self.continuation = check_float("DBN", "continuation", continuation, 0.0, 1.0)
        shared = frozen(np.array([self.continuation]))
        self.params = DBNParams(self.attraction, self.item_satisfaction, shared)

    def relabelled(self, order: Ints) -> DBN:
        """Return the model whose item i is this model's item ``order[i]``."""
        attraction, satisfaction = self.attraction[order], self.item_satisfaction[order]
        return DBN(attraction, satisfaction, self.n_positions, self.continuation)

    def first_positions(self, n_positions: int) -> DBN:
        """Return the model of the first positions of the page alone."""
        shorter = self._shorter(n_positions)
        return DBN(self.attraction, self.item_satisfaction, shorter, self.continuation)


def _sample(params: DBNParams, ranking: Ints, rng: np.random.Generator, out: Ints) -> None:
    examined = True
    for position in range(ranking.shape[0]):
        item = ranking[position]
        # Both are drawn even for a user who has left, so that every round takes the same number.
        clicked = rng.random() < params.attraction[item] and examined
        stay = params.continuation[0]
        if clicked:
            stay *= 1.0 - params.item_satisfaction[item]
        examined = rng.random() < stay and examined
        out[position] = 1 if clicked else 0


def _log_prob(params: DBNParams, ranking: Ints, clicks: Ints) -> float:
    # From the end: the probability of no click below a position, for a user who may continue.
    quiet = 1.0
    position = ranking.shape[0] - 1
    stay = params.continuation[0]
    while position >= 0 and clicks[position] == 0:
        quiet *= 1.0 - params.attraction[ranking[position]]
        if position > 0:
            quiet = 1.0 - stay + stay * quiet
        position -= 1
    if position >= 0:  # the last click satisfied, or the user did not click again
        satisfied = params.item_satisfaction[ranking[position]]
        quiet = satisfied + (1.0 - satisfied) * quiet
        quiet *= params.attraction[ranking[position]]
    if quiet <= 0.0:
        return -math.inf
    total = math.log(quiet)
    for above in range(position):  # examined, and the user continued
        item = ranking[above]
        p = 1.0 - params.attraction[item]
        if clicks[above] == 1:
            p = params.attraction[item] * (1.0 - params.item_satisfaction[item])
        p *= stay
        if p <= 0.0:
            return -math.inf
        total += math.log(p)
    return total


def _click_probabilities(params: DBNParams, ranking: Ints, out: Floats) -> None:
    examined = 1.0
    for position in range(ranking.shape[0]):
        item = ranking[position]
        out[position] = examined * params.attraction[item]
        satisfied = params.attraction[item] * params.item_satisfaction[item]
        examined *= params.continuation[0] * (1.0 - satisfied)


def _value(params: DBNParams, ranking: Ints) -> float:
    total = 0.0
    examined = 1.0
    for position in range(ranking.shape[0]):
        item = ranking[position]
        satisfied = params.attraction[item] * params.item_satisfaction[item]
        total += examined * satisfied
        examined *= params.continuation[0] * (1.0 - satisfied)
    return total


def _best_ranking(params: DBNParams, out: Ints) -> None:
    # Two neighbours r above r', and a rest of value v, have the value
    # r + γr' − γrr' + γ²(1 − r)(1 − r')v. A swap changes r + γr' alone, so that the larger comes
    # first, as γ ≤ 1. Replacing an r by a larger one gains (1 − γ · value below) ≥ 0 per unit.
    gains = np.zeros(params.attraction.shape[0])
    for item in range(gains.shape[0]):
        gains[item] = params.attraction[item] * params.item_satisfaction[item]
    weights = np.zeros(out.shape[0])
    for position in range(out.shape[0]):
        weights[position] = -position
    match_by_rank(gains, weights, out)


register(DBN, DBNParams, Kernels(_sample, _log_prob, _click_probabilities, _value, _best_ranking))
