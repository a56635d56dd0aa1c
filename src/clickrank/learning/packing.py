"""Packing: converts arrays to bytes with a checksum, and back, without pickle.

Files of rankers and snapshots of the service are such bytes: the CRC-32 of the rest, then a
MessagePack map from the name of each array to its type, its shape and its numbers.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from clickrank.errors import InvalidValue, invalid

_OWNER = "Saved arrays"
#: Arrays with more bytes are saved in pieces, since a value of MessagePack is limited to 4 GiB.
MOST_BYTES = 2**30


class _Array(msgspec.Struct, array_like=True):
    dtype: str
    shape: list[int]
    data: memoryview | list[memoryview]


_decoder = msgspec.msgpack.Decoder(dict[str, _Array])


def pack(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return arrays of numbers as bytes; equal arrays give equal bytes."""
    parts = {}
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        little = array.astype(_numeric(name, array.dtype).newbyteorder("<"), copy=False)
        flat = little.reshape(-1).view(np.uint8)
        begins = range(0, max(flat.size, 1), MOST_BYTES)
        pieces = [flat[begin : begin + MOST_BYTES].data for begin in begins]
        data = pieces[0] if len(pieces) == 1 else pieces
        parts[name] = _Array(little.dtype.str, list(arrays[name].shape), data)
    body = msgspec.msgpack.encode(parts)
    return zlib.crc32(body).to_bytes(4, "little") + body


def unpack(packed: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays that were given to `pack`; raise `InvalidValue` if the bytes are others.

    >>> unpack(pack({"clicks": np.array([1, 2])}))
    {'clicks': array([1, 2])}
    """
    body = memoryview(packed)[4:]
    if len(packed) < 4 or zlib.crc32(body) != int.from_bytes(packed[:4], "little"):
        raise InvalidValue(f"{_OWNER}: the bytes must be unchanged, got another checksum.")
    found = {}
    try:
        for name, part in _decoder.decode(body).items():
            data = b"".join(part.data) if isinstance(part.data, list) else part.data
            dtype = _numeric(name, np.dtype(part.dtype))
            found[name] = np.frombuffer(data, dtype).reshape(part.shape).copy()
    except InvalidValue:
        raise
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        raise invalid(_OWNER, "the bytes must be those that `pack` returned", str(error)) from error
    return found


def _numeric(name: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind not in "biufc":
        raise invalid(_OWNER, f"{name} must hold numbers", dtype.str)
    return dtype
