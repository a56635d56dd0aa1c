"""Hash table of counts, of fixed size, for kernels.

A key is a hash of 62 bits. It stands for objects of which there are too many for an array, such as
the leaders of a unimodal bandit (GRAB, S-GRAB, UniRank). Among a million objects, two have the same
hash with a probability of 1e-7; a new object has the hash of one of 8,192 stored objects with a
probability of 2e-15.

Slots form buckets of eight, and a key belongs to one bucket. If a bucket is full, a new key
replaces the key with the smallest count (the first of them in the bucket). A replaced key that
comes back counts from zero again. So the counts are exact until some bucket overflows. With the
default 2**13 slots, the probability of that is below 1 % for up to about 1,200 different keys, and
keys with large counts are replaced last.
"""

from __future__ import annotations

import numpy as np

from clickrank._compile.jit import lean_kernel
from clickrank._core.arrays import Ints

#: Default number of slots: a power of two, at least eight.
SLOTS = 2**13
_WAYS = 8
# Hashes consist of halves of 31 bits, so that no product exceeds 2**63: overflow is undefined in
# machine code, and does not happen in Python.
_HALF = 2**31 - 1
#: Mask that makes a sum of hashes a hash again.
HASH_BITS = 2**62 - 1


def no_counts(slots: int = SLOTS) -> tuple[Ints, Ints]:
    """Return the keys and the counts of an empty table, of shape (slots,) each."""
    return np.zeros(slots, dtype=np.int64), np.zeros(slots, dtype=np.int64)


@lean_kernel
def _scrambled(z: int) -> int:
    """Return a permutation of 31-bit numbers whose output bits depend on all input bits."""
    z = (z ^ (z >> 16)) * 0x45D9F3B & _HALF
    z = (z ^ (z >> 15)) * 0x119DE1F3 & _HALF
    return z ^ (z >> 16)


@lean_kernel
def pair_hash(first: int, second: int) -> int:
    """Return a hash of 62 bits of two numbers in [0, 2**30)."""
    high = _scrambled((first * 0x3C6EF373 + second * 0x1B873593 + 0x2545F491) & _HALF)
    low = _scrambled((first * 0x2C1B3C6D + second * 0x297A2D39 + high) & _HALF)
    return (high << 31) | low


@lean_kernel
def count_of(keys: Ints, counts: Ints, key: int) -> int:
    """Return the count of a key, since it was last stored."""
    first = (key & (keys.shape[0] // _WAYS - 1)) * _WAYS
    for slot in range(first, first + _WAYS):
        if keys[slot] == key and counts[slot] > 0:
            return int(counts[slot])
    return 0


@lean_kernel
def count_once_more(keys: Ints, counts: Ints, key: int) -> None:
    """Add 1 to the count of a key."""
    first = (key & (keys.shape[0] // _WAYS - 1)) * _WAYS
    least = first
    for slot in range(first, first + _WAYS):
        if keys[slot] == key and counts[slot] > 0:
            counts[slot] += 1
            return
        if counts[slot] < counts[least]:
            least = slot
    keys[least] = key  # an empty slot if there is one: its count is 0
    counts[least] = 1
