"""G-optimal designs: how often to measure each of many vectors, so that all are known equally well.

A design is a distribution π on vectors x. With Q(π) = Σ π(x) x xᵀ, the leverage of x is xᵀ Q(π)† x:
how uncertain least squares leaves ⟨θ, x⟩. The largest leverage is at least the rank of the
vectors, and a design that attains it is also D-optimal (Kiefer and Wolfowitz).

`find_design` is for kernels: it works on some rows of a matrix, in room that the caller gives.
`GOptimalDesign.of` is the same for everybody else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from clickrank._jit import inline_kernel, kernel_for, lean_kernel
from clickrank.errors import invalid
from clickrank.features import Features
from clickrank.types import Floats, Ints, frozen, number

# A direction in which no vector reaches further than this, as part of the longest one, is none.
FLAT = 1e-6
# More than ever needed: the certificate says what was reached.
PASSES = 200


@dataclass(frozen=True, eq=False)
class GOptimalDesign:
    """A distribution on few of many vectors, with a certificate of how good it is.

    Parameters
    ----------
    items
        Rows of the vectors that have a weight, at most rank · (rank + 1) / 2 of them.
    weights
        Their weights, above 0, which sum to 1.
    rank
        Dimension of the space that the vectors span. Directions in which none of them reaches 1e-6
        of the longest one do not count.
    leverage
        The largest leverage of all vectors: that of the best design is the rank.

    Examples
    --------
    The corners of a square, and its centre, which is not worth measuring:

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
        cls, vectors: ArrayLike | Features, tolerance: float = 1e-3, items: ArrayLike | None = None
    ) -> GOptimalDesign:
        """Find a design of leverage at most (1 + tolerance) · rank, for all rows or some of them.

        The vectors are not copied if they are a contiguous float64 matrix.
        """
        values = Features(vectors).values
        tolerance = number("GOptimalDesign", "tolerance", tolerance, 1e-9, 1.0)
        n, d = values.shape
        rows = np.arange(n) if items is None else np.asarray(items)
        good = rows.ndim == 1 and rows.size > 0 and rows.dtype.kind in "iu"
        if not good or rows.min() < 0 or rows.max() >= n:
            rule = f"items must be a vector of row numbers between 0 and {n - 1}"
            raise invalid("GOptimalDesign", rule, items)
        room = design_room(rows.size, d)
        find = kernel_for(_find, "")
        size, rank, leverage = find(values, rows.astype(np.int64), tolerance, **room)
        order = np.argsort(room["marks"][0, :size])
        chosen = frozen(room["marks"][0, :size][order])
        weights = frozen(room["scores"][0, :size][order])
        return cls(chosen, weights, int(rank), float(leverage))


def _find(
    features: Floats,
    items: Ints,
    tolerance: float,
    squares: Floats,
    points: Floats,
    scores: Floats,
    marks: Ints,
    table: Floats,
) -> tuple[int, int, float]:
    return find_design(features, items, tolerance, squares, points, scores, marks, table)


