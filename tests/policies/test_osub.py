"""OSUB: what it shows, on which graphs, what becomes of the graph, and what the graph is worth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import clickrank as cr
from clickrank import bounds
from clickrank.clickmodels import PBM, Cascade
from clickrank.errors import DoesNotApply, InvalidValue
from clickrank.learning import Learner
from clickrank.numerics.undirected_graph import line_graph, peak_besides, without_items
from clickrank.policies import OSUB
from tests.naive import index_by_bisection

COMPLETE = [[k for k in range(4) if k != item] for item in range(4)]


def fed(spec: OSUB, clicks: list[int], misses: list[int], leader: int, led: int) -> Learner:
    """Return a learner with these counts, whose leader has led so often."""
    learner = Learner(spec, len(clicks), 1, seed=0)
    for name, values in (("clicks", clicks), ("misses", misses)):
        getattr(learner.state, name)[...] = values
    learner.state.led[leader] = led
    return learner


def test_items_beyond_the_neighbours_are_not_shown() -> None:
    """Item 2 was never shown, so that its index is 1: the largest, but far from the leader."""
    learner = fed(OSUB(), [80, 1, 0, 0], [20, 1, 0, 0], leader=0, led=4)
    shown = [learner.rank() for _ in range(9)]
    assert {int(memo[0]) for _, memo in shown} == {0}
    assert {int(ranking[0]) for ranking, _ in shown} == {0, 1}
    joined = fed(OSUB([[1, 2], [], [3], []]), [80, 1, 0, 0], [20, 1, 0, 0], leader=0, led=4)
    assert joined.rank()[0].tolist() == [2]


def test_every_round_shows_the_leader_or_a_neighbour() -> None:
    users = PBM([0.1, 0.2, 0.4, 0.7, 0.5, 0.3], [1.0])
    learner, rng = Learner(OSUB(), 6, 1, seed=1), np.random.default_rng(1)
    led = np.zeros(6, dtype=int)
    for _ in range(3000):
        rates = learner.state.clicks / np.maximum(1, learner.state.clicks + learner.state.misses)
        ranking, memo = learner.rank()
        assert rates[memo[0]] == rates.max()
        assert abs(int(ranking[0]) - int(memo[0])) <= 1
        if led[memo[0]] % 3 == 0:  # γ = 2
            assert ranking[0] == memo[0]
        led[memo[0]] += 1
        learner.update(ranking, memo, users.sample(ranking, rng))
    assert learner.state.led.tolist() == led.tolist()
    assert led.argmax() == 3


@pytest.mark.parametrize("loglog", [0.0, 3.0])
@pytest.mark.parametrize("led", [1, 2, 3, 17, 500, 501])
def test_on_the_complete_graph_it_is_kl_ucb_with_the_leader_as_clock(
    led: int, loglog: float
) -> None:
    rng = np.random.default_rng([led, int(loglog)])
    delta = math.log(led + 1) + loglog * max(0.0, math.log(math.log(led + 1)))
    tried = set()
    for _ in range(20):
        clicks, misses = rng.integers(5, 20, (2, 4))
        views = clicks + misses
        if len(set((clicks / views).tolist())) < 4:
            continue  # tied, which chance decides
        leader = int(np.argmax(clicks / views))
        learner = fed(OSUB(COMPLETE, loglog), clicks.tolist(), misses.tolist(), leader, led)
        index = [
            index_by_bisection(clicks[k : k + 1], views[k : k + 1], np.ones(1), delta)
            for k in range(4)
        ]
        due = led % 4 == 0
        want = leader if due else int(np.argmax(index))
        ranking, memo = learner.rank()
        assert (ranking.tolist(), memo.tolist()) == ([want], [leader])
        tried.add(want == leader)
    assert True in tried
    assert (False in tried) == (led % 4 != 0)


def test_batches_do_not_freeze_the_leader() -> None:
    """Feedback in batches of a multiple of the forced rounds' period must not force them all."""
    learner = Learner(OSUB(), 4, 1, seed=0)
    explored = 0
    for _ in range(20):
        made = [learner.rank() for _ in range(30)]
        explored += sum(ranking[0] != memo[0] for ranking, memo in made)
        for ranking, memo in made:
            learner.update(ranking, memo, [int(ranking[0] == 0)])
    assert explored > 0


