"""Likelihood of the position-based model for the cells of a log, and two solvers.

`clickrank.numerics.pbm_likelihood` has the likelihood, in x = log θ and y = log κ. For given y the
best x of each pair is the root of an equation in one unknown, so that Newton's method is used on
the few y alone. A step that does not raise the likelihood is replaced by one of expectation
maximisation, which never lowers it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clickrank._compile.jit import kernel_for
from clickrank._core.arrays import Floats, Ints
from clickrank.fit.fitted_model import add_up, linked_positions
from clickrank.numerics.pbm_likelihood import (
    PBMCells,
    best_rows,
    derivatives,
    eliminate_rows,
    log_likelihood,
    row_variances,
)

_LONGEST = 3.0  # step of log κ
#: A standard error of log κ or log θ above which the curvature is nothing but rounding.
_UNINFORMATIVE = 1e4
#: The smallest distance from 0 and 1 of a θ at which expectation maximisation starts.
_EDGE = 1e-3


class Curvature(NamedTuple):
    """Slopes of the log-likelihood and minus its second derivatives, at one point."""

    slope_x: Floats  # (n_pairs,)
    slope_y: Floats  # (n_positions,)
    of_x: Floats  # (n_pairs,), the diagonal of a block without other entries
    of_cells: Floats  # (n_cells,), by x of the pair and y of the position
    of_y: Floats  # (n_positions, n_positions), where x follows y


class CellLikelihood:
    """The log-likelihood of cells. Pairs are rows and positions columns of `PBMCells`."""

    def __init__(self, cells: PBMCells, n_positions: int) -> None:
        self.cells, self.n_positions = cells, n_positions
        self.n_pairs = cells.first.size - 1

    def value(self, x: Floats, y: Floats) -> float:
        """Return the log-likelihood."""
        return kernel_for(_value, "")(self.cells, x, y)

    def curvature(self, x: Floats, y: Floats) -> Curvature:
        """Return slopes and second derivatives."""
        n_pairs, n = self.n_pairs, self.n_positions
        found = Curvature(
            np.empty(n_pairs),
            np.empty(n),
            np.empty(n_pairs),
            np.empty(self.cells.column.size),
            np.empty((n, n)),
        )
        kernel_for(_curvature, "")(self.cells, x, y, found)
        upper = np.triu_indices(n, 1)
        found.of_y[upper] = found.of_y.T[upper]
        return found

    def variances(
        self, x: Floats, y: Floats, free: NDArray[np.bool_], pull: float = 0.0
    ) -> tuple[Floats, Floats, Floats]:
        """Return the variances of x with y known, what y adds to them, and those of y.

        ``free`` marks the y that are estimated; the others have variance 0. ``pull`` is that of
        `maximise_likelihood`.
        """
        found = self.curvature(x, y)
        covariance = np.zeros((y.size, y.size))
        of_y = found.of_y + np.diag(pull * np.exp(y))
        covariance[np.ix_(free, free)] = np.linalg.inv(of_y[np.ix_(free, free)])
        known, inherited = np.empty(self.n_pairs), np.empty(self.n_pairs)
        kernel_for(_variances, "")(self.cells, x, found, covariance, known, inherited)
        return known, inherited, np.maximum(np.diag(covariance), 0.0)


def _value(cells: PBMCells, x: Floats, y: Floats) -> float:
    return log_likelihood(cells, x, y)


def _curvature(cells: PBMCells, x: Floats, y: Floats, found: Curvature) -> None:
    slope_x, slope_y, of_x, of_cells, of_y = found
    derivatives(cells, x, y, slope_x, slope_y, of_x, of_cells)
    eliminate_rows(cells, x, of_x, of_cells, of_y)


def _variances(
    cells: PBMCells,
    x: Floats,
    found: Curvature,
    covariance: Floats,
    known: Floats,
    inherited: Floats,
) -> None:
    row_variances(cells, x, found.of_x, found.of_cells, covariance, known, inherited)


def _best_x(cells: PBMCells, y: Floats, x: Floats) -> None:
    best_rows(cells, y, x)


class PBMProblem(CellLikelihood):
    """The likelihood of cells whose pairs and positions all have clicks, and its maximum.

    Cells are sorted by pair and then by position. Pairs are numbered without gaps, and so are
    positions.
    """

    def __init__(self, pair: Ints, position: Ints, clicks: Floats, misses: Floats) -> None:
        first = np.searchsorted(pair, np.arange(int(pair.max(initial=-1)) + 2))
        super().__init__(
            PBMCells(first, position, clicks, misses), int(position.max(initial=-1)) + 1
        )
        self.pair, self.position, self.clicks, self.misses = pair, position, clicks, misses
        self.position_clicks = self._by_position(clicks)
        self.part = linked_positions(pair, position, self.n_positions)
        self.part_of_pair = self.part[position[first[:-1]]]

    def newton(self, tolerance: float, most: int) -> tuple[Floats, Floats, Floats, bool]:
        """Return x, y, the log-likelihood after each step, and whether the last step was small."""
        y = self._start()
        x = self.best_x(y)
        path = [self.value(x, y)]
        for _ in range(most):
            step, gain, bounded = self._step(x, y)
            size, done = 1.0, gain <= max(tolerance, 1e-14 * abs(path[-1]))
            while True:
                new_y = self._scaled(
                    np.where(bounded, np.minimum(y + size * step, 0.0), y + size * step)
                )
                new_x = self.best_x(new_y)
                value = self.value(new_x, new_y)
                if value >= path[-1] + (0.0 if done else 0.1 * size * gain):
                    break
                size *= 0.5
                if done or size < 1e-4:
                    new_y = self._scaled(np.log(self.em_step(np.exp(x), np.exp(y))[1]))
                    new_x = self.best_x(new_y)
                    value = self.value(new_x, new_y)
                    break
            if value >= path[-1]:
                x, y = new_x, new_y
                path.append(value)
            elif not done:  # the maximum, up to rounding
                return x, y, np.array(path), False
            if done:
                return x, y, np.array(path), True
        return x, y, np.array(path), False

    def em(self, tolerance: float, most: int) -> tuple[Floats, Floats, Floats, bool]:
        """Return what `newton` returns, found by steps of expectation maximisation alone.

        A step never moves a θ or a κ away from 1, so that it starts with all of them below 1.
        """
        y = self._inside()
        rates = self._by_pair(self.clicks) / self._by_pair(self.clicks + self.misses)
        x = np.log(np.clip(rates, _EDGE, 1.0 - _EDGE))
        path, gain = [self.value(x, y)], np.inf
        for _ in range(most):
            theta, kappa = self.em_step(np.exp(x), np.exp(y))
            value = self.value(np.log(theta), np.log(kappa))
            gain = value - path[-1]
            if gain > 0.0:
                x, y = np.log(theta), np.log(kappa)
                path.append(value)
            if gain <= tolerance:
                break
        largest = self._largest(y)
        x = np.minimum(x + largest[self.position[self.cells.first[:-1]]], 0.0)
        return x, y - largest, np.array(path), gain <= tolerance

    def em_step(self, theta: Floats, kappa: Floats) -> tuple[Floats, Floats]:
        """Return θ and κ after one step of expectation maximisation."""
        a, e = theta[self.pair], kappa[self.position]
        # A miss is one of three: not examined, not attractive, or neither.
        rest = np.divide(self.misses, 1.0 - a * e, out=np.zeros_like(a), where=self.misses > 0.0)
        shown = self.clicks + self.misses
        attracted = self._by_pair(self.clicks + rest * a * (1.0 - e))
        examined = self._by_position(self.clicks + rest * e * (1.0 - a))
        return attracted / self._by_pair(shown), examined / self._by_position(shown)

    def best_x(self, y: Floats) -> Floats:
        """Return the x of largest likelihood for given y, at most 0."""
        x = np.empty(self.n_pairs)
        kernel_for(_best_x, "")(self.cells, y, x)
        return x

    def errors(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return the standard errors of x and y: 0 where held, infinite without information."""
        free = ~self._held(x, y, self.curvature(x, y).slope_y)[0]
        known, inherited, of_y = self.variances(x, y, free)
        errors = np.sqrt(known + inherited), np.sqrt(of_y)
        for error in errors:
            error[error > _UNINFORMATIVE] = np.inf
        return errors

    def _step(self, x: Floats, y: Floats) -> tuple[Floats, float, NDArray[np.bool_]]:
        """Return Newton's step in y, its expected gain, and which y have 0 as a bound."""
        found = self.curvature(x, y)
        slope = found.slope_y
        held, bounded = self._held(x, y, slope)
        free = ~held
        step = np.zeros_like(y)
        newton = np.linalg.solve(found.of_y[np.ix_(free, free)], slope[free])
        step[free] = np.clip(newton, -_LONGEST, _LONGEST)
        return step, float(slope @ step), bounded

    def _held(
        self, x: Floats, y: Floats, slope: Floats
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which y are held, at least one in each part, and which have 0 as a bound.

        Where no x of a part is at its bound, all y of the part may move up and its x down: there
        one y is held to fix the scale.
        """
        at_bound = np.zeros(y.size, dtype=np.bool_)
        at_bound[self.part_of_pair[x >= 0.0]] = True  # by part
        bounded = at_bound[self.part]
        held = bounded & (y >= 0.0) & (slope > 0.0)
        for part in range(int(self.part.max(initial=-1)) + 1):
            members = np.flatnonzero(self.part == part)
            if not held[members].any():
                held[members[np.argmax(y[members])]] = True
        return held, bounded

    def _start(self) -> Floats:
        shown = self._by_position(self.clicks + self.misses)
        return self._scaled(np.log(self.position_clicks / shown))

    def _inside(self) -> Floats:
        """Return y at which steps of expectation maximisation can move all that is estimated."""
        return np.full(self.n_positions, np.log(0.5))

    def _scaled(self, y: Floats) -> Floats:
        return y - self._largest(y)

    def _largest(self, y: Floats) -> Floats:
        """Return the largest y of each position's part."""
        largest = np.full(int(self.part.max(initial=-1)) + 1, -np.inf)
        np.maximum.at(largest, self.part, y)
        return largest[self.part]

    def _by_pair(self, values: Floats) -> Floats:
        return add_up(self.pair, values, self.n_pairs)

    def _by_position(self, values: Floats) -> Floats:
        return add_up(self.position, values, self.n_positions)
