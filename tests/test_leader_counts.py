"""The dictionary of leaders against a Python one, its evictions, and its hash."""

import itertools
import math
from typing import Any

import numpy as np

from clickrank.policies._shared.leader_counts import (
    SLOTS,
    hash_of,
    lead,
    mixed,
    no_leaders,
    times_led,
)

MASK = 2**62 - 1


def pure(function: Any) -> Any:
    """Return a kernel's Python source, which Numba's switch leaves as it is."""
    return getattr(function, "py_func", function)


def test_counts_like_a_dictionary() -> None:
    rng = np.random.default_rng(0)
    fields = no_leaders()
    exact: dict[int, int] = {}
    leaders = [hash_of(rng.permutation(10)) for _ in range(500)]
    for pick in (rng.random(20_000) ** 3 * len(leaders)).astype(int):
        key = leaders[pick]
        assert times_led(fields["keys"], fields["times"], key) == exact.get(key, 0)
        lead(fields["keys"], fields["times"], key)
        exact[key] = exact.get(key, 0) + 1
    assert fields["times"].sum() == 20_000


def test_key_zero_is_a_key() -> None:
    fields = no_leaders(8)
    assert times_led(fields["keys"], fields["times"], 0) == 0
    lead(fields["keys"], fields["times"], 0)
    lead(fields["keys"], fields["times"], 0)
    assert times_led(fields["keys"], fields["times"], 0) == 2


def test_the_least_of_a_full_bucket_is_forgotten() -> None:
    fields = no_leaders(16)
    keys, times = fields["keys"], fields["times"]
    same = [2 * i for i in range(9)]  # even hashes: the first of two buckets
    for key, count in zip(same, (5, 4, 3, 2, 2, 6, 7, 8), strict=False):
        for _ in range(count):
            lead(keys, times, key)
    lead(keys, times, 1)  # the other bucket
    lead(keys, times, same[8])
    assert [times_led(keys, times, key) for key in same] == [5, 4, 3, 0, 2, 6, 7, 8, 1]
    assert times_led(keys, times, 1) == 1
    lead(keys, times, same[3])  # takes the place of the newcomer
    assert times_led(keys, times, same[3]) == 1
    assert times_led(keys, times, same[8]) == 0


def test_overflow_is_as_rare_as_said() -> None:
    """With 1,200 leaders, the expected number of buckets with more than eight is below 1 %."""
    mean = 1200 / (SLOTS // 8)
    enough = sum(math.exp(-mean) * mean**k / math.factorial(k) for k in range(9))
    assert (1.0 - enough) * (SLOTS // 8) < 0.01


def test_hash_in_machine_code_and_in_python() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        values = rng.integers(0, 1000, rng.integers(1, 30))
        want = sum(pure(mixed)(i, int(v)) for i, v in enumerate(values)) & MASK
        assert hash_of(values) == want
        assert 0 <= want <= MASK


def test_hashes_spread() -> None:
    """No two of 10^5 neighbouring inputs collide, and each bit is set half of the time."""
    found = np.array([mixed(i, j) for i in range(100) for j in range(1000)])
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
