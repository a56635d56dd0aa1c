"""Position-based model: a click needs an examined position and an attractive item."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from clickrank._core.arrays import Floats, Ints, frozen, probabilities
from clickrank.clickmodels.attraction import LinearAttraction
from clickrank.clickmodels.click_model import ClickModel, Kernels, register
from clickrank.rankings.selection import match_by_rank


class PBMParams(NamedTuple):
    """Parameters of the kernels."""

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
        Probability that item k is attractive (θ_k in both sources); or a `LinearAttraction`.
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
    independent_positions = True
    examined_displays = "by position"
    always_reported = True
    excludes = ("dctr",)
    reads_in_order = False

    def __init__(self, attraction: ArrayLike | LinearAttraction, examination: ArrayLike) -> None:
        """Check the parameters and store read-only copies."""
        examined = probabilities("PBM", "examination", examination)
        self._set_shape(attraction, examined.size)
        self.examination: Floats = frozen(examined)
        self.params = PBMParams(self.attraction, self.examination)

    @property
    def examination_after(self) -> Floats:
        """Probability that a position is examined after each last click: always the same."""
        return same_after_any_click(self.examination)

    def relabelled(self, order: Ints) -> PBM:
        """Return the model whose item i is this model's item ``order[i]``."""
        return type(self)(self.attraction[order], self.examination)

    def first_positions(self, n_positions: int) -> PBM:
        """Return the model of the first positions of the page alone."""
        return type(self)(self.attraction, self.examination[: self._shorter(n_positions)])


def same_after_any_click(examination: Floats) -> Floats:
    """Return the examination of a UBM that does not depend on the last click."""
    return frozen(np.tril(np.repeat(examination[:, None], examination.size, axis=1)))


def _sample(params: PBMParams, ranking: Ints, rng: np.random.Generator, out: Ints) -> None:
    for position in range(ranking.shape[0]):
        p = params.examination[position] * params.attraction[ranking[position]]
        out[position] = 1 if rng.random() < p else 0


def _log_prob(params: PBMParams, ranking: Ints, clicks: Ints) -> float:
    total = 0.0
    for position in range(ranking.shape[0]):
        p = params.examination[position] * params.attraction[ranking[position]]
        if clicks[position] == 0:
            p = 1.0 - p
        if p <= 0.0:
            return -math.inf
        total += math.log(p)
    return total


def _click_probabilities(params: PBMParams, ranking: Ints, out: Floats) -> None:
    for position in range(ranking.shape[0]):
        out[position] = params.examination[position] * params.attraction[ranking[position]]


def _value(params: PBMParams, ranking: Ints) -> float:
    total = 0.0
    for position in range(ranking.shape[0]):
        total += params.examination[position] * params.attraction[ranking[position]]
    return total


def _best_ranking(params: PBMParams, out: Ints) -> None:
    match_by_rank(params.attraction, params.examination, out)


register(PBM, PBMParams, Kernels(_sample, _log_prob, _click_probabilities, _value, _best_ranking))
