"""G-optimal designs: how often to measure each of many vectors to learn about all equally well.

A design is a distribution π on vectors x. With Q(π) = Σ π(x) x xᵀ, the leverage of x is xᵀ Q(π)† x:
the variance of the least squares estimate of ⟨θ, x⟩. The largest leverage is at least the rank of
the vectors, and a design that attains this bound is also D-optimal (kiefer1960).

Kernels call `optimal_design`; Python calls `GOptimalDesign.of`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from clickrank._compile.jit import array_kernel, inline_kernel, kernel_for, lean_kernel
from clickrank._core.arrays import Floats, Ints, frozen
from clickrank._core.features import Features
from clickrank._core.validate import check_float
from clickrank.errors import invalid
from clickrank.numerics.cholesky import invert_positive
from clickrank.numerics.design_start import spread_vectors
from clickrank.numerics.design_support import keep_weighted, reduce_support

#: Relative excess of the largest leverage over that of the best design.
TOLERANCE = 1e-3
# More than are ever needed; the leverage of the result says what was reached.
PASSES = 200


@dataclass(frozen=True, eq=False)
class GOptimalDesign:
    """A distribution on a few of many vectors, with a certificate of its quality.

    Parameters
    ----------
    items
        Row numbers of the vectors with a weight, at most rank · (rank + 1) / 2 of them.
    weights
        Their weights, above 0, which sum to 1.
    rank
        Dimension of the space that the vectors span. A direction does not count if no vector
        reaches 1e-6 of the longest one in it, once each feature is divided by its largest value.
    leverage
        The largest leverage of all vectors. That of the best design equals the rank.

    Examples
    --------
    Two corners of a square and its centre, which is not worth measuring:

    >>> design = GOptimalDesign.of([[1, 1], [1, -1], [0, 0]])
    >>> design.items, design.weights, design.rank, round(design.leverage, 9)
    (array([0, 1]), array([0.5, 0.5]), 2, 2.0)
    """

    items: Ints
    weights: Floats
    rank: int
    leverage: float

    @classmethod
    def of(
        cls,
        vectors: ArrayLike | Features,
        tolerance: float = TOLERANCE,
        items: ArrayLike | None = None,
    ) -> GOptimalDesign:
        """Find a design of leverage at most (1 + tolerance) · rank, for all rows or some of them.

        The vectors are not copied if they are a contiguous float64 matrix.
        """
        values = Features(vectors).values
        tolerance = check_float("GOptimalDesign", "tolerance", tolerance, 1e-9, 1.0)
        n = values.shape[0]
        rows = np.arange(n) if items is None else np.asarray(items)
        good = rows.ndim == 1 and rows.size > 0 and rows.dtype.kind in "iu"
        if not good or rows.min() < 0 or rows.max() >= n:
            rule = f"items must be a vector of row numbers between 0 and {n - 1}"
            raise invalid("GOptimalDesign", rule, items)
        found = optimal_design_of(values, rows.astype(np.int64, copy=False), tolerance)
        return cls(frozen(found[0]), frozen(found[1]), int(found[2]), float(found[3]))


@array_kernel
def optimal_design(
    features: Floats, vectors: Ints, tolerance: float
) -> tuple[Ints, Floats, int, float]:
    """Return the vectors of a design, sorted, their weights, the rank and the largest leverage.

    ``vectors`` are row numbers of the features. See `GOptimalDesign`.
    """
    n_vectors, d = features.shape
    most, candidates = support_limit(n_vectors, d), design_candidates(n_vectors, d)
    squares, table = np.zeros((3, d, d)), np.zeros((most, most + 1))
    points, scores = np.zeros((candidates, d)), np.zeros((3, max(candidates, d)))
    indices = np.zeros((2, max(candidates, d)), dtype=np.int64)
    size, rank, leverage = find_design(
        features, vectors, tolerance, squares, points, scores, indices, table
    )
    return indices[0, :size].copy(), scores[0, :size].copy(), rank, leverage


def optimal_design_of(
    features: Floats, vectors: Ints, tolerance: float
) -> tuple[Ints, Floats, int, float]:
    """Return `optimal_design`, called from Python: the machine code is cached on disk."""
    return kernel_for(_optimal_design, "")(features, vectors, tolerance)


def _optimal_design(
    features: Floats, vectors: Ints, tolerance: float
) -> tuple[Ints, Floats, int, float]:
    return optimal_design(features, vectors, tolerance)


@inline_kernel
def support_limit(n_vectors: int, n_features: int) -> int:
    """Return the largest number of vectors that a design needs."""
    return min(n_vectors, n_features * (n_features + 1) // 2)


@inline_kernel
def design_candidates(n_vectors: int, n_features: int) -> int:
    """Return the largest number of vectors that `find_design` weighs at a time."""
    return min(n_vectors, support_limit(n_vectors, n_features) + _blocks(n_features))


@inline_kernel
def _blocks(n_features: int) -> int:
    """Return the largest number of new candidates from one pass over the vectors."""
    return 2 * n_features + 8


@lean_kernel
def find_design(
    features: Floats,
    vectors: Ints,
    tolerance: float,
    squares: Floats,
    points: Floats,
    scores: Floats,
    indices: Ints,
    table: Floats,
) -> tuple[int, int, float]:
    """Find a design of these vectors; return its size, the rank and the largest leverage.

    The vectors of the design are written to ``indices[0]``, sorted, and their weights to
    ``scores[0]``. ``indices[1]`` holds ``rank`` coordinates: vectors that differ also differ in
    these, the design of vectors cut down to them is the same, and its matrix has an inverse. If all
    vectors are 0, the design is the first of them, with rank and leverage 0. The other arguments
    are work space.

    The weights are balanced on a small set of candidates. It starts with vectors that are far apart
    and grows by those whose leverage is too large, until a pass over all vectors finds none.
    """
    weights = scores[0]
    inverse = squares[1]
    rank = spread_vectors(features, vectors, squares, indices)
    if rank == 0:
        indices[0, 0] = vectors[0]
        weights[0] = 1.0
        return 1, 0, 0.0
    for i in range(rank):
        weights[i] = 1.0 / rank
        _gather(features, indices, rank, points, i)
    size = rank
    most = rank * (rank + 1) // 2
    limit = (1.0 + tolerance) * rank
    largest = 0.0
    for _ in range(PASSES):
        _invert(points, weights, size, rank, squares)
        grown, largest = _add_uncertain(
            features, vectors, inverse, rank, limit, size, points, weights, indices
        )
        if largest <= limit:
            if size <= most:
                break
            size = reduce_support(points, weights, size, rank, scores[2], indices, table)
            continue
        # A rough balance is enough while some leverage is far above the limit.
        goal = max(0.5 * tolerance, 0.1 * (largest / rank - 1.0))
        _balance(points, scores, grown, rank, goal, squares)
        size = keep_weighted(points, weights, grown, rank, indices)
        if size > most and size + _blocks(rank) > points.shape[0]:
            size = reduce_support(points, weights, size, rank, scores[2], indices, table)
    _sort(indices[0], weights, size)
    return size, rank, largest


@lean_kernel
def _sort(vectors: Ints, weights: Floats, size: int) -> None:
    """Sort a design by its row numbers."""
    for i in range(1, size):
        vector = vectors[i]
        weight = weights[i]
        to = i
        while to > 0 and vectors[to - 1] > vector:
            vectors[to] = vectors[to - 1]
            weights[to] = weights[to - 1]
            to -= 1
        vectors[to] = vector
        weights[to] = weight


@inline_kernel
def _gather(features: Floats, indices: Ints, rank: int, points: Floats, i: int) -> None:
    """Copy the chosen coordinates of a candidate."""
    for c in range(rank):
        points[i, c] = features[indices[0, i], indices[1, c]]


@lean_kernel
def _invert(points: Floats, weights: Floats, size: int, rank: int, squares: Floats) -> None:
    """Write Q(π)⁻¹ into the second square."""
    factor = squares[2]
    for a in range(rank):
        for b in range(a + 1):
            total = 0.0
            for i in range(size):
                total += weights[i] * points[i, a] * points[i, b]
            factor[a, b] = total
    invert_positive(factor, rank, squares[1])


@lean_kernel
def _add_uncertain(
    features: Floats,
    vectors: Ints,
    inverse: Floats,
    rank: int,
    limit: float,
    size: int,
    points: Floats,
    weights: Floats,
    indices: Ints,
) -> tuple[int, float]:
    """Add the vector with the largest leverage of each block to the candidates, if above a limit.

    Returns the number of candidates, and the largest leverage of all vectors.
    """
    n = vectors.shape[0]
    blocks = min(n, _blocks(rank))
    known = size
    largest = 0.0
    for block in range(blocks):
        highest = -1.0
        chosen = 0
        for place in range(n * block // blocks, n * (block + 1) // blocks):
            vector = vectors[place]
            leverage = 0.0
            for a in range(rank):
                part = 0.0
                for b in range(a):
                    part += inverse[a, b] * features[vector, indices[1, b]]
                value = features[vector, indices[1, a]]
                leverage += value * (2.0 * part + inverse[a, a] * value)
            if leverage > highest:
                highest = leverage
                chosen = vector
        largest = max(largest, highest)
        if highest <= limit or size == points.shape[0]:
            continue
        new = True
        for i in range(known):
            new &= indices[0, i] != chosen
        if new:
            indices[0, size] = chosen
            weights[size] = 0.0
            _gather(features, indices, rank, points, size)
            size += 1
    return size, largest


@lean_kernel
def _balance(
    points: Floats, scores: Floats, size: int, rank: int, goal: float, squares: Floats
) -> None:
    """Move weight between candidates until the leverages of all with a weight are close.

    Each step moves weight from the candidate of smallest leverage to that of largest leverage:
    the amount that maximises the determinant of Q(π), or all of it.
    """
    weights = scores[0]
    leverage = scores[1]
    inverse = squares[1]
    more = squares[2, 0]
    less = squares[0, 0]
    for step in range(1000 + 100 * size):
        if step % 50 == 0:  # before rounding errors add up
            _invert(points, weights, size, rank, squares)
            for i in range(size):
                _times(inverse, points, i, rank, more)
                leverage[i] = _dot(points, i, more, rank)
        up = 0
        down = -1
        for i in range(size):
            if leverage[i] > leverage[up]:
                up = i
            if weights[i] > 0.0 and (down < 0 or leverage[i] < leverage[down]):
                down = i
        gap = leverage[up] - leverage[down]
        if gap <= goal * rank:
            return
        _times(inverse, points, up, rank, more)
        _times(inverse, points, down, rank, less)
        shared = _dot(points, up, less, rank)
        # det Q grows by the factor 1 + gap · moved - curve · moved².
        curve = leverage[up] * leverage[down] - shared * shared
        moved = weights[down]
        if 2.0 * curve * moved > gap:
            moved = 0.5 * gap / curve
        weights[up] += moved
        weights[down] -= moved
        # Q changes by two products x xᵀ, and its inverse by one product for each.
        gain = moved / (1.0 + moved * leverage[up])
        for a in range(rank):
            less[a] -= gain * shared * more[a]
        loss = moved / (1.0 - moved * (leverage[down] - gain * shared * shared))
        for a in range(rank):
            for b in range(rank):
                inverse[a, b] += loss * less[a] * less[b] - gain * more[a] * more[b]
        for i in range(size):
            one = _dot(points, i, more, rank)
            two = _dot(points, i, less, rank)
            leverage[i] += loss * two * two - gain * one * one


@inline_kernel
def _times(matrix: Floats, points: Floats, i: int, rank: int, out: Floats) -> None:
    for a in range(rank):
        total = 0.0
        for b in range(rank):
            total += matrix[a, b] * points[i, b]
        out[a] = total


@inline_kernel
def _dot(points: Floats, i: int, vector: Floats, rank: int) -> float:
    total = 0.0
    for a in range(rank):
        total += points[i, a] * vector[a]
    return total
