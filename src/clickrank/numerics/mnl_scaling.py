"""Attraction and position bias from clicks by item and position: the scaling of a matrix.

The alternating scheme of 000, eq. 5 and 6, is descent by blocks on

    Σ_jk N_jk / (α_j λ_k) + Σ_j Ñ_j log α_j + Σ_k Ñ_k log λ_k,

where N counts the clicks on item j at position k in complete epochs, and Ñ the epochs that showed
the item or used the position. In x = log α and y = log λ it is convex: its minimum scales N by 1/α
and 1/λ to a matrix with sums Ñ_j and Ñ_k, and is the most likely point if counts were exponential.

With bounds on α and λ, projecting each block's minimum is descent by blocks in the box, and so has
the minimum in the box for its limit. Here the x_j are eliminated, which given y have a closed form,
and Newton's method is used on y alone, with y_0 = 0.

`PULL` makes the minimum unique where clicks leave a product α_j λ_k without its factors: each item
counts as shown in this part of an epoch more, at bias 1, with as many clicks. It pulls α towards 1.
"""

from __future__ import annotations

import math

from clickrank._jit import inline_kernel, lean_kernel
from clickrank.numerics.pbm_likelihood import solve_positive
from clickrank.types import Floats, Ints

PULL = 1e-3
#: Rows of the work space: weights, slope, direction, marks, and two square matrices.
ROOM_ROWS = 4
#: More steps than any fit takes.
MOST_STEPS = 200
_CLOSE = 1e-3  # shorter steps need no proof that they improve
_DONE = 1e-8  # the step after it would be its square
_EDGE = 1e-12


@lean_kernel
def add_up(
    clicks: Ints, epochs: Ints, counts: Floats, item_epochs: Floats, position_epochs: Floats
) -> None:
    """Write the clicks as floats, and the epochs of each item and of each position."""
    n_items, n_positions = clicks.shape
    for k in range(n_positions):
        position_epochs[k] = 0.0
    for j in range(n_items):
        item_epochs[j] = 0.0
        for k in range(n_positions):
            counts[j, k] = clicks[j, k]
            item_epochs[j] += epochs[j, k]
            position_epochs[k] += epochs[j, k]


@lean_kernel
def minimise_scaling(
    counts: Floats,
    item_epochs: Floats,
    position_epochs: Floats,
    least: float,
    most: float,
    pull: float,
    y: Floats,
    attraction: Floats,
    room: Floats,
) -> int:
    """Move y to the minimum, and write the attractions; returns the steps taken.

    ``y`` holds the start, with y_0 = 0. All estimates but λ_0 stay within [least, most]. ``room``
    is work space of shape (2 n_positions + ROOM_ROWS, n_positions). An item that was never shown
    has attraction 1. If no minimum was found in `MOST_STEPS` steps, these are what is returned.
    """
    n_positions = y.shape[0]
    low, high = math.log(least), math.log(most)
    # A position without clicks has no curvature to go by: its bias is the least.
    for k in range(1, n_positions):
        y[k] = min(max(y[k], low), high)
        total = 0.0
        for j in range(counts.shape[0]):
            total += counts[j, k]
        if total == 0.0:
            y[k] = low
    for step in range(1, MOST_STEPS):
        _slope(counts, item_epochs, position_epochs, least, most, pull, y, attraction, room)
        reach, longest, decrement = _direction(y, low, high, room)
        size = reach
        if longest > _CLOSE or step > 20:
            before = scaling_objective(
                counts, item_epochs, position_epochs, least, most, pull, y, room[2], 0.0
            )
            for _ in range(40):
                after = scaling_objective(
                    counts, item_epochs, position_epochs, least, most, pull, y, room[2], size
                )
                if after <= before - 1e-4 * size * decrement:
                    break
                size *= 0.5
        for k in range(1, n_positions):
            y[k] = _within(y[k] + size * room[2, k], low, high)
        if longest < _DONE and reach == 1.0:
            _attractions(counts, item_epochs, least, most, pull, y, attraction)
            return step
    _attractions(counts, item_epochs, least, most, pull, y, attraction)
    return MOST_STEPS


@inline_kernel
def _within(value: float, low: float, high: float) -> float:
    """Return a value, or the bound that it reaches but for rounding."""
    if value <= low + _EDGE:
        return low
    return high if value >= high - _EDGE else value


