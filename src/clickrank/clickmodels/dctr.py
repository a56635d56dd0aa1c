"""Document-based model: people look at every position and click what attracts them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from clickrank._core.arrays import Floats, Ints, frozen
from clickrank.clickmodels.attraction import LinearAttraction
from clickrank.clickmodels.click_model import ClickModel, register_special_case
from clickrank.clickmodels.pbm import PBM, PBMParams, same_after_any_click


class DCTR(ClickModel):
    """Document-based model: a click depends on the item alone, wherever it is shown.

    P(click at l | item k shown there) = attraction[k], independently over positions. The reward is
    the number of clicks. This is the PBM with every position examined.

    **Source**: kveton2022, section 4.1.

    Parameters
    ----------
    attraction
        Probability that item k is attractive (θ_k in the source); or a `LinearAttraction`.
    n_positions
        Length of the list (K in the source).

    Examples
    --------
    >>> model = DCTR(attraction=[0.25, 0.125, 0.5], n_positions=2)
    >>> model.best_ranking()
    array([2, 0])
    >>> model.value([2, 0])
    0.75
    """

    name = "dctr"
    reward = "clicks"
    is_a = ("dctr", "pbm", "ubm")
    complexity = 0
    independent_positions = True
    examined_displays = "all"
    reads_in_order = False

    def __init__(self, attraction: ArrayLike | LinearAttraction, n_positions: int) -> None:
        """Check the parameters and store read-only copies."""
        self._set_shape(attraction, n_positions)
        self.params = PBMParams(self.attraction, frozen(np.ones(self.n_positions)))

    @property
    def examination(self) -> Floats:
        """Probability that a position is examined: 1 everywhere."""
        examined: Floats = self.params.examination
        return examined

    @property
    def examination_after(self) -> Floats:
        """Probability that a position is examined after any click above: 1."""
        return same_after_any_click(self.examination)

    def relabelled(self, order: Ints) -> DCTR:
        """Return the model whose item i is this model's item ``order[i]``."""
        return DCTR(self.attraction[order], self.n_positions)

    def first_positions(self, n_positions: int) -> DCTR:
        """Return the model of the first positions of the page alone."""
        return DCTR(self.attraction, self._shorter(n_positions))


register_special_case(DCTR, PBM)
