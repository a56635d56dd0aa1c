"""Click matrix: one click probability per item and position."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from clickrank._core.arrays import Floats, Ints, frozen
from clickrank._core.validate import check_shape
from clickrank.clickmodels.click_model import ClickModel, Kernels, register
from clickrank.errors import invalid
from clickrank.numerics.assignment import solve_assignment


class MatrixParams(NamedTuple):
    """Parameters of the kernels."""

    probabilities: Floats  # (n_items, n_positions), ρ


class ClickMatrix(ClickModel):
    """Click matrix: a click depends in any way on the item and its position alone.

    P(click at l | item k shown there) = probabilities[k, l], independently over positions. The
    reward is the number of clicks. The position-based model is the case of rank one. In general one
    item may be better than another at one position and worse at another position.

    **Source**: gauthier2022, section 1.3 (PB-OLR, with the matrix ρ).

    Parameters
    ----------
    probabilities
        One row per item and one column per position (ρ in gauthier2022).

    Examples
    --------
    >>> model = ClickMatrix([[0.5, 0.25], [0.5, 0.5], [0.125, 0.25]])
    >>> model.best_ranking()
    array([0, 1])
    >>> model.value([0, 1])
    1.0
    """

    name = "click-matrix"
    reward = "clicks"
    is_a = ("click-matrix",)
    reads_in_order = False
    independent_positions = True

    def __init__(self, probabilities: ArrayLike) -> None:
        """Check the parameters and store a read-only copy."""
        try:
            table = np.array(probabilities, dtype=np.float64)
        except (TypeError, ValueError):
            table = np.zeros(0)
        if table.ndim != 2 or not ((table >= 0.0) & (table <= 1.0)).all():
            rule = "probabilities must be a matrix of numbers between 0 and 1, one row per item"
            raise invalid("ClickMatrix", rule, probabilities)
        self.n_items, self.n_positions = check_shape("ClickMatrix", *table.shape)
        self.probabilities: Floats = frozen(table)
        self.params = MatrixParams(self.probabilities)

    def relabelled(self, order: Ints) -> ClickMatrix:
        """Return the model whose item i is this model's item ``order[i]``."""
        return ClickMatrix(self.probabilities[order])

    def first_positions(self, n_positions: int) -> ClickMatrix:
        """Return the model of the first positions of the page alone."""
        return ClickMatrix(self.probabilities[:, : self._shorter(n_positions)])


def _sample(params: MatrixParams, ranking: Ints, rng: np.random.Generator, out: Ints) -> None:
    for position in range(ranking.shape[0]):
        p = params.probabilities[ranking[position], position]
        out[position] = 1 if rng.random() < p else 0


def _log_prob(params: MatrixParams, ranking: Ints, clicks: Ints) -> float:
    total = 0.0
    for position in range(ranking.shape[0]):
        p = params.probabilities[ranking[position], position]
        if clicks[position] == 0:
            p = 1.0 - p
        if p <= 0.0:
            return -math.inf
        total += math.log(p)
    return total


def _click_probabilities(params: MatrixParams, ranking: Ints, out: Floats) -> None:
    for position in range(ranking.shape[0]):
        out[position] = params.probabilities[ranking[position], position]


def _value(params: MatrixParams, ranking: Ints) -> float:
    total = 0.0
    for position in range(ranking.shape[0]):
        total += params.probabilities[ranking[position], position]
    return total


def _best_ranking(params: MatrixParams, out: Ints) -> None:
    n_items = params.probabilities.shape[0]
    marks = np.zeros((4, n_items), dtype=np.int64)
    for item in range(n_items):
        marks[3, item] = item
    solve_assignment(params.probabilities, np.zeros(n_items), out, np.zeros((5, n_items)), marks)


register(
    ClickMatrix,
    MatrixParams,
    Kernels(_sample, _log_prob, _click_probabilities, _value, _best_ranking),
)
