"""Packing: converts arrays to bytes with a checksum, and back, without pickle."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import Floats
from clickrank.errors import InvalidValue

_DTYPES = frozenset("?bBhHiIlLqQfd")


class _Array(msgspec.Struct, array_like=True):
    dtype: str
    shape: list[int]
    data: bytes


_decoder = msgspec.msgpack.Decoder(dict[str, _Array])


def pack(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return arrays as bytes; equal arrays give equal bytes."""
    parts = {}
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        parts[name] = _Array(little.dtype.str, list(arrays[name].shape), little.tobytes())
    body = msgspec.msgpack.encode(parts)
    return zlib.crc32(body).to_bytes(4, "little") + body


def pack_propensities(marginal: Floats, prefix: Floats) -> bytes:
    """Return the probability of each item of a list, and of each of its beginnings, as bytes."""
    return np.concatenate([marginal, prefix]).astype("<f8").tobytes()


def unpack_propensities(packed: bytes) -> tuple[list[float], list[float]]:
    """Return the two lists of probabilities that were given to `pack_propensities`.

    >>> unpack_propensities(pack_propensities(np.array([0.5, 1.0]), np.array([0.5, 0.5])))
    ([0.5, 1.0], [0.5, 0.5])
    """
    values = np.frombuffer(packed, "<f8").tolist()
    return values[: len(values) // 2], values[len(values) // 2 :]


def unpack(packed: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays that were given to `pack`.

    >>> unpack(pack({"clicks": np.array([1, 2])}))
    {'clicks': array([1, 2])}
    """
    body = packed[4:]
    if len(packed) < 4 or zlib.crc32(body) != int.from_bytes(packed[:4], "little"):
        raise InvalidValue("Snapshot: the bytes must be unchanged, but their checksum differs.")
    found = {}
    for name, part in _decoder.decode(body).items():
        dtype = np.dtype(part.dtype)
        if dtype.char not in _DTYPES:
            raise InvalidValue(f"Snapshot: {name} must hold numbers, got {part.dtype!r}.")
        found[name] = np.frombuffer(part.data, dtype).reshape(part.shape).copy()
    return found
