"""User browsing model: examination depends on the position and on the last click."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from clickrank._core.arrays import Floats, Ints, frozen, numbers
from clickrank.clickmodels.attraction import LinearAttraction
from clickrank.clickmodels.click_model import ClickModel, Kernels, register
from clickrank.clickmodels.ubm_search import best_list, expected_clicks
from clickrank.errors import invalid


class UBMParams(NamedTuple):
    """Parameters of the kernels."""

    attraction: Floats  # (n_items,)
    examination_after: Floats  # (n_positions, n_positions)


class UBM(ClickModel):
    """User browsing model: examination depends on the position and on the last click above it.

    P(click at l | item k shown there, last click above at j) = examination_after[l][j] ·
    attraction[k]. The reward is the number of clicks. With the same examination after any click
    this is the PBM; with examination 1 before the first click and 0 after it, the cascade.

    There is no formula for the best ranking. `best_ranking` is the best of all rankings if branch
    and bound ends within 50,000 prefixes of lists, as it does for up to about 7 positions;
    `best_is_proven` says whether it did. Otherwise `best_ranking` is a ranking that no exchange of
    two items improves, and regret is relative to it, although another ranking may be better. Of 600
    random models with six positions, exchanges alone missed the best ranking of 5, by at most 1.2 %
    of its clicks.

    **Source**: dupret2008, section 3. There γ is a function of the position and of the distance
    from the last click, which is equivalent.

    Parameters
    ----------
    attraction
        Probability that item k is attractive (α in dupret2008); or a `LinearAttraction`.
    examination_after
        γ, one row per position: the probability that it is examined after no click above, then
        after a last click at the first position, at the second, and so on, down to the position
        above. Row l, counted from 0, has l + 1 entries; in a square matrix the others are 0.

    Examples
    --------
    >>> model = UBM(attraction=[0.5, 0.2, 0.4], examination_after=[[1.0], [0.5, 0.75]])
    >>> model.click_probabilities([0, 2])
    array([0.5 , 0.25])
    >>> model.best_ranking()
    array([0, 2])
    """

    name = "ubm"
    reward = "clicks"
    is_a = ("ubm",)
    complexity = 5
    excludes = ("pbm",)
    stand_ins = ("pbm",)

    def __init__(
        self,
        attraction: ArrayLike | LinearAttraction,
        examination_after: ArrayLike | Sequence[Sequence[float]],
    ) -> None:
        """Check the parameters and store read-only copies."""
        examined = _triangle(examination_after)
        self._set_shape(attraction, examined.shape[0])
        self.examination_after: Floats = frozen(examined)
        self.params = UBMParams(self.attraction, self.examination_after)

    def relabelled(self, order: Ints) -> UBM:
        """Return the model whose item i is this model's item ``order[i]``."""
        return UBM(self.attraction[order], self.examination_after)

    def first_positions(self, n_positions: int) -> UBM:
        """Return the model of the first positions of the page alone."""
        shorter = self._shorter(n_positions)
        return UBM(self.attraction, self.examination_after[:shorter, :shorter])

    def best_is_proven(self) -> bool:
        """Return whether the search has shown that no ranking is better than `best_ranking`."""
        out = np.zeros(self.n_positions, dtype=np.int64)
        return bool(self._compiled(_best_once)(self.params, out))


def _triangle(values: ArrayLike | Sequence[Sequence[float]]) -> Floats:
    """Return checked rows of probabilities, each one entry longer than the last, as a square."""
    name = "examination_after"
    if isinstance(values, np.ndarray):
        rows = list(values) if values.ndim == 2 else []
    else:
        rows = list(values) if isinstance(values, Sequence) else []
    if not rows or not all(isinstance(row, (Sequence, np.ndarray)) for row in rows):
        raise invalid("UBM", f"{name} must be rows of numbers, one row per position", values)
    out = np.zeros((len(rows), len(rows)))
    for position, given in enumerate(rows):
        row = numbers("UBM", f"{name}[{position}]", given)
        if row.ndim != 1 or row.size not in (position + 1, len(rows)):
            rule = f"{name}[{position}] must have {position + 1} entries, one for no click above"
            raise invalid("UBM", f"{rule} and one for each position above", given)
        good = (row >= 0.0) & (row <= np.where(np.arange(row.size) <= position, 1.0, 0.0))
        if not good.all():
            j = int(np.argmin(good))
            rule = "must be between 0 and 1" if j <= position else "must be 0: no click is above"
            raise invalid("UBM", f"{name}[{position}][{j}] {rule}", float(row[j]))
        out[position, : row.size] = row
    return out


def _sample(params: UBMParams, ranking: Ints, rng: np.random.Generator, out: Ints) -> None:
    last = 0
    for position in range(ranking.shape[0]):
        p = params.examination_after[position, last] * params.attraction[ranking[position]]
        clicked = rng.random() < p
        out[position] = 1 if clicked else 0
        if clicked:
            last = position + 1


def _log_prob(params: UBMParams, ranking: Ints, clicks: Ints) -> float:
    total = 0.0
    last = 0
    for position in range(ranking.shape[0]):
        p = params.examination_after[position, last] * params.attraction[ranking[position]]
        if clicks[position] == 1:
            last = position + 1
        else:
            p = 1.0 - p
        if p <= 0.0:
            return -math.inf
        total += math.log(p)
    return total


def _click_probabilities(params: UBMParams, ranking: Ints, out: Floats) -> None:
    expected_clicks(params.attraction, params.examination_after, ranking, out)


def _value(params: UBMParams, ranking: Ints) -> float:
    out = np.zeros(ranking.shape[0])
    return expected_clicks(params.attraction, params.examination_after, ranking, out)


def _best_ranking(params: UBMParams, out: Ints) -> None:
    best_list(params.attraction, params.examination_after, out)


def _best_once(params: UBMParams, out: Ints) -> bool:
    return best_list(params.attraction, params.examination_after, out)


register(UBM, UBMParams, Kernels(_sample, _log_prob, _click_probabilities, _value, _best_ranking))
