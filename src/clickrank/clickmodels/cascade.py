"""Cascade model: people scan from the top and leave with the first attractive item."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from clickrank._core.arrays import Floats, Ints, frozen
from clickrank.clickmodels import dcm
from clickrank.clickmodels.attraction import LinearAttraction
from clickrank.clickmodels.click_model import ClickModel, Kernels, register


class CascadeParams(NamedTuple):
    """Parameters of the kernels."""

    # The class has its own name because Numba's dispatcher treats two NamedTuples as the same type
    # if their names and fields are the same, wherever they are defined.

    attraction: Floats  # (n_items,)
    satisfaction: Floats  # (n_positions,): ones, for the kernels of the DCM


class Cascade(ClickModel):
    """Cascade model: the first attractive item from the top gets the only click.

    P(click at l) = attraction[k_l] · ∏ (1 − attraction[k_j]) over the positions j above l.

    The reward is whether there is a click, with expectation 1 − ∏ (1 − attraction[k_l]). It depends
    on which items are shown and not on their order. This is the DCM, or the DBN with continuation
    1, in which every click satisfies, and the UBM in which nothing is examined after a click.

    **Source**: kveton2022, section 5.1; gauthier2022, section 1.1.2.

    Parameters
    ----------
    attraction
        Probability that item k is attractive (θ_k in both sources); or a `LinearAttraction`.
    n_positions
        Length of the list (K in both sources).

    Examples
    --------
    >>> model = Cascade(attraction=[0.25, 0.125, 0.5], n_positions=2)
    >>> model.best_ranking()
    array([2, 0])
    >>> model.value([2, 0])
    0.625
    >>> model.click_probabilities([2, 0])
    array([0.5  , 0.125])
    """

    name = "cascade"
    reward = "any click"
    is_a = ("cascade", "dcm", "dbn", "ubm")
    complexity = 1
    examined_displays = "no click above"

    def __init__(self, attraction: ArrayLike | LinearAttraction, n_positions: int) -> None:
        """Check the parameters and store read-only copies."""
        self._set_shape(attraction, n_positions)
        self.params = CascadeParams(self.attraction, frozen(np.ones(self.n_positions)))

    @property
    def satisfaction(self) -> Floats:
        """Probability that a click satisfies: 1 at every position."""
        satisfied: Floats = self.params.satisfaction
        return satisfied

    @property
    def item_satisfaction(self) -> Floats:
        """Probability that a click on each item satisfies: 1."""
        return frozen(np.ones(self.n_items))

    @property
    def continuation(self) -> float:
        """Probability that a user who has not clicked looks at the next position: 1."""
        return 1.0

    @property
    def examination_after(self) -> Floats:
        """Probability that a position is examined: 1 after no click, 0 after any click."""
        examined = np.zeros((self.n_positions, self.n_positions))
        examined[:, 0] = 1.0
        return frozen(examined)

    def relabelled(self, order: Ints) -> Cascade:
        """Return the model whose item i is this model's item ``order[i]``."""
        return Cascade(self.attraction[order], self.n_positions)

    def first_positions(self, n_positions: int) -> Cascade:
        """Return the model of the first positions of the page alone."""
        return Cascade(self.attraction, self._shorter(n_positions))


def _sample(params: CascadeParams, ranking: Ints, rng: np.random.Generator, out: Ints) -> None:
    # Unlike in the DCM, satisfaction is certain, so that one draw per position is enough.
    examined = True
    for position in range(ranking.shape[0]):
        # Drawn even for a user who has left, so that every round takes the same number.
        attracted = rng.random() < params.attraction[ranking[position]]
        clicked = examined and attracted
        out[position] = 1 if clicked else 0
        examined = examined and not attracted


register(
    Cascade,
    CascadeParams,
    Kernels(_sample, dcm._log_prob, dcm._click_probabilities, dcm._value, dcm._best_ranking),
)