@pytest.mark.parametrize(
    ("neighbours", "message"),
    [
        ([], "neighbours must be a list with one list of items for each item, got []"),
        ("ab", "neighbours must be a list with one list of items for each item, got 'ab'"),
        (7, "neighbours must be a list with one list of items for each item, got 7"),
        ([1, 0], "neighbours must be a list with one list of items for each item, got [1, 0]"),
        ([[1], [2]], "neighbours[1] must hold other items, below 2, got 2"),
        ([[-1], [0]], "neighbours[0] must hold other items, below 2, got -1"),
        ([[1], [1]], "neighbours[1] must hold other items, below 2, got 1"),
        ([[0.5], []], "neighbours[0] must hold other items, below 2, got 0.5"),
        ([[True], []], "neighbours[0] must hold other items, below 2, got True"),
        ([[1], [], [3], []], "neighbours must connect all items to item 0, got '[2, 3] apart'"),
    ],
)
def test_graphs_that_cannot_be(neighbours: Any, message: str) -> None:
    with pytest.raises(InvalidValue) as error:
        OSUB(neighbours)
    assert str(error.value) == f"OSUB: {message}."


def test_one_position_and_as_many_items_as_the_graph() -> None:
    with pytest.raises(InvalidValue, match="OSUB: n_positions must be 1, got 2"):
        Learner(OSUB(), 4, 2)
    with pytest.raises(InvalidValue, match=r"must have one entry per item \(4\), got 3"):
        Learner(OSUB([[1], [2], []]), 4, 1)
    with pytest.raises(InvalidValue, match="loglog must be a number of at least 0, got -1"):
        OSUB(loglog=-1)


def test_it_says_where_it_does_not_apply() -> None:
    assert OSUB().why_not(PBM([0.1, 0.5, 0.3], [0.9])) is None
    assert OSUB().why_not(Cascade([0.1, 0.5, 0.3], 1)) is None
    two = OSUB().why_not(PBM([0.1, 0.5, 0.3], [0.9, 0.5]))
    assert two == "it assumes that there is one position, not 2"
    valley = PBM([0.5, 0.1, 0.3], [0.9])
    assert OSUB().why_not(valley) == (
        "it assumes that item 2 has a more attractive neighbour in its graph"
    )
    assert OSUB([[1, 2], [], []]).why_not(valley) is None
    with pytest.raises(DoesNotApply, match="item 2 has a more attractive neighbour"):
        cr.simulate("osub", valley, 10)


# Items that come and go.


def test_what_is_unimodal_stays_unimodal_whatever_items_go() -> None:
    """All sets of items that may be left, of random graphs on which random values are unimodal."""
    rng = np.random.default_rng(0)
    tried = 0
    for _ in range(60):
        values = rng.permutation(6) / 6
        edges = rng.random((6, 6)) < 0.35
        spec_rows = [
            [k for k in range(6) if k != i and (edges[i, k] or edges[k, i])] for i in range(6)
        ]
        if peak_besides(spec_rows, values) is not None:
            continue
        for mask in range(1, 2**6):
            left = [k for k in range(6) if mask >> k & 1]
            spec = OSUB(spec_rows).relabelled(np.array(left))
            assert spec.neighbours is not None
            assert peak_besides(spec.neighbours, values[left]) is None, (spec_rows, left)
            tried += 1
    assert tried > 500


def test_neighbours_of_what_goes_become_neighbours() -> None:
    assert without_items(line_graph(range(5)), {0, 3, 4})[0] == {3}
    star = OSUB([[1, 2, 3], [], [], []])
    assert star.relabelled(np.array([1, 3, 2])).neighbours == ((1, 2), (0, 2), (0, 1))
    assert star.relabelled(np.array([1, 0, 2, 3])).neighbours == ((1,), (0, 2, 3), (1,), (1,))


