"""Where to begin the search for a design: few items, far apart, that span all others."""

from __future__ import annotations

import math

from clickrank._compile.jit import lean_kernel
from clickrank._core.arrays import Floats, Ints

# A direction in which no vector reaches further than this, as part of the longest one, is none;
# all features have a largest value of 1 then.
FLAT = 1e-6


@lean_kernel
def spread_items(features: Floats, items: Ints, squares: Floats, marks: Ints) -> int:
    """Choose items that span all others and are far apart; return how many.

    Each is the item that reaches furthest in a direction orthogonal to those before it (kumar2005):
    their volume is then within a factor of the largest that depends on the dimension alone. A
    direction in which none reaches far is set aside.
    """
    n_features = features.shape[1]
    basis = squares[0]  # orthonormal: from the front those of chosen items, from the back flat ones
    unit = squares[1, 0]  # 1 / the largest value of a feature: it may be in any unit
    for c in range(n_features):
        unit[c] = 0.0
    for item in items:
        for c in range(n_features):
            unit[c] = max(unit[c], abs(features[item, c]))
    for c in range(n_features):
        unit[c] = 1.0 / unit[c] if unit[c] > 0.0 else 0.0
    longest = 0.0
    first = items[0]
    for item in items:
        norm = 0.0
        for c in range(n_features):
            norm += (unit[c] * features[item, c]) ** 2
        if norm > longest:
            longest = norm
            first = item
    rank = int(longest > 0.0)
    if rank == 0:
        return rank
    free = n_features - rank  # dimensions neither spanned nor flat
    least = FLAT * math.sqrt(longest)
    marks[0, 0] = first
    for c in range(n_features):
        basis[0, c] = unit[c] * features[first, c] / math.sqrt(longest)
    direction = squares[2, 0]
    while free > 0:
        _new_direction(basis, rank, free, direction)
        furthest = 0.0
        chosen = first
        for item in items:
            reach = 0.0
            for c in range(n_features):
                reach += direction[c] * unit[c] * features[item, c]
            if abs(reach) > furthest:
                furthest = abs(reach)
                chosen = item
        free -= 1
        if furthest <= least:
            for c in range(n_features):
                basis[rank + free, c] = direction[c]
            continue
        marks[0, rank] = chosen
        for c in range(n_features):
            direction[c] = unit[c] * features[chosen, c]
        _orthogonalise(basis, rank, free + 1, direction)
        for c in range(n_features):
            basis[rank, c] = direction[c]
        rank += 1
    _choose_coordinates(basis, rank, squares[1], marks[1])
    return rank


@lean_kernel
def _new_direction(basis: Floats, rank: int, free: int, direction: Floats) -> None:
    """Write a unit vector orthogonal to the basis: the axis that it covers least, less its part."""
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
    for _ in range(2):  # the second time for the rounding of the first
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
