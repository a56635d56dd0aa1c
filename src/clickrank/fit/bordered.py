"""Inverses of bordered block-diagonal information matrices, for standard errors and Newton steps.

The information matrix has one block per query for its pairs, a border for pairs and the parameters
that all queries share, and a corner for the shared parameters. It is inverted exactly, block by
block.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from clickrank._core.arrays import Floats, Ints
from clickrank.logs import Counts

#: Largest number of entries of all blocks together. The largest queries beyond it have no block.
MOST_ENTRIES = 30_000_000


class Blocks:
    """Minus the second derivatives of a log-likelihood.

    Parameters
    ----------
    counts
        Counts, which say which pairs belong to which query.
    n_shared
        Number of parameters that all queries share.
    most_pairs
        Queries with more pairs have no block.

    Attributes
    ----------
    first
        The first pair of each query, and at the end the number of pairs.
    offset
        Index in ``inner`` where the block of each query begins, row by row; -1 if it has none.
    inner, diagonal
        The off-diagonal entries of the blocks, and the diagonal of all pairs.
    cross
        (n_pairs, n_shared)
    corner
        (n_shared, n_shared)
    """

    def __init__(self, counts: Counts, n_shared: int, most_pairs: int = 1 << 62) -> None:
        self.first: Ints = np.searchsorted(counts.pair_query, np.arange(counts.queries.size + 1))
        self.size: Ints = np.diff(self.first)
        by_size = np.argsort(self.size, kind="stable")
        fits = np.cumsum(self.size[by_size] ** 2) <= MOST_ENTRIES
        fits &= self.size[by_size] <= most_pairs
        area = np.zeros_like(self.size)
        area[by_size[fits]] = self.size[by_size[fits]] ** 2
        self.offset: Ints = np.where(area > 0, np.cumsum(area) - area, -1)
        self.inner: Floats = np.zeros(int(area.sum()))
        self.diagonal: Floats = np.zeros(counts.n_pairs)
        self.cross: Floats = np.zeros((counts.n_pairs, n_shared))
        self.corner: Floats = np.zeros((n_shared, n_shared))

    @property
    def left_out(self) -> list[str]:
        """Sentences on queries without a block."""
        n = int(((self.offset < 0) & (self.size > 0)).sum())
        if not n:
            return []
        return [
            f"Standard errors in the {n} largest quer{'y' if n == 1 else 'ies'} ignore that pairs "
            "of one list depend on each other, and may be too small."
        ]

    def variances(
        self, free: NDArray[np.bool_], free_shared: NDArray[np.bool_]
    ) -> tuple[Floats, Floats]:
        """Return the variances of pairs and of shared parameters; 0 for those that are not free.

        A variance is infinite if the matrix does not determine the parameter.
        """
        own, slopes = self._eliminated(free, self.cross)
        corner = self.corner - self.cross[free].T @ slopes[free]
        inverse = np.zeros_like(corner)
        held = np.ix_(free_shared, free_shared)
        inverse[held], bad = _inverted(corner[held])
        shared = np.where(free_shared, np.diag(inverse), 0.0)
        inherited = ((slopes @ inverse) * slopes).sum(axis=1)
        if bad:
            shared[free_shared] = np.inf
            inherited[free] = np.inf
        variances = np.where(free, own + inherited, 0.0)
        variances[free & ~(variances > 0.0)] = np.inf
        shared[free_shared & ~(shared > 0.0)] = np.inf
        return variances, shared

    def step(
        self,
        slope: Floats,
        slope_shared: Floats,
        free: NDArray[np.bool_],
        low: Floats,
        high: Floats,
    ) -> tuple[Floats, Floats]:
        """Return Newton's step of pairs and of shared parameters, the latter within bounds.

        Pairs are eliminated first. A shared parameter with equal bounds does not move.
        """
        _, solved = self._eliminated(free, np.column_stack([self.cross, slope]), upward=True)
        slopes, alone = solved[:, :-1], solved[:, -1]
        corner = self.corner - self.cross[free].T @ slopes[free]
        right = slope_shared - self.cross[free].T @ alone[free]
        shared = np.zeros(low.size)
        loose = low < high
        if loose.any():
            # Eigenvalues are made positive: the likelihood is concave at the maximum.
            sizes, axes = np.linalg.eigh(corner[np.ix_(loose, loose)])
            roots = np.sqrt(np.maximum(np.abs(sizes), 1e-9 * np.abs(sizes).max() + 1e-300))
            matrix, aim = (axes * roots).T, axes.T @ right[loose] / roots
            found = lsq_linear(matrix, aim, (low[loose], high[loose]), method="bvls", tol=1e-12)
            shared[loose] = np.clip(found.x, low[loose], high[loose])
        return np.where(free, alone - slopes @ shared, 0.0), shared

    def _eliminated(
        self, free: NDArray[np.bool_], right: Floats, upward: bool = False
    ) -> tuple[Floats, Floats]:
        """Return the diagonals of the inverse blocks, and the inverses times ``right``.

        With ``upward``, blocks that are not positive definite are replaced by their diagonals.
        """
        own, solved = np.zeros(self.diagonal.size), np.zeros_like(right)
        for size in np.unique(self.size[self.size > 0]):
            for blocked in (True, False):
                mine = np.flatnonzero((self.size == size) & ((self.offset >= 0) == blocked))
                if mine.size:
                    pairs = self.first[mine][:, None] + np.arange(size)
                    own[pairs], solved[pairs] = self._inverse(
                        mine, pairs, free, right, blocked, upward
                    )
        return own, solved

    def _inverse(
        self,
        queries: Ints,
        pairs: Ints,
        free: NDArray[np.bool_],
        right: Floats,
        blocked: bool,
        upward: bool,
    ) -> tuple[Floats, Floats]:
        """Return what `_eliminated` returns, for some queries of the same size."""
        loose = free[pairs]
        diagonal = np.where(loose, self.diagonal[pairs], 1.0)
        cross = np.where(loose[:, :, None], right[pairs], 0.0)
        if not blocked:
            own = np.divide(1.0, diagonal, out=np.full_like(diagonal, np.inf), where=diagonal > 0)
            return own, np.where(np.isfinite(own), own, 0.0)[:, :, None] * cross
        n = pairs.shape[1]
        blocks = self.inner[self.offset[queries][:, None] + np.arange(n * n)].reshape(-1, n, n)
        blocks *= loose[:, :, None] & loose[:, None, :]
        blocks[:, np.arange(n), np.arange(n)] = diagonal
        if upward:
            sizes = np.linalg.eigvalsh(blocks)
            odd = sizes[:, 0] <= 1e-9 * sizes[:, -1]
            blocks[odd] = diagonal[odd][:, :, None] * np.eye(n)
        own, slopes = np.empty_like(diagonal), np.zeros_like(cross)
        try:
            inverse: Floats = np.linalg.inv(blocks).astype(np.float64, copy=False)
        except np.linalg.LinAlgError:  # one of them has no inverse
            for i, block in enumerate(blocks):
                alone, bad = _inverted(block)
                own[i] = np.inf if bad else np.diag(alone)
                slopes[i] = 0.0 if bad else alone @ cross[i]
            return own, slopes
        return inverse[:, np.arange(n), np.arange(n)], inverse @ cross


def _inverted(matrix: Floats) -> tuple[Floats, bool]:
    """Return the inverse, or zeros and True if there is none."""
    try:
        return np.linalg.inv(matrix).astype(np.float64, copy=False), False
    except np.linalg.LinAlgError:
        return np.zeros_like(matrix), True