def test_the_line_goes_on_in_the_order_of_the_catalogue() -> None:
    line = OSUB()
    assert line.relabelled(np.array([0, 2, 5, -1, -1])) == line
    # Items 4, 1 and 3 of the old line, and a new one, which comes last.
    assert line.relabelled(np.array([4, -1, 1, 3])).neighbours == ((1, 3), (0,), (3,), (0, 2))
    with pytest.raises(InvalidValue, match="OSUB: new items go to the end of the line"):
        line.relabelled(np.array([0, 1, -1]), [[0]])


def test_new_items_of_a_given_graph_need_neighbours() -> None:
    line = OSUB([[1], [2], []])
    with pytest.raises(InvalidValue, match=r"must be given for each new item \(1\), got None"):
        line.relabelled(np.array([0, 1, 2, -1]))
    found = line.relabelled(np.array([0, -1, 2]), [[0]])
    assert found.neighbours == ((1, 2), (0,), (0,))
    ranker = cr.Ranker(line, ["a", "b", "c"], 1, seed=0)
    with pytest.raises(InvalidValue, match="OSUB: neighbours must be given for each new item"):
        ranker.add_items(["d"])
    ranker.retire_items(["b"])
    assert {ranker.rank().items[0] for _ in range(40)} == {"a", "c"}


# What the graph is worth.


def test_bound_by_its_definition() -> None:
    rates = [0.2, 0.3, 0.6, 0.5, 0.1]
    near = [(0.6 - p) / bounds.bernoulli_kl(p, 0.6) for p in (0.3, 0.5)]
    assert bounds.unimodal_lower_bound(rates) == pytest.approx(sum(near), rel=1e-12)
    star = [[2], [2], [], [2], [2]]
    every = [(0.6 - p) / bounds.bernoulli_kl(p, 0.6) for p in rates if p < 0.6]
    assert bounds.unimodal_lower_bound(rates, star) == pytest.approx(sum(every), rel=1e-12)
    # Where all are neighbours, it is the bound of items of which nothing is known.
    classic = bounds.pbm_lower_bound(PBM(rates, [1.0]))
    assert bounds.unimodal_lower_bound(rates, star) == pytest.approx(classic, rel=1e-9)
    assert bounds.unimodal_lower_bound([0.4]) == 0.0


def test_bound_of_what_is_not_unimodal() -> None:
    with pytest.raises(InvalidValue, match=r"rates\[2\] must be below the rate of a neighbour"):
        bounds.unimodal_lower_bound([0.5, 0.1, 0.3])
    with pytest.raises(InvalidValue, match=r"rates\[1\] must be below the rate of a neighbour"):
        bounds.unimodal_lower_bound([0.5, 0.5, 0.3])
    with pytest.raises(InvalidValue, match=r"one entry per item \(3\), got 2"):
        bounds.unimodal_lower_bound([0.5, 0.4, 0.3], [[1], []])


def test_a_long_line_costs_less_than_exploring_all_items() -> None:
    """Against the same index, log t + 3 log log t, of all items: KL-CombUCB with one position.

    On a triangle of 33 items from .1 to .9. A policy no better would pass with a probability below
    1e-6 (the z of the shipped checks).
    """
    rates = 0.9 - 0.8 * np.abs(np.arange(33) - 16) / 16
    page, runs = PBM(rates, [1.0]), 20
    ours, theirs = (
        cr.simulate(name, page, 20_000, runs, seed=1).regret[:, -1]
        for name in ("osub", "kl-comb-ucb")
    )
    gain = theirs - ours
    assert gain.mean() / (gain.std(ddof=1) / math.sqrt(runs)) > 4.75
    # Random lists lose .41 clicks per round.
    assert ours.mean() < 20_000 * (rates.max() - rates.mean()) / 10
