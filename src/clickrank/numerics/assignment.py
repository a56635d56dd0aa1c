"""The linear assignment problem: an item for each position, so that the sum of values is largest.

`assign` keeps an optimal assignment up to date. Values change little from round to round, so the
last optimum is tried first: an assignment is optimal if and only if no cyclic exchange improves it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clickrank._compile.jit import kernel, lean_kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.shuffling import shuffle, swap_at_random

# Sums closer than this count as equal, and a random item decides. Far above the rounding of a sum
# of probabilities (1e-15), far below any difference that matters.
TIE = 1e-11


@kernel
def best_assignment(values: Floats, rng: np.random.Generator, best: Ints) -> None:
    """Write the item of each position into ``best``, so that the sum is largest, ties at random.

    ``values`` holds the value of each item at each position, (n_items, n_positions).
    """
    n_items, n_positions = values.shape
    best[:] = np.arange(n_positions)
    room = np.zeros((5, n_items))
    marks = np.zeros((4, n_items), dtype=np.int64)
    graph = np.zeros((n_positions + 1, n_positions + 1))
    assign(values, rng, best, room, marks, graph)


@lean_kernel
def assign(
    values: Floats, rng: np.random.Generator, best: Ints, room: Floats, marks: Ints, graph: Floats
) -> float:
    """Write the optimal assignment into ``best``, ties at random; return its lead.

    ``best`` must hold distinct items; the optimum of similar values saves time. The lead is by how
    much the optimum exceeds every other assignment, at most `TIE` if some are tied. Random numbers
    are drawn only then, so the draws depend on the values alone.

    Parameters
    ----------
    values
        (n_items, n_positions), the value of each item at each position.
    rng
        Settles ties.
    best
        (n_positions,), the item of each position.
    room, marks, graph
        Work space of shapes (5, n_items), (4, n_items), (n_positions + 1, n_positions + 1);
        ``marks[3]`` is the order in which items are tried, a permutation.
    """
    lead = optimise(values, best, room, marks, graph)
    if lead <= TIE:
        settle(values, rng, best, room, marks)
    return lead


@lean_kernel
def optimise(values: Floats, best: Ints, room: Floats, marks: Ints, graph: Floats) -> float:
    """Write an optimal assignment into ``best``, any of those tied; return its lead."""
    lead = exchange_cost(values, best, marks[0], graph)
    if lead < -TIE:
        for item in range(values.shape[0]):
            room[3, item] = 0.0
            marks[3, item] = item
        solve_assignment(values, room[3], best, room, marks)
        lead = exchange_cost(values, best, marks[0], graph)
    return lead


@lean_kernel
def settle(values: Floats, rng: np.random.Generator, best: Ints, room: Floats, marks: Ints) -> None:
    """Choose among tied optima by random bonuses, too small for anything else.

    The bonus of an item at a position is that of the item times the weight of the position, 1/K,
    2/K, ..., 1 in random order, so that neither the numbers of the items nor those of the positions
    have a say. Items are tried in random order too: with many of them rounding may make two bonuses
    equal. What the work space holds makes no difference.
    """
    bonus = room[3]
    weights = room[4]
    order = marks[3]
    n_items = values.shape[0]
    for item in range(n_items):
        bonus[item] = rng.random() * (TIE / best.shape[0])
        order[item] = item
    for position in range(best.shape[0]):
        weights[position] = (position + 1.0) / best.shape[0]
        swap_at_random(rng, weights, position, 0, position + 1)
    shuffle(rng, order, 0, n_items)
    solve_assignment(values, bonus, best, room, marks)


@lean_kernel
def solve_assignment(values: Floats, bonus: Floats, best: Ints, room: Floats, marks: Ints) -> None:
    """Solve the problem from nothing by shortest augmenting paths, O(n_positions² · n_items).

    At a position, an item's bonus counts with the weight in ``room[4]``, so that bonuses also
    decide which item is where. Items are tried in the order of ``marks[3]``, a permutation.
    """
    n_items, n_positions = values.shape
    price = room[0]  # of an item
    profit = room[1]  # of a position, in its first places
    distance = room[2]
    position_of = marks[0]
    previous = marks[1]  # the item before this one on the shortest path, -1 for none
    done = marks[2]
    order = marks[3]
    for item in range(n_items):
        price[item] = 0.0
        profit[item] = 0.0
        position_of[item] = -1
    for start in range(n_positions):
        for item in range(n_items):
            distance[item] = math.inf
            done[item] = 0
        position = start
        last = -1
        reached = 0.0
        while True:
            nearest = -1
            weight = room[4, position]
            offset = reached + profit[position]
            for place in range(n_items):
                item = order[place]
                if done[item] == 1:
                    continue
                gain = values[item, position] + bonus[item] * weight
                length = offset + price[item] - gain
                if length < distance[item]:
                    distance[item] = length
                    previous[item] = last
                if nearest < 0 or distance[item] < distance[nearest]:
                    nearest = item
            reached = distance[nearest]
            last = nearest
            if position_of[nearest] < 0:
                break
            done[nearest] = 1
            position = position_of[nearest]
        profit[start] -= reached
        for item in range(n_items):
            if done[item] == 1:
                price[item] += reached - distance[item]
                profit[position_of[item]] -= reached - distance[item]
        while last >= 0:
            before = previous[last]
            position_of[last] = position_of[before] if before >= 0 else start
            last = before
    for item in range(n_items):
        if position_of[item] >= 0:
            best[position_of[item]] = item


@lean_kernel
def exchange_cost(values: Floats, best: Ints, used: Ints, graph: Floats) -> float:
    """Return the least cost of an exchange: negative if some exchange improves the assignment.

    In an exchange each position of a cycle takes the item of the next, or one takes an unused item
    and the first of them leaves. Two assignments differ by exchanges, so the cheapest one leads to
    the second best assignment.

    The graph has a node for each position and one, the last, for the unused items; an edge k → l
    costs what position k loses by taking l's item; cycles are exchanges.
    """
    n_items, n_positions = values.shape
    outside = n_positions
    for item in range(n_items):
        used[item] = 0
    for item in best:
        used[item] = 1
    for k in range(n_positions):
        own = values[best[k], k]
        for other in range(n_positions):
            graph[k, other] = own - values[best[other], k]
        graph[k, k] = math.inf
        graph[k, outside] = math.inf
        graph[outside, k] = 0.0
    graph[outside, outside] = math.inf
    for item in range(n_items):
        if used[item] == 0:
            for k in range(n_positions):
                loss = values[best[k], k] - values[item, k]
                graph[k, outside] = min(graph[k, outside], loss)
    # Every cycle has a node of lowest number, and passes only later ones otherwise: nodes are taken
    # out from the last to the first, each replaced by the shortcuts through it.
    for via in range(n_positions, 0, -1):
        for k in range(via):
            first = graph[k, via]
            for other in range(via):
                graph[k, other] = min(graph[k, other], first + graph[via, other])
    least = math.inf
    for k in range(n_positions):
        least = min(least, graph[k, k])
    return least


def no_assignment(n_items: int, n_positions: int) -> dict[str, Any]:
    """Return what `assign` keeps in a state, by the names of its parameters."""
    return {
        "best": np.arange(n_positions),
        "room": np.zeros((5, n_items)),
        "marks": np.zeros((4, n_items), dtype=np.int64),
        "graph": np.zeros((n_positions + 1, n_positions + 1)),
    }
