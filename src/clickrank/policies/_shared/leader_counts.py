"""How often each leader has led: a dictionary of fixed size for kernels.

Unimodal policies (GRAB, S-GRAB, UniRank) explore by the number of rounds that the present leader
has led before. Leaders are lists or ordered partitions, so there are too many for a table. The
dictionary keeps a 62-bit hash of each instead of the leader itself: among a million leaders, two
share a hash with a probability of 1e-7, and a new leader meets the hash of one of 8,192 kept with
a probability of 2e-15.

Slots come in buckets of eight; a hash belongs to one bucket. Where a ninth leader meets a full
bucket, it takes the place of the one that has led least (the first of them in the bucket), whose
count is forgotten: should that leader return, it counts from zero. So the counts are exact until
some bucket overflows. With the default 2**13 slots that has a probability below 1 % up to about
1,200 different leaders, and the leaders that matter, which led often, are the last to be
forgotten.

Both arrays are statistics: `lead` belongs into `update`, and `times_led` into `rank`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank._compile.jit import lean_kernel
from clickrank.types import Ints

#: Slots of a dictionary unless told otherwise.
SLOTS = 2**13
_WAYS = 8
# Hashes are made of halves of 31 bits: no product passes 2**63, as overflow is not defined in
# machine code, and does not happen in Python.
_HALF = 2**31 - 1
_MASK = 2**62 - 1


def no_leaders(slots: int = SLOTS) -> dict[str, NDArray[Any]]:
    """Return the fields of an empty dictionary: ``keys`` and ``times``, (slots,) each.

    ``slots`` is a power of two, and at least eight.
    """
    return {"keys": np.zeros(slots, dtype=np.int64), "times": np.zeros(slots, dtype=np.int64)}


@lean_kernel
def _scrambled(z: int) -> int:
    """Return 31 bits that each depend on all 31 of the input, one to one."""
    z = (z ^ (z >> 16)) * 0x45D9F3B & _HALF
    z = (z ^ (z >> 15)) * 0x119DE1F3 & _HALF
    return z ^ (z >> 16)


@lean_kernel
def mixed(place: int, value: int) -> int:
    """Return 62 bits that look random, for a number in [0, 2**30) at a place in [0, 2**30)."""
    high = _scrambled((place * 0x3C6EF373 + value * 0x1B873593 + 0x2545F491) & _HALF)
    low = _scrambled((place * 0x2C1B3C6D + value * 0x297A2D39 + high) & _HALF)
    return (high << 31) | low


@lean_kernel
def hash_of(values: Ints) -> int:
    """Return the hash of a vector: the sum of `mixed` over its places, so parts can be exchanged.

    Replacing a number changes the hash by the difference of the two `mixed`, ``& (2**62 - 1)``.
    """
    total = 0
    for place in range(values.shape[0]):
        total = (total + mixed(place, int(values[place]))) & _MASK
    return total


@lean_kernel
def hash_of_leader(leader: Ints, labels: Ints) -> int:
    """Return the hash of a list of items, each called by its label: see `name_leaders`."""
    total = 0
    for place in range(leader.shape[0]):
        total = (total + mixed(place, int(labels[leader[place]]))) & _MASK
    return total


@lean_kernel
def hash_of_partition(subset: Ints, labels: Ints) -> int:
    """Return the hash of an ordered partition: the subset of each item, from 1; 0 for none.

    Each item is called by its label: see `name_leaders`. Items of no subset do not matter.
    """
    total = 0
    for item in range(subset.shape[0]):
        if subset[item] > 0:
            total = (total + mixed(int(labels[item]), subset[item])) & _MASK
    return total


def name_leaders(labels: Ints, numbers: Ints) -> None:
    """Let hashes call the items of a state just carried by the numbers that they had before.

    So the counts of leaders go on: a leader is the same whatever other items there are. Without
    labels, counts of a catalogue could not be read by a state of some of its items.
    """
    kept = numbers >= 0
    new = np.ones(labels.size, dtype=bool)
    new[numbers[kept]] = False
    labels[numbers[kept]] = np.flatnonzero(kept)
    labels[new] = numbers.size + np.arange(new.sum())


@lean_kernel
def times_led(keys: Ints, times: Ints, key: int) -> int:
    """Return how many rounds the leader of this hash has led, as far as remembered."""
    first = (key & (keys.shape[0] // _WAYS - 1)) * _WAYS
    for slot in range(first, first + _WAYS):
        if keys[slot] == key and times[slot] > 0:
            return int(times[slot])
    return 0


@lean_kernel
def lead(keys: Ints, times: Ints, key: int) -> None:
    """Count one more round for the leader of this hash."""
    first = (key & (keys.shape[0] // _WAYS - 1)) * _WAYS
    least = first
    for slot in range(first, first + _WAYS):
        if keys[slot] == key and times[slot] > 0:
            times[slot] += 1
            return
        if times[slot] < times[least]:
            least = slot
    keys[least] = key  # an empty slot if there is one: it has led 0 times
    times[least] = 1
