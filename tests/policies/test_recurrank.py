"""RecurRank on features of all kinds, and what happens within an instance."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np
import pytest

import clickrank as cr
from clickrank._compile.jit import interpreted
from clickrank._core.arrays import Floats, Ints
from clickrank._core.features import Features
from clickrank._core.rng import streams
from clickrank.checks.kernel_checks import assert_same_rounds
from clickrank.clickmodels import PBM, LinearAttraction
from clickrank.errors import InvalidValue
from clickrank.learning import Learner
from clickrank.policies import RecurRank, change_catalogue
from clickrank.policies.recurrank import designed

EXAMINATION = np.array([1.0, 0.7, 0.5])


def page(kind: str) -> PBM:
    rng = np.random.default_rng(5)
    if kind == "sphere":
        attraction = LinearAttraction.normalised(rng.normal(size=(40, 3)), [1.0, 2.0, -1.0])
    elif kind == "line":  # one dimension, three features
        attraction = LinearAttraction(rng.random((12, 1)) @ [[0.3, 0.6, 0.1]], [1.0, 0.5, 1.0])
    elif kind == "twins":  # pairs of items that nothing tells apart
        attraction = LinearAttraction(np.repeat(np.eye(4), 2, axis=0), [0.9, 0.6, 0.4, 0.1])
    else:  # far apart: splits, down to single items
        attraction = LinearAttraction(np.eye(4), [1.0, 0.7, 0.3, 0.0])
    return PBM(attraction, EXAMINATION)


@pytest.mark.parametrize(
    "options",
    [{"elimination": "proof"}, {"elimination": "printed"}, {"variant": "program"}],
    ids=str,
)
@pytest.mark.parametrize(("delay", "batch"), [(0, 1), (30, 7)])
@pytest.mark.parametrize("kind", ["sphere", "line", "twins", "apart"])
def test_fast_and_plain(kind: str, delay: int, batch: int, options: dict[str, Any]) -> None:
    """Late feedback too: views are planned again, and what an ended instance asked for is ignored.

    Splits, dimensions that no item has, and equal items are what the pages of the checks lack.
    """
    users = page(kind)
    spec = cr.policy("recurrank", model=users, failure=1.0, **options)
    fast = Learner(spec, users.n_items, 3)
    plain = Learner(dataclasses.replace(spec, reference=True), users.n_items, 3)
    what = "by the reference"
    assert_same_rounds(fast, plain, users, 1500, what, late=delay, batch=batch, seed=3)
    assert fast.state.phase[0] >= 3


def design_of(learner: Learner) -> tuple[Ints, Ints]:
    """Return the items that the first interval measures, and how often."""
    with interpreted():
        return designed(learner.params, learner.state, 0)


def phases_played(learner: Learner, users: PBM, rounds: int) -> list[tuple[int, Floats]]:
    """Return (phase, views of each item at the first position), phase by phase."""
    rng = streams(1, 0)
    out = [(1, np.zeros(users.n_items))]
    for _ in range(rounds):
        ranking, memo = learner.rank(rng.policy)
        out[-1][1][ranking[0]] += 1
        learner.update(ranking, memo, users.sample(ranking, rng.users))
        if learner.state.phase[0] > out[-1][0]:
            out.append((int(learner.state.phase[0]), np.zeros(users.n_items)))
    return out


def test_views_of_each_phase() -> None:
    """At once, every item of the design is measured T(a) times, and no other one is."""
    users = page("apart")
    learner = Learner(RecurRank(users.features, failure=1.0), 4, 3, seed=0)
    _, wanted = design_of(learner)
    # d = 4, π = 1/4, Δ = 1/2, δ_1 = 1/12.
    assert wanted.tolist() == [int(np.ceil(2 * np.log(4 * 12)))] * 4
    played = phases_played(learner, users, 33)
    assert played[0][1].tolist() == wanted.tolist()
    assert played[1][1].sum() == 1


def test_phases_of_the_program() -> None:
    """4^ℓ d log(2 |𝒜| K ℓ (ℓ + 1) / δ) rounds, evenly, and the clicks of all phases count."""
    users = page("apart")
    spec = RecurRank(users.features, failure=1.0, variant="program")
    learner = Learner(spec, 4, 3, seed=0)
    first = int(4 * 4 * np.log(2 * 4 * 3 * 2))
    _, wanted = design_of(learner)
    assert wanted.sum() == first
    assert np.ptp(wanted) <= 1
    played = phases_played(learner, users, 5000)
    assert played[0][1].sum() == first
    assert played[1][1].sum() == int(4**2 * 4 * np.log(2 * 4 * 3 * 6))
    assert learner.state.phase[1:].tolist() == [0, 0]  # never split, though items are far apart
    shown = np.sum([views for _, views in played], axis=0)
    measured, _ = design_of(learner)
    counted = learner.state.past[0] + learner.state.views
    assert counted[measured].tolist() == shown[measured].tolist()


def test_a_certain_order_is_found() -> None:
    """Items with attractions 1, 0.7, 0.3 and 0 are distinguished, and dropped, in few phases."""
    users = page("apart")
    learner = Learner(RecurRank(users.features, failure=0.1), 4, 3, seed=0)
    phases_played(learner, users, 5000)
    assert learner.state.order.tolist() == [0, 1, 2, -1]
    assert learner.state.phase[1] > 0
    ranking, memo = learner.rank()
    assert (ranking[0], memo[0]) == (0, 0)  # nothing to learn about a single item


def test_feedback_of_an_ended_instance_is_ignored() -> None:
    users = page("apart")
    learner = Learner(RecurRank(users.features, failure=1.0), 4, 3, seed=0)
    late = learner.rank()
    phases_played(learner, users, 40)
    assert learner.state.phase[0] == 2
    before = learner.statistics()
    learner.update(*late, clicks=[1, 1, 1])
    after = learner.statistics()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_lost_lists_are_planned_anew() -> None:
    """Where every second list never comes back, the phases end all the same."""
    users = page("apart")
    learner = Learner(RecurRank(users.features, failure=1.0), 4, 3, seed=0)
    for t in range(100):
        ranking, memo = learner.rank()
        if t % 2:
            learner.update(ranking, memo, clicks=[0, 0, 0])
    assert learner.state.phase[0] == 2


def test_ties_are_sorted_at_random() -> None:
    """Without clicks all items are equal: after a phase each is first as often as the others."""
    count = np.zeros(4)
    for seed in range(200):
        learner = Learner(RecurRank(Features(np.eye(4)), failure=1.0), 4, 2, seed=seed)
        while learner.state.phase[0] == 1:
            ranking, memo = learner.rank()
            learner.update(ranking, memo, clicks=[0, 0])
        count[learner.state.order[0]] += 1
    assert count.min() > 22  # of 50: 4.6 standard deviations


def test_printed_rule_keeps_what_the_proof_drops() -> None:
    """Estimates that are dense from 0 to 1 have no gap."""
    x = np.linspace(0.0, 1.0, 101)[:, None]
    users = PBM(LinearAttraction(np.hstack([x, 1 - x]), [1.0, 0.0]), [1.0, 0.5])
    left = {}
    for elimination in ("proof", "printed"):
        spec = cr.policy("recurrank", model=users, failure=1.0, elimination=elimination)
        learner = Learner(spec, 101, 2, seed=0)
        while learner.state.phase[0] < 5:
            ranking, memo = learner.rank()
            learner.update(ranking, memo, users.sample(ranking, learner.rng))
        left[elimination] = int((learner.state.order >= 0).sum())
    assert left["printed"] == 101
    assert 2 <= left["proof"] < 40


def test_refused() -> None:
    with pytest.raises(InvalidValue, match="RecurRank: horizon must be given, or failure, got"):
        RecurRank(Features(np.eye(3)))
    with pytest.raises(InvalidValue, match="RecurRank: failure must be above 0, got 0"):
        RecurRank(Features(np.eye(3)), failure=0.0)
    with pytest.raises(InvalidValue, match="RecurRank: elimination must be 'proof' or 'printed'"):
        RecurRank(Features(np.eye(3)), horizon=9, elimination="none")  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="RecurRank: variant must be 'paper' or 'program'"):
        RecurRank(Features(np.eye(3)), horizon=9, variant="authors")  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="RecurRank: features must have 4 rows"):
        Learner(RecurRank(Features(np.eye(3)), horizon=9), 4, 2)


def test_dropped_items_may_leave() -> None:
    """Learning goes on as it was: the same lists, renumbered."""
    users = page("sphere")
    spec = RecurRank(users.features, failure=1.0)
    learner = Learner(spec, 40, 3, seed=0)
    phases_played(learner, users, 1500)
    left = learner.state.order[learner.state.order >= 0]
    assert left.size < 40
    origin = np.union1d(left, np.arange(10))
    policy, state = change_catalogue(spec, learner.state, users.features.values[origin], origin)
    assert policy.features.n_items == origin.size
    other = Learner(policy, origin.size, 3)
    other.state = state
    one, two = streams(2, 0), streams(2, 0)
    begun = state.phase[0]
    for _ in range(3000):
        ranking, memo = learner.rank(one.policy)
        renumbered, same = other.rank(two.policy)
        # How equal items are sorted in the end depends on the numbers.
        if learner.state.phase[0] > begun:
            break
        assert origin[renumbered].tolist() == ranking.tolist()
        assert memo.tolist() == same.tolist()
        clicks = users.sample(ranking, one.users)
        learner.update(ranking, memo, clicks)
        other.update(renumbered, same, clicks)
    assert _ > 500


def test_past_views_go_with_their_items() -> None:
    """With the settings of the authors' program, where the views of earlier phases count."""
    users = page("sphere")
    spec = RecurRank(users.features, failure=1.0, variant="program")
    learner = Learner(spec, 40, 3, seed=0)
    phases_played(learner, users, 3000)
    left = learner.state.order[learner.state.order >= 0]
    assert left.size < 40
    origin = np.random.default_rng(0).permutation(np.union1d(left, np.arange(10)))
    _, state = change_catalogue(spec, learner.state, users.features.values[origin], origin)
    assert learner.state.past[0].sum() > 500
    assert state.past.tolist() == learner.state.past[:, origin].tolist()


