"""TopRank: pairs, edges, partitions and restarts against direct computation."""

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest

from clickrank._core.rng import streams
from clickrank.clickmodels import PBM
from clickrank.errors import InvalidValue
from clickrank.fast import top_rank
from clickrank.fast._shared import logged_pairs
from clickrank.learning import ContextState, Learner
from clickrank.policies import TopRank, policy
from clickrank.policies._shared import ordered_partition as plain
from clickrank.policies._shared.packed_states import unpacked
from clickrank.policies.top_rank import WIDTH
from tests.fast.test_blocks import KAPPA, THETA, play
from tests.naive import TopRankPairs, numbered, peel


def test_top_rank_counts_pairs() -> None:
    """S, N and edges of the kernel are those of the definition, after partitions have changed."""
    model = PBM(THETA * 3, KAPPA)
    learner, settled = play("toprank", {"failure": 0.1}, model, 3000, 11, seed=2)
    pairs = TopRankPairs(model.n_items, failure=0.1)
    for each in settled:
        pairs.update(*each)
    state = unpacked(learner.policy, learner.state)
    w = state.won
    assert np.array_equal(w - w.T, pairs.s)
    assert np.array_equal(w + w.T, pairs.n)
    edges = pairs.edges()
    assert learner.cache.block.tolist() == pairs.memo()
    assert edges == {(i, j) for i, j in np.argwhere(state.beats).tolist()}
    assert len(edges) > 10
    assert learner.cache.inferiors.tolist() == state.beats.sum(axis=1).tolist()
    assert learner.cache.superiors.tolist() == state.beats.sum(axis=0).tolist()


@pytest.mark.parametrize("reference", [False, True])
def test_what_fast_kernels_saved_opens_for_the_plain_ones_and_the_other_way_round(
    reference: bool,
) -> None:
    spec = policy("toprank", failure=0.1, reference=reference)
    saved, opened = (
        ContextState(each, 10, 5)
        for each in (spec, dataclasses.replace(spec, reference=not reference))
    )
    model, rng = PBM(THETA * 3, KAPPA), streams(3, 0)
    for _ in range(2000):
        ranking, memo = saved.rank(rng.policy)
        saved = saved.fold(ranking[None], memo[None], model.sample(ranking, rng.users)[None])
    restored = opened.restored(saved.statistics())
    states = [unpacked(each.policy, each.learner.state) for each in (saved, restored)]
    assert states[0].beats.any()
    for name, array in states[0]._asdict().items():
        assert np.array_equal(array, getattr(states[1], name)), name
    seeds = [np.random.default_rng(1) for _ in range(2)]
    for _ in range(20):
        one, two = (each.rank(rng) for each, rng in zip((saved, restored), seeds, strict=True))
        assert one[0].tolist() == two[0].tolist()


