"""Packed arrays come back as they were, and damaged bytes are refused."""

from __future__ import annotations

import zlib
from typing import Any

import msgspec
import numpy as np
import pytest

from clickrank.errors import InvalidValue
from clickrank.learning.packing import pack, unpack

ARRAYS = {
    "x": np.arange(6).reshape(2, 3),
    "empty": np.zeros((0, 4)),
    "one": np.array(2.5),
    "other way round": np.arange(4, dtype=">i4")[::2],
    "flags": np.array([True, False]),
}


def damaged_copies(whole: bytes, step: int = 1) -> list[bytes]:
    """Return the bytes cut off at many places, and with another byte at many places."""
    places = range(0, len(whole), step)
    flipped = [whole[:i] + bytes([whole[i] ^ 1 << i % 8]) + whole[i + 1 :] for i in places]
    return [*(whole[:i] for i in places), *flipped, whole + b"\0"]


def assert_unpacked(packed: bytes) -> None:
    found = unpack(packed)
    assert set(found) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype.newbyteorder("<")
        assert np.array_equal(found[name], array)
        assert found[name].shape == array.shape
        assert found[name].flags.writeable


def test_arrays_come_back() -> None:
    packed = pack(ARRAYS)
    assert pack(dict(reversed(ARRAYS.items()))) == packed
    assert_unpacked(packed)
    assert pack(unpack(packed)) == packed


def test_an_array_that_is_too_large_for_one_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clickrank.learning.packing.MOST_BYTES", 5)
    assert_unpacked(pack(ARRAYS))


def test_damaged_bytes_are_refused() -> None:
    for damaged in damaged_copies(pack(ARRAYS)):
        with pytest.raises(InvalidValue, match="must be unchanged, got another checksum"):
            unpack(damaged)


@pytest.mark.parametrize(
    "content",
    [
        [1, 2],
        b"",
        {"x": 3},
        {"x": ["<f8", [2], b"123"]},
        {"x": ["<f8", [3], bytes(16)]},
        {"x": ["<f8", [-1, -1], bytes(16)]},
        {"x": ["<f8", [2**63], bytes(16)]},
        {"x": ["nothing", [2], bytes(16)]},
        {"x": ["O", [2], bytes(16)]},
        {"x": ["<U2", [2], bytes(16)]},
    ],
)
def test_bytes_of_something_else_are_refused(content: Any) -> None:
    body = content if isinstance(content, bytes) else msgspec.msgpack.encode(content)
    with pytest.raises(InvalidValue, match=r"must (be those that `pack` returned|hold numbers)"):
        unpack(zlib.crc32(body).to_bytes(4, "little") + body)


@pytest.mark.parametrize("array", [np.array(["text"]), np.array([None])])
def test_only_numbers_are_packed(array: Any) -> None:
    with pytest.raises(InvalidValue, match="Saved arrays: x must hold numbers, got"):
        pack({"x": array})
