"""Selection of the items with the largest values, ties at random: the only sort in kernels.

Tied items are put into random order by one of two rules, under which every order is equally likely.
`top_k` shuffles each group of tied items, and needs no memory beyond the list. `drawn_top_k` draws
an item for one position after the other from all tied items. This takes at most one random number
per position, but all tied items must be listed first. Both rules exist because they use random
numbers differently: with the other rule, a policy would not repeat its earlier runs.
"""

from __future__ import annotations

import numpy as np

from clickrank._compile.jit import array_kernel, inline_kernel, kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.shuffling import shuffle, swap_at_random


@kernel
def top_k(values: Floats, rng: np.random.Generator, out: Ints) -> None:
    """Write the items with the largest values into ``out``, best first, ties at random.

    Every order of tied items is equally likely. Random numbers are drawn only for ties in the
    list or at its end, so that their number depends on the values alone. Values must not be NaN.
    """
    _sort(values, out.shape[0], out)
    _shuffle_ties(values, rng, out)


@kernel
def renew_top_k(values: Floats, rng: np.random.Generator, best: Ints) -> None:
    """Write the list of `top_k` into ``best``; fast if ``best`` already holds that list."""
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
    """Sort all items in ``order`` by decreasing value, ties at random; fast if they are sorted.

    `renew_top_k` also looks for items outside the list that belong into it.
    """
    for i in range(1, order.shape[0]):
        if not values[order[i - 1]] > values[order[i]]:
            top_k(values, rng, order)
            return


@array_kernel
def drawn_top_k(values: Floats, rng: np.random.Generator, out: Ints) -> None:
    """Write the items with the largest values into ``out``, with tied items drawn one by one."""
    k = out.shape[0]
    order = np.empty(values.shape[0], dtype=np.int64)
    _sort(values, k, order)
    last = order[k - 1]
    size = k
    for item in range(last + 1, values.shape[0]):  # items outside the list, tied with its last
        if values[item] == values[last]:
            order[size] = item
            size += 1
    _draw_ties(values, rng, order, size, out)


@array_kernel
def top_k_of(candidates: Ints, values: Floats, rng: np.random.Generator, out: Ints) -> None:
    """Write the candidates with the largest values into ``out``, by `top_k`."""
    top_k(_values_of(candidates, values), rng, out)
    _name_items(candidates, out)


@array_kernel
def drawn_top_k_of(candidates: Ints, values: Floats, rng: np.random.Generator, out: Ints) -> None:
    """Write the candidates with the largest values into ``out``, by `drawn_top_k`."""
    drawn_top_k(_values_of(candidates, values), rng, out)
    _name_items(candidates, out)


@array_kernel
def _values_of(candidates: Ints, values: Floats) -> Floats:
    found = np.empty(candidates.shape[0])
    for i in range(candidates.shape[0]):
        found[i] = values[candidates[i]]
    return found


@inline_kernel
def _name_items(candidates: Ints, out: Ints) -> None:
    """Replace the numbers of candidates by the numbers of their items."""
    for i in range(out.shape[0]):
        out[i] = candidates[out[i]]


@inline_kernel
def _sort(values: Floats, k: int, best: Ints) -> None:
    """Write the k items with the largest values, best first, tied items by number."""
    for item in range(k):
        _insert(values, best, item, item)
    for item in range(k, values.shape[0]):
        if values[item] > values[best[k - 1]]:
            _insert(values, best, k - 1, item)


@inline_kernel
def _insert(values: Floats, best: Ints, place: int, item: int) -> None:
    """Insert an item into the sorted items before ``place``, and move those below it."""
    value = values[item]
    while place > 0:
        above = best[place - 1]
        if values[above] > value or (values[above] == value and above < item):
            break
        best[place] = above
        place -= 1
    best[place] = item


@inline_kernel
def _end_of_tie(values: Floats, order: Ints, begin: int, size: int) -> int:
    """Return the end of the items tied with that at ``begin``, of the first ``size`` sorted."""
    end = begin + 1
    while end < size and values[order[end]] == values[order[begin]]:
        end += 1
    return end


@kernel
def _shuffle_ties(values: Floats, rng: np.random.Generator, best: Ints) -> None:
    """Shuffle the tied items of a sorted list, at its end with tied items outside the list."""
    k = best.shape[0]
    end = 0
    while end < k:
        begin = end
        end = _end_of_tie(values, best, begin, k)
        if end == k:  # reservoir sampling from all items of this value, in the list and after it
            value = values[best[begin]]
            met = k - begin
            for item in range(best[k - 1] + 1, values.shape[0]):
                if values[item] == value:
                    met += 1
                    place = begin + int(rng.random() * met)
                    if place < k:
                        best[place] = item
        shuffle(rng, best, begin, end)


