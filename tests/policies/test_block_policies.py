"""TopRank and UniRank: partitions, edges, indices and lists against direct computation."""

import dataclasses
import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from clickrank._core.rng import streams
from clickrank.clickmodels import PBM, Cascade, ClickModel
from clickrank.errors import InvalidValue
from clickrank.fast import top_rank
from clickrank.fast._shared import click_log
from clickrank.fast._shared.dominance import elicit, expire, rebuild, weigh_pair
from clickrank.fast._shared.ordered_partition import draw_compatible
from clickrank.fast.uni_rank import _outsider, _uncertain, _weigh, build
from clickrank.learning import ContextState, Learner
from clickrank.policies import TopRank, policy
from clickrank.policies._shared import ordered_partition as plain
from clickrank.policies._shared.ordered_partition import hash_of_partition
from clickrank.policies._shared.packed_states import unpacked
from clickrank.policies.top_rank import WIDTH
from clickrank.policies.uni_rank import UniRank
from tests import naive
from tests.naive import TopRankPairs, kl, numbered, pair_index, peel

THETA = np.array([0.3, 0.2, 0.15, 0.15, 0.15, 0.1, 0.05, 0.05, 0.01, 0.01])  # θ^W of 003
KAPPA = np.array([1.0, 0.75, 0.6, 0.3, 0.1])
CASES: list[tuple[str, dict[str, Any]]] = [
    ("toprank", {"failure": 0.01}),
    ("toprank", {"failure": 1.0}),  # items often beat each other in circles
    ("toprank", {"doubling": True, "guess": 30}),
    ("unirank", {}),
]


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


def play(
    name: str, settings: dict[str, Any], model: ClickModel, rounds: int, delay: int, seed: int
) -> tuple[Learner, list[Any]]:
    """Compare fast and plain kernels round by round; feedback is ``delay`` rounds late.

    Return the learner and all that was settled, as (ranking, memo, clicks).
    """
    spec = policy(name, model=model, horizon=rounds, **settings)
    learner, other = (
        Learner(each, model.n_items, model.n_positions)
        for each in (spec, dataclasses.replace(spec, reference=True))
    )
    ours, theirs = streams(seed, 0), streams(seed, 0)
    flying: list[Any] = []
    settled = []
    for t in range(rounds):
        ranking, memo = learner.rank(ours.policy)
        want, want_memo = other.rank(theirs.policy)
        assert ranking.tolist() == want.tolist(), f"round {t}"
        assert memo.tolist() == want_memo.tolist(), f"round {t}"
        flying.append((ranking, memo, model.sample(ranking, ours.users)))
        if len(flying) > delay:
            settled.append(flying.pop(0))
            learner.update(*settled[-1])
            other.update(*settled[-1])
    for field, array in unpacked(spec, learner.state)._asdict().items():
        assert np.array_equal(array, getattr(other.state, field)), field
    return learner, settled


@pytest.mark.parametrize("delay", [7, 50])
@pytest.mark.parametrize("model", [PBM(THETA, KAPPA), Cascade(THETA * 2, 4)], ids=["pbm", "cm"])
@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_late_feedback_like_the_reference(
    name: str, settings: dict[str, Any], model: ClickModel, delay: int
) -> None:
    play(name, settings, model, 400, delay, seed=delay)


@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
@pytest.mark.parametrize("kind", ["pbm", "cascade", "many positions"])
def test_many_items_like_the_reference(name: str, settings: dict[str, Any], kind: str) -> None:
    """Forty items: two words of bits, blocks larger than the list, and chains of many blocks."""
    attraction = np.random.default_rng(5).permutation(np.linspace(0.95, 0.02, 40))
    if kind == "many positions":
        model: ClickModel = PBM(attraction, np.linspace(1.0, 0.6, 25))
    elif kind == "pbm":
        model = PBM(attraction, np.linspace(1.0, 0.4, 5))
    else:
        model = Cascade(attraction / 3, 5)
    rounds = {"toprank": 1200, "unirank": 200}[name]
    learner, _ = play(name, settings, model, rounds, 0, seed=1)
    if name == "toprank" and not settings.get("doubling"):
        assert len(set(learner.cache.block.tolist())) > 1  # it came to divide


@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_lazy_equals_always_fresh(name: str, settings: dict[str, Any]) -> None:
    """Losing the cache before every list changes no list and no statistic."""
    model = PBM(THETA, KAPPA)
    spec = policy(name, model=model, horizon=3000, **settings)
    lazy, fresh = (Learner(spec, 10, 5) for _ in range(2))
    ours, theirs = streams(4, 0), streams(4, 0)
    for t in range(3000):
        fresh.drop_cache()
        ranking, memo = lazy.rank(ours.policy)
        want, want_memo = fresh.rank(theirs.policy)
        assert ranking.tolist() == want.tolist(), f"round {t}"
        assert memo.tolist() == want_memo.tolist(), f"round {t}"
        clicks = model.sample(ranking, ours.users)
        lazy.update(ranking, memo, clicks)
        fresh.update(want, want_memo, clicks)
    for field, array in lazy.statistics().items():
        assert np.array_equal(array, fresh.statistics()[field]), field


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
    monkeypatch.setattr(click_log, "LARGE", large)
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
        ({"doubling": True, "failure": 0.1}, "TopRank: failure must be left open with doubling"),
    ],
)
def test_top_rank_parameters(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message.split(", got")[0]):
        policy("toprank", **settings)


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


