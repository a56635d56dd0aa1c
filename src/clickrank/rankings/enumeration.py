"""Enumeration of rankings: all lists of a size, numbered prefixes, shares of items at positions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import Floats, Ints


def all_rankings(n_items: int, n_positions: int) -> Ints:
    """Return every list of distinct items, one per row, in lexicographic order.

    >>> all_rankings(3, 2).tolist()
    [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]]
    """
    lists: Ints = np.zeros((1, 0), dtype=np.int64)
    for _ in range(n_positions):
        longer = np.repeat(lists, n_items, axis=0)
        last = np.tile(np.arange(n_items), len(lists))
        fits = (longer != last[:, None]).all(axis=1)
        lists = np.hstack([longer[fits], last[fits, None]])
    return lists


def number_prefixes(
    n_items: int, known: Ints, *others: Ints
) -> tuple[tuple[NDArray[np.int64], ...], list[int]]:
    """Number the different prefixes of lists, position by position.

    The prefixes of the first lists are numbered 0, 1, 2 … at each position, in order. Prefixes of
    other lists that none of the first lists has get the next number after the last.

    Returns
    -------
    numbers, sizes
        For each array of lists the numbers, in its shape; and the count of numbers per position.
    """
    every = (known, *others)
    numbers = tuple(np.empty(lists.shape, dtype=np.int64) for lists in every)
    last = [np.zeros(len(lists), dtype=np.int64) for lists in every]
    sizes: list[int] = []
    for k in range(known.shape[1]):
        keys = [before * n_items + lists[:, k] for before, lists in zip(last, every, strict=True)]
        n_keys = n_items * (sizes[-1] + 1 if sizes else 1)
        if n_keys <= 8 * (sum(map(len, keys)) + 1000):  # a table is faster than a search
            there = np.zeros(n_keys, dtype=bool)
            there[keys[0]] = True
            size = int(there.sum())
            number = np.where(there, np.cumsum(there) - 1, size)
            last = [number[key] for key in keys]
        else:
            found = np.unique(keys[0])
            size = found.size
            last = []
            for key in keys:
                place = np.minimum(np.searchsorted(found, key), size - 1)
                last.append(np.where(found[place] == key, place, size))
        sizes.append(size)
        for array, column in zip(numbers, last, strict=True):
            array[:, k] = column
    return numbers, sizes


def item_shares(n_items: int, rankings: Ints) -> Floats:
    """Return the share of each item at each position, where -1 stands for an unknown item.

    >>> item_shares(2, np.array([[0, 1], [0, -1]]))
    array([[1., 0.], [0., 1.]])
    """
    columns = []
    for column in rankings.T:
        counts = np.bincount(column[column >= 0], minlength=n_items)
        columns.append(counts / max(counts.sum(), 1e-300))
    return np.stack(columns, axis=1)
