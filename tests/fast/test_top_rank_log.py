"""TopRank on many items: without matrices it shows the same lists, and goes on with them."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from clickrank._core.rng import streams
from clickrank.clickmodels import PBM, Cascade, ClickModel
from clickrank.fast._shared import logged_pairs
from clickrank.learning import Learner
from clickrank.policies import TopRank
from tests.naive import TopRankPairs

ITEMS = np.random.default_rng(5).permutation(np.linspace(0.95, 0.02, 24))
MODELS: dict[str, ClickModel] = {
    "pbm": PBM(ITEMS, np.linspace(1.0, 0.4, 5)),
    "many clicks": PBM(ITEMS, np.ones(8)),
    "cascade": Cascade(ITEMS / 3, 5),
    "few positions": PBM(np.concatenate([ITEMS, ITEMS / 9]), np.ones(4)),
}


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat catalogues of a dozen items as large ones."""
    monkeypatch.setattr(logged_pairs, "LARGE", 12)


def learner_of(settings: dict[str, Any], n_items: int, n_positions: int, log: int) -> Learner:
    learner = Learner(TopRank(**settings), n_items, n_positions)
    state = learner.state._replace(log=np.zeros(log, dtype=np.int64))
    learner.fixed = learner.params, state, learner.cache
    return learner


