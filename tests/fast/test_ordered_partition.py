"""Lists that respect an ordered partition: uniform, and the same in fast and plain kernels."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from clickrank.fast._shared.ordered_partition import draw_compatible
from clickrank.policies._shared import ordered_partition as plain
from tests.naive import numbered


def compatible(blocks: list[list[int]], k: int) -> set[tuple[int, ...]]:
    """All lists of k items that respect an ordered partition, by enumeration."""
    of = {item: d for d, block in enumerate(blocks) for item in block}
    lists = set()
    for each in itertools.permutations(of, k):
        missing = [of[item] for item in of if item not in each]
        inside = [of[item] for item in each]
        if inside == sorted(inside) and all(inside[-1] <= d for d in missing):
            lists.add(each)
    return lists


@pytest.mark.parametrize(
    ("blocks", "k"),
    [
        ([[0, 1, 2, 3]], 2),
        ([[2], [0, 3], [1, 4]], 4),
        ([[1, 3], [0, 2, 4]], 3),
        ([[0, 1, 2]], 3),
        ([[*range(3, 14)], [0, 1, 2]], 2),
    ],
)
def test_lists_are_uniform_among_the_compatible(blocks: list[list[int]], k: int) -> None:
    order = np.array([item for block in blocks for item in block])
    starts = np.cumsum([0, *(len(block) for block in blocks)])
    rng = np.random.default_rng(0)
    buffer, ranking = np.zeros(order.size, dtype=np.int64), np.zeros(k, dtype=np.int64)
    found: Counter[tuple[int, ...]] = Counter()
    draws = 20_000
    subset, again, same = np.array(numbered(blocks, order.size)), ranking.copy(), 0
    for t in range(draws):
        before = rng.bit_generator.state
        draw_compatible(order, starts, rng, buffer, ranking)
        found[tuple(ranking.tolist())] += 1
        if t < 1000:  # the plain one draws the same
            other = np.random.default_rng(0)
            other.bit_generator.state = before
            plain.draw_compatible(order, subset, other, again)
            same += again.tolist() == ranking.tolist()
    assert same == 1000
    want = compatible(blocks, k)
    assert set(found) == want
    expected = draws / len(want)
    chi2 = sum((count - expected) ** 2 / expected for count in found.values())
    freedom = len(want) - 1
    assert chi2 < freedom + 6 * math.sqrt(2 * freedom)  # a false alarm is below 1 in 10^5
