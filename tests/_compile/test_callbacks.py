"""A loop that is compiled once for all users, since it calls them by an address."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pytest

import clickrank as cr
from clickrank._compile.callbacks import (
    NO_CALLBACK,
    Callback,
    Held,
    call,
    callback,
    data_at,
    generator_at,
    numbers_at,
)
from clickrank._compile.jit import inline_kernel, kernel_for, tell_apart
from clickrank._core.arrays import Floats, Ints
from clickrank.clickmodels import PBM, Cascade
from clickrank.errors import InvalidValue
from clickrank.learning.rounds import compiled_play, settled_after


class Sums(NamedTuple):
    """Data of all kinds: arrays of two types and dimensions, numbers, and a tuple in it."""

    total: Floats
    seen: Ints
    factor: float
    offset: int
    inner: tuple[Floats, int]
    rng: np.random.Generator


tell_apart(Sums)


@inline_kernel
def add(sums: Sums, ranking: Ints, clicks: Ints) -> None:
    for k in range(ranking.shape[0]):
        clicks[k] = ranking[k] + sums.offset + sums.inner[1]
        sums.total[0] += sums.factor * clicks[k] + sums.inner[0][k]
        sums.seen[1, k] += 1
    sums.total[1] = sums.rng.random()


def add_at(sums: Any, n: int, ranking: Any, clicks: Any) -> None:
    add(data_at(sums), numbers_at(ranking, n), numbers_at(clicks, n))


def show_all(show: Callback, rng: int, rankings: Ints, clicks: Ints) -> float:
    for i in range(rankings.shape[0]):
        if show.code != 0:
            call(show, rankings[i], clicks[i])
    return generator_at(rng).random()


def sums_of(seed: int) -> Sums:
    rng = np.random.default_rng(seed)
    return Sums(np.zeros(2), np.zeros((2, 3), dtype=np.int64), 0.5, 10, (np.ones(3), 100), rng)


def test_a_callback_reads_and_writes_what_is_held() -> None:
    held, rng = Held(sums_of(1), None), Held(np.random.default_rng(2))
    rankings = np.arange(6).reshape(2, 3)
    clicks = np.zeros((2, 3), dtype=np.int64)
    show = callback(add, add_at, held, None)
    drawn = kernel_for(show_all, None)(show, rng.address, rankings, clicks)
    assert drawn == np.random.default_rng(2).random()
    assert np.array_equal(clicks, rankings + 110)
    assert held.value.total[0] == 0.5 * clicks.sum() + 6
    assert held.value.total[1] == np.random.default_rng(1).random(2)[1]
    assert np.array_equal(held.value.seen, [[0, 0, 0], [2, 2, 2]])
    kernel_for(show_all, None)(NO_CALLBACK, rng.address, rankings, clicks)
    assert held.value.seen.sum() == 6


@inline_kernel
def refuse(sums: Sums, ranking: Ints, clicks: Ints) -> None:
    sums.seen[0, 0] += 1
    if ranking[0] == 3:
        raise ValueError("no item 3")


def refuse_at(sums: Any, n: int, ranking: Any, clicks: Any) -> None:
    refuse(data_at(sums), numbers_at(ranking, n), numbers_at(clicks, n))


def test_what_a_callback_raises_ends_the_loop() -> None:
    """A click model with an error must not look like one without regret."""
    held, rng = Held(sums_of(1), None), Held(np.random.default_rng(2))
    rankings = np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8]])
    show = callback(refuse, refuse_at, held, None)
    for _ in range(2):
        with pytest.raises(ValueError, match="no item 3"):
            kernel_for(show_all, None)(show, rng.address, rankings, np.zeros_like(rankings))
    assert held.value.seen[0, 0] == 4  # not the third ranking


class WithList(NamedTuple):
    """Has a part that nobody would keep alive."""

    values: list[float]


tell_apart(WithList)


def test_what_cannot_be_held_is_refused() -> None:
    with pytest.raises(InvalidValue, match="fields must be numbers, arrays or NamedTuples"):
        Held(WithList([1.0]), None)


def test_threads_with_generators_of_their_own_share_a_learner() -> None:
    """Each call keeps its own generator alive, whichever the learner remembers."""
    learner = cr.Learner(cr.policy("pbm-ts", examination=[1.0, 0.8, 0.5, 0.2]), 30, 4)
    learner.rank()

    def choose(seed: int) -> int:
        for i in range(1500):
            learner.rank(np.random.default_rng(10_000 * seed + i))
        return seed

    with ThreadPoolExecutor(4) as pool:  # it crashed the process
        assert list(pool.map(choose, range(4))) == [0, 1, 2, 3]


def test_copies_of_what_is_held_lie_elsewhere() -> None:
    held = Held(np.random.default_rng(3))
    for other in (copy.copy(held), copy.deepcopy(held), pickle.loads(pickle.dumps(held))):
        assert other.address != held.address


@pytest.mark.parametrize("name", ["pbm-ucb", "grab", "uniform"])
def test_a_policy_is_compiled_once(name: str) -> None:
    """For simulations on any click model, with and without delay, and for learners.

    Propensities of scorers are found with the plain kernels, whose cache is of another class.
    """
    pbm = PBM([0.6, 0.5, 0.4, 0.3], [0.9, 0.5])
    spec = cr.policy(name, model=pbm)
    compiled: Any = compiled_play(spec)
    learner = cr.Learner(spec, 4, 2, seed=0)
    ranking, memo = learner.rank()
    learner.update(ranking, memo, [1, 0])
    learner.update_many([ranking, ranking], [memo, memo], [[0, 1], [1, 0]])
    learner.propensities()
    cr.simulate(spec, pbm, 10, threads=1, delay=2, batch=3)
    cr.simulate(spec, Cascade([0.6, 0.5, 0.4, 0.3], 2), 10, threads=1, allow_mismatch=True)
    # Other tests may have compiled it before, and its plain kernels: once for each cache, too.
    caches = [kinds[2] for kinds in compiled.overloads]
    assert 1 <= len(caches) == len(set(caches)) <= 2


@pytest.mark.parametrize("delay", [0, 1, 4])
@pytest.mark.parametrize("batch", [1, 3])
def test_rounds_of_which_a_policy_has_learned(delay: int, batch: int) -> None:
    settled = 0
    for shown in range(20):
        if shown % batch == 0:
            settled = max(settled, shown - delay)
        assert settled_after(shown, delay, batch) == settled
