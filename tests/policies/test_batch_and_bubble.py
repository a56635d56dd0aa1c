"""BatchRank and BubbleRank against their formulas, with late feedback, and their safety."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special

import clickrank as cr
from clickrank._core.rng import streams
from clickrank.clickmodels import PBM, Cascade
from clickrank.clickmodels.click_model import ClickModel
from clickrank.errors import InvalidValue
from clickrank.learning import Learner
from clickrank.policies import BatchRank, BubbleRank, Policy
from clickrank.policies._shared.batch_rank_items import STAGES
from clickrank.policies.capabilities import memo_limit

EASY = PBM([0.9, 0.05, 0.5, 0.3, 0.7, 0.1, 0.2], [1.0, 0.8, 0.6])
LONG = PBM(np.linspace(0.9, 0.1, 7), np.linspace(1.0, 0.5, 6))
SQUARE = PBM([0.1, 0.9, 0.4, 0.6], [1.0, 0.9, 0.8, 0.7])
SPECS = [
    BatchRank(horizon=3),
    BatchRank(horizon=50),
    BubbleRank(horizon=50, power=0.3),
    BubbleRank(horizon=3, power=0.5, initial=[1, 3, 2, 0, 4, 5]),
]


def play(learner: Learner, model: ClickModel, rounds: int, seed: int = 0) -> None:
    rng = streams(seed, 0)
    for _ in range(rounds):
        ranking, memo = learner.rank(rng.policy)
        learner.update(ranking, memo, model.sample(ranking, rng.users))


@pytest.mark.parametrize("delay", [0, 7, 50])
@pytest.mark.parametrize("model", [EASY, LONG, SQUARE], ids=["easy", "long", "square"])
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_reference_with_late_feedback(spec: Policy, model: PBM, delay: int) -> None:
    """Round by round the same lists and memos; horizons so short that all stages are reached."""
    if isinstance(spec, BubbleRank) and spec.initial is not None and model is SQUARE:
        spec = BubbleRank(spec.horizon, [3, 1, 2, 0], spec.power)
    learner = Learner(spec, model.n_items, model.n_positions)
    plain = Learner(dataclasses.replace(spec, reference=True), model.n_items, model.n_positions)
    ours, theirs = streams(3, delay), streams(3, delay)
    flying: list[tuple[Any, Any, Any]] = []
    lists = set()
    for t in range(1500):
        ranking, memo = learner.rank(ours.policy)
        want, want_memo = plain.rank(theirs.policy)
        assert ranking.tolist() == want.tolist(), f"round {t}"
        assert memo.tolist() == want_memo.tolist(), f"round {t}"
        flying.append((ranking, memo, model.sample(ranking, ours.users)))
        if len(flying) > delay:
            shown, kept, clicks = flying.pop(0)
            learner.update(shown, kept, clicks)
            plain.update(shown, kept, clicks)
        lists.add(tuple(ranking.tolist()))
    assert len(lists) > 2


def bound(clicks: int, views: int, delta: float, sign: int) -> float:
    """The end of {q : n d(c/n, q) ≤ δ} above (sign 1) or below the mean."""
    mean = clicks / views

    def excess(q: float) -> float:
        return views * float(special.kl_div(mean, q) + special.kl_div(1 - mean, 1 - q)) - delta

    if mean == (1.0 if sign > 0 else 0.0):
        return mean
    edge = 1.0 - 1e-15 if sign > 0 else 1e-300
    if excess(edge) <= 0:
        return edge
    return float(optimize.brentq(excess, mean, edge, xtol=1e-14))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_end_of_a_stage(data: st.DataObject) -> None:
    """Splits and eliminations against the sets in the paper, from any counts."""
    n_items = data.draw(st.integers(2, 7))
    n_positions = data.draw(st.integers(1, n_items))
    stage = data.draw(st.integers(0, 2))
    learner = Learner(BatchRank(horizon=20), n_items, n_positions)
    state, needed = learner.state, int(learner.params.needed[stage])
    counts = st.lists(st.integers(0, needed), min_size=n_items, max_size=n_items)
    clicks = data.draw(counts)
    if data.draw(st.booleans()):  # far apart, so that something is certain
        clicks = [c // 10 if k % 2 else needed - c // 10 for k, c in enumerate(clicks)]
    state.stage[:] = stage
    state.clicks[:], state.views[:] = clicks, needed
    state.views[0] -= 1  # one view, without a click, is to come
    state.clicks[0] = min(clicks[0], needed - 1)
    clicks[0] = int(state.clicks[0])
    learner.drop_cache()
    ranking = list(range(n_positions))
    memo = [1] + [0] * (n_positions - 1)
    learner.update(ranking, memo, [0] * n_positions)

    delta = math.log(20) + 3 * math.log(math.log(20))
    upper = [bound(c, needed, delta, 1) for c in clicks]
    lower = [bound(c, needed, delta, -1) for c in clicks]
    best = sorted(range(n_items), key=lambda k: -clicks[k])
    splits = [
        s for s in range(1, n_positions) if lower[best[s - 1]] > max(upper[k] for k in best[s:])
    ]
    order = state.order.tolist()
    cache = learner.cache
    there = order[: cache.alive[0]]
    assert order[len(there) :] == [-1] * (n_items - len(there))
    assert [[*order, -1][place] for place in cache.place] == [
        item if item in there else -1 for item in range(n_items)
    ]
    assert state.clicks.tolist() == state.views.tolist() == [0] * n_items
    assert not cache.done.any()
    if splits:
        s = splits[-1]
        assert set(order[:s]) == set(best[:s])
        assert cache.alive[0] == n_items
        assert cache.end.tolist() == [s] * s + [n_positions] * (n_positions - s)
        assert state.number.tolist() == [2] * s + [3] * (n_positions - s)
        assert not state.stage.any()
    else:
        keep = {k for k in range(n_items) if upper[k] >= lower[best[n_positions - 1]]}
        assert len(there) == len(keep)
        assert set(there) == keep
        assert set(state.stage.tolist()) == {stage + 1}
        assert set(state.number.tolist()) == {2}


@pytest.mark.parametrize("model", [EASY, LONG])
def test_least_viewed_items_are_shown(model: PBM) -> None:
    """Lists show the least viewed items of each batch, and just their views count."""
    learner = Learner(BatchRank(horizon=3), model.n_items, model.n_positions)
    state = learner.state
    rng = streams(1, 0)
    for _ in range(800):
        ranking, memo = learner.rank(rng.policy)
        for first in {0, *learner.cache.end.tolist()} - {model.n_positions}:
            last = learner.cache.end[first] - 1
            end = learner.cache.alive[0] if last == model.n_positions - 1 else last + 1
            batch = state.order[first:end]
            shown = ranking[first : last + 1]
            assert set(shown) <= set(batch)
            hidden = set(batch) - set(shown)
            views = state.views
            assert all(views[k] >= max(views[shown]) for k in hidden)
            counts = (views[shown] == min(views[batch])) & (len(batch) > 1)
            assert (memo[first : last + 1] == np.where(counts, state.number[first], 0)).all()
        learner.update(ranking, memo, model.sample(ranking, rng.users))
    assert state.number.max() > 3
    assert state.number.max() < memo_limit(learner.policy, model.n_items)


def test_clicks_of_a_stage_that_has_ended_are_dropped() -> None:
    learner = Learner(BatchRank(horizon=3), 4, 2)
    rng = streams(2, 0)
    late = learner.rank(rng.policy)
    number = learner.state.number[0]
    while learner.state.number[0] == number:
        ranking, memo = learner.rank(rng.policy)
        learner.update(ranking, memo, [1, 0])
    before = learner.statistics()
    learner.update(*late, [1, 1])
    after = learner.statistics()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_numbers_of_stages_fit_the_memo() -> None:
    """The last stage never ends, so that its number is below the limit, whatever the horizon."""
    for horizon in (1, 2**53):
        needed = BatchRank(horizon=horizon).params(3, 2).needed
        assert needed[STAGES - 1] > 2**53
        assert (np.diff(needed) > 0).all()


@pytest.mark.parametrize("delay", [0, 7, 50])
@pytest.mark.parametrize("model", [EASY, LONG, SQUARE], ids=["easy", "long", "square"])
def test_bubblerank_stays_close_to_its_base_list(model: PBM, delay: int) -> None:
    """A list is the base list but for exchanges of disjoint neighbours, and perhaps its end."""
    k = model.n_positions
    learner = Learner(BubbleRank(horizon=20, power=0.3), model.n_items, k)
    base = learner.state.base
    rng = streams(4, delay)
    flying: list[tuple[Any, Any, Any]] = []
    exchanged = ended = 0
    for _ in range(2000):
        ranking, memo = learner.rank(rng.policy)
        if learner.state.rounds[0] > 0:
            position = moves = 0
            while position < k:
                if ranking[position] == base[position]:
                    position += 1
                elif position < k - 1 and ranking[position] == base[position + 1]:
                    assert ranking[position + 1] == base[position]
                    assert memo[position] == 1
                    position += 2
                    moves += 1
                else:
                    assert position == k - 1
                    assert ranking[position] in base[k:]
                    assert memo[position] == base[position] + 1
                    position += 1
                    ended += 1
            assert moves <= k // 2
            exchanged += moves
        flying.append((ranking, memo, model.sample(ranking, rng.users)))
        if len(flying) > delay:
            learner.update(*flying.pop(0))
    assert exchanged > 20
    assert (ended > 10) == (model.n_items > k)


def test_bubblerank_is_safe() -> None:
    """No more than K/2 pairs in the wrong order more than in the list it started from."""
    attraction = np.linspace(0.9, 0.1, 6)
    model = PBM(attraction, np.linspace(1.0, 0.5, 6))
    initial = [1, 0, 2, 5, 4, 3]

    def wrong(items: Any) -> int:
        return sum(attraction[a] < attraction[b] for i, a in enumerate(items) for b in items[i:])

    learner = Learner(BubbleRank(horizon=3000, initial=initial, power=1.0), 6, 6)
    rng = streams(5, 0)
    for _ in range(3000):
        ranking, memo = learner.rank(rng.policy)
        assert wrong(ranking) <= wrong(initial) + 3
        learner.update(ranking, memo, model.sample(ranking, rng.users))
    assert wrong(learner.state.base) < wrong(initial)


def test_late_feedback_counts_for_the_pair() -> None:
    """Where its items are by then does not matter, and neither do pairs in a fixed order."""
    learner = Learner(BubbleRank(horizon=100, initial=[0, 1, 2]), 4, 3)
    learner.update([2, 1, 0], [1, 0, 0], [1, 0, 1])
    wins = np.zeros((4, 4), dtype=np.int64)
    wins[2, 1] = 1
    assert np.array_equal(learner.statistics()["wins"], wins)
    learner.update([2, 1, 0], [0, 0, 4], [1, 0, 1])  # item 3 was left out at the end
    wins[0, 3] = 1
    assert np.array_equal(learner.statistics()["wins"], wins)
    learner.update([0, 1, 2], [0, 1, 0], [0, 1, 1])  # both clicked
    assert np.array_equal(learner.statistics()["wins"], wins)


def test_an_item_moves_up_one_place_a_round() -> None:
    """Also in rounds without news, as the printed pass over all neighbours has it."""
    learner = Learner(BubbleRank(horizon=100, initial=[0, 1, 2]), 4, 3)
    learner.state.wins[2, :2] = 1000
    learner.update([0, 1, 2], [0, 1, 0], [0, 0, 1])
    assert learner.state.base.tolist() == [0, 2, 1, 3]
    learner.update([0, 2, 1], [0, 0, 0], [0, 0, 0])
    assert learner.state.base.tolist() == [2, 0, 1, 3]
    learner.state.wins[3, 1] = 1000
    learner.update([0, 2, 1], [0, 0, 0], [0, 0, 0])  # below the page as well
    assert learner.state.base.tolist() == [2, 0, 3, 1]
    assert learner.cache.candidates[0] == 0  # item 1 is surely worse than item 3


def test_every_pair_is_compared_whatever_the_batches() -> None:
    """Even and odd pairs take turns also when feedback comes in batches of an even size."""
    learner = Learner(BubbleRank(horizon=100, initial=[0, 1, 2, 3]), 4, 4)
    rng = np.random.default_rng(0)
    randomised = np.zeros(4, dtype=np.int64)
    for _ in range(10):
        flying = [learner.rank(rng) for _ in range(4)]
        for ranking, memo in flying:
            randomised += memo
            learner.update(ranking, memo, [0, 0, 0, 0])
    assert randomised.tolist() == [20, 20, 20, 0]


@pytest.mark.parametrize("delay", [0, 50])
@pytest.mark.parametrize("name", ["batchrank", "bubblerank"])
@pytest.mark.parametrize(
    "model",
    [SQUARE, PBM([0.7, 0.1, 0.4, 0.2], [1.0, 0.7]), Cascade([0.1, 0.5, 0.2, 0.8], 2)],
    ids=["square", "pbm", "cascade"],
)
def test_finds_the_best_list(name: str, model: ClickModel, delay: int) -> None:
    """In the end hardly anything is lost; a uniform list loses at least ten times as much."""
    horizon = 200_000
    policy = cr.policy(name, horizon=horizon)
    at = [horizon // 2]
    found = cr.simulate(policy, model, horizon, runs=4, seed=6, checkpoints=at, delay=delay)
    uniform = cr.simulate("uniform", model, horizon, runs=4, seed=6, checkpoints=at)
    lost, worst = (np.diff(r.regret, axis=1).mean() for r in (found, uniform))
    assert lost < 0.1 * worst


def test_given_lists() -> None:
    spec = BubbleRank(horizon=10, initial=np.array([2, 0, 1]))
    assert spec.initial == (2, 0, 1)
    assert Learner(spec, 5, 2).state.base.tolist() == [2, 0, 1, 3, 4]
    assert spec.relabelled(np.array([1, 2, 0, 3])).initial == (1, 2, 0)
    bad: list[Any] = [[], [0, 0], [-1, 0], [0.5], [[0]], "ab"]
    for initial in bad:
        with pytest.raises(InvalidValue, match=r"^BubbleRank: initial must be .*, got "):
            BubbleRank(horizon=10, initial=initial)
    for shape in ((2, 2), (5, 4)):
        with pytest.raises(InvalidValue, match=r"^BubbleRank: initial must hold .*, got "):
            Learner(spec, *shape)
    assert Learner(spec, 3, 3).rank()[0].size == 3
