"""The table of counts against a dictionary, its evictions, and the hash of leaders."""

import itertools
import math
from typing import Any

import numpy as np

from clickrank._core.arrays import Ints
from clickrank.numerics.count_table import (
    HASH_BITS,
    SLOTS,
    count_of,
    count_once_more,
    no_counts,
    pair_hash,
)
from clickrank.policies._shared.unimodal import hash_of_list

LABELS = np.arange(1000)


def hash_of(values: Ints) -> int:
    """Return the hash of a list of items that are called by their numbers."""
    return hash_of_list(values, LABELS)


def pure(function: Any) -> Any:
    """Return a kernel's Python source, which Numba's switch leaves as it is."""
    return getattr(function, "py_func", function)


def test_counts_like_a_dictionary() -> None:
    rng = np.random.default_rng(0)
    keys, counts = no_counts()
    exact: dict[int, int] = {}
    leaders = [hash_of(rng.permutation(10)) for _ in range(500)]
    for pick in (rng.random(20_000) ** 3 * len(leaders)).astype(int):
        key = leaders[pick]
        assert count_of(keys, counts, key) == exact.get(key, 0)
        count_once_more(keys, counts, key)
        exact[key] = exact.get(key, 0) + 1
    assert counts.sum() == 20_000


def test_key_zero_is_a_key() -> None:
    keys, counts = no_counts(8)
    assert count_of(keys, counts, 0) == 0
    count_once_more(keys, counts, 0)
    count_once_more(keys, counts, 0)
    assert count_of(keys, counts, 0) == 2


def test_the_least_of_a_full_bucket_is_forgotten() -> None:
    keys, counts = no_counts(16)
    same = [2 * i for i in range(9)]  # even hashes: the first of two buckets
    for key, count in zip(same, (5, 4, 3, 2, 2, 6, 7, 8), strict=False):
        for _ in range(count):
            count_once_more(keys, counts, key)
    count_once_more(keys, counts, 1)  # the other bucket
    count_once_more(keys, counts, same[8])
    assert [count_of(keys, counts, key) for key in same] == [5, 4, 3, 0, 2, 6, 7, 8, 1]
    assert count_of(keys, counts, 1) == 1
    count_once_more(keys, counts, same[3])  # takes the place of the newcomer
    assert count_of(keys, counts, same[3]) == 1
    assert count_of(keys, counts, same[8]) == 0


def test_overflow_is_as_rare_as_said() -> None:
    """With 1,200 leaders, the expected number of buckets with more than eight is below 1 %."""
    mean = 1200 / (SLOTS // 8)
    enough = sum(math.exp(-mean) * mean**k / math.factorial(k) for k in range(9))
    assert (1.0 - enough) * (SLOTS // 8) < 0.01


def test_hash_in_machine_code_and_in_python() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        values = rng.integers(0, 1000, rng.integers(1, 30))
        want = sum(pure(pair_hash)(i, int(v)) for i, v in enumerate(values)) & HASH_BITS
        assert hash_of(values) == want
        assert 0 <= want <= HASH_BITS


def test_hashes_spread() -> None:
    """No two of 10^5 neighbouring inputs collide, and each bit is set half of the time."""
    found = np.array([pair_hash(i, j) for i in range(100) for j in range(1000)])
    assert np.unique(found).size == found.size
    share = np.array([(found >> bit & 1).mean() for bit in range(62)])
    assert np.abs(share - 0.5).max() < 5 * 0.5 / math.sqrt(found.size)
    buckets = np.bincount(found & (SLOTS // 8 - 1))
    chi2 = ((buckets - buckets.mean()) ** 2 / buckets.mean()).sum()
    assert abs(chi2 - 1023) < 5 * math.sqrt(2 * 1023)


def test_permutations_and_partitions_differ() -> None:
    """The hash is a sum over places: exchanging numbers between places must change it."""
    lists = np.array(list(itertools.permutations(range(8))))
    assert len({hash_of(each) for each in lists}) == len(lists)
    parts = np.array(list(itertools.product(range(4), repeat=8)))
    assert len({hash_of(each) for each in parts}) == len(parts)
    low = np.array([hash_of(each) & (2**31 - 1) for each in parts])
    pairs = low.size * (low.size - 1) / 2  # collisions of the lower half alone, as if at random
    assert low.size - np.unique(low).size < 10 + 5 * pairs / 2**31