def test_new_numbers_alone_change_nothing() -> None:
    """In the first phase too, and late feedback counts."""
    spec = RecurRank(Features(np.eye(4)), failure=1.0)
    learner = Learner(spec, 4, 3, seed=0)
    lists = [learner.rank() for _ in range(9)]
    for ranking, memo in lists[:6]:
        learner.update(ranking, memo, clicks=[1, 0, 0])
    order = np.array([2, 0, 3, 1])
    policy, state = change_catalogue(spec, learner.state, np.eye(4)[order], order)
    other = Learner(policy, 4, 3, seed=0)
    other.state = state
    for ranking, memo in lists[6:]:
        other.update(np.argsort(order)[ranking], memo, clicks=[1, 0, 0])
    assert (state.phase[0], state.views.sum(), state.clicks.sum()) == (1, 9, 9)
    views = np.zeros(4, dtype=np.int64)
    views[order] = state.views
    assert views.tolist() == np.bincount([r[0] for r, _ in lists], minlength=4).tolist()
    assert len(set(other.rank()[0].tolist())) == 3


def test_other_changes_start_anew() -> None:
    users = page("apart")
    spec = RecurRank(users.features, failure=1.0)
    learner = Learner(spec, 4, 3, seed=0)
    late = learner.rank()
    phases_played(learner, users, 60)
    added = np.vstack([np.eye(4), [[0.5, 0.5, 0.0, 0.0]]])
    moved = np.eye(4)[[1, 0, 2, 3]]
    gone = [int(i) for i in range(4) if i != learner.state.order[0]]
    cases = [(added, [0, 1, 2, 3, -1]), (moved, [0, 1, 2, 3]), (np.eye(4)[gone], gone)]
    for features, origin in cases:
        before = [array.copy() for array in learner.state]
        policy, state = change_catalogue(spec, learner.state, features, origin)
        assert all(np.array_equal(a, b) for a, b in zip(before, learner.state, strict=True))
        assert (state.phase[0], state.restarts[0]) == (1, 1)
        assert sorted(state.order.tolist()) == list(range(len(origin)))
        other = Learner(policy, len(origin), 3, seed=0)
        other.state = state
        ranking, memo = late
        if ranking.max() < len(origin):
            other.update(ranking, memo, clicks=[1, 1, 1])
            assert state.views.sum() == 0
        for _ in range(20):
            ranking, memo = other.rank()
            other.update(ranking, memo, clicks=[0, 0, 0])
        assert state.views.sum() == 20


