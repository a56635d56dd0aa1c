"""The likelihood of the position-based model over cells, and steps towards its maximum.

In x = log θ and y = log κ it is concave. Given y, each pair's x is the root of an equation of its
own; Newton's method is then used on the few y alone. Steps that do not raise the likelihood are
replaced by one of expectation maximisation, which never lowers it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import xlog1py

from clickrank._core.arrays import Floats, Ints
from clickrank.fit.base import add_up

_LONGEST = 3.0  # step of log κ
#: An error of log κ or log θ for which the curvature is rounding.
_SAYS_NOTHING = 1e4
#: What sums of counts may be off by, beside themselves.
_ROUNDING = 1e-13


class _Curvature(NamedTuple):
    """Minus the second derivatives in the logarithms."""

    of_x: Floats  # (n_pairs,): beside the diagonal there are none
    of_both: csr_array  # (n_pairs, n_positions), without pairs that are held
    of_y: Floats  # (n_positions, n_positions), where x follows y


class Problem:
    """The likelihood of cells whose pairs and positions have clicks, and steps towards its maximum.

    Cells are in the order of pairs, which are numbered without gaps, as are positions.
    """

    def __init__(self, pair: Ints, position: Ints, clicks: Floats, misses: Floats) -> None:
        self.pair, self.position, self.clicks, self.misses = pair, position, clicks, misses
        self.n_pairs = int(pair.max(initial=-1)) + 1
        self.n_positions = int(position.max(initial=-1)) + 1
        self.pair_clicks = self._by_pair(clicks)
        self.position_clicks = self._by_position(clicks)
        self.first = np.searchsorted(pair, np.arange(self.n_pairs + 1))
        self.part = self._parts()
        self.part_of_pair = self.part[position[self.first[:-1]]]

    def newton(self, tolerance: float, most: int) -> tuple[Floats, Floats, Floats, bool]:
        """Return the maximum, the likelihoods on the way, and whether the last step was small."""
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
            elif not done:  # as high as rounding lets it see
                return x, y, np.array(path), False
            if done:
                return x, y, np.array(path), True
        return x, y, np.array(path), False

    def em(self, tolerance: float, most: int) -> tuple[Floats, Floats, Floats, bool]:
        """Do the same by steps of expectation maximisation alone."""
        y = self._start()
        x = self.best_x(y)
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
        x = np.minimum(x + largest[self.position[self.first[:-1]]], 0.0)
        return x, y - largest, np.array(path), gain <= tolerance

    def em_step(self, theta: Floats, kappa: Floats) -> tuple[Floats, Floats]:
        """Take one step of expectation maximisation."""
        a, e = theta[self.pair], kappa[self.position]
        # Without a click, who knows whether the position was examined or the item attractive?
        rest = np.divide(self.misses, 1.0 - a * e, out=np.zeros_like(a), where=self.misses > 0.0)
        shown = self.clicks + self.misses
        attracted = self._by_pair(self.clicks + rest * a * (1.0 - e))
        examined = self._by_position(self.clicks + rest * e * (1.0 - a))
        return attracted / self._by_pair(shown), examined / self._by_position(shown)

    def value(self, x: Floats, y: Floats) -> float:
        """Return the log-likelihood."""
        rates = np.exp(x[self.pair] + y[self.position])
        return float(
            self.pair_clicks @ x + self.position_clicks @ y + xlog1py(self.misses, -rates).sum()
        )

    def best_x(self, y: Floats) -> Floats:
        """Return the best x beside y: the roots of Σ_k F p / (1 − p) = S, or 0 if that is less.

        The left side is convex in θ, so that Newton's steps from above go down to the root.
        """
        kappa, total = np.exp(y)[self.position], self.pair_clicks
        theta = np.ones(self.n_pairs)
        alone = total[self.pair] / (kappa * (total[self.pair] + self.misses))
        if self.n_pairs:
            # Where one cell alone would reach the root; without misses that is not below 1 / κ.
            np.minimum(theta, np.minimum.reduceat(alone, self.first[:-1]), out=theta)
        for _ in range(100):
            p = theta[self.pair] * kappa
            left = np.divide(self.misses, 1.0 - p, out=np.zeros_like(p), where=self.misses > 0.0)
            excess = self._by_pair(left * p) - total
            left = np.divide(left, 1.0 - p, out=np.zeros_like(p), where=self.misses > 0.0)
            slope = self._by_pair(left * kappa)
            step = np.divide(excess, slope, out=np.zeros_like(theta), where=excess > 0.0)
            theta -= step
            if not (step > 1e-15 * theta).any():
                break
        return np.log(theta)

    def errors(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return the standard errors of x and y; 0 where held, infinite where nothing is said."""
        of_x, of_both, of_y = self._curvature(x, y)
        free = ~self._held(x, y)[0]
        inverse = np.zeros_like(of_y)
        inverse[np.ix_(free, free)] = np.linalg.inv(of_y[np.ix_(free, free)])
        own = np.divide(1.0, of_x, out=np.full_like(of_x, np.inf), where=of_x > 0.0)
        share = of_both.multiply(np.where(of_x > 0.0, own, 0.0)[:, None]).tocsr()
        inherited = share.multiply(share @ inverse).sum(axis=1)
        errors = np.sqrt(own + np.maximum(inherited, 0.0)), np.sqrt(np.maximum(np.diag(inverse), 0))
        for error in errors:
            error[error > _SAYS_NOTHING] = np.inf
        return errors

    def _step(self, x: Floats, y: Floats) -> tuple[Floats, float, NDArray[np.bool_]]:
        """Return Newton's step in y, what it would gain, and which y have a bound in their way."""
        slope = self._slope(x, y)
        held, bounded = self._held(x, y)
        free = ~held
        of_y = self._curvature(x, y).of_y[np.ix_(free, free)]
        step = np.zeros_like(y)
        step[free] = np.clip(np.linalg.solve(of_y, slope[free]), -_LONGEST, _LONGEST)
        return step, float(slope @ step), bounded

    def _slope(self, x: Floats, y: Floats) -> Floats:
        p = np.exp(x[self.pair] + y[self.position])
        left = np.divide(self.misses, 1.0 - p, out=np.zeros_like(p), where=self.misses > 0.0)
        return self.position_clicks - self._by_position(left * p)

    def _held(self, x: Floats, y: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which y are held, at least one of each part, and those that 0 is a bound to.

        Where no x of a part is at its bound, all y of the part may move up and its x down: there
        one y is held in place of the scale.
        """
        at_bound = np.zeros(y.size, dtype=np.bool_)
        at_bound[self.part_of_pair[x >= 0.0]] = True  # by part
        bounded = at_bound[self.part]
        held = bounded & (y >= 0.0) & (self._slope(x, y) > 0.0)
        for part in range(int(self.part.max(initial=-1)) + 1):
            mine = np.flatnonzero(self.part == part)
            if not held[mine].any():
                held[mine[np.argmax(y[mine])]] = True
        return held, bounded

    def _curvature(self, x: Floats, y: Floats) -> _Curvature:
        p = np.exp(x[self.pair] + y[self.position])
        bend = np.divide(
            self.misses * p, (1.0 - p) ** 2, out=np.zeros_like(p), where=self.misses > 0
        )
        of_x = self._by_pair(bend)
        loose = (x < 0.0) & (of_x > 0.0)
        inner = np.where(loose[self.pair], bend, 0.0)
        shape = (self.n_pairs, self.n_positions)
        of_both = csr_array((inner, self.position, self.first), shape=shape)
        root = np.sqrt(np.where(loose, of_x, 1.0))
        scaled = csr_array((inner / root[self.pair], self.position, self.first), shape=shape)
        # Minus what each two positions share, and on the diagonal the sum of that and of what holds
        # each: no difference of large numbers, which would lose a weak link.
        shared: Floats = np.asarray((scaled.T @ scaled).toarray(), dtype=np.float64)
        np.fill_diagonal(shared, 0.0)
        held = shared.sum(axis=1) + self._by_position(bend - inner)
        return _Curvature(of_x, of_both, np.diag(held * (1.0 + _ROUNDING) + _ROUNDING) - shared)

    def _start(self) -> Floats:
        shown = self._by_position(self.clicks + self.misses)
        return self._scaled(np.log(self.position_clicks / shown))

    def _scaled(self, y: Floats) -> Floats:
        return y - self._largest(y)

    def _largest(self, y: Floats) -> Floats:
        """Return the largest y of each position's part."""
        largest = np.full(int(self.part.max(initial=-1)) + 1, -np.inf)
        np.maximum.at(largest, self.part, y)
        return largest[self.part]

    def _parts(self) -> Ints:
        """Number the sets of positions that pairs link, from the first on."""
        seen = csr_array(
            (np.ones(self.pair.size), self.position, self.first),
            shape=(self.n_pairs, self.n_positions),
        )
        links: Any = seen.T @ seen  # whose type its stubs cannot tell
        _, found = connected_components(links, directed=False)
        return found.astype(np.int64)

    def _by_pair(self, values: Floats) -> Floats:
        return add_up(self.pair, values, self.n_pairs)

    def _by_position(self, values: Floats) -> Floats:
        return add_up(self.position, values, self.n_positions)
