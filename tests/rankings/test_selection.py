"""Selection: top_k with explicit random ties, and matching by rank."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import stats

from clickrank._compile.jit import kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.rankings.selection import contenders, draw_entered, enter, match_by_rank, top_k
from tests.naive import drawn_sort

# Each test below may fail by chance with at most this probability; the seeds are fixed.
FALSE_ALARM = 1e-6
DRAWS = 20_000


@kernel
def top_k_many(values: Floats, rng: np.random.Generator, out: Ints) -> None:
    for i in range(out.shape[0]):
        top_k(values, rng, out[i])


def best(values: list[float], k: int, seed: int = 0) -> list[int]:
    out = np.full(k, -1, dtype=np.int64)
    top_k(np.array(values), np.random.default_rng(seed), out)
    return [int(item) for item in out]


def equally_likely(values: list[float], k: int) -> set[tuple[int, ...]]:
    """All ways to list the k best: the beginnings of all sorted orders."""
    orders = itertools.permutations(range(len(values)))
    ordered = (o for o in orders if all(values[a] >= values[b] for a, b in itertools.pairwise(o)))
    return {order[:k] for order in ordered}


@pytest.mark.parametrize("n", range(1, 9))
def test_top_k_without_ties_is_a_sort_and_draws_nothing(n: int) -> None:
    rng = np.random.default_rng(n)
    stream = np.random.default_rng(0)
    before = stream.bit_generator.state
    for k, _ in itertools.product(range(1, n + 1), range(20)):
        values = rng.permutation([-np.inf, *rng.normal(size=n), np.inf])[:n]
        out = np.full(k, -1, dtype=np.int64)
        top_k(values, stream, out)
        assert out.tolist() == np.argsort(-values)[:k].tolist()
    assert stream.bit_generator.state == before


def test_ties_below_the_list_draw_nothing() -> None:
    stream = np.random.default_rng(0)
    before = stream.bit_generator.state
    out = np.zeros(2, dtype=np.int64)
    top_k(np.array([3.0, 2.0, 1.0, 1.0, 0.0, 0.0]), stream, out)
    assert out.tolist() == [0, 1]
    assert stream.bit_generator.state == before


TIES = [
    ([1.0, 1.0], 1),
    ([1.0, 1.0, 1.0, 1.0], 2),
    ([1.0, 1.0, 1.0, 1.0], 4),
    ([0.0, 1.0, 1.0, 1.0], 2),
    ([2.0, 1.0, 1.0, 1.0, 0.0], 3),
    ([1.0, 1.0, 1.0, 0.0, 2.0], 3),  # the best comes last and pushes a tied item out
    ([1.0, 2.0, 1.0, 2.0, 1.0], 3),
    ([1.0, 1.0, 2.0, 1.0, 2.0, 1.0], 4),
    ([1.0, 1.0, 2.0, 2.0, 2.0, 1.0], 2),  # the first ties leave the list altogether
    ([1.0, 1.0, 1.0, 2.0, 1.0, 3.0, 1.0], 3),
    ([np.inf, 0.0, np.inf, np.inf], 2),
    ([-np.inf, 0.0, -np.inf, -np.inf], 3),
    ([0.0, -0.0, 0.0], 2),
]


@pytest.mark.parametrize(("values", "k"), TIES, ids=str)
def test_ties_fall_in_every_order_equally_often(values: list[float], k: int) -> None:
    possible = equally_likely(values, k)
    out = np.zeros((DRAWS, k), dtype=np.int64)
    top_k_many(np.array(values), np.random.default_rng(1), out)
    counts = Counter(map(tuple, out.tolist()))
    assert set(counts) == possible
    assert DRAWS / len(possible) > 100  # so that the chi-square law is close
    assert stats.chisquare([counts[order] for order in possible]).pvalue >= FALSE_ALARM / len(TIES)


def test_all_patterns_of_few_values_give_only_possible_lists() -> None:
    for n in range(1, 5):
        for values in itertools.product([0.0, 1.0, 2.0], repeat=n):
            for k in range(1, n + 1):
                possible = equally_likely(list(values), k)
                out = np.zeros((30, k), dtype=np.int64)
                top_k_many(np.array(values), np.random.default_rng(2), out)
                assert {tuple(row) for row in out.tolist()} <= possible


def test_compiled_top_k_equals_pure_python() -> None:
    pure: Any = getattr(top_k, "py_func", top_k)
    rng = np.random.default_rng(3)
    for seed in range(200):
        values = rng.integers(0, 4, size=7).astype(np.float64)
        out = np.zeros(4, dtype=np.int64)
        pure(values, np.random.default_rng(seed), out)
        assert out.tolist() == best(values.tolist(), 4, seed)


@kernel
def renew(
    values: Floats, ceilings: Floats, rng: np.random.Generator, best: Ints, room: Ints, out: Ints
) -> None:
    found = contenders(values, ceilings, best, room, np.zeros(best.shape[0]))
    enter(values, best, room, found)
    draw_entered(values, rng, best, room, found, out)


@kernel
def renew_many(values: Floats, rng: np.random.Generator, out: Ints) -> None:
    best = np.arange(out.shape[1])
    room = np.zeros((2, values.shape[0]), dtype=np.int64)
    for i in range(out.shape[0]):
        renew(values, values, rng, best, room, out[i])


@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 1), (5, 5), (9, 4), (40, 6)])
def test_lists_that_change_a_little(n: int, k: int) -> None:
    """From list to list, as a sort of all values would find them; below it, ceilings are enough."""
    rng = np.random.default_rng(n)
    ours, theirs = np.random.default_rng(0), np.random.default_rng(0)
    values = rng.integers(0, 6, n).astype(np.float64)  # many ties
    best, room, out = np.arange(k), np.zeros((2, n), dtype=np.int64), np.zeros(k, dtype=np.int64)
    for _ in range(300):
        moved = rng.random(n) < 0.2
        values[moved] = rng.choice([-np.inf, 0.0, 1.0, 2.0, 3.0, np.inf], moved.sum())
        ceilings = values + rng.integers(0, 2, n) * rng.random(n)
        known = values.copy()
        least = known[best].min()
        hidden = ceilings < least  # whose values do not matter
        known[hidden] = -np.inf
        before = ceilings.copy()
        renew(known, ceilings, ours, best, room, out)
        assert out.tolist() == drawn_sort(values.tolist(), k, theirs)
        assert ceilings.tolist() == before.tolist()
        assert values[best].tolist() == values[out].tolist()


@pytest.mark.parametrize(("values", "k"), TIES, ids=str)
def test_drawn_ties_fall_in_every_order_equally_often(values: list[float], k: int) -> None:
    possible = equally_likely(values, k)
    out = np.zeros((DRAWS, k), dtype=np.int64)
    renew_many(np.array(values), np.random.default_rng(1), out)
    counts = Counter(map(tuple, out.tolist()))
    assert set(counts) == possible
    assert stats.chisquare([counts[order] for order in possible]).pvalue >= FALSE_ALARM / len(TIES)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (3, 1), (4, 3), (5, 5), (6, 2)])
def test_match_by_rank_is_the_best_assignment(n: int, k: int) -> None:
    rng = np.random.default_rng(4)
    pure: Any = getattr(match_by_rank, "py_func", match_by_rank)
    for _ in range(30):
        gains, weights = rng.random(n).round(1), rng.random(k).round(1)  # often tied
        out, again = np.full(k, -1, dtype=np.int64), np.full(k, -1, dtype=np.int64)
        match_by_rank(gains, weights, out)
        pure(gains, weights, again)
        assert out.tolist() == again.tolist()
        assert len(set(out.tolist())) == k
        sums = [weights @ gains[list(order)] for order in itertools.permutations(range(n), k)]
        assert abs(weights @ gains[out] - max(sums)) <= 1e-12


def test_match_by_rank_gives_ties_to_the_smaller_index() -> None:
    out = np.full(3, -1, dtype=np.int64)
    match_by_rank(np.full(4, 0.5), np.ones(3), out)
    assert out.tolist() == [0, 1, 2]
