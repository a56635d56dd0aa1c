"""Starting point of the search for a design: a few vectors, far apart, that span all others."""

from __future__ import annotations

import math

from clickrank._compile.jit import lean_kernel
from clickrank._core.arrays import Floats, Ints

# A direction does not count if no vector reaches further in it than this share of the longest
# vector, once each feature is divided by its largest value.
FLAT = 1e-6


@lean_kernel
def spread_vectors(features: Floats, vectors: Ints, squares: Floats, indices: Ints) -> int:
    """Choose vectors that span all others and are far apart; return their number, the rank.

    ``vectors`` are row numbers of the features. Each chosen vector is the one that reaches furthest
    in a direction orthogonal to those before it (kumar2005): the ratio of the largest volume and
    theirs is bounded by the dimension alone. A direction in which none reaches far is skipped.
    ``indices[0]`` receives the chosen vectors, ``indices[1]`` coordinates that tell them apart.
    """
    n_features = features.shape[1]
    basis = squares[0]  # orthonormal: chosen vectors at the front, flat directions at the back
    unit = squares[1, 0]  # 1 / the largest value of each feature, which may be in any unit
    for c in range(n_features):
        unit[c] = 0.0
    for vector in vectors:
        for c in range(n_features):
            unit[c] = max(unit[c], abs(features[vector, c]))
    for c in range(n_features):
        unit[c] = 1.0 / unit[c] if unit[c] > 0.0 else 0.0
    longest = 0.0
    first = vectors[0]
    for vector in vectors:
        norm = 0.0
        for c in range(n_features):
            norm += (unit[c] * features[vector, c]) ** 2
        if norm > longest:
            longest = norm
            first = vector
    rank = int(longest > 0.0)
    if rank == 0:
        return rank
    free = n_features - rank  # dimensions neither spanned nor flat
    least = FLAT * math.sqrt(longest)
    indices[0, 0] = first
    for c in range(n_features):
        basis[0, c] = unit[c] * features[first, c] / math.sqrt(longest)
    direction = squares[2, 0]
    while free > 0:
        _new_direction(basis, rank, free, direction)
        furthest = 0.0
        chosen = first
        for vector in vectors:
            reach = 0.0
            for c in range(n_features):
                reach += direction[c] * unit[c] * features[vector, c]
            if abs(reach) > furthest:
                furthest = abs(reach)
                chosen = vector
        free -= 1
        if furthest <= least:
            for c in range(n_features):
                basis[rank + free, c] = direction[c]
            continue
        indices[0, rank] = chosen
        for c in range(n_features):
            direction[c] = unit[c] * features[chosen, c]
        _orthogonalise(basis, rank, free + 1, direction)
        for c in range(n_features):
            basis[rank, c] = direction[c]
        rank += 1
    _choose_coordinates(basis, rank, squares[1], indices[1])
    return rank


@lean_kernel
def _new_direction(basis: Floats, rank: int, free: int, direction: Floats) -> None:
    """Write a unit vector orthogonal to the basis, from the axis that the basis covers least."""
    n_features = direction.shape[0]
    axis = 0
    least = math.inf
    for c in range(n_features):
        covered = 0.0
        for i in range(n_features):
            if i < rank or i >= rank + free:
                covered += basis[i, c] * basis[i, c]
        if covered < least:
            least = covered
            axis = c
    for c in range(n_features):
        direction[c] = 0.0
    direction[axis] = 1.0
    _orthogonalise(basis, rank, free, direction)


@lean_kernel
def _orthogonalise(basis: Floats, rank: int, free: int, direction: Floats) -> None:
    n_features = direction.shape[0]
    for _ in range(2):  # the second pass removes the rounding errors of the first
        for i in range(n_features):
            if i >= rank and i < rank + free:
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
    """Write ``rank`` coordinates in which the rows of the basis are independent."""
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
