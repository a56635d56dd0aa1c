"""BatchRank: its stages against direct computation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special

from clickrank._core.rng import streams
from clickrank.clickmodels import PBM
from clickrank.learning import Learner
from clickrank.policies import BatchRank
from clickrank.policies._shared.batch_rank_items import STAGES
from clickrank.policies.capabilities import memo_limit

EASY = PBM([0.9, 0.05, 0.5, 0.3, 0.7, 0.1, 0.2], [1.0, 0.8, 0.6])
LONG = PBM(np.linspace(0.9, 0.1, 7), np.linspace(1.0, 0.5, 6))


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
