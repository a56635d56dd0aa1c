"""Attraction and position bias from clicks by item and position: the scaling of a matrix.

The alternating scheme of grant2020, eq. 5 and 6, is descent by blocks on

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
from typing import NamedTuple

from clickrank._jit import inline_kernel, lean_kernel
from clickrank.numerics.cholesky import solve_positive
from clickrank.types import Floats, Ints

PULL = 1e-3
_ROWS = 4
_SHRINK = 0.03  # of steps with old curvature, each beside the one before
#: More steps than any fit takes.
MOST_STEPS = 200
_CLOSE = 0.05  # shorter steps need no proof that they improve
_DONE = 1e-8
_ERROR = 1e-13  # what may be left
_EDGE = 1e-12


class Box(NamedTuple):
    """Bounds of the estimates; those of biases do not hold for the first, which is 1."""

    least_attraction: float
    most_attraction: float
    least_bias: float
    most_bias: float


@lean_kernel
def add_up(
    clicks: Ints, epochs: Ints, counts: Floats, item_epochs: Floats, position_epochs: Floats
) -> None:
    """Write the clicks as floats, and the epochs of each item and of each position.

    Clicks on an item without a complete epoch count for nothing.
    """
    n_items, n_positions = clicks.shape
    for k in range(n_positions):
        position_epochs[k] = 0.0
    for j in range(n_items):
        item_epochs[j] = 0.0
        for k in range(n_positions):
            item_epochs[j] += epochs[j, k]
            position_epochs[k] += epochs[j, k]
        for k in range(n_positions):
            counts[j, k] = clicks[j, k] if item_epochs[j] > 0.0 else 0.0


@lean_kernel
def minimise_scaling(
    counts: Floats,
    item_epochs: Floats,
    position_epochs: Floats,
    box: Box,
    pull: float,
    y: Floats,
    attraction: Floats,
    near: bool,
    room: Floats,
) -> int:
    """Move y to the minimum, and write the attractions; returns the steps taken.

    ``y`` holds the start, with y_0 = 0. All estimates but λ_0 stay in the box. ``room`` is work
    space, see `room_shape`; ``near`` says that it has the derivatives at y in row 1, and
    the factor of the curvature near y.
    An item that was never shown has attraction 1. If no minimum was found in `MOST_STEPS` steps,
    these are what is returned.
    """
    n_positions = y.shape[0]
    low, high = math.log(box.least_bias), math.log(box.most_bias)
    if not near:
        # A position without clicks has no curvature to go by: its bias is the least.
        for k in range(1, n_positions):
            y[k] = min(max(y[k], low), high)
            total = 0.0
            for j in range(counts.shape[0]):
                total += counts[j, k]
            if total == 0.0:
                y[k] = low
    # Curvature is the costly part. While steps with that of an earlier point become shorter fast,
    # it is not computed anew.
    again = near
    last = 1.0
    size, reach, longest, error = 1.0, 1.0, 0.0, 0.0
    for step in range(1, MOST_STEPS):
        if again:
            if step > 1:
                _slope(counts, item_epochs, position_epochs, box, pull, y, room)
            reach, longest = _old_direction(y, low, high, room)
            again = longest <= last * _SHRINK and reach == 1.0
            size = 1.0
            error = longest * longest / last  # if the next is as much shorter
        if not again:
            _curvature(counts, item_epochs, position_epochs, box, pull, y, room)
            reach, longest, decrement = _direction(y, low, high, room)
            size = reach
            error = longest * longest
            if longest > _CLOSE or step > 20:
                before = scaling_objective(
                    counts, item_epochs, position_epochs, box, pull, y, room, 0.0
                )
                for _ in range(40):
                    after = scaling_objective(
                        counts, item_epochs, position_epochs, box, pull, y, room, size
                    )
                    if after <= before - 1e-4 * size * decrement:
                        break
                    size *= 0.5
        for k in range(1, n_positions):
            y[k] = _within(y[k] + size * room[2, k], low, high)
        if longest < _DONE and error < _ERROR and reach == 1.0:
            _attractions(counts, item_epochs, box, pull, y, attraction, room)
            return step
        again = size == 1.0 and longest < _CLOSE and step < 20
        last = max(longest, 1e-12)
    _attractions(counts, item_epochs, box, pull, y, attraction, room)
    return MOST_STEPS


def room_shape(n_positions: int) -> tuple[int, int]:
    """Return the shape of the work space."""
    # weights, slope, step, marks of positions held at a bound; curvature, its factor, and copies of
    # factor, marks, weights and slope
    return 3 * n_positions + _ROWS + 3, n_positions


@inline_kernel
def _within(value: float, low: float, high: float) -> float:
    """Return a value, or the bound that it reaches but for rounding."""
    if value <= low + _EDGE:
        return low
    return high if value >= high - _EDGE else value


@inline_kernel
def _clipped(attraction: float, box: Box) -> float:
    return min(max(attraction, box.least_attraction), box.most_attraction)


@lean_kernel
def scaling_objective(
    counts: Floats,
    item_epochs: Floats,
    position_epochs: Floats,
    box: Box,
    pull: float,
    y: Floats,
    room: Floats,
    size: float,
) -> float:
    """Return the objective at y + size · step, with the best attractions for it.

    The step is row 2 of the room.
    """
    n_items, n_positions = counts.shape
    total = 0.0
    for k in range(n_positions):
        moved = y[k] + size * room[2, k]
        total += position_epochs[k] * moved
        room[0, k] = math.exp(-moved)
    for j in range(n_items):
        if item_epochs[j] == 0.0:
            continue
        scaled = pull
        for k in range(n_positions):
            scaled += counts[j, k] * room[0, k]
        epochs = item_epochs[j] + pull
        alpha = _clipped(scaled / epochs, box)
        total += scaled / alpha + epochs * math.log(alpha)
    return total


@inline_kernel
def _slope(
    counts: Floats,
    item_epochs: Floats,
    position_epochs: Floats,
    box: Box,
    pull: float,
    y: Floats,
    room: Floats,
) -> None:
    """Write the derivatives by y to row 1."""
    n_items, n_positions = counts.shape
    for k in range(n_positions):
        room[0, k] = math.exp(-y[k])
        room[1, k] = 0.0
    for j in range(n_items):
        scaled = 0.0
        for k in range(n_positions):
            scaled += counts[j, k] * room[0, k]
        if scaled == 0.0:
            continue
        inverse = 1.0 / _clipped((scaled + pull) / (item_epochs[j] + pull), box)
        for k in range(n_positions):
            room[1, k] += counts[j, k] * inverse
    for k in range(n_positions):
        room[1, k] = position_epochs[k] - room[1, k] * room[0, k]


@lean_kernel
def _curvature(
    counts: Floats,
    item_epochs: Floats,
    position_epochs: Floats,
    box: Box,
    pull: float,
    y: Floats,
    room: Floats,
) -> None:
    """Write the derivatives by y to row 1, and the second ones from the row `_ROWS` on."""
    n_items, n_positions = counts.shape
    for k in range(n_positions):
        room[0, k] = math.exp(-y[k])
        room[1, k] = 0.0
        for m in range(k + 1):
            room[_ROWS + k, m] = 0.0
    for j in range(n_items):
        scaled = 0.0
        for k in range(n_positions):
            room[2, k] = counts[j, k] * room[0, k]
            scaled += room[2, k]
        if scaled == 0.0:
            continue
        epochs = item_epochs[j] + pull
        alpha = (scaled + pull) / epochs
        inverse = 1.0 / _clipped(alpha, box)
        for k in range(n_positions):
            room[2, k] *= inverse
            room[1, k] += room[2, k]
        if box.least_attraction < alpha < box.most_attraction:  # else it does not move with y
            part = 1.0 / epochs
            for k in range(n_positions):
                share = room[2, k] * part
                for m in range(k + 1):
                    room[_ROWS + k, m] -= share * room[2, m]
    for k in range(n_positions):
        room[_ROWS + k, k] += room[1, k]
        room[1, k] = position_epochs[k] - room[1, k]


@inline_kernel
def _old_direction(y: Floats, low: float, high: float, room: Floats) -> tuple[float, float]:
    """Write the step with the factor of an earlier curvature to row 2.

    Returns as `_direction` does; a part of 0 if not the same positions are held as then.
    """
    n_positions = y.shape[0]
    factor = _ROWS + n_positions
    for k in range(n_positions):
        slope = room[1, k]
        held = k == 0 or (y[k] <= low and slope >= 0.0) or (y[k] >= high and slope <= 0.0)
        if held != (room[3, k] == 1.0):
            return 0.0, math.inf
        total = 0.0 if held else -slope
        for m in range(k):
            total -= room[factor + k, m] * room[2, m]
        room[2, k] = total / room[factor + k, k]
    for k in range(n_positions - 1, -1, -1):
        total = room[2, k]
        for m in range(k + 1, n_positions):
            total -= room[factor + m, k] * room[2, m]
        room[2, k] = total / room[factor + k, k]
    reach = 1.0
    longest = 0.0
    for k in range(1, n_positions):
        move = room[2, k]
        longest = max(longest, abs(move))
        if not low <= y[k] + move <= high:
            reach = 0.0
    return reach, longest


@lean_kernel
def _direction(y: Floats, low: float, high: float, room: Floats) -> tuple[float, float, float]:
    """Write Newton's step to row 2, without the positions that are held at a bound.

    Returns how much of it stays in the box, the longest move of that, and the decrease to expect.
    """
    n_positions = y.shape[0]
    second = _ROWS + n_positions
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
                room[second + k, m] = room[_ROWS + k, m] if free else 0.0
            room[second + k, k] = room[_ROWS + k, k] if room[3, k] == 0.0 else 1.0
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


@lean_kernel
def _attractions(
    counts: Floats,
    item_epochs: Floats,
    box: Box,
    pull: float,
    y: Floats,
    attraction: Floats,
    room: Floats,
) -> None:
    """Write the best attractions for these position biases."""
    n_items, n_positions = counts.shape
    for k in range(n_positions):
        room[0, k] = math.exp(-y[k])
    for j in range(n_items):
        scaled = pull
        for k in range(n_positions):
            scaled += counts[j, k] * room[0, k]
        epochs = item_epochs[j] + pull
        attraction[j] = _clipped(scaled / epochs, box) if item_epochs[j] > 0.0 else 1.0


@lean_kernel
def add_sensitivities(
    counts: Floats,
    epochs: Ints,
    item_epochs: Floats,
    position_epochs: Floats,
    box: Box,
    pull: float,
    y: Floats,
    attraction: Floats,
    other_y: Floats,
    other: Floats,
    room: Floats,
    order: Ints,
    enough: Floats,
    squares: Floats,
) -> None:
    """Write Σ Ñ_ks (α_j - α'_j)² for each item j, where α' is fitted to one more click in a cell.

    The sum is over the cells (k, s) that were shown. ``y`` and ``attraction`` are the minimum, and
    the room as that fit left it; the fits start from there. ``other_y`` and ``other`` are work
    space. Once no item has less than ``enough``, what is left of the sums is left out;
    ``order`` has the positions by decreasing bias, of which the last add most.
    """
    n_items, n_positions = counts.shape
    factor = _ROWS + n_positions
    kept = factor + n_positions
    marks = kept + n_positions
    _slope(counts, item_epochs, position_epochs, box, pull, y, room)
    for j in range(n_items):
        squares[j] = 0.0
    for k in range(n_positions):
        room[marks, k] = room[3, k]
        room[marks + 1, k] = room[0, k]
        room[marks + 2, k] = room[1, k]
        for m in range(n_positions):
            room[kept + k, m] = room[factor + k, m]
    for place in range(n_positions - 1, -1, -1):
        k = order[place]
        for i in range(n_items):
            if epochs[i, k] == 0:
                continue
            for m in range(n_positions):
                other_y[m] = y[m]
                room[3, m] = room[marks, m]
                room[0, m] = room[marks + 1, m]
                room[1, m] = room[marks + 2, m]
                for n in range(m + 1):
                    room[factor + m, n] = room[kept + m, n]
            # The click changes what its item adds to the slopes, and nothing else.
            _add_slope(counts, i, item_epochs[i], box, pull, room, 1.0)
            counts[i, k] += 1.0
            _add_slope(counts, i, item_epochs[i], box, pull, room, -1.0)
            minimise_scaling(
                counts, item_epochs, position_epochs, box, pull, other_y, other, True, room
            )
            counts[i, k] -= 1.0
            for j in range(n_items):
                change = other[j] - attraction[j]
                squares[j] += epochs[i, k] * change * change
        done = True
        for j in range(n_items):
            done &= squares[j] >= enough[j]
        if done:
            return


@inline_kernel
def _add_slope(
    counts: Floats, j: int, epochs: float, box: Box, pull: float, room: Floats, sign: float
) -> None:
    """Add an item's part of the slopes, given the weights, with this sign."""
    n_positions = counts.shape[1]
    scaled = 0.0
    for k in range(n_positions):
        scaled += counts[j, k] * room[0, k]
    inverse = sign / _clipped((scaled + pull) / (epochs + pull), box)
    for k in range(n_positions):
        room[1, k] += counts[j, k] * room[0, k] * inverse