@pytest.mark.parametrize("origin", [[0], [0, 0, 1], [0, 1, 3], [0, 1, -2], [0.0, 1.0, 2.0]])
def test_origins_that_are_not(origin: list[int]) -> None:
    spec = RecurRank(Features(np.eye(3)), failure=1.0)
    with pytest.raises(InvalidValue, match=r"change_catalogue: origin must hold (3 )?numbers"):
        change_catalogue(spec, spec.init(3, 2), np.eye(3), origin)


def test_as_many_features_as_before() -> None:
    spec = RecurRank(Features(np.eye(3)), failure=1.0)
    with pytest.raises(InvalidValue, match="features must have as many columns as before"):
        change_catalogue(spec, spec.init(3, 2), np.eye(4), [0, 1, 2, -1])


def test_policy_and_state_belong_together() -> None:
    spec, larger = (RecurRank(Features(np.eye(n)), failure=1.0) for n in (3, 4))
    for policy, state, rule in (
        (larger, spec.init(3, 2), "state must be of the policy's 4 items, got 3"),
        (spec, Learner(spec, 3, 2), "state must be learner.state"),
        (object(), spec.init(3, 2), "policy must be a RecurRank"),
    ):
        with pytest.raises(InvalidValue, match=f"change_catalogue: {rule}"):
            change_catalogue(policy, state, np.eye(3), [0, 1, 2])  # type: ignore[arg-type]


