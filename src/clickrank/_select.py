"""Selection of the best items with explicit random ties: the only sort that kernels use."""

from __future__ import annotations

import numpy as np

from clickrank._compile.jit import array_kernel, inline_kernel, kernel, lean_kernel
from clickrank.types import Floats, Ints


@kernel
def top_k(values: Floats, rng: np.random.Generator, out: Ints) -> None:
    """Write the items with the largest values into ``out``, best first, ties at random.

    Every order of tied items is equally likely. Random numbers are drawn only for ties in the
    list or at its end, so the draws depend on the values alone. Values must not be NaN.
    """
    k = out.shape[0]
    size = 0
    for item in range(values.shape[0]):
        value = values[item]
        if size < k:
            size += 1
        elif not value > values[out[k - 1]]:
            continue
        place = size - 1
        while place > 0 and values[out[place - 1]] < value:
            out[place] = out[place - 1]
            place -= 1
        out[place] = item
    _settle_ties(values, rng, out)


@kernel
def renew_top_k(values: Floats, rng: np.random.Generator, best: Ints) -> None:
    """Do the same as `top_k` where ``best`` holds a list of items: faster if it is still right."""
    k = best.shape[0]
    falls = 0
    for i in range(1, k):
        falls += values[best[i - 1]] > values[best[i]]
    if falls == k - 1:
        last = values[best[k - 1]]
        reach = 0
        for value in values:
            reach += value >= last
        if reach == k:
            return
    top_k(values, rng, best)


@inline_kernel
def renew_order(values: Floats, rng: np.random.Generator, order: Ints) -> None:
    """Sort all by decreasing value, ties at random, where ``order`` holds all: mostly it is right.

    `renew_top_k` does the same, but also looks for others that belong into the list.
    """
    for i in range(1, order.shape[0]):
        if not values[order[i - 1]] > values[order[i]]:
            top_k(values, rng, order)
            return


@array_kernel
def renew_top_k_of(candidates: Ints, values: Floats, rng: np.random.Generator, best: Ints) -> None:
    """Write the candidates with the largest values into ``best``, best first, ties at random."""
    some = np.empty(candidates.shape[0])
    for i in range(candidates.shape[0]):
        some[i] = values[candidates[i]]
    top_k(some, rng, best)
    for i in range(best.shape[0]):
        best[i] = candidates[best[i]]


@kernel
def drawn_top_k(candidates: Ints, values: Floats, rng: np.random.Generator, out: Ints) -> None:
    """Write the candidates with the largest values into ``out``, tied ones drawn one by one.

    Every order is equally likely. Each position of a tie is drawn from the items left for it, in
    the order of their numbers; who is passed over takes the place of the one that was drawn. All
    items are candidates if none are given.
    """
    n_positions = out.shape[0]
    n_candidates = candidates.shape[0] if candidates.shape[0] > 0 else values.shape[0]
    order = np.empty(n_candidates, dtype=np.int64)  # by decreasing value, tied ones by number
    size = 0
    for i in range(n_candidates):
        item = candidates[i] if candidates.shape[0] > 0 else i
        if size < n_positions:
            size += 1
        elif not values[item] > values[order[size - 1]]:
            continue
        place = size - 1
        while place > 0 and values[order[place - 1]] < values[item]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = item
    last = order[size - 1]
    for i in range(n_candidates):  # those tied with the last one, which come after it
        item = candidates[i] if candidates.shape[0] > 0 else i
        if item > last and values[item] == values[last]:
            order[size] = item
            size += 1
    for i in range(n_positions):
        end = i + 1
        while end < size and values[order[end]] == values[order[i]]:
            end += 1
        if end > i + 1:
            chosen = i + int(rng.random() * (end - i))
            item = order[i]
            order[i] = order[chosen]
            order[chosen] = item
        out[i] = order[i]


@kernel
def _settle_ties(values: Floats, rng: np.random.Generator, out: Ints) -> None:
    """Shuffle tied items of a sorted list; at its end, with those left out for no reason."""
    k = out.shape[0]
    begin = 0
    while begin < k:
        value = values[out[begin]]
        end = begin + 1
        while end < k and values[out[end]] == value:
            end += 1
        if end == k:
            # Reservoir sampling from all items of this value, in or out of the list.
            met = 0
            for item in range(values.shape[0]):
                if values[item] == value:
                    met += 1
                    if met <= k - begin:
                        out[begin + met - 1] = item
                    else:
                        place = int(rng.random() * met)
                        if place < k - begin:
                            out[begin + place] = item
        for i in range(end - 1, begin, -1):
            other = begin + int(rng.random() * (i - begin + 1))
            item = out[i]
            out[i] = out[other]
            out[other] = item
        begin = end


# The next three, in this order, find lists that change a little in every round. ``best`` is the
# last list, at first of any distinct items, and ``room`` has two rows for all items. An item is
# passed over if its ceiling, a bound on its value, is below the list: it need not be known.