@lean_kernel
def scaling_objective(
    counts: Floats,
    item_epochs: Floats,
    position_epochs: Floats,
    least: float,
    most: float,
    pull: float,
    y: Floats,
    direction: Floats,
    size: float,
) -> float:
    """Return the objective at y + size · direction, with the best attractions for it."""
    n_items, n_positions = counts.shape
    total = 0.0
    for k in range(n_positions):
        total += position_epochs[k] * (y[k] + size * direction[k])
    for j in range(n_items):
        if item_epochs[j] == 0.0:
            continue
        scaled = pull
        for k in range(n_positions):
            if counts[j, k] > 0.0:
                scaled += counts[j, k] * math.exp(-(y[k] + size * direction[k]))
        epochs = item_epochs[j] + pull
        alpha = min(max(scaled / epochs, least), most)
        total += scaled / alpha + epochs * math.log(alpha)
    return total


@lean_kernel
def _slope(
    counts: Floats,
    item_epochs: Floats,
    position_epochs: Floats,
    least: float,
    most: float,
    pull: float,
    y: Floats,
    attraction: Floats,
    room: Floats,
) -> None:
    """Write the derivatives by y to row 1, and the second ones from the row ROOM_ROWS on."""
    n_items, n_positions = counts.shape
    for k in range(n_positions):
        room[0, k] = math.exp(-y[k])
        room[1, k] = position_epochs[k]
        for m in range(k + 1):
            room[ROOM_ROWS + k, m] = 0.0
    for j in range(n_items):
        if item_epochs[j] == 0.0:
            continue
        scaled = pull
        for k in range(n_positions):
            room[2, k] = counts[j, k] * room[0, k]
            scaled += room[2, k]
        epochs = item_epochs[j] + pull
        alpha = scaled / epochs
        part = 1.0 / epochs
        if not least < alpha < most:  # held at a bound: it does not move with y
            alpha = min(max(alpha, least), most)
            part = 0.0
        attraction[j] = alpha
        inverse = 1.0 / alpha
        for k in range(n_positions):
            share = room[2, k] * inverse
            room[2, k] = share
            room[1, k] -= share
            room[ROOM_ROWS + k, k] += share
            share *= part
            for m in range(k + 1):
                room[ROOM_ROWS + k, m] -= share * room[2, m]


@lean_kernel
def _direction(y: Floats, low: float, high: float, room: Floats) -> tuple[float, float, float]:
    """Write Newton's step to row 2, without the positions that are held at a bound.

    Returns how much of it stays in the box, the longest move of that, and the decrease to expect.
    """
    n_positions = y.shape[0]
    second = ROOM_ROWS + n_positions
    for k in range(n_positions):  # row 3 marks what is held
        slope = room[1, k]
        held = k == 0 or (y[k] <= low and slope >= 0.0) or (y[k] >= high and slope <= 0.0)
        room[3, k] = 1.0 if held else 0.0
    again = True
    while again:
        for k in range(n_positions):
            room[2, k] = -room[1, k] * (1.0 - room[3, k])
            for m in range(k):
                free = room[3, k] == 0.0 and room[3, m] == 0.0
                room[second + k, m] = room[ROOM_ROWS + k, m] if free else 0.0
            room[second + k, k] = room[ROOM_ROWS + k, k] if room[3, k] == 0.0 else 1.0
        solve_positive(room[second:], room[2])
        again = False
        for k in range(1, n_positions):
            move = room[2, k]
            if (y[k] <= low and move < 0.0) or (y[k] >= high and move > 0.0):
                room[3, k] = 1.0
                again = True
    reach = 1.0
    for k in range(1, n_positions):
        move = room[2, k]
        if move < 0.0:
            reach = min(reach, (low - y[k]) / move)
        elif move > 0.0:
            reach = min(reach, (high - y[k]) / move)
    longest = 0.0
    decrement = 0.0
    for k in range(1, n_positions):
        longest = max(longest, abs(reach * room[2, k]))
        decrement -= room[1, k] * room[2, k]
    return reach, longest, decrement


@inline_kernel
def _attractions(
    counts: Floats,
    item_epochs: Floats,
    least: float,
    most: float,
    pull: float,
    y: Floats,
    attraction: Floats,
) -> None:
    """Write the best attractions for these position biases."""
    n_items, n_positions = counts.shape
    for j in range(n_items):
        scaled = pull
        for k in range(n_positions):
            scaled += counts[j, k] * math.exp(-y[k])
        epochs = item_epochs[j] + pull
        attraction[j] = min(max(scaled / epochs, least), most) if item_epochs[j] > 0.0 else 1.0