def support_limit(n_items: int, n_features: int) -> int:
    """Return how many items a design needs at most."""
    return min(n_items, n_features * (n_features + 1) // 2)


def design_room(n_items: int, n_features: int) -> dict[str, Any]:
    """Return work space for designs of so many items at most."""
    most = support_limit(n_items, n_features)
    candidates = min(n_items, most + _blocks(n_features))
    return {
        "squares": np.zeros((3, n_features, n_features)),
        "points": np.zeros((candidates, n_features)),
        "scores": np.zeros((3, max(candidates, n_features))),
        "marks": np.zeros((2, max(candidates, n_features)), dtype=np.int64),
        "table": np.zeros((most, most + 1)),
    }


@inline_kernel
def _blocks(n_features: int) -> int:
    """Return how many new candidates a pass over the items may bring."""
    return 2 * n_features + 8


@lean_kernel
def find_design(
    features: Floats,
    items: Ints,
    tolerance: float,
    squares: Floats,
    points: Floats,
    scores: Floats,
    marks: Ints,
    table: Floats,
) -> tuple[int, int, float]:
    """Find a design of these items; return how many of them it has, their rank, and the leverage.

    The items of the design are left in ``marks[0]``, and their weights in ``scores[0]``;
    ``marks[1]`` holds as many coordinates as the rank, which tell all items apart that differ: the
    design of vectors cut down to them is the same, and has an inverse. A design of zero vectors is
    the first of them, with rank and leverage 0. For the other arguments see `design_room`.

    The weights are balanced on a small set of candidates, which begins with far apart items and
    grows by those that a pass over all items finds too uncertain, until there are none.
    """
    weights = scores[0]
    inverse = squares[1]
    rank = _spread(features, items, squares, marks)
    if rank == 0:
        marks[0, 0] = items[0]
        weights[0] = 1.0
        return 1, 0, 0.0
    for i in range(rank):
        weights[i] = 1.0 / rank
        _gather(features, marks, rank, points, i)
    size = rank
    most = rank * (rank + 1) // 2
    limit = (1.0 + tolerance) * rank
    largest = 0.0
    for _ in range(PASSES):
        _invert(points, weights, size, rank, squares)
        grown, largest = _add_uncertain(
            features, items, inverse, rank, limit, size, points, weights, marks
        )
        if largest <= limit:
            if size <= most:
                break
            size = _reduce(points, weights, size, rank, scores[2], marks, table)
            continue
        # A rough balance is enough while there are items far from it.
        goal = max(0.5 * tolerance, 0.1 * (largest / rank - 1.0))
        _balance(points, scores, grown, rank, goal, squares)
        size = _keep_weighted(points, weights, grown, rank, marks)
        if size > most and size + _blocks(rank) > points.shape[0]:
            size = _reduce(points, weights, size, rank, scores[2], marks, table)
    return size, rank, largest


@lean_kernel
def _spread(features: Floats, items: Ints, squares: Floats, marks: Ints) -> int:
    """Choose items that span all others and are far apart; return how many.

    Each is the item that reaches furthest in a direction orthogonal to those before it, as Kumar
    and Yildirim do: their volume is then within a factor of the largest that depends on the
    dimension alone. A direction in which none reaches far is set aside.
    """
    n_features = features.shape[1]
    basis = squares[0]  # orthonormal: from the front those of chosen items, from the back flat ones
    longest = 0.0
    first = items[0]
    for item in items:
        norm = 0.0
        for c in range(n_features):
            norm += features[item, c] * features[item, c]
        if norm > longest:
            longest = norm
            first = item
    if longest == 0.0:
        return 0
    least = FLAT * math.sqrt(longest)
    rank = 1
    flat = 0
    marks[0, 0] = first
    for c in range(n_features):
        basis[0, c] = features[first, c] / math.sqrt(longest)
    direction = squares[2, 0]
    while rank + flat < n_features:
        _new_direction(basis, rank, flat, direction)
        furthest = 0.0
        chosen = first
        for item in items:
            reach = 0.0
            for c in range(n_features):
                reach += direction[c] * features[item, c]
            if abs(reach) > furthest:
                furthest = abs(reach)
                chosen = item
        if furthest <= least:
            flat += 1
            for c in range(n_features):
                basis[n_features - flat, c] = direction[c]
            continue
        marks[0, rank] = chosen
        for c in range(n_features):
            direction[c] = features[chosen, c]
        _orthogonalise(basis, rank, flat, direction)
        for c in range(n_features):
            basis[rank, c] = direction[c]
        rank += 1
    _choose_coordinates(basis, rank, squares[1], marks[1])
    return rank


@lean_kernel
def _new_direction(basis: Floats, rank: int, flat: int, direction: Floats) -> None:
    """Write a unit vector orthogonal to the basis: the axis that it covers least, less its part."""
    n_features = direction.shape[0]
    axis = 0
    least = math.inf
    for c in range(n_features):
        covered = 0.0
        for i in range(n_features):
            if i < rank or i >= n_features - flat:
                covered += basis[i, c] * basis[i, c]
        if covered < least:
            least = covered
            axis = c
    for c in range(n_features):
        direction[c] = 0.0
    direction[axis] = 1.0
    _orthogonalise(basis, rank, flat, direction)


@lean_kernel
def _orthogonalise(basis: Floats, rank: int, flat: int, direction: Floats) -> None:
    n_features = direction.shape[0]
    for _ in range(2):  # the second time for the rounding of the first
        for i in range(n_features):
            if i >= rank and i < n_features - flat:
                continue
            part = 0.0
            for c in range(n_features):
                part += basis[i, c] * direction[c]
            for c in range(n_features):
                direction[c] -= part * basis[i, c]
        norm = 0.0
        for c in range(n_features):
            norm += direction[c] * direction[c]
        norm = math.sqrt(norm)
        for c in range(n_features):
            direction[c] /= norm


@lean_kernel
def _choose_coordinates(basis: Floats, rank: int, work: Floats, coordinates: Ints) -> None:
    """Write as many coordinates as the rank, in which the basis is still independent."""
    n_features = basis.shape[1]
    for c in range(n_features):
        coordinates[c] = c
    if rank == n_features:
        return
    for i in range(rank):
        for c in range(n_features):
            work[i, c] = basis[i, c]
    for step in range(rank):  # elimination with the largest pivot
        row = step
        column = step
        for i in range(step, rank):
            for c in range(step, n_features):
                if abs(work[i, c]) > abs(work[row, column]):
                    row = i
                    column = c
        for c in range(n_features):
            value = work[row, c]
            work[row, c] = work[step, c]
            work[step, c] = value
        for i in range(rank):
            value = work[i, column]
            work[i, column] = work[i, step]
            work[i, step] = value
        chosen = coordinates[column]
        coordinates[column] = coordinates[step]
        coordinates[step] = chosen
        for i in range(step + 1, rank):
            factor = work[i, step] / work[step, step]
            for c in range(step, n_features):
                work[i, c] -= factor * work[step, c]


@inline_kernel
def _gather(features: Floats, marks: Ints, rank: int, points: Floats, i: int) -> None:
    """Copy what matters of a candidate."""
    for c in range(rank):
        points[i, c] = features[marks[0, i], marks[1, c]]


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
def invert_positive(matrix: Floats, rank: int, inverse: Floats) -> None:
    """Invert a positive definite matrix, of which the lower half is given and overwritten."""
    for a in range(rank):  # Cholesky's factor
        for b in range(a + 1):
            total = matrix[a, b]
            for c in range(b):
                total -= matrix[a, c] * matrix[b, c]
            matrix[a, b] = math.sqrt(total) if a == b else total / matrix[b, b]
    for a in range(rank):  # and its inverse
        matrix[a, a] = 1.0 / matrix[a, a]
        for b in range(a):
            total = 0.0
            for c in range(b, a):
                total -= matrix[a, c] * matrix[c, b]
            matrix[a, b] = total * matrix[a, a]
    for a in range(rank):
        for b in range(a + 1):
            total = 0.0
            for c in range(a, rank):
                total += matrix[c, a] * matrix[c, b]
            inverse[a, b] = total
            inverse[b, a] = total


@lean_kernel
def _add_uncertain(
    features: Floats,
    items: Ints,
    inverse: Floats,
    rank: int,
    limit: float,
    size: int,
    points: Floats,
    weights: Floats,
    marks: Ints,
) -> tuple[int, float]:
    """Add the item of largest leverage of each block of items to the candidates, if above a limit.

    Returns how many candidates there are, and the largest leverage of all items.
    """
    n = items.shape[0]
    blocks = min(n, _blocks(rank))
    known = size
    largest = 0.0
    for block in range(blocks):
        highest = -1.0
        chosen = 0
        for place in range(n * block // blocks, n * (block + 1) // blocks):
            item = items[place]
            leverage = 0.0
            for a in range(rank):
                part = 0.0
                for b in range(a):
                    part += inverse[a, b] * features[item, marks[1, b]]
                value = features[item, marks[1, a]]
                leverage += value * (2.0 * part + inverse[a, a] * value)
            if leverage > highest:
                highest = leverage
                chosen = item
        largest = max(largest, highest)
        if highest <= limit or size == points.shape[0]:
            continue
        new = True
        for i in range(known):
            new &= marks[0, i] != chosen
        if new:
            marks[0, size] = chosen
            weights[size] = 0.0
            _gather(features, marks, rank, points, size)
            size += 1
    return size, largest


@lean_kernel
def _balance(
    points: Floats, scores: Floats, size: int, rank: int, goal: float, squares: Floats
) -> None:
    """Move weight between candidates until no leverage exceeds another one that has weight by much.

    Each step moves weight from the least to the most uncertain candidate, as much as makes the
    determinant of Q(π) largest, or all there is.
    """
    weights = scores[0]
    leverage = scores[1]
    inverse = squares[1]
    more = squares[2, 0]
    less = squares[0, 0]
    for step in range(1000 + 100 * size):
        if step % 50 == 0:  # before rounding adds up
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
        # Q changes by two products: each changes its inverse by another one.
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


@lean_kernel
def _keep_weighted(points: Floats, weights: Floats, size: int, rank: int, marks: Ints) -> int:
    """Forget candidates without weight; return how many are left."""
    to = 0
    for i in range(size):
        if weights[i] > 0.0:
            marks[0, to] = marks[0, i]
            weights[to] = weights[i]
            for c in range(rank):
                points[to, c] = points[i, c]
            to += 1
    return to


@lean_kernel
def _reduce(
    points: Floats, weights: Floats, size: int, rank: int, change: Floats, marks: Ints, table: Floats
) -> int:
    """Take away candidates until rank · (rank + 1) / 2 are left; return how many are left.

    More products x xᵀ than that are dependent: weights can change without changing Q(π), until one
    of them is 0. Their sum is not let grow, so that no leverage does once it is made 1 again.
    """
    most = rank * (rank + 1) // 2
    while size > most:
        columns = _dependence(points, rank, most, change, table)
        total = 0.0
        for i in range(columns):
            total += change[i]
        sign = -1.0 if total > 0.0 else 1.0
        step = math.inf
        last = 0
        for i in range(columns):
            if sign * change[i] < 0.0 and -weights[i] / (sign * change[i]) < step:
                step = -weights[i] / (sign * change[i])
                last = i
        for i in range(columns):
            weights[i] = max(0.0, weights[i] + step * sign * change[i])
        weights[last] = 0.0
        size = _keep_weighted(points, weights, size, rank, marks)
    total = 0.0
    for i in range(size):
        total += weights[i]
    for i in range(size):
        weights[i] /= total
    return size


@lean_kernel
def _dependence(points: Floats, rank: int, most: int, change: Floats, table: Floats) -> int:
    """Find numbers, not all 0, with Σ number · x xᵀ = 0 over the first candidates; return of how many.

    By elimination, column by column, up to the first one that depends on those before it.
    """
    for i in range(most + 1):
        norm = 0.0
        for a in range(rank):
            norm += points[i, a] * points[i, a]
        row = 0
        for a in range(rank):
            for b in range(a + 1):
                table[row, i] = points[i, a] * points[i, b] / norm
                row += 1
    for column in range(most + 1):
        pivot = column
        for row in range(column, most):
            if abs(table[row, column]) > abs(table[pivot, column]):
                pivot = row
        if column == most or abs(table[pivot, column]) < 1e-12:
            for row in range(column - 1, -1, -1):
                total = table[row, column]
                for c in range(row + 1, column):
                    total += table[row, c] * change[c]
                change[row] = -total / table[row, row]
            change[column] = 1.0
            break
        for c in range(column, most + 1):
            value = table[pivot, c]
            table[pivot, c] = table[column, c]
            table[column, c] = value
        for row in range(column + 1, most):
            factor = table[row, column] / table[column, column]
            if factor != 0.0:
                for c in range(column, most + 1):
                    table[row, c] -= factor * table[column, c]
    for i in range(column + 1):
        norm = 0.0
        for a in range(rank):
            norm += points[i, a] * points[i, a]
        change[i] /= norm
    return column + 1
