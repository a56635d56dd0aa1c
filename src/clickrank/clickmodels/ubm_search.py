"""Search for the list with the most expected clicks in the user browsing model.

It is a local search followed by branch and bound.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clickrank._compile.jit import kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.rankings.selection import copy

#: Number of prefixes of lists after which branch and bound gives up.
MOST_NODES = 50_000
#: Rounding error of sums of products.
_ROUNDING = 1e-13


@kernel
def expected_clicks(attraction: Floats, examination: Floats, ranking: Ints, out: Floats) -> float:
    """Write the click probability of each position into ``out``, and return their sum.

    After a last click at j (or none), everything depends on j alone. Its probability is passed on
    to the positions below, minus the clicks there. When j is reached, out[j] is complete.
    """
    n_positions = ranking.shape[0]
    for position in range(n_positions):
        out[position] = 0.0
    total = 0.0
    for last in range(n_positions):  # 0 for no click, j + 1 for a click at position j
        remaining = 1.0 if last == 0 else out[last - 1]
        total += 0.0 if last == 0 else remaining
        for position in range(last, n_positions):
            p = examination[position, last] * attraction[ranking[position]]
            out[position] += remaining * p
            remaining *= 1.0 - p
    return total + float(out[n_positions - 1])


@kernel
def best_list(attraction: Floats, examination: Floats, out: Ints) -> bool:
    """Write the best list found into ``out``; return whether it is proven that none is better."""
    n_positions = out.shape[0]
    items = _candidates(attraction, n_positions)
    values = np.zeros(items.shape[0])
    for i in range(items.shape[0]):
        values[i] = attraction[items[i]]
    best = _climb(values, examination, n_positions)
    proven = _search(values, examination, best)
    for position in range(n_positions):
        out[position] = items[best[position]]
    return proven


@kernel
def _candidates(attraction: Floats, n_positions: int) -> Ints:
    """Return the items that a best list may contain, by decreasing attraction.

    They are the n_positions best and the n_positions worst items. Expected clicks are linear in
    each attraction, so that an item in between can be replaced by a better one or by a worse one
    that is not shown, without losing clicks.
    """
    n_items = attraction.shape[0]
    used = np.zeros(n_items, dtype=np.bool_)
    size = min(n_items, 2 * n_positions)
    items = np.zeros(size, dtype=np.int64)
    for k in range(size):
        sign = 1.0 if k < n_positions else -1.0
        chosen = -1
        for i in range(n_items):
            if not used[i] and (chosen < 0 or sign * attraction[i] > sign * attraction[chosen]):
                chosen = i
        used[chosen] = True
        items[k if k < n_positions else size - 1 - (k - n_positions)] = chosen
    return items


@kernel
def _climb(values: Floats, examination: Floats, n_positions: int) -> Ints:
    """Return a list that no exchange of two items, shown or not, improves.

    The search starts from the best items in order and in reverse order; the better result is
    returned.
    """
    n_items = values.shape[0]
    buffer = np.zeros(n_positions)
    best = np.zeros(n_positions, dtype=np.int64)
    top = -1.0
    for start in range(2):
        order = np.zeros(n_items, dtype=np.int64)
        for i in range(n_items):
            reverse = start == 1 and i < n_positions
            order[i] = n_positions - 1 - i if reverse else i
        shown = order[:n_positions]
        value = expected_clicks(values, examination, shown, buffer)
        improved = True
        while improved:
            improved = False
            for i in range(n_positions):
                for j in range(i + 1, n_items):
                    order[i], order[j] = order[j], order[i]
                    after = expected_clicks(values, examination, shown, buffer)
                    if after > value + _ROUNDING:
                        value, improved = after, True
                    else:
                        order[i], order[j] = order[j], order[i]
        if value > top:
            top = value
            copy(shown, best)
    return best


@kernel
def _search(values: Floats, examination: Floats, best: Ints) -> bool:
    """Improve a list by branch and bound; return whether all prefixes of lists were covered."""
    n_items, n_positions = values.shape[0], best.shape[0]
    buffer = np.zeros(n_positions)
    goal = expected_clicks(values, examination, best, buffer) + _ROUNDING
    used = np.zeros(n_items, dtype=np.bool_)
    chosen = np.full(n_positions, -1)  # the item tried at each depth, in order
    clicks = np.zeros(n_positions + 1)  # expected clicks above each depth
    last = np.zeros((n_positions + 1, n_positions + 1))  # probability of each last click so far
    last[0, 0] = 1.0
    depth = nodes = 0
    while depth >= 0:
        item = chosen[depth]
        before = -1.0 if item < 0 else values[item]
        if item >= 0:
            used[item] = False
        item += 1
        while item < n_items and (used[item] or values[item] == before):  # an equal item was tried
            item += 1
        if item == n_items:
            chosen[depth] = -1
            depth -= 1
            continue
        chosen[depth] = item
        used[item] = True
        nodes += 1
        if nodes > MOST_NODES:
            return False
        clicked = 0.0
        for j in range(depth + 1):
            p = last[depth, j] * examination[depth, j] * values[item]
            clicked += p
            last[depth + 1, j] = last[depth, j] - p
        last[depth + 1, depth + 1] = clicked
        clicks[depth + 1] = clicks[depth] + clicked
        if depth + 1 == n_positions:
            if clicks[depth + 1] > goal:
                goal = clicks[depth + 1] + _ROUNDING
                copy(chosen, best)
        elif clicks[depth + 1] + _bound(values, examination, used, last, depth + 1, buffer) > goal:
            depth += 1
    return True


@kernel
def _bound(
    values: Floats,
    examination: Floats,
    used: NDArray[np.bool_],
    last: Floats,
    depth: int,
    buffer: Floats,
) -> float:
    """Return an upper bound of the expected clicks from this depth on, for the unused items."""
    n_items, n_positions = values.shape[0], examination.shape[0]
    # First bound: each position has the best or the worst unused item, depending on the last click.
    high, low = -1.0, 0.0
    for i in range(n_items):
        if not used[i]:
            high = max(high, values[i])
            low = values[i]
    most = np.zeros(n_positions + 1)
    for position in range(n_positions - 1, depth - 1, -1):
        click = 1.0 + most[position + 1]
        for j in range(position + 1):
            gain = click - most[j]
            most[j] += examination[position, j] * gain * (high if gain > 0.0 else low)
    free = 0.0
    for j in range(depth + 1):
        free += last[depth, j] * most[j]
    # Second bound: each position has its largest examination, and each item is used once.
    for position in range(depth, n_positions):
        later = 0.0
        for j in range(depth + 1, position + 1):
            later = max(later, examination[position, j])
        share = 0.0
        for j in range(depth + 1):
            share += last[depth, j] * max(examination[position, j], later)
        place = position
        while place > depth and buffer[place - 1] < share:
            buffer[place] = buffer[place - 1]
            place -= 1
        buffer[place] = share
    matched = 0.0
    position = depth
    for i in range(n_items):
        if not used[i] and position < n_positions:
            matched += buffer[position] * values[i]
            position += 1
    return min(free, matched)
