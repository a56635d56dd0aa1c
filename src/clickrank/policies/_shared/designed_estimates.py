"""Least-squares estimates of items from the clicks on the items that a design measured."""

from __future__ import annotations

import numpy as np

from clickrank._compile.jit import array_kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.cholesky import invert_positive
from clickrank.numerics.design_start import spread_vectors
from clickrank.policies._shared.rounding_grid import on_grid

_PRIME = 2**31 - 1


@array_kernel
def estimate_items(
    features: Floats, measured: Ints, views: Ints, clicks: Ints, items: Ints
) -> Floats:
    """Return ⟨θ̂, a⟩ for all items, where θ̂ = V†S comes from the clicks on the measured items.

    The measured items must span the others. V has an inverse in as many coordinates as its rank,
    and ⟨θ̂, a⟩ is the same there. Estimates are rounded, see `rounding_grid`.
    """
    d = features.shape[1]
    marks = np.zeros((2, d), dtype=np.int64)
    rank = spread_vectors(features, measured, np.zeros((3, d, d)), marks)
    used = marks[1]  # the coordinates
    gram, inverse, sums, theta = np.zeros((d, d)), np.zeros((d, d)), np.zeros(d), np.zeros(d)
    for i in range(measured.shape[0]):
        for a in range(rank):
            value = features[measured[i], used[a]]
            sums[a] += clicks[i] * value
            for b in range(a + 1):
                gram[a, b] += views[i] * value * features[measured[i], used[b]]
    invert_positive(gram, rank, inverse)
    for a in range(rank):
        for b in range(rank):
            theta[a] += inverse[a, b] * sums[b]
    estimates = np.zeros(items.shape[0])
    for i in range(items.shape[0]):
        total = 0.0
        for a in range(rank):
            total += theta[a] * features[items[i], used[a]]
        estimates[i] = on_grid(total)
    return estimates


@array_kernel
def best_places(estimates: Floats, items: Ints, salt: int, size: int) -> Ints:
    """Return the indices of the largest estimates, best first, ties in random order.

    ``salt`` is a random number that decides the order of ties.
    """
    best = np.zeros(size, dtype=np.int64)
    found = 0
    for place in range(items.shape[0]):
        if found < size:
            found += 1
        elif not _before(estimates, items, salt, place, best[size - 1]):
            continue
        to = found - 1
        while to > 0 and _before(estimates, items, salt, place, best[to - 1]):
            best[to] = best[to - 1]
            to -= 1
        best[to] = place
    return best


@lean_kernel
def _before(estimates: Floats, items: Ints, salt: int, one: int, two: int) -> bool:
    if estimates[one] != estimates[two]:
        return bool(estimates[one] > estimates[two])
    return _mixed(items[one], salt) < _mixed(items[two], salt)


@lean_kernel
def _mixed(item: int, salt: int) -> int:
    """Return a pseudo-random number that differs for almost all items."""
    value = (item * 48271 + salt * 40692 + 1) % _PRIME
    for _ in range(3):
        value = (value * value + salt + 1) % _PRIME
    return value


@lean_kernel
def chain_end(estimates: Floats, highest: float, gap: float) -> float:
    """Return the lowest estimate that can be reached from ``highest`` by steps below ``gap``."""
    while True:
        lowest = highest
        for estimate in estimates:
            if estimate < lowest and estimate > highest - gap:
                lowest = estimate
        if lowest == highest:
            return lowest
        highest = lowest