@inline_kernel
def contenders(values: Floats, ceilings: Floats, best: Ints, room: Ints, kept: Floats) -> int:
    """Write the items that may belong into the list, but are not in it, to the first row of room.

    These are the items whose ceiling reaches the smallest value of the list. Returns their number.
    ``kept`` is room for a number a position.
    """
    needed = np.inf
    for i in range(best.shape[0]):
        item = best[i]
        needed = min(needed, values[item])
        kept[i] = ceilings[item]
        ceilings[item] = np.nan  # which reaches nothing
    found = 0
    for item in range(ceilings.shape[0]):
        room[0, found] = item
        found += ceilings[item] >= needed
    for i in range(best.shape[0]):
        ceilings[best[i]] = kept[i]
    return found


@inline_kernel
def enter(values: Floats, best: Ints, room: Ints, found: int) -> None:
    """Make ``best`` the items with the largest values of the list and its contenders, best first.

    Items of one value are sorted by number. Who leaves the list becomes a contender.
    """
    k = best.shape[0]
    for i in range(1, k):
        _insert(values, best, i, best[i])
    for j in range(found):
        item = room[0, j]
        last = best[k - 1]
        if values[item] > values[last] or (values[item] == values[last] and item < last):
            room[0, j] = last
            _insert(values, best, k - 1, item)


@inline_kernel
def _insert(values: Floats, best: Ints, place: int, item: int) -> None:
    """Write an item into the sorted items before ``place``, and move those below it."""
    value = values[item]
    while place > 0:
        above = best[place - 1]
        if values[above] > value or (values[above] == value and above < item):
            break
        best[place] = above
        place -= 1
    best[place] = item


@inline_kernel
def draw_ties(
    values: Floats, rng: np.random.Generator, best: Ints, room: Ints, found: int, ranking: Ints
) -> None:
    """Copy the list with tied items in random order; at its end, drawn from all that are tied.

    Every order is equally likely. Each place of a tie is drawn from the items left for it, which
    lie in the order of their numbers: one draw a place at most, however many items are tied.
    """
    k = best.shape[0]
    value = values[best[k - 1]]
    tied = 0
    for j in range(found):
        room[1, tied] = room[0, j]
        tied += values[room[0, j]] == value
    for j in range(1, tied):
        if room[1, j] < room[1, j - 1]:  # one of them has left the list
            _bring_back(room, j)
    copy(best, ranking)
    left = tied  # of the tie, from position i on
    for i in range(k - 1, -1, -1):
        left += 1
        room[0, i] = left
        if i > 0 and values[best[i - 1]] != values[best[i]]:
            left = 0
    for i in range(k):
        if room[0, i] > 1:
            chosen = i + int(rng.random() * room[0, i])
            item = ranking[i]
            if chosen < k:
                ranking[i] = ranking[chosen]
                ranking[chosen] = item
            else:
                ranking[i] = room[1, chosen - k]
                room[1, chosen - k] = item


@lean_kernel
def _bring_back(room: Ints, place: int) -> None:
    """Move an item in the second row of room in front of all larger ones before it."""
    item = room[1, place]
    while place > 0 and room[1, place - 1] > item:
        room[1, place] = room[1, place - 1]
        place -= 1
    room[1, place] = item


@kernel
def kth_largest(values: Floats, largest: Floats) -> float:
    """Return the k-th largest value, where ``largest`` is room for k numbers."""
    k = largest.shape[0]
    for i in range(k):
        largest[i] = -np.inf
    for value in values:
        if value > largest[k - 1]:
            place = k - 1
            while place > 0 and largest[place - 1] < value:
                largest[place] = largest[place - 1]
                place -= 1
            largest[place] = value
    return float(largest[k - 1])


@lean_kernel
def copy(source: Ints | Floats, out: Ints | Floats) -> None:
    """Copy a vector; lean kernels have no slices to assign to."""
    for i in range(out.shape[0]):
        out[i] = source[i]


def prominence(weights: Floats) -> Ints:
    """Return the positions by decreasing weight, ties in order of position.

    >>> prominence(np.array([0.5, 1.0, 0.5]))
    array([1, 0, 2])
    """
    return np.argsort(-weights, kind="stable").astype(np.int64)


def visibility(weights: Floats) -> Floats:
    """Return a number for each position, larger where the weight is larger; ties by position.

    >>> visibility(np.array([0.5, 1.0, 0.5]))
    array([2., 3., 1.])
    """
    found = np.empty(weights.size)
    found[prominence(weights)] = np.arange(weights.size, 0, -1)
    return found


@kernel
def place(best: Ints, positions: Ints, ranking: Ints) -> None:
    """Write the j-th best item to the j-th of the positions."""
    for j in range(best.shape[0]):
        ranking[positions[j]] = best[j]


@kernel
def match_by_rank(gains: Floats, weights: Floats, out: Ints) -> None:
    """Assign items to positions so that Σ weight · gain is largest: best item, heaviest position.

    Weights need not decrease. Ties go to the smaller index: this is for computing optima, where any
    optimal answer will do, and must not depend on a random stream.
    """
    n_items = gains.shape[0]
    n_positions = weights.shape[0]
    item_used = np.zeros(n_items, dtype=np.bool_)
    position_used = np.zeros(n_positions, dtype=np.bool_)
    for _ in range(n_positions):
        item = -1
        for i in range(n_items):
            if not item_used[i] and (item < 0 or gains[i] > gains[item]):
                item = i
        position = -1
        for j in range(n_positions):
            if not position_used[j] and (position < 0 or weights[j] > weights[position]):
                position = j
        item_used[item] = True
        position_used[position] = True
        out[position] = item
