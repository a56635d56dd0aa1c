"""Items estimated from clicks on a few of them, where attraction is linear in features."""

from __future__ import annotations

from clickrank._jit import lean_kernel
from clickrank.numerics.cholesky import invert_positive
from clickrank.policies._shared.grid import on_grid
from clickrank.types import Floats, Ints

_PRIME = 2**31 - 1


@lean_kernel
def estimate_items(
    features: Floats,
    measured: Ints,
    views: Ints,
    clicks: Ints,
    used: Ints,
    items: Ints,
    room: Floats,
    squares: Floats,
    out: Floats,
) -> None:
    """Write ⟨θ̂, a⟩ of all items, where θ̂ = V†S is from the clicks on those that were measured.

    ``used`` are coordinates in which the items are independent, and which tell all apart: there V
    has an inverse, and ⟨θ̂, a⟩ is the same. The measured items must span the others. For ``squares``
    see `design_room`; ``room`` is two rows of numbers, one a feature.
    """
    rank = used.shape[0]
    sums = room[0]
    theta = room[1]
    gram = squares[2]
    for a in range(rank):
        sums[a] = 0.0
        for b in range(a + 1):
            gram[a, b] = 0.0
    for i in range(measured.shape[0]):
        for a in range(rank):
            value = features[measured[i], used[a]]
            sums[a] += clicks[i] * value
            for b in range(a + 1):
                gram[a, b] += views[i] * value * features[measured[i], used[b]]
    invert_positive(gram, rank, squares[1])
    for a in range(rank):
        theta[a] = 0.0
        for b in range(rank):
            theta[a] += squares[1, a, b] * sums[b]
    for i in range(items.shape[0]):
        total = 0.0
        for a in range(rank):
            total += theta[a] * features[items[i], used[a]]
        out[i] = on_grid(total)


@lean_kernel
def sort_best(
    estimate: Floats, order: Ints, first: int, places: int, salt: int, best: Ints
) -> None:
    """Write the places of the largest estimates, best first, equal ones in random order.

    The salt is a random number, which decides that order.
    """
    size = 0
    for place in range(first, places):
        if size < best.shape[0]:
            size += 1
        elif not _before(estimate, order, salt, place, best[size - 1]):
            continue
        to = size - 1
        while to > 0 and _before(estimate, order, salt, place, best[to - 1]):
            best[to] = best[to - 1]
            to -= 1
        best[to] = place


@lean_kernel
def _before(estimate: Floats, order: Ints, salt: int, one: int, two: int) -> bool:
    if estimate[one] != estimate[two]:
        return bool(estimate[one] > estimate[two])
    return _mixed(order[one], salt) < _mixed(order[two], salt)


@lean_kernel
def _mixed(item: int, salt: int) -> int:
    """Return a number that looks random, and differs for almost all items."""
    value = (item * 48271 + salt * 40692 + 1) % _PRIME
    for _ in range(3):
        value = (value * value + salt + 1) % _PRIME
    return value


@lean_kernel
def chain_end(estimate: Floats, first: int, places: int, highest: float, gap: float) -> float:
    """Return the lowest estimate that is reached from one by steps smaller than the gap."""
    while True:
        lowest = highest
        for place in range(first, places):
            if estimate[place] < lowest and estimate[place] > highest - gap:
                lowest = estimate[place]
        if lowest == highest:
            return lowest
        highest = lowest