@pytest.mark.parametrize("settings", [{"failure": 0.1}, {"doubling": True, "guess": 70}], ids=str)
@pytest.mark.parametrize("large", [1, 1000], ids=["as of many items", "as of few items"])
def test_top_rank_reads_what_was_saved_as_s_and_n(
    settings: dict[str, Any], large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once S and N of items in one block were saved less their clicks, and rounds by epoch."""
    model = PBM(THETA * 3, KAPPA)
    learner, settled = play("toprank", settings, model, 1000, 3, seed=2)
    pairs = TopRankPairs(model.n_items, settings.get("failure"), settings.get("guess", 0))
    for each in settled:
        pairs.update(*each)
    state, block, c = learner.state, learner.cache.block, learner.state.clicks
    together = (block == block[:, None]) & ~np.eye(block.size, dtype=bool)
    none = np.zeros(0, dtype=np.int64)
    saved = {
        "epoch": np.array([pairs.epoch]),
        "rounds": np.array([pairs.settled]),
        "clicks": c,
        "difference": pairs.s - together * (c[:, None] - c),
        "disagreement": pairs.n - together * (c[:, None] + c),
        "beats": state.beats,
        "block": block,
        "wins": state.beats.sum(axis=1),  # which was another thing then
        "crowd": np.zeros(2, dtype=np.int64),
        "log": none,
        "superiors": c,
        "traces": none,
    }
    assert isinstance(learner.policy, TopRank)
    # Later versions had no log of so few items, and no wins.
    later = {k: saved[k] for k in saved if k not in ("wins", "crowd", "log", "superiors", "traces")}
    for version in (saved, later):
        found = learner.policy.upgraded(version)
        for name, array in learner.statistics().items():
            assert np.array_equal(found[name], array), name
    monkeypatch.setattr(logged_pairs, "LARGE", large)
    want = unpacked(learner.policy, learner.state)
    tally = {f"tally.{name}": np.zeros((10, 5), dtype=np.int32) for name in ("views", "clicks")}
    for version, reference in itertools.product((saved, later), (False, True)):
        spec = dataclasses.replace(learner.policy, reference=reference)
        opened = ContextState(spec, 10, 5).restored(version | tally)
        state = unpacked(spec, opened.learner.state)
        for name, array in want._asdict().items():
            assert np.array_equal(getattr(state, name), array), name


def test_top_rank_edge_as_soon_as_the_width_is_reached() -> None:
    """Two items, only one of which is clicked: the edge comes at the first n with n ≥ width(n)."""
    for failure in (1.0, 0.1, 1e-3, 1e-9):
        learner = Learner(TopRank(failure=failure), 2, 1)
        rounds = 0
        while learner.state.beats.sum() == 0:
            learner.update([0], [0, 0], [1])
            rounds += 1
        n = 1
        while n < math.sqrt(2 * n * math.log(WIDTH / failure * math.sqrt(n))):
            n += 1
        assert rounds == n
        assert learner.cache.block.tolist() == [0, 1]
    assert pytest.approx(3.344, abs=1e-3) == WIDTH


def test_partition_of_random_graphs() -> None:
    """Peeling by counts equals peeling by sets, with and without circles."""
    rng = np.random.default_rng(3)
    circles = 0
    for trial in range(300):
        n = int(rng.integers(1, 9))
        learner = Learner(TopRank(horizon=10), n, 1)
        state = learner.state
        chance = rng.random() * 0.5
        beats = (rng.random((n, n)) < chance) & ~np.eye(n, dtype=bool)
        if trial % 2:
            order = rng.permutation(n)
            beats &= order[:, None] < order[None, :]
        state.beats[...] = beats
        cache = learner.cache  # of a state in which none beats another
        cache.inferiors[:], cache.superiors[:] = beats.sum(axis=1), beats.sum(axis=0)
        top_rank.divide(state, cache)
        learner.drop_cache()
        for name in ("block", "order", "starts"):
            assert np.array_equal(getattr(learner.cache, name), getattr(cache, name)), name
        blocks = peel(n, {j: set(np.flatnonzero(beats[:, j]).tolist()) for j in range(n)})
        assert cache.block.tolist() == [d - 1 for d in numbered(blocks, n)]
        sizes = [len(block) for block in blocks]
        assert (
            cache.starts.tolist()
            == np.minimum(np.cumsum([0, *sizes, *[0] * (n - len(sizes))]), n).tolist()
        )
        assert cache.order.tolist() == [item for block in blocks for item in block]
        assert not cache.clicked_buffer.any()
        layer = np.zeros(n, dtype=np.int64)
        assert plain.peel(state.beats, n, layer) == len(blocks)
        assert layer.tolist() == numbered(blocks, n)
        last = blocks[-1]
        circles += all(beats[last][:, [i]].any() for i in last) and len(last) > 1
    assert circles > 20


def test_doubling_doubles_and_forgets() -> None:
    learner = Learner(policy("toprank", doubling=True, guess=8), 3, 2, seed=0)
    lengths, restarts, length = [], 0, 0
    first = learner.rank()
    for _ in range(8 + 16 + 32 + 1):
        ranking, memo = learner.rank()
        assert memo[-1] == restarts
        learner.update(ranking, memo, [1, 0])
        length += 1
        if learner.cache.restarts[0] != restarts:
            restarts += 1
            lengths.append(length)
            length = 0
            assert learner.cache.scale[0] == WIDTH / (1 / (8 * 2**restarts))
            assert not any(
                learner.statistics()[field].any() for field in ("clicks", "wins", "beats")
            )
            assert learner.cache.starts.tolist() == [0, 3, 3, 3]
    assert lengths == [8, 16, 32]
    before = learner.statistics()
    learner.update(*first, [1, 1])  # shown before the first restart
    for field, array in learner.statistics().items():
        assert np.array_equal(array, before[field]), field


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "TopRank: horizon must be given, or failure, or doubling=True, got None."),
        ({"failure": 0}, "TopRank: failure must be above 0, got 0."),
        ({"failure": 2}, "TopRank: failure must be a number between 0 and 1, got 2."),
        ({"doubling": 1}, "TopRank: doubling must be True or False, got 1."),
        ({"doubling": True, "guess": 0}, "TopRank: guess must be a whole number of at least 1"),
        ({"doubling": True, "failure": 0.1}, "TopRank: failure must be left out with doubling"),
    ],
)
def test_top_rank_parameters(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message.split(", got")[0]):
        policy("toprank", **settings)
