"""The contract of policies: requests, caches, particles, and what `register` refuses."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import clickrank as cr
from clickrank._core.arrays import IntParticle, Ints
from clickrank.errors import InvalidValue
from clickrank.learning import ContextState
from clickrank.learning.rounds import compiled_play
from clickrank.policies import POLICIES, Assumes, HasMemo, Policy, Request, capabilities
from clickrank.policies.contract import ANY_ITEMS, Scores, kernels_of, scores_items
from clickrank.policies.pbm_ucb import PBMUCB, State
from clickrank.policies.registration import register_fast


def test_only_scorers_take_candidates_in_a_request() -> None:
    grab = cr.Learner(cr.policy("grab"), 5, 2, seed=0)
    with pytest.raises(InvalidValue, match="only policies that score items take candidates"):
        grab.rank(request=Request(np.array([0, 1, 2])))
    ucb = cr.Learner(cr.policy("pbm-ucb", examination=[1.0, 0.5]), 5, 2, seed=0)
    assert set(ucb.rank(request=Request(np.array([1, 3])))[0].tolist()) == {1, 3}
    for wrong in ([3, 1], [1], [1, 5], [-1, 2], [2, 2]):
        with pytest.raises(InvalidValue, match="candidates must be 2 or more items"):
            ucb.rank(request=Request(np.array(wrong)))


SCORERS = [
    name
    for name, cls in POLICIES.items()
    if cls.__module__.startswith("clickrank.") and scores_items(cls) and not cls.rank_remembers
]


@pytest.mark.parametrize("name", SCORERS)
def test_lists_of_candidates_are_those_of_a_catalogue_without_the_other_items(name: str) -> None:
    """A policy that drew random numbers for other items would have other draws left for these."""
    features = np.column_stack([np.ones(6), np.linspace(0.0, 1.0, 6)])
    attraction = cr.clickmodels.LinearAttraction(features, [0.5, -0.45])
    settings: dict[str, Any] = {"scores": [0.5] * 6} if name == "ensemble" else {}
    model = cr.clickmodels.PBM(attraction, [1.0, 0.5])
    policy = cr.policy(name, model=model, horizon=100, **settings)
    candidates = np.array([1, 3, 4])
    many = cr.Learner(policy, 6, 2, seed=0)
    few = cr.Learner(capabilities.relabelled(policy, candidates), 3, 2, seed=0)
    rng = np.random.default_rng(1)
    for _ in range(50):
        shown, memo = many.rank(request=Request(candidates))
        alone, own_memo = few.rank()
        assert shown.tolist() == candidates[alone].tolist()
        clicks = rng.integers(0, 2, 2)
        many.update(shown, memo, clicks)
        few.update(alone, own_memo, clicks)


@pytest.mark.parametrize(
    "spec",
    [
        cr.policy("cascade-kl-ucb"),
        cr.policy("dcm-kl-ucb", satisfaction=[0.4, 0.9, 0.6]),
    ],
    ids=lambda spec: spec.name,
)
def test_fast_kernels_choose_among_candidates_as_the_plain_ones_do(spec: Policy) -> None:
    n_items, n_positions = 9, 3
    fast = cr.Learner(spec, n_items, n_positions, seed=0)
    plain = cr.Learner(dataclasses.replace(spec, reference=True), n_items, n_positions, seed=0)
    assert kernels_of(spec, fast.state).candidates
    assert not isinstance(fast.cache_for(Request(np.arange(n_positions))), Scores)
    rng = np.random.default_rng(1)
    attraction = np.linspace(0.1, 0.9, n_items)
    for _ in range(600):
        size = rng.integers(n_positions, n_items + 1)  # with all, the request is for all items
        some = np.sort(rng.choice(n_items, size, replace=False))
        request = ANY_ITEMS if size == n_items else Request(some)
        shown, memo = fast.rank(request=request)
        assert shown.tolist() == plain.rank(request=request)[0].tolist()
        clicks = (rng.random(n_positions) < attraction[shown]).astype(np.int64)
        for learner in (fast, plain):
            learner.update(shown, memo, clicks)


def test_lists_of_candidates_are_compiled_when_a_ranker_is_made() -> None:
    learned = ContextState(cr.policy("cascade-kl-ucb"), 6, 2)
    learned.prepare()
    compiled: Any = compiled_play(learned.policy)
    before = set(compiled.overloads)
    learned.rank(np.random.default_rng(0), [1, 2, 4])
    assert set(compiled.overloads) == before


def test_propensities_of_what_is_in_flight_need_the_cache() -> None:
    learner = cr.Learner(cr.policy("bubblerank", horizon=1000, initial=[0, 1, 2, 3]), 4, 4, seed=0)
    learner.rank()
    now = learner.propensities().marginals
    shape = learner.policy, 4, 4, learner.state
    assert np.array_equal(cr.learning.propensities(*shape, cache=learner.cache).marginals, now)
    assert not np.array_equal(cr.learning.propensities(*shape).marginals, now)


def test_references_know_their_propensities() -> None:
    reference, fast = (
        cr.Learner(cr.policy("pmed", reference=reference), 4, 2, seed=0).propensities().marginals
        for reference in (True, False)
    )
    assert np.allclose(reference, fast, atol=0.05)  # five standard errors of what is drawn


def test_a_saved_ranker_is_run_as_before(tmp_path: Path) -> None:
    for reference in (True, False):
        ranker = cr.Ranker(cr.policy("grab", reference=reference), ["a", "b", "c"], 2, seed=0)
        ranker.save(tmp_path / "shop.ranker")
        assert cr.Ranker.load(tmp_path / "shop.ranker").policy.reference is reference


class _Clash(NamedTuple):
    clicks: IntParticle  # which is a statistic of the policy


class _Walk(NamedTuple):
    walk: IntParticle  # which the plain kernels do not have


def _rank(
    params: Any, state: Any, cache: Any, request: Any, rng: Any, ranking: Ints, memo: Ints
) -> None:
    pass


def _update(params: Any, state: Any, cache: Any, ranking: Ints, memo: Ints, clicks: Ints) -> None:
    pass


@pytest.mark.parametrize("cache", [_Clash, _Walk])
def test_particles_of_their_own_are_refused(cache: type) -> None:
    with pytest.raises(InvalidValue, match="particle"):
        register_fast(PBMUCB, State, cache, lambda params, state: None, _rank, _update)
    assert cr.Learner(cr.policy("pbm-ucb", examination=[1.0]), 2, 1).rank()[0].size == 1


class _Forgetful(Policy):
    """Defines a part of an ability that it does not inherit."""

    name = "forgetful"
    assumes = Assumes()

    def params(self, n_items: int, n_positions: int) -> Any:
        return PBMUCB([1.0]).params(n_items, 1)

    def init(self, n_items: int, n_positions: int) -> Any:
        return PBMUCB([1.0]).init(n_items, 1)


@pytest.mark.parametrize(
    ("part", "ability"),
    [
        ("memo_size", "HasMemo"),
        ("by_item", "ItemsComeAndGo"),
        ("dropped", "DropsItems"),
        ("walk_on", "Walks"),
        ("lists", "ExactLists"),
        ("cautions", "HasCautions"),
        ("relabelled", "KnowsItems"),
        ("upgraded", "ReadsEarlierStates"),
        ("memo_limit", "HasMemo"),
        ("memos_for", "HasMemo"),
        ("by_pair", "ItemsComeAndGo"),
        ("mend", "ItemsComeAndGo"),
        ("warnings", "HasCautions"),
        ("described_by", "KnowsItems"),
        ("prior", "HasPrior"),
        ("features", "HasFeatures"),
    ],
)
def test_a_part_of_an_ability_without_its_class_is_refused(part: str, ability: str) -> None:
    cls = type("Forgetful", (_Forgetful,), {part: lambda self: 1})
    message = f"Forgetful: {part} must come with class Forgetful\\(Policy, {ability}\\), got 'class"
    with pytest.raises(InvalidValue, match=message):
        capabilities.check_abilities(cls)
    capabilities.check_abilities(_Forgetful)


def test_policies_without_an_ability_do_as_well() -> None:
    ucb, grab = cr.policy("pbm-ucb", examination=[1.0, 0.5]), cr.policy("grab")
    memos, numbers = np.zeros((3, 0), dtype=np.int64), np.arange(4)
    assert not isinstance(ucb, HasMemo)
    assert capabilities.memo_size(ucb, 4, 2) == 0
    assert capabilities.memos_for(ucb, memos, numbers, 4) is memos
    assert capabilities.memo_size(grab, 4, 2) == 2
    assert capabilities.relabelled(grab, numbers) is grab
