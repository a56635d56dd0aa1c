"""Counts by key: a dictionary of fixed size for kernels.

A key is a hash of 62 bits that stands for something of which there are too many for a table, as the
lists and ordered partitions that lead a unimodal bandit (GRAB, S-GRAB, UniRank). Among a million of
them, two share a hash with a probability of 1e-7, and a new one meets the hash of one of 8,192 kept
with a probability of 2e-15.

Slots come in buckets of eight; a key belongs to one bucket. Where a ninth key meets a full bucket,
it takes the place of the one with the least count (the first of them in the bucket), which is
forgotten: should that key return, it counts from zero. So the counts are exact until some bucket
overflows. With the default 2**13 slots that has a probability below 1 % up to about 1,200 different
keys, and the largest counts are the last to be forgotten.
"""

from __future__ import annotations

import numpy as np

from clickrank._compile.jit import lean_kernel
from clickrank._core.arrays import Ints

#: Slots of a dictionary unless told otherwise; a power of two, and at least eight.
SLOTS = 2**13
_WAYS = 8
# Hashes are made of halves of 31 bits: no product passes 2**63, as overflow is not defined in
# machine code, and does not happen in Python.
_HALF = 2**31 - 1
#: Sums of hashes are hashes again within these bits.
HASH_BITS = 2**62 - 1


def no_counts(slots: int = SLOTS) -> tuple[Ints, Ints]:
    """Return the keys and the counts of an empty dictionary, (slots,) each."""
    return np.zeros(slots, dtype=np.int64), np.zeros(slots, dtype=np.int64)


@lean_kernel
def _scrambled(z: int) -> int:
    """Return 31 bits that each depend on all 31 of the input, one to one."""
    z = (z ^ (z >> 16)) * 0x45D9F3B & _HALF
    z = (z ^ (z >> 15)) * 0x119DE1F3 & _HALF
    return z ^ (z >> 16)


@lean_kernel
def pair_hash(first: int, second: int) -> int:
    """Return 62 bits that look random, for two numbers in [0, 2**30)."""
    high = _scrambled((first * 0x3C6EF373 + second * 0x1B873593 + 0x2545F491) & _HALF)
    low = _scrambled((first * 0x2C1B3C6D + second * 0x297A2D39 + high) & _HALF)
    return (high << 31) | low


@lean_kernel
def count_of(keys: Ints, counts: Ints, key: int) -> int:
    """Return how often a key was counted, as far as remembered."""
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
