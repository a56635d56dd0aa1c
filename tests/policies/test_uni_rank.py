"""UniRank: its leader and the partition that it shows against direct computation."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from clickrank._core.arrays import Ints
from clickrank.errors import InvalidValue
from clickrank.fast._shared.dominance import elicit, expire, rebuild, weigh_pair
from clickrank.fast.uni_rank import build
from clickrank.learning import Learner
from clickrank.numerics.count_table import count_once_more
from clickrank.policies._shared.ordered_partition import hash_of_partition
from clickrank.policies.uni_rank import UniRank
from tests import naive
from tests.naive import numbered, pair_index


def random_wins(rng: np.random.Generator, n: int, high: int) -> tuple[Any, Any]:
    spec = UniRank(slots=8)
    state = spec.init(n, 1)
    wins = rng.integers(0, high, (n, n)) * (rng.random((n, n)) < 0.8)
    np.fill_diagonal(wins, 0)
    state.wins[...] = wins
    return state, build(spec.params(n, 1), state)


def loglog(t: int) -> float:
    return math.log(math.log(t)) if t > math.e else 0.0


def test_leader_from_any_counts_and_after_any_changes() -> None:
    """The leader that is kept up to date is that of Algorithm 11, circles included."""
    rng = np.random.default_rng(6)
    circles = kept = 0
    for trial in range(150):
        n = int(rng.integers(1, 8)) if trial % 30 else 35
        k = int(rng.integers(1, n + 1))
        t = int(rng.integers(1, 30))
        state, cache = random_wins(rng, n, int(rng.integers(2, 7)))
        rebuild(state.wins, cache, loglog(t))
        work = np.zeros(n, dtype=np.int64)
        for _ in range(12):
            expire(state.wins, cache, loglog(t))
            kept += cache.stale[0] == 0
            if cache.stale[0] == 1:
                elicit(cache, k, work)
            subsets, rest = naive.elicit(state.wins, t, k)
            assert cache.leader.tolist() == numbered(subsets, n)
            assert cache.order.tolist() == [i for each in [*subsets, rest] for i in each]
            sizes = np.cumsum([0, *map(len, subsets)])
            assert cache.starts[: sizes.size].tolist() == sizes.tolist()
            assert cache.n_blocks[0] == len(subsets)
            assert cache.key[0] == hash_of_partition(cache.leader, cache.labels)
            last = subsets[-1]
            circles += any(naive.dominates(state.wins, t, i, j) for i in last for j in last)
            t *= int(rng.integers(1, 4))
            for _ in range(int(rng.integers(0, 3))):
                i, j = rng.integers(0, n, 2)
                if i != j:
                    state.wins[i, j] += 1
                    weigh_pair(state.wins, cache, i, j, loglog(t))
    assert circles > 50
    assert kept > 50


def shown_partitions(wins: Ints, t: int, n_positions: int, led: int) -> list[list[int]]:
    """Return the subset of each item in the partitions that Algorithm 10 may show, ties included.

    A list may be longer than one, because the item that joins is drawn from those that tie.
    """
    subsets, rest = naive.elicit(wins, t, n_positions)

    def least(block: list[int], j: int) -> float:
        return min(pair_index(wins, i, j, led) for i in block)

    shown: list[list[int]] = []
    joining: list[int] = []
    c = 0
    while c < len(subsets):
        block, c = list(subsets[c]), c + 1
        if c < len(subsets) and min(least(block, j) for j in subsets[c]) <= 0:
            block, c = block + subsets[c], c + 1
        elif c == len(subsets) and rest:
            smallest = min(least(block, j) for j in rest)
            joining = [j for j in rest if smallest <= 0 and least(block, j) <= smallest + 1e-12]
        shown.append(block)
    ends = [[*shown[:-1], [*shown[-1], j]] for j in joining] or [shown]
    return [numbered(each, len(wins)) for each in ends]


def test_the_partition_shown_from_any_counts() -> None:
    """Fast and plain kernels mix subsets, and let an item join, where Algorithm 10 does."""
    rng = np.random.default_rng(8)
    seen = Counter[str]()
    for trial in range(300):
        n = int(rng.integers(2, 8))
        k = int(rng.integers(1, n + 1))
        wins = rng.integers(0, int(rng.integers(2, 40)), (n, n))
        if rng.random() < 0.4:  # better items win more often
            wins += np.triu(np.full((n, n), int(rng.integers(0, 100))))
        if rng.random() < 0.3:  # equal counts: ties
            wins[:, -1], wins[-1, :] = wins[:, -2], wins[-2, :]
        np.fill_diagonal(wins, 0)
        t, led = int(rng.integers(1, 2000)), int(rng.integers(0, 300))
        subsets, _ = naive.elicit(wins, t, k)
        leader = np.array(numbered(subsets, n))
        want = shown_partitions(wins, t, k, led)
        for reference in (False, True):
            learner = Learner(UniRank(slots=8, reference=reference), n, k)
            learner.state.wins[...] = wins
            learner.state.rounds[0] = t - 1
            if led:
                key = hash_of_partition(leader, np.arange(n))
                count_once_more(learner.state.keys, learner.state.times, key)
                learner.state.times[learner.state.times == 1] = led
            learner.drop_cache()
            memos = [learner.rank(np.random.default_rng(seed))[1] for seed in range(40)]
            assert all(memo[:n].tolist() == leader.tolist() for memo in memos), trial
            found = {tuple(memo[n:].tolist()) for memo in memos}
            assert found == {tuple(each) for each in want}, (trial, reference)
        seen["mixed"] += max(want[0]) < len(subsets)
        seen["joined"] += len(want) == 1 and sum(d > 0 for d in want[0]) > (leader > 0).sum()
        seen["tied"] += len(want) > 1
        seen["as the leader"] += want == [leader.tolist()]
    assert min(seen[kind] for kind in ("mixed", "joined", "tied", "as the leader")) > 10, seen


@pytest.mark.parametrize("slots", [0, 12, 8.5, "many"])
def test_uni_rank_slots(slots: Any) -> None:
    with pytest.raises(InvalidValue, match="UniRank: slots must be"):
        UniRank(slots=slots)
