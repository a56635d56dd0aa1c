"""Undirected graphs, given by the sorted neighbours of each node; each edge is listed at both ends.

The nodes are the items of a catalogue, numbered from 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence

import numpy as np

from clickrank._core.arrays import Floats, Ints
from clickrank.errors import invalid

Graph = tuple[tuple[int, ...], ...]


def line_graph(order: Sequence[int]) -> Graph:
    """Return the graph that joins each item to the next one in an order of all items.

    >>> line_graph([0, 2, 1])
    ((2,), (2,), (0, 1))
    """
    rows: list[list[int]] = [[] for _ in order]
    for one, two in itertools.pairwise(order):
        rows[one].append(two)
        rows[two].append(one)
    return tuple(tuple(sorted(row)) for row in rows)


def checked_graph(owner: str, neighbours: object) -> Graph:
    """Return the graph of lists of neighbours, in which each edge is listed once or twice.

    The graph must be connected.

    >>> checked_graph("OSUB", [[1, 2], [], []])
    ((1, 2), (0,), (0,))
    >>> checked_graph("OSUB", [[0]])
    Traceback (most recent call last):
    clickrank.errors.InvalidValue: OSUB: neighbours[0] must hold other items, below 1, got 0.
    """
    rule = "neighbours must be a list with one list of items for each item"
    if not isinstance(neighbours, Sequence | np.ndarray) or len(neighbours) == 0:
        raise invalid(owner, rule, neighbours)
    rows: list[set[int]] = [set() for _ in neighbours]
    for item, row in enumerate(neighbours):
        if not isinstance(row, Collection | np.ndarray) or isinstance(row, str):
            raise invalid(owner, rule, neighbours)
        for other in row:
            whole = isinstance(other, int | np.integer) and not isinstance(other, bool)
            if not whole or not 0 <= other < len(rows) or other == item:
                limit = f"must hold other items, below {len(rows)}"
                raise invalid(owner, f"neighbours[{item}] {limit}", other)
            rows[item].add(int(other))
            rows[int(other)].add(item)
    reached, to_visit = {0}, [0]
    while to_visit:
        found = rows[to_visit.pop()] - reached
        reached |= found
        to_visit += found
    if len(reached) < len(rows):
        apart = sorted(set(range(len(rows))) - reached)
        raise invalid(owner, "neighbours must connect all items to item 0", f"{apart} apart")
    return tuple(tuple(sorted(row)) for row in rows)


def packed_graph(graph: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Return all neighbours in one array, and the places where those of each item begin and end.

    >>> packed_graph(line_graph([0, 2, 1]))
    (array([2, 2, 0, 1]), array([0, 1, 2, 4]))
    """
    neighbours = np.array([k for row in graph for k in row], dtype=np.int64)
    begins = np.cumsum([0, *(len(row) for row in graph)], dtype=np.int64)
    return neighbours, begins


def relabelled_graph(
    owner: str,
    graph: Sequence[Sequence[int]] | None,
    origin: Ints,
    new: Sequence[Sequence[int]] | None = None,
) -> Graph | None:
    """Return the graph of a catalogue whose item i is this graph's item ``origin[i]``.

    ``new`` holds the neighbours of each item of origin -1, as they are numbered in that catalogue.
    If ``graph`` is None, it is the line of all items in their order, and new items go to its end.

    >>> relabelled_graph("OSUB", line_graph([0, 1, 2, 3]), np.array([3, 1, 0]))
    ((1,), (0, 2), (1,))
    >>> relabelled_graph("OSUB", None, np.array([1, -1, 0]))
    ((1, 2), (0,), (0,))
    """
    if graph is None:
        if new is not None:
            raise invalid(owner, "new items go to the end of the line by default", new)
        order = np.lexsort((origin, origin < 0)).tolist()  # new items last, in their order
        return None if order == list(range(len(order))) else line_graph(order)
    there = origin.tolist()
    given = list(new or [])
    if len(given) != there.count(-1):
        rule = f"neighbours must be given for each new item ({there.count(-1)})"
        raise invalid(owner, rule, new)
    numbers = {old: item for item, old in enumerate(there)}
    remaining = without_items(graph, set(there))
    rows = [given.pop(0) if old < 0 else [numbers[k] for k in remaining[old]] for old in there]
    return checked_graph(owner, rows)


def without_items(graph: Sequence[Sequence[int]], remaining: Collection[int]) -> list[set[int]]:
    """Return the neighbours of each item among the items that remain; items keep their numbers.

    The neighbours of a removed item become neighbours of each other, so that values that are
    unimodal on the graph stay unimodal.

    >>> without_items(line_graph([0, 1, 2, 3]), {0, 2, 3})[2]
    {0, 3}
    """
    rows = [set(row) for row in graph]
    for gone in range(len(rows)):
        if gone not in remaining:
            for one in rows[gone]:
                rows[one] = (rows[one] | rows[gone]) - {one, gone}
    return rows


def peak_besides(graph: Sequence[Sequence[int]], values: Floats) -> int | None:
    """Return an item, other than the best one, without a better neighbour; None if there is none.

    There is none if the values are unimodal. None is also returned if the number of values is not
    that of the items.

    >>> peak_besides(line_graph([0, 1, 2]), np.array([0.5, 0.2, 0.3]))
    2
    """
    if len(graph) != len(values):
        return None
    best = int(np.argmax(values))
    for item, row in enumerate(graph):
        if item != best and not any(values[other] > values[item] for other in row):
            return item
    return None
