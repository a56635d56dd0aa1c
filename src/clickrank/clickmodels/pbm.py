"""The position-based model: a click needs an examined position and an attractive item."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from clickrank._core.arrays import Floats, Ints, frozen, probabilities
from clickrank.clickmodels.attraction import LinearAttraction
from clickrank.clickmodels.click_model import ClickModel, Kernels, register
from clickrank.rankings.selection import match_by_rank


class Params(NamedTuple):
    """What the kernels need."""

    attraction: Floats  # (n_items,)
    examination: Floats  # (n_positions,)


class PBM(ClickModel):
    """Position-based model: positions are examined independently of the items and of each other.

    P(click at l | item k shown there) = examination[l] · attraction[k], independently over
    positions. The reward is the number of clicks.

    **Source**: lagree2016, section 2; gauthier2022, section 1.1.1.

    Parameters
    ----------
    attraction
        Probability that item k is attractive (θ_k in 001 and 003); or a `LinearAttraction`.
    examination
        Probability that position l is examined (κ_l); it need not decrease.

    Examples
    --------
    >>> model = PBM(attraction=[0.5, 0.2, 0.4], examination=[0.5, 1.0])
    >>> model.best_ranking()
    array([2, 0])
    >>> model.value([2, 0])
    0.7
    """

    name = "pbm"
    reward = "clicks"
    is_a: ClassVar[tuple[str, ...]] = ("pbm", "ubm")
    complexity = 2
    excludes = ("dctr",)
    reads_in_order = False

    def __init__(self, attraction: ArrayLike | LinearAttraction, examination: ArrayLike) -> None:
        """Check the parameters and keep read-only copies."""
        examined = probabilities("PBM", "examination", examination)
        self._set_shape(attraction, examined.size)
        self.examination: Floats = frozen(examined)
        self.params = Params(self.attraction, self.examination)

    @property
    def examination_after(self) -> Floats:
        """Probability that a position is examined, whatever was clicked above."""
        return whatever_was_clicked(self.examination)

    def relabelled(self, order: Ints) -> PBM:
        """Return the model whose item i is this model's item ``order[i]``."""
        return type(self)(self.attraction[order], self.examination)

    def first_positions(self, n_positions: int) -> PBM:
        """Return the model of the same page cut after its first positions."""
        return type(self)(self.attraction, self.examination[: self._shorter(n_positions)])


def whatever_was_clicked(examination: Floats) -> Floats:
    """Return the examination of a UBM that does not depend on the last click."""
    return frozen(np.tril(np.repeat(examination[:, None], examination.size, axis=1)))


def _sample(params: Params, ranking: Ints, rng: np.random.Generator, out: Ints) -> None:
    for position in range(ranking.shape[0]):
        p = params.examination[position] * params.attraction[ranking[position]]
        out[position] = 1 if rng.random() < p else 0


def _log_prob(params: Params, ranking: Ints, clicks: Ints) -> float:
    total = 0.0
    for position in range(ranking.shape[0]):
        p = params.examination[position] * params.attraction[ranking[position]]
        if clicks[position] == 0:
            p = 1.0 - p
        if p <= 0.0:
            return -math.inf
        total += math.log(p)
    return total


def _click_probabilities(params: Params, ranking: Ints, out: Floats) -> None:
    for position in range(ranking.shape[0]):
        out[position] = params.examination[position] * params.attraction[ranking[position]]


def _value(params: Params, ranking: Ints) -> float:
    total = 0.0
    for position in range(ranking.shape[0]):
        total += params.examination[position] * params.attraction[ranking[position]]
    return total


def _best_ranking(params: Params, out: Ints) -> None:
    match_by_rank(params.attraction, params.examination, out)


register(PBM, Params, Kernels(_sample, _log_prob, _click_probabilities, _value, _best_ranking))