@inline_kernel
def _draw_ties(values: Floats, rng: np.random.Generator, order: Ints, size: int, out: Ints) -> None:
    """Draw each item of a list from the sorted items that are tied and not drawn yet.

    ``order`` has the list and, up to ``size``, the other items that are tied with its last one. The
    item drawn and the next one in ``order`` are swapped.
    """
    end = 0
    for i in range(out.shape[0]):
        if i == end:
            end = _end_of_tie(values, order, i, size)
        if end - i > 1:
            swap_at_random(rng, order, i, i, end)
        out[i] = order[i]


# The kernels `contenders`, `enter` and `draw_entered`, called in this order, find lists that change
# little from round to round, and draw ties as `drawn_top_k` does. ``best`` is the last list, at
# first any distinct items, and ``buffer`` has two rows with one entry per item. An item is skipped
# if its ceiling, an upper bound of its value, is below all values of the list: its value need not
# be known. `leave_out`, called before them, restricts the list to candidates.


@lean_kernel
def leave_out(candidates: Ints, ceilings: Floats, best: Ints) -> None:
    """Set the ceilings of all items but the candidates to NaN, and make ``best`` candidates."""
    i = 0
    for item in range(ceilings.shape[0]):
        if i < candidates.shape[0] and candidates[i] == item:
            i += 1
        else:
            ceilings[item] = np.nan
    size = 0
    for place in range(best.shape[0]):
        best[size] = best[place]
        size += not np.isnan(ceilings[best[place]])
    i = 0
    while size < best.shape[0]:  # fill it with the first candidates that are not in it
        best[size] = candidates[i]
        place = 0
        while best[place] != candidates[i]:
            place += 1
        size += place == size
        i += 1


@inline_kernel
def contenders(
    values: Floats, ceilings: Floats, best: Ints, buffer: Ints, ceilings_buffer: Floats
) -> int:
    """Write the items outside the list that may belong into it to row 0 of the buffer.

    These are the items whose ceiling reaches the smallest value of the list. Returns their number.
    ``ceilings_buffer`` has one number per position.
    """
    needed = np.inf
    for i in range(best.shape[0]):
        item = best[i]
        needed = min(needed, values[item])
        ceilings_buffer[i] = ceilings[item]
        ceilings[item] = np.nan  # which no comparison holds for
    found = 0
    for item in range(ceilings.shape[0]):
        buffer[0, found] = item
        found += ceilings[item] >= needed
    for i in range(best.shape[0]):
        ceilings[best[i]] = ceilings_buffer[i]
    return found


@inline_kernel
def enter(values: Floats, best: Ints, buffer: Ints, found: int) -> None:
    """Make ``best`` the items with the largest values of the list and its contenders, best first.

    Items of equal value are sorted by number. An item that leaves the list becomes a contender.
    """
    k = best.shape[0]
    for i in range(1, k):
        _insert(values, best, i, best[i])
    for j in range(found):
        item = buffer[0, j]
        last = best[k - 1]
        if values[item] > values[last] or (values[item] == values[last] and item < last):
            buffer[0, j] = last
            _insert(values, best, k - 1, item)


@inline_kernel
def draw_entered(
    values: Floats, rng: np.random.Generator, best: Ints, buffer: Ints, found: int, ranking: Ints
) -> None:
    """Write the list with tied items in random order, its end drawn from all tied items."""
    k = best.shape[0]
    order = buffer[1]
    for i in range(k):
        order[i] = best[i]
    size = k
    for j in range(found):
        order[size] = buffer[0, j]
        size += values[buffer[0, j]] == values[best[k - 1]]
    for i in range(k + 1, size):
        if order[i] < order[i - 1]:  # it has left the list
            _insert(values, order, i, order[i])
    _draw_ties(values, rng, order, size, ranking)


@kernel
def kth_largest(values: Floats, largest: Floats) -> float:
    """Return the k-th largest value, where ``largest`` is a buffer for k numbers."""
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
    """Copy a vector, as lean kernels cannot assign to slices."""
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

    Weights need not decrease. Ties go to the smaller index: this kernel computes optima, where any
    optimal answer will do and random numbers must not be used.
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
