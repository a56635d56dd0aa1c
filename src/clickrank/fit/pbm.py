"""Fit of the position-based click model (PBM): attractions, and one examination for all queries."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import Floats, Ints
from clickrank._core.validate import check_float, check_int
from clickrank.clickmodels import PBM
from clickrank.errors import invalid
from clickrank.fit.fitted_model import (
    RateFit,
    add_up,
    at_edge,
    cells_of,
    edge_error,
    likelihood_of_rates,
    of_positions,
    typical_rate,
)
from clickrank.fit.pbm_problem import PBMProblem
from clickrank.logs import Cells, Counts

SOLVERS = ("newton", "em")
#: Smallest number of looks that a view counts as, for positions with few clicks.
LEAST_LOOKED = 0.1


@dataclasses.dataclass(frozen=True, eq=False)
class PBMFit(RateFit):
    """Result of `fit_pbm`.

    Parameters
    ----------
    examination, examination_error
        κ of each position, at most 1, with standard errors: 0 where κ is 1 by definition, infinite
        without information in the log.
    part
        Positions with the same number are linked: their examinations can be compared. -1 for those
        without a click.
    """

    name = "pbm"
    position_fields = ("examination",)

    examination: Floats
    examination_error: Floats
    part: Ints

    def beyond(self) -> tuple[Floats, Floats, int]:
        """Return how far examinations are from 1; if all are 1, positions do not matter."""
        # The largest examination is 1 at any position, so that every two positions are compared.
        n = self.examination.size
        return 1.0 - self.examination, self.examination_error, n * (n - 1) // 2

    def unlinked_positions(self) -> NDArray[np.bool_]:
        """Return which positions are in a smaller group than the largest."""
        if self.part.max(initial=-1) <= 0:
            return super().unlinked_positions()
        largest = int(np.argmax(np.bincount(self.part[self.part >= 0])))
        found: NDArray[np.bool_] = (self.part >= 0) & (self.part != largest)
        return found

    def model(self, query: str | None = None) -> PBM:
        """Return the click model of one query over its items, in the order of its pairs."""
        pairs, n_positions = self._pairs(query)
        return PBM(self.attraction[pairs], self.examination[:n_positions])

    def _rates(self, items: Ints) -> Floats:
        rates: Floats = self.attraction[items] * self.examination[: items.shape[1]]
        return rates


def fit_pbm(
    counts: Counts,
    *,
    shrinkage: float = 0.0,
    solver: str = "newton",
    tolerance: float = 1e-9,
    steps: int = 10_000,
) -> PBMFit:
    """Estimate attractions and examination by maximum likelihood, from the observed cells.

    Σ S_ik log θ_i κ_k + F_ik log(1 − θ_i κ_k) over pairs i and positions k that were shown
    together, S clicks and F misses, with 0 ≤ θ ≤ 1 and 0 ≤ κ ≤ 1. A cell that was never shown does
    not contribute. Clicks determine products θκ only, so that the largest κ is set to 1.

    One step of expectation maximisation is

        θ_i ← Σ_k (S_ik + F_ik θ_i (1 − κ_k) / (1 − θ_i κ_k)) / n_i

    and likewise for κ_k. It never lowers the likelihood, but may take 10⁵ steps.

    **Source**: chuklin2015, chapter 4 (the steps); gauthier2022, section 1.1.1 (the model).

    **Differences**: 1. Newton's method on κ, with the θ eliminated, reaches the limit in about 10
    steps; ``solver="em"`` takes the steps above. 2. The source starts both at fixed values and
    stops after some steps; the maximum does not depend on the start, except for parameters that
    are not identified.

    Parameters
    ----------
    counts
        The log; it need not contain lists.
    shrinkage
        Number of looks to add to each pair: views, distributed over positions as its own views
        are, and clicked at the rates of the typical pair (`shrunk`).
    solver
        "newton" or "em".
    tolerance
        Newton's method ends when a step would gain less than this; EM ends when a step gained less.
    steps
        Maximum number of steps.

    Examples
    --------
    >>> lists, clicks = [[0, 1], [1, 0]] * 50, [[1, 1], [0, 1], [1, 0], [1, 0], [0, 0]] * 20
    >>> fit = fit_pbm(Counts.of_lists(lists, clicks))
    >>> fit.attraction.round(2), fit.examination.round(2)
    (array([0.6, 0.6]), array([1.  , 0.67]))
    """
    more = check_float("fit_pbm", "shrinkage", shrinkage, 0.0)
    if solver not in SOLVERS:
        raise invalid("fit_pbm", f"solver must be one of {', '.join(SOLVERS)}", solver)
    tolerance = check_float("fit_pbm", "tolerance", tolerance, 0.0)
    most = check_int("fit_pbm", "steps", steps, 1)
    cells, n_positions = cells_of("fit_pbm", counts), counts.n_positions
    shown, clicked = cells.shown.astype(np.float64), cells.clicked.astype(np.float64)
    if more > 0.0:
        shown, clicked = shrunk(counts, cells, np.arange(n_positions), more)
    by_pair = add_up(cells.pair, clicked, counts.n_pairs)
    by_position = add_up(cells.position, clicked, n_positions)
    # Without a click, θ or κ is 0, and the misses contain no information on the other.
    kept = (by_pair[cells.pair] > 0) & (by_position[cells.position] > 0)
    pairs, positions = np.flatnonzero(by_pair), np.flatnonzero(by_position)
    problem = PBMProblem(
        np.searchsorted(pairs, cells.pair[kept]),
        np.searchsorted(positions, cells.position[kept]),
        clicked[kept],
        (shown - clicked)[kept],
    )
    solve = problem.newton if solver == "newton" else problem.em
    x, y, path, converged = solve(tolerance, most)
    errors_x, errors_y = problem.errors(x, y)
    theta, kappa = np.exp(x), np.exp(y)
    attraction, examination = np.zeros(counts.n_pairs), np.zeros(n_positions)
    attraction[pairs], examination[positions] = theta, kappa
    # At an edge the curvature gives no error: it is that of a rate from this many looks.
    looks = add_up(cells.pair, shown * examination[cells.position], counts.n_pairs)
    error = edge_error(looks, by_pair)
    inside = x < 0.0
    error[pairs[inside]] = (theta * errors_x)[inside]
    liked = add_up(cells.position, shown * attraction[cells.pair], n_positions)
    examination_error = edge_error(liked, by_position)
    examination_error[positions] = kappa * errors_y
    examination_error[liked == 0.0] = np.inf
    unseen = looks == 0.0
    error[unseen] = np.inf
    attraction[unseen] = typical_rate(looks[~unseen], by_pair[~unseen])
    part = np.full(n_positions, -1)
    part[positions] = problem.part
    rates = attraction[cells.pair] * examination[cells.position]
    misses = cells.shown - cells.clicked
    return PBMFit(
        counts,
        attraction,
        error,
        likelihood_of_rates(cells.clicked, misses, rates),
        path,
        converged,
        (*of_positions(part, "examination", "examination"), *at_edge(attraction, looks)),
        examination,
        examination_error,
        part,
    )


def shrunk(
    counts: Counts, cells: Cells, column_position: Ints, more: float
) -> tuple[Floats, Floats]:
    """Return displays and clicks of pairs at columns, including the views of the shrinkage.

    Each pair gets ``more`` looks, distributed over columns as its own views are and clicked at the
    rates of the typical pair. A view at a position that people look at half as often counts as half
    a look; otherwise the same shrinkage would weigh less in models with position effects than in
    those without. The number of looks per view depends on the position alone, and the typical rate
    of a rare column is close to that of its position, so that the shrinkage does not depend on how
    many columns a model has.

    Parameters
    ----------
    counts
        The log.
    cells
        Displays and clicks by pair and column; the columns of the position-based model are
        positions.
    column_position
        The position of each column.
    more
        Number of looks to add to each pair.
    """
    plain = counts.cells
    overall = (plain.clicked.sum() + 0.5) / (plain.shown.sum() + 1.0)
    by_position = _typical(plain, counts.n_positions, np.full(counts.n_positions, overall))
    typical = _typical(cells, column_position.size, by_position[column_position])
    looked = np.maximum(by_position / by_position.max(), LEAST_LOOKED)
    looks = cells.shown * looked[column_position[cells.position]]
    views = more * cells.shown / add_up(cells.pair, looks, counts.n_pairs)[cells.pair]
    clicks = views * typical[cells.position]
    return cells.shown + views, cells.clicked + clicks


def _typical(cells: Cells, n_columns: int, usual: Floats) -> Floats:
    """Return the click rate of the typical pair at each column, with one view at a usual rate."""
    weight = add_up(cells.position, cells.shown / (cells.shown + 1.0), n_columns)
    return (add_up(cells.position, cells.clicked / (cells.shown + 1.0), n_columns) + usual) / (
        weight + 1.0
    )