def pair_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Return these settings for `TopRankPairs`, which doubles wherever there is a guess."""
    return {key: value for key, value in settings.items() if key != "doubling"}


def reference_of(learner: Learner) -> Learner:
    """Return a learner with the plain kernels, which has matrices however many items there are."""
    spec = dataclasses.replace(learner.policy, reference=True)
    return Learner(spec, learner.n_items, learner.n_positions)


def same_pairs(learner: Learner, pairs: TopRankPairs) -> None:
    """Compare S, N and edges, with the matrices written out."""
    state = logged_pairs.unpack(learner.state)
    w = state.won
    assert np.array_equal(w - w.T, pairs.s)
    assert np.array_equal(w + w.T, pairs.n)
    assert pairs.edges() == {(i, j) for i, j in np.argwhere(state.beats).tolist()}
    if learner.state.crowd[0] == 0:
        for name in ("log", "traces", "superiors"):
            assert not getattr(learner.state, name).any()
        assert learner.cache.inferiors.tolist() == state.beats.sum(axis=1).tolist()
        assert learner.cache.superiors.tolist() == state.beats.sum(axis=0).tolist()


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize(
    ("settings", "model", "log"),
    [
        ({"failure": 0.01}, "pbm", 5000),
        ({"failure": 0.01}, "many clicks", 190),
        ({"failure": 1.0}, "many clicks", 5000),
        ({"failure": 1.0}, "cascade", 130),
        ({"failure": 1.0}, "few positions", 5000),
        ({"doubling": True, "guess": 300}, "few positions", 5000),
        ({"failure": 0.003}, "few positions", 700),
        ({"doubling": True, "guess": 200}, "pbm", 400),
    ],
    ids=str,
)
def test_like_the_reference(settings: dict[str, Any], model: str, log: int) -> None:
    """Round by round, whether the log fills up or not."""
    users = MODELS[model]
    learner = learner_of(settings, users.n_items, users.n_positions, log)
    plain = reference_of(learner)
    pairs = TopRankPairs(users.n_items, **pair_settings(settings))
    ours, theirs = streams(1, 0), streams(1, 0)
    crowds = divided = tables = restarts = 0
    for t in range(700):
        ranking, memo = learner.rank(ours.policy)
        want, want_memo = plain.rank(theirs.policy)
        assert ranking.tolist() == want.tolist(), f"round {t}"
        assert memo.tolist() == want_memo.tolist() == pairs.memo(), f"round {t}"
        clicks = users.sample(ranking, ours.users)
        learner.update(ranking, memo, clicks)
        plain.update(want, want_memo, clicks)
        pairs.update(ranking, memo, clicks)
        state = learner.state
        crowds += int(state.crowd[0] > 0)
        divided += int(state.crowd[0] > 0 and learner.cache.block.any())
        tables += int(state.crowd[0] == 2)
        if learner.cache.restarts[0] > restarts:
            restarts += 1
            assert not state.log.any()  # of the time before
            assert not state.traces.any()
    assert crowds > 15
    assert tables > 50 or model != "few positions"
    assert divided > 0 or log < 5000
    assert (crowds < 700) == (log < 5000 or (settings == {"failure": 1.0} and model != "cascade"))
    same_pairs(learner, pairs)


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("seed", range(9))
def test_any_feedback_like_the_reference(seed: int) -> None:
    """Clicks of no model, lists of other blocks, late or made up: pairs are as counted."""
    rng = np.random.default_rng(seed)
    n_items, n_positions = int(rng.integers(12, 20)), int(rng.integers(1, 7))
    kinds: list[dict[str, Any]] = [
        {"failure": 1.0},
        {"failure": 0.3},
        {"doubling": True, "guess": 150},
    ]
    settings = kinds[seed % 3]
    learner = learner_of(settings, n_items, n_positions, 3000)
    plain = reference_of(learner)
    pairs = TopRankPairs(n_items, **pair_settings(settings))
    favour = rng.random(n_items) ** 3
    flying = []
    honest = int(rng.integers(50, 300))  # rounds before the first late or made-up list
    ends = []
    for t in range(450):
        ours, theirs = np.random.default_rng([seed, t]), np.random.default_rng([seed, t])
        ranking, memo = learner.rank(ours)
        want, want_memo = plain.rank(theirs)
        assert ranking.tolist() == want.tolist(), f"round {t}"
        assert memo.tolist() == want_memo.tolist() == pairs.memo(), f"round {t}"
        clicks = (rng.random(n_positions) < favour[ranking]).astype(np.int64)
        if t > honest and rng.random() < 0.1:
            ranking = rng.permutation(n_items)[:n_positions]
        if t > honest and rng.random() < 0.02:
            memo[:n_items] = rng.integers(0, 3, n_items)
        flying.append((ranking, memo, clicks))
        while len(flying) > (0 if t < honest else int(rng.integers(0, 9))):
            ranking, memo, clicks = flying.pop(int(rng.integers(len(flying))))
            learner.update(ranking, memo, clicks)
            plain.update(ranking, memo, clicks)
            pairs.update(ranking, memo, clicks)
        ends.append(int(learner.state.crowd[0] > 0))
    assert sum(ends) > 30
    same_pairs(learner, pairs)


@pytest.mark.usefixtures("few_are_many")
def test_lost_cache_and_replay() -> None:
    users = MODELS["pbm"]
    lazy, fresh, again = (learner_of({"failure": 0.05}, 24, 5, 100_000) for _ in range(3))
    divided = 0
    ours, theirs = streams(4, 0), streams(4, 0)
    for t in range(800):
        fresh.drop_cache()
        ranking, memo = lazy.rank(ours.policy)
        want, _ = fresh.rank(theirs.policy)
        assert ranking.tolist() == want.tolist(), f"round {t}"
        clicks = users.sample(ranking, ours.users)
        for learner in (lazy, fresh, again):
            learner.update(ranking, memo, clicks)
        divided += int(lazy.cache.block.any())
    assert divided > 50
    for field, array in lazy.statistics().items():
        assert np.array_equal(array, fresh.statistics()[field]), field
        assert np.array_equal(array, again.statistics()[field]), field


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize("settings", [{"failure": 0.05}, {"doubling": True, "guess": 200}], ids=str)
def test_like_the_plain_kernels(settings: dict[str, Any], delay: int) -> None:
    """The reference has matrices however many items there are, and shows the same lists."""
    users = MODELS["few positions"]
    size = users.n_items, users.n_positions
    logged, plain = (Learner(TopRank(**settings, reference=r), *size) for r in (False, True))
    assert isinstance(logged.state, logged_pairs.LoggedState)
    assert not isinstance(plain.state, logged_pairs.LoggedState)
    ours, theirs = streams(5, 0), streams(5, 0)
    flying = []
    divided = 0
    for t in range(650):
        ranking, memo = logged.rank(ours.policy)
        want, want_memo = plain.rank(theirs.policy)
        assert ranking.tolist() == want.tolist(), f"round {t}"
        assert memo.tolist() == want_memo.tolist(), f"round {t}"
        flying.append((ranking, memo, users.sample(ranking, ours.users)))
        if len(flying) > delay:
            settled = flying.pop(0)
            logged.update(*settled)
            plain.update(*settled)
        divided += int(want_memo[: users.n_items].any())
        if t % 50 == 0:  # exact: who is in which block
            found, expected = (each.propensities(seed=1) for each in (logged, plain))
            assert np.array_equal(found.marginals, expected.marginals), f"round {t}"
    written = logged_pairs.unpack(logged.state)
    for field, array in plain.statistics().items():
        assert np.array_equal(array, getattr(written, field)), field
    assert divided > 50


def test_many_items_touch_no_matrix() -> None:
    """At 3,000 items the matrices stay all 0, and the block of the beaten is the next one."""
    learner = Learner(TopRank(failure=0.5), 3000, 2)
    for _ in range(40):
        learner.update([0, 1], np.zeros(3000, dtype=np.int64), [1, 0])
        if learner.cache.block.any():
            break
    state = learner.state
    assert state.crowd[0] > 0
    assert learner.cache.block.tolist() == [0] + [1] * 2999
    assert not any(getattr(state, name).any() for name in ("wins", "beats"))
    learner.update([1, 2], learner.cache.block.copy(), [1, 0])  # of the second block
    assert state.crowd[0] == 0
    assert state.beats[0, 1:].all()
    assert learner.cache.inferiors[0] == 2999
