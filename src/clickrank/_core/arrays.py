"""Array types, markers for statistics and particles, and validation of arrays from callers."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias, get_type_hints

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clickrank.errors import invalid

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
#: A vector as a policy or model accepts it.
Vector: TypeAlias = Sequence[float] | Floats
#: A matrix as a policy or model accepts it: a sequence of rows.
Matrix: TypeAlias = Sequence[Sequence[float]] | Floats

#: A field of a state that is part of the fold over settled impressions. Only ``update`` writes it.
FloatStatistic = Annotated[Floats, "statistic"]
IntStatistic = Annotated[Ints, "statistic"]
#: A field of a cache that cannot be computed from the statistics, such as the particle of a random
#: walk. A restart may lose it and workers may differ in it, but nothing else may drop it.
FloatParticle = Annotated[Floats, "particle"]
IntParticle = Annotated[Ints, "particle"]


def statistic_fields(state_class: type) -> tuple[str, ...]:
    """Return the names of the fields of a state class that are statistics, in order."""
    return _fields_marked(state_class, "statistic")


def particle_fields(cache_class: type) -> tuple[str, ...]:
    """Return the names of the fields of a cache class that are particles, in order."""
    return _fields_marked(cache_class, "particle")


@functools.cache
def _fields_marked(state_class: type, mark: str) -> tuple[str, ...]:
    hints = get_type_hints(state_class, include_extras=True)
    return tuple(k for k, hint in hints.items() if mark in getattr(hint, "__metadata__", ()))


def probabilities(owner: str, name: str, values: ArrayLike) -> Floats:
    """Return a copy of a non-empty vector of probabilities, or raise.

    >>> probabilities("PBM", "attraction", [0.2, 1.2])
    Traceback (most recent call last):
    clickrank.errors.InvalidValue: PBM: attraction[1] must be between 0 and 1, got 1.2.
    """
    return bounded_vector(owner, name, values, 0.0, 1.0)


def numbers(owner: str, name: str, values: ArrayLike) -> Floats:
    """Return a copy of an array of numbers as float64. Text is an error, even if it is numeric."""
    try:
        array = np.array(values)
    except ValueError:  # ragged
        array = np.array("ragged")
    if array.dtype.kind not in "fiub":
        raise invalid(owner, f"{name} must be a sequence of numbers", values)
    return array.astype(np.float64)


def bounded_vector(
    owner: str, name: str, values: ArrayLike, low: float, high: float, open_low: bool = False
) -> Floats:
    """Return a copy of a non-empty vector with entries in [low, high], or in (low, high]."""
    array = numbers(owner, name, values)
    if array.ndim != 1 or array.size == 0:
        raise invalid(owner, f"{name} must be a non-empty vector", values)
    good = (array > low if open_low else array >= low) & (array <= high)  # false for NaN
    if not good.all():
        where = int(np.argmin(good))
        rule = (
            f"must be above {low:g} and at most {high:g}"
            if open_low
            else (f"must be between {low:g} and {high:g}")
        )
        raise invalid(owner, f"{name}[{where}] {rule}", float(array[where]))
    return array


def ranking_of(owner: str, ranking: ArrayLike, n_items: int, n_positions: int) -> Ints:
    """Return a copy of a ranking of n_positions distinct items, or raise."""
    array = _whole_vector(owner, "ranking", ranking, n_positions)
    inside = bool(((array >= 0) & (array < n_items)).all())
    if not inside or len(set(array.tolist())) != n_positions:
        rule = f"ranking must hold distinct items between 0 and {n_items - 1}"
        raise invalid(owner, rule, array.tolist())
    return array


def clicks_of(owner: str, clicks: ArrayLike, n_positions: int) -> Ints:
    """Return a copy of a click vector with n_positions entries, each 0 or 1, or raise."""
    array = _whole_vector(owner, "clicks", clicks, n_positions)
    if not ((array == 0) | (array == 1)).all():
        raise invalid(owner, "clicks must be 0 or 1", array.tolist())
    return array


def memo_of(owner: str, memo: ArrayLike, size: int, limit: int) -> Ints:
    """Return a copy of a memo, ``size`` integers from 0 to ``limit`` - 1, or raise."""
    if size == 0 and isinstance(memo, (Sequence, np.ndarray)) and len(memo) == 0:
        return np.zeros(0, dtype=np.int64)
    array = _whole_vector(owner, "memo", memo, size)
    if not ((array >= 0) & (array < limit)).all():
        rule = f"memo must be the one that rank returned, numbers between 0 and {limit - 1}"
        raise invalid(owner, rule, array.tolist())
    return array


def _whole_vector(owner: str, name: str, values: ArrayLike, length: int) -> Ints:
    rule = f"{name} must hold {length} whole numbers"
    try:
        array = np.asarray(values)
    except ValueError:  # ragged
        raise invalid(owner, rule, values) from None
    if array.shape != (length,) or array.dtype.kind not in "iub":
        raise invalid(owner, rule, values if isinstance(values, Sequence) else array.tolist())
    return array.astype(np.int64)


def rankings_of(owner: str, rankings: ArrayLike, n_items: int, n_positions: int) -> Ints:
    """Return a copy of rankings, one per row, of n_positions distinct items each, or raise."""
    array = _whole_matrix(owner, "rankings", rankings, None, n_positions)
    ordered = np.sort(array, axis=1)
    good = (ordered[:, 0] >= 0) & (ordered[:, -1] < n_items)
    good &= (ordered[:, 1:] > ordered[:, :-1]).all(axis=1)
    if not good.all():
        row = int(np.argmin(good))
        rule = f"rankings[{row}] must hold distinct items between 0 and {n_items - 1}"
        raise invalid(owner, rule, array[row].tolist())
    return array


def clicks_of_many(owner: str, clicks: ArrayLike, rows: int, n_positions: int) -> Ints:
    """Return a copy of click vectors, one per row, with entries 0 or 1, or raise."""
    array = _whole_matrix(owner, "clicks", clicks, rows, n_positions)
    good = ((array == 0) | (array == 1)).all(axis=1)
    if not good.all():
        row = int(np.argmin(good))
        raise invalid(owner, f"clicks[{row}] must be 0 or 1", array[row].tolist())
    return array


def memos_of(owner: str, memos: ArrayLike, rows: int, size: int, limit: int) -> Ints:
    """Return a copy of memos, one per row: ``size`` integers from 0 to ``limit`` - 1, or raise."""
    if size == 0 and np.size(memos) == 0:
        return np.zeros((rows, 0), dtype=np.int64)
    array = _whole_matrix(owner, "memos", memos, rows, size)
    good = ((array >= 0) & (array < limit)).all(axis=1)
    if not good.all():
        row = int(np.argmin(good))
        rule = f"memos[{row}] must be the one that rank returned, numbers from 0 to {limit - 1}"
        raise invalid(owner, rule, array[row].tolist())
    return array


def _whole_matrix(owner: str, name: str, values: ArrayLike, rows: int | None, columns: int) -> Ints:
    count = "" if rows is None else f"{rows} "
    rule = f"{name} must be {count}rows of {columns} whole numbers"
    try:
        array = np.asarray(values)
    except ValueError:  # ragged
        raise invalid(owner, rule, values) from None
    if array.size == 0 and not rows:
        return np.zeros((0, columns), dtype=np.int64)
    fits = array.ndim == 2 and array.shape == (array.shape[0] if rows is None else rows, columns)
    if not fits or array.dtype.kind not in "iub":
        raise invalid(owner, rule, (str(array.dtype), array.shape))
    return np.array(array, dtype=np.int64, order="C")


def origin_of(owner: str, origin: ArrayLike, n_before: int) -> Ints:
    """Check the origin of a catalogue: for each item its number before, or -1 if it is new."""
    array = np.asarray(origin)
    rule = f"origin must hold numbers of {n_before} items, each at most once, or -1 for new items"
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
        raise invalid(owner, rule, origin)
    known = array[array >= 0]
    if array.min() < -1 or array.max() >= n_before or np.unique(known).size < known.size:
        raise invalid(owner, rule, array.tolist())
    return array.astype(np.int64)


def numbers_of(origin: Ints, n_before: int) -> Ints:
    """Return for each old item its number in a catalogue of this origin; -1 if it is gone."""
    numbers = np.full(n_before, -1, dtype=np.int64)
    remaining = np.flatnonzero(origin >= 0)
    numbers[origin[remaining]] = remaining
    return numbers


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only and return it."""
    array.flags.writeable = False
    return array
