"""Propensities: exact ones against enumeration, drawn ones against long runs, nothing changed."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import clickrank as cr
from clickrank._core.arrays import Floats, Ints
from clickrank.checks.playing import by_name, matched_model, play
from clickrank.errors import InvalidValue
from clickrank.learning import Learner, Propensities
from clickrank.learning.context_state import ContextState
from clickrank.policies import POLICIES, ExactLists
from clickrank.policies.contract import scores_items
from clickrank.rankings.closed_form import (
    Concatenation,
    RandomFirstItem,
    RandomReplacements,
    ShuffledBlocks,
    ShuffledSample,
)
from clickrank.rankings.distributions import (
    DrawnRankings,
    Mixture,
    RankingDistribution,
    UniformLists,
)
from tests.checks.test_policy_checks import MAKE
from tests.paths import DOCS


def enumerated(
    lists: RankingDistribution, n_items: int, n_positions: int
) -> dict[tuple[int, ...], float]:
    """Return the probability of every list, by the last of its prefixes."""
    every = itertools.permutations(range(n_items), n_positions)
    return {one: float(lists.prefixes(np.array(one))[-1]) for one in every}


def assert_consistent(lists: RankingDistribution, n_items: int, n_positions: int) -> None:
    """All probabilities follow from those of whole lists, which sum to 1."""
    found = enumerated(lists, n_items, n_positions)
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-12)
    marginals = np.zeros((n_items, n_positions))
    for one, chance in found.items():
        marginals[list(one), range(n_positions)] += chance
    np.testing.assert_allclose(lists.marginals(), marginals, atol=1e-12)
    for one in found:
        begins = [
            sum(p for other, p in found.items() if other[: k + 1] == one[: k + 1])
            for k in range(n_positions)
        ]
        np.testing.assert_allclose(lists.prefixes(np.array(one)), begins, atol=1e-12)


def by_replacing(base: Ints, epsilon: float, n_items: int) -> dict[tuple[int, ...], float]:
    """Enumerate which positions are replaced, and with which items."""
    found: dict[tuple[int, ...], float] = {}
    for replaced in itertools.product([False, True], repeat=base.size):
        chance = float(np.prod(np.where(replaced, epsilon, 1 - epsilon)))
        kept = [item for item, gone in zip(base.tolist(), replaced, strict=True) if not gone]
        pool = [item for item in range(n_items) if item not in kept]
        drawn = list(itertools.permutations(pool, sum(replaced)))
        for items in drawn:
            rest = iter(items)
            one = tuple(
                next(rest) if g else b for b, g in zip(base.tolist(), replaced, strict=True)
            )
            found[one] = found.get(one, 0.0) + chance / len(drawn)
    return found


@pytest.mark.parametrize(("n_items", "n_positions"), [(1, 1), (4, 1), (4, 2), (4, 4), (5, 3)])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_replaced_lists_are_those_enumerated(
    n_items: int, n_positions: int, epsilon: float
) -> None:
    base = np.arange(n_items)[::-1][:n_positions].copy()
    lists = RandomReplacements(base, epsilon, n_items)
    assert_consistent(lists, n_items, n_positions)
    expected = by_replacing(base, epsilon, n_items)
    for one, chance in enumerated(lists, n_items, n_positions).items():
        assert chance == pytest.approx(expected.get(one, 0.0), abs=1e-12), one


@pytest.mark.parametrize(
    ("lists", "n_items", "n_positions"),
    [
        (ShuffledBlocks([range(4)], [0, 0], 4), 4, 2),
        (ShuffledBlocks([[2], [0, 3], [1, 4]], [1, 0, 1, 2], 5), 5, 4),
        (ShuffledBlocks.of_partition(np.array([3, 0, 2, 1]), np.array([0, 1, 4]), 3), 4, 3),
        (ShuffledBlocks.of_scores(np.array([0.5, 0.2, 0.5, 0.2, 0.2]), np.array([2, 0, 1])), 5, 3),
        (Mixture([[0, 1, 2], [0, 2, 1]], 3, [0.25, 0.75]), 3, 3),
        (Mixture.unchecked([[0, 1, 2], [0, 2, 1]], 3, [0.25, 0.75]), 3, 3),
        (UniformLists(4, 3), 4, 3),
        (
            Concatenation([Mixture([[0, 1], [1, 0]], 5), ShuffledBlocks([[2, 3, 4]], [0, 0], 5)]),
            5,
            4,
        ),
        (DrawnRankings(np.array([[0, 1], [0, 2], [0, 1], [2, 1]]), 3), 3, 2),
        (ShuffledSample(np.array([3, 1]), np.array([0, 2, 4]), 3, 5), 5, 3),
        (ShuffledSample(np.array([3]), np.array([0, 2, 1]), 4, 4), 4, 4),
        (RandomFirstItem(np.array([0.25, 0.0, 0.75, 0.0]), 3), 4, 3),
    ],
)
def test_marginals_and_prefixes_follow_from_whole_lists(
    lists: RankingDistribution, n_items: int, n_positions: int
) -> None:
    assert_consistent(lists, n_items, n_positions)


def test_uniform_lists_of_two_of_four() -> None:
    found = Learner(cr.policies.Uniform(), 4, 2).propensities()
    assert (found.exact, found.error, found.draws) == (True, 0.0, 0)
    assert (found.marginals == 0.25).all()
    assert found.of([3, 1])[1].tolist() == [1 / 4, 1 / 4 / 3]
    assert found.of_shown([3, 1])[1].tolist() == [1 / 4, 1 / 4 / 3]


def test_ties_by_value_are_those_that_are_drawn() -> None:
    values = np.array([0.3, 0.8, 0.3, 0.3, 0.1])
    learner = Learner(cr.policy("ensemble", scores=values), 5, 3, seed=0)
    found = learner.propensities()
    np.testing.assert_allclose(found.marginals[:, 0], [0, 1, 0, 0, 0])
    np.testing.assert_allclose(found.marginals[:, 2], [1 / 3, 0, 1 / 3, 1 / 3, 0])
    assert found.of([1, 3, 0])[1].tolist() == pytest.approx([1, 1 / 3, 1 / 6])


def played(name: str, rounds: int, **settings: Any) -> Learner:
    model = matched_model(POLICIES[name], 6, 3)
    spec = cr.policy(name, model=model, horizon=400, **settings)
    learner = Learner(spec, 6, model.n_positions, seed=0)
    play(learner, model, rounds, seed=1)
    return learner


def drawn_one_by_one(learner: Learner, draws: int) -> Ints:
    """Return lists drawn with `rank`, each from the state as it is."""
    rng = np.random.default_rng(77)
    return np.array([learner.fork().rank(rng)[0] for _ in range(draws)])


def assert_close(found: Propensities, shares: Floats, draws: int) -> None:
    """Within 5 standard errors in each of 18 cells: one false alarm in 100,000."""
    error = np.sqrt(0.25 / draws + (0.25 / found.draws if found.draws else 0.0))
    assert np.abs(found.marginals - shares).max() < 5 * error


@pytest.mark.parametrize(
    ("name", "rounds", "settings", "exact"),
    [
        ("epsilon-greedy", 5, {"exploration": 100.0}, True),
        ("epsilon-greedy", 60, {"exploration": 20.0}, True),
        ("thompson", 0, {}, False),
        ("thompson", 40, {}, False),
        ("pb-mhb", 40, {"width": 1.0}, False),  # a short step: the particle matters
    ],
)
def test_propensities_are_the_shares_of_a_long_run(
    name: str, rounds: int, settings: dict[str, Any], exact: bool
) -> None:
    learner = played(name, rounds, **settings)
    if rounds:
        learner.rank()  # a list in flight, whose feedback is to come
    found = learner.propensities(seed=3)
    assert found.exact is exact
    shares = DrawnRankings(drawn_one_by_one(learner, 4000), 6).marginals()
    assert_close(found, shares, 4000)


def test_asking_changes_nothing_and_is_repeatable() -> None:
    for name in ("thompson", "pb-mhb"):
        learner = played(name, 30)
        learner.rank()
        before = learner.arrays()
        one, two = learner.propensities(seed=5), learner.propensities(seed=5)
        other = learner.propensities(seed=6)
        after = learner.arrays()
        assert all(np.array_equal(before[key], after[key]) for key in before), name
        assert (one.marginals == two.marginals).all()
        assert (one.marginals != other.marginals).any()
        np.testing.assert_allclose(one.marginals.sum(axis=0), 1.0)
        assert (one.marginals.sum(axis=1) <= 1 + 1e-12).all()
        assert one.draws == 2500
        assert 0 < one.error <= 0.01
        assert learner.propensities(accuracy=0.05).draws == 100


def test_no_luck_no_draws() -> None:
    learner = Learner(cr.policy("oracle", best_ranking=[2, 0]), 3, 2)
    found = learner.propensities()
    assert found.exact
    assert found.marginals.tolist() == [[0, 1], [0, 0], [1, 0]]
    assert [x.tolist() for x in found.of([2, 1])] == [[1, 0], [1, 0]]


def test_a_list_that_was_shown_is_never_impossible() -> None:
    found = Propensities(DrawnRankings(np.array([[0, 1]] * 8 + [[1, 0]]), 3), 3, 2)
    assert found.of([2, 1])[1].tolist() == [0, 0]
    assert found.of_shown([2, 1])[1].tolist() == [0.1, 0.1]
    assert found.of_shown([2, 1])[0].tolist() == [0.1, 0.9]
    assert found.of_shown([0, 1])[1].tolist() == [0.9, 0.9]


def test_inverse_of_a_shown_list_has_the_mean_it_is_said_to_have() -> None:
    """E[(n + 1) / (k + 1)] = (1 - (1 - p)^(n + 1)) / p for k of n draws."""
    from scipy.stats import binom

    n, p = 50, 0.07
    k = np.arange(n + 1)
    mean = float((binom.pmf(k, n, p) * (n + 1) / (k + 1)).sum())
    assert mean == pytest.approx((1 - (1 - p) ** (n + 1)) / p, rel=1e-12)


def test_what_cannot_be() -> None:
    learner = Learner(cr.policies.Uniform(), 4, 2)
    with pytest.raises(InvalidValue, match="accuracy must be a number between"):
        learner.propensities(accuracy=0.0)
    with pytest.raises(InvalidValue, match="seed must be a whole number"):
        learner.propensities(seed=-1)
    with pytest.raises(InvalidValue, match="distinct items"):
        learner.propensities().of([1, 1])
    with pytest.raises(InvalidValue, match="must be a Policy"):
        cr.learning.propensities("uniform", 4, 2)  # type: ignore[arg-type]


def shares_of(ranker_rank: Any, n_items: int, n_positions: int, draws: int) -> Floats:
    counts = np.zeros((n_items, n_positions))
    for _ in range(draws):
        counts[ranker_rank(), np.arange(n_positions)] += 1
    return counts / draws


@pytest.mark.parametrize(
    "spec", [cr.policy("uniform"), cr.policy("thompson", click_model="cascade")]
)
def test_candidates_and_retired_items(spec: cr.policies.Policy) -> None:
    """Policies that forget what they drew: lists of `rank`, one after the other, are a long run."""
    learned = ContextState(spec, 6, 2, retired=[1])
    rng = np.random.default_rng(4)
    shown = [learned.rank(rng)[0] for _ in range(8)]
    learned.update_many(shown, np.zeros((8, 0)), [[1, 0]] * 8)
    for candidates in (None, [0, 2, 5]):
        found = learned.propensities(candidates)
        assert (found.marginals[1] == 0).all()
        np.testing.assert_allclose(found.marginals.sum(axis=0), 1.0)
        if candidates:
            assert found.marginals[3].tolist() == [0, 0]
            first = found.marginals[0, 0]
            assert [x.tolist() for x in found.of([0, 3])] == [[first, 0], [first, 0]]
        shares = shares_of(lambda c=candidates: learned.rank(rng, c)[0], 6, 2, 1000)
        assert_close(found, shares, 1000)


def test_candidates_of_a_particle() -> None:
    """The list is the best of the candidates by a particle of all items."""
    learned = ContextState(cr.policy("pb-mhb"), 6, 2, retired=[1])
    rng = np.random.default_rng(4)
    shown = [learned.rank(rng)[0] for _ in range(8)]
    learned.update_many(shown, np.zeros((8, 0)), [[1, 0]] * 8)
    before = learned.everything()
    found = learned.propensities([0, 2, 5], accuracy=0.02)
    after = learned.everything()
    assert all(np.array_equal(before[key], after[key]) for key in before)
    shares = shares_of(lambda: learned.restored(before).rank(rng, [0, 2, 5])[0], 6, 2, 600)
    assert_close(found, shares, 600)


def test_a_ranker_answers_by_item() -> None:
    ranker = cr.Ranker("uniform", items=["a", "b", "c", 4], n_positions=2, seed=0)
    ranker.retire_items(["b"])
    found = ranker.propensities(context="shoes")
    assert found.exact
    assert ranker.contexts == ()
    third = (1 / 3, 1 / 3)
    assert found.marginals == {"a": third, "b": (0, 0), "c": third, 4: third}
    assert found.of(["c", 4])[1].tolist() == [1 / 3, 1 / 6]
    assert found.of_shown(["c", 4])[0].tolist() == [1 / 3, 1 / 3]
    assert ranker.propensities(candidates=["a", 4]).of(["a", 4])[1].tolist() == [0.5, 0.5]
    with pytest.raises(InvalidValue, match="among the items of the ranker"):
        found.of(["c", "z"])


def test_the_page_does_what_it_says() -> None:
    page = (DOCS / "howto" / "propensities.md").read_text()
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        exec(block, names)
    assert not names["found"].exact
    assert 0 < names["found"].error < 0.01
    assert names["odds"].marginals["tea"] == (1 / 3, 1 / 3)
    assert names["marginal"].tolist() == [1 / 3, 1 / 3]
    assert names["prefix"].tolist() == [1 / 3, 1 / 6]
    exact = page.split("**exact**")[1].split("- Otherwise")[0]
    for name, cls in POLICIES.items():
        if cls.__module__.startswith("clickrank.") and name != "oracle":
            written_down = issubclass(cls, ExactLists) or name in ("greedy", "ensemble")
            assert written_down == (f"`{name}`" in exact), name
    # Of which two need no `lists`: they sort by numbers that are not drawn.
    assert all(scores_items(POLICIES[name]) for name in ("greedy", "ensemble"))


@pytest.mark.proof
@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_states_what_a_long_run_shows(name: str) -> None:
    """At several stages, with lists in flight; of exact ones the prefixes too."""
    model = matched_model(POLICIES[name], 6, 3)
    spec = MAKE.get(name, by_name(POLICIES[name]))(model, 400)
    for rounds in (0, 3, 20, 150, 400):
        learner = Learner(spec, 6, model.n_positions, seed=0)
        play(learner, model, rounds, seed=rounds)
        for _ in range(rounds % 4):
            learner.rank()
        found = learner.propensities(seed=3)
        shown = drawn_one_by_one(learner, 4000)
        assert_close(found, DrawnRankings(shown, 6).marginals(), 4000)
        if found.exact:
            lists, counts = np.unique(shown, axis=0, return_counts=True)
            for ranking, count in zip(lists, counts, strict=True):
                chance = float(found.of(ranking)[1][-1])
                error = np.sqrt(chance * (1 - chance) / 4000)
                assert abs(count / 4000 - chance) < 6 * error + 1e-12, (rounds, ranking)