@pytest.mark.parametrize("variant", ["paper", "program"])
def test_statistics_of_earlier_versions(variant: Literal["paper", "program"]) -> None:
    """By interval and place in its design, with the past among the views of the program."""
    users = page("sphere")
    spec = RecurRank(users.features, failure=1.0, variant=variant)
    learner = Learner(spec, 40, 3, seed=0)
    phases_played(learner, users, 2500)
    state, cache = learner.state, learner.cache
    counted = {"views": state.views.copy(), "clicks": state.clicks.copy()}
    if variant == "program":
        counted["views"] += state.past[0]
        counted["clicks"] += state.past[1]
    places = cache.measured * (np.arange(cache.measured.shape[1]) < cache.n_measured[:, None])
    earlier = {
        "order": np.where(state.order < 0, 0, state.order),
        "alive": np.array([(state.order >= 0).sum()]),
        "phase": state.phase,
        "epoch": state.restarts,
        "support": cache.n_measured,
        "chosen": places,
        "planning": cache.instance,
        "planned": cache.planned[places],
        "past": state.past,
        **{name: array[places] for name, array in counted.items()},
    }
    found = spec.upgraded(earlier)
    for name, array in state._asdict().items():
        assert found[name].tolist() == array.tolist(), name
    measured = np.unique(
        np.concatenate([p[:n] for p, n in zip(places, cache.n_measured, strict=True)])
    )
    assert found["planned"][measured].tolist() == cache.planned[measured].tolist()
    assert state.phase.max() > 2
    assert (state.order < 0).any()
    assert state.views.sum() > 0
    without = spec.upgraded({k: v for k, v in earlier.items() if "plan" not in k})
    assert "planned" not in without
    assert spec.upgraded(state._asdict()) == state._asdict()