def test_index_of_pairs() -> None:
    """An index is at most 0 just where the evidence is within the budget, and f agrees with it."""
    rng = np.random.default_rng(7)
    for _ in range(300):
        state, cache = random_wins(rng, 2, 40)
        led = int(rng.integers(1, 500))
        budget = math.log(led) + (3 * math.log(math.log(led)) if led > math.e else 0.0)
        for i, j in ((0, 1), (1, 0)):
            index = pair_index(state.wins, i, j, led)
            assert (_weigh(state.wins, cache, i, j) <= budget) == (index <= 0)
            won, trials = state.wins[i, j], state.wins.sum()
            if won > 0:
                want = trials * kl(won / trials, 0.5) * (1 if 2 * won >= trials else -1)
                assert _weigh(state.wins, cache, i, j) == pytest.approx(want, abs=1e-12)


def test_item_that_joins_has_the_least_index() -> None:
    rng = np.random.default_rng(8)
    seen = Counter[str]()
    for _ in range(400):
        n, block = int(rng.integers(4, 9)), int(rng.integers(1, 3))
        high = int(rng.integers(2, 40))
        state, cache = random_wins(rng, n, high)
        if rng.random() < 0.6:
            state.wins[...] += 1 - np.eye(n, dtype=np.int64)
        if rng.random() < 0.2:  # surely worse
            state.wins[:block, block:] += 100
        if rng.random() < 0.3:  # equal counts: ties
            state.wins[:, block + 1] = state.wins[:, block]
            state.wins[block + 1, :] = state.wins[block, :]
        cache.n_blocks[0] = 1
        cache.starts[:2] = 0, block
        led = int(rng.integers(1, 300))
        budget = math.log(led) + (3 * math.log(math.log(led)) if led > math.e else 0.0)
        least = [
            min(pair_index(state.wins, i, j, led) for i in range(block)) for j in range(block, n)
        ]
        good = [j for j, v in enumerate(least, start=block) if v <= min(min(least), 0) + 1e-12]
        found = {_outsider(state.wins, cache, budget, np.random.default_rng(s)) for s in range(60)}
        assert found == (set(good) or {-1}), (least, led)
        seen["none" if not good else "unknown" if min(least) == -1 else "solved"] += 1
        seen["ties"] += len(good) > 1 and min(least) > -1
    assert min(seen[kind] for kind in ("none", "unknown", "solved", "ties")) > 10, seen


def test_subsets_mix_while_uncertain() -> None:
    rng = np.random.default_rng(9)
    mixed = 0
    for _ in range(200):
        state, cache = random_wins(rng, 5, 60)
        cache.starts[:4] = 0, 2, 5, 5
        led = int(rng.integers(1, 50))
        budget = math.log(led) + (3 * math.log(math.log(led)) if led > math.e else 0.0)
        state.wins[:2, 2:] += int(rng.integers(0, 100))
        pairs = itertools.product(range(2), range(2, 5))
        want = min(pair_index(state.wins, i, j, led) for i, j in pairs) <= 0
        assert _uncertain(state.wins, cache, 0, budget) == want
        mixed += want
    assert 20 < mixed < 180


@pytest.mark.parametrize("slots", [0, 12, 8.5, "many"])
def test_uni_rank_slots(slots: Any) -> None:
    with pytest.raises(InvalidValue, match="UniRank: slots must be"):
        UniRank(slots=slots)


@pytest.mark.parametrize("name", ["toprank", "unirank"])
@pytest.mark.parametrize(
    "model", [PBM([0.6, 0.45, 0.3, 0.1], [1, 0.5]), Cascade([0.6, 0.5, 0.1], 2)], ids=["pbm", "cm"]
)
def test_comes_to_show_the_best_list(name: str, model: ClickModel) -> None:
    """After 10,000 rounds the lists shown are nearly all of the best value."""
    learner = Learner(policy(name, horizon=10_000), model.n_items, model.n_positions)
    rng = streams(10, 0)
    values: list[float] = []
    for _ in range(10_000):
        ranking, memo = learner.rank(rng.policy)
        learner.update(ranking, memo, model.sample(ranking, rng.users))
        values.append(model.value(ranking))
    best = model.value(model.best_ranking()) - 1e-12
    assert np.mean([value >= best for value in values[-1000:]]) > 0.9
