"""Caches of policies: copies of a cache, and the particle that must survive a new one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import particle_fields

Words = NDArray[np.uint64]


def copied(cache: Any) -> tuple[Any, Words]:
    """Return a copy of a cache, and the one buffer that contains all of its arrays.

    With one buffer, compiled code can restore a cache without a loop over fields of different
    types.
    """
    arrays = list(arrays_in(cache))
    sizes = [-(-array.nbytes // 8) for array in arrays]
    words: Words = np.zeros(sum(sizes), dtype=np.uint64)
    made: list[NDArray[Any]] = []
    begin = 0
    for array, size in zip(arrays, sizes, strict=True):
        part = words[begin : begin + size].view(np.uint8)[: array.nbytes]
        made.append(part.view(array.dtype).reshape(array.shape))
        made[-1][...] = array
        begin += size
    return _with_arrays(cache, iter(made)), words


def arrays_in(cache: Any) -> Iterator[NDArray[Any]]:
    """Yield the arrays of a cache, and of the caches in it."""
    for value in cache or ():
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, tuple):
            yield from arrays_in(value)


def _with_arrays(cache: Any, arrays: Iterator[NDArray[Any]]) -> Any:
    if cache is None:
        return None
    values = [
        next(arrays)
        if isinstance(value, np.ndarray)
        else _with_arrays(value, arrays)
        if isinstance(value, tuple)
        else value
        for value in cache
    ]
    return type(cache)(*values)


def particle_of(cache: Any) -> dict[str, NDArray[Any]]:
    """Return the fields of a cache that cannot be computed from the statistics, by name."""
    if cache is None:
        return {}
    found = {name: getattr(cache, name) for name in particle_fields(type(cache))}
    for value in cache:
        if isinstance(value, tuple):
            found |= particle_of(value)
    return found


def keep_particle(cache: Any, former: Any) -> None:
    """Copy the particle of another cache of the same policy, if it has the same shape."""
    before = particle_of(former)
    for name, array in particle_of(cache).items():
        if name in before and before[name].shape == array.shape:
            array[...] = before[name]
