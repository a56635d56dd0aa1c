"""Hashes of values, bit for bit: the text of an array would be rounded and shortened."""

from __future__ import annotations

import dataclasses
from typing import Protocol

import numpy as np


class Digest(Protocol):
    """A hash of `hashlib` that is being fed."""

    def update(self, data: bytes, /) -> None:
        """Add bytes."""


def add_to_digest(digest: Digest, value: object) -> None:
    """Add every bit of a number, text, array, dataclass, list or tuple to a hash."""
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif dataclasses.is_dataclass(value):
        add_to_digest(digest, [type(value).__qualname__])
        fields = [getattr(value, field.name) for field in dataclasses.fields(value)]
        add_to_digest(digest, fields)
    elif isinstance(value, (list, tuple)):
        digest.update(f"({len(value)}".encode())
        for part in value:
            add_to_digest(digest, part)
    else:
        digest.update(f"{value!r},".encode())
