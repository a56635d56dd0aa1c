"""Cascade policies, fast: when indices are computed, and lists with a lost cache."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clickrank._core.rng import streams
from clickrank.clickmodels import DCM, Cascade, ClickModel
from clickrank.fast._shared.kl_index_cache import tangent
from clickrank.learning import Learner
from clickrank.numerics.kl_bounds import exploration_budget
from clickrank.policies import policy
from tests.naive import upper_by_bisection

# Most items of a query are irrelevant: many ties. Next to these, items of all kinds.
GRADES = np.random.default_rng(1).choice(
    [0.0, 0.2, 0.4, 0.8, 1.0], 60, p=[0.6, 0.3, 0.06, 0.02, 0.02]
)
MIXED = np.random.default_rng(2).beta(1.0, 5.0, 60)
MODELS: dict[str, ClickModel] = {
    "grades": Cascade(GRADES, 8),
    "no click ends it": DCM(GRADES, np.linspace(0.1, 0.3, 8)),
    "mixed": Cascade(MIXED, 8),
    "never": Cascade(np.zeros(30), 5),
    "always": Cascade(np.ones(12), 3),
    "all shown": Cascade([0.9, 0.5, 0.1, 0.1], 4),
}
CASES = [
    *(("cascade-kl-ucb", model) for model in MODELS),
    *(("cascade-ucb1", model) for model in ("grades", "never", "all shown")),
    ("dcm-kl-ucb", "no click ends it"),
]


@pytest.mark.parametrize(("name", "model"), CASES)
def test_lazy_equals_always_fresh(name: str, model: str) -> None:
    """Dropping the cache before every ranking changes no list, with feedback some rounds late."""
    users = MODELS[model]
    spec = policy(name, model=users)
    lazy, fresh = (Learner(spec, users.n_items, users.n_positions) for _ in range(2))
    ours, theirs = streams(4, 0), streams(4, 0)
    late: list[Any] = []
    for t in range(600):
        fresh.drop_cache()
        ranking, memo = lazy.rank(ours.policy)
        want, _ = fresh.rank(theirs.policy)
        assert ranking.tolist() == want.tolist(), f"round {t}"
        late.append((ranking.copy(), memo, users.sample(ranking, ours.users)))
        while len(late) > (t // 100) % 3:
            for learner in (lazy, fresh):
                learner.update(*late[0])
            late.pop(0)


def test_indices_are_solved_and_bounded() -> None:
    users = MODELS["mixed"]
    learner = Learner(policy("cascade-kl-ucb"), users.n_items, users.n_positions)
    rng = streams(5, 0)
    for t in range(1, 1500):
        ranking, memo = learner.rank(rng.policy)
        if t % 100 == 0:
            state, kept = learner.state, learner.cache.indices
            delta = exploration_budget(float(t))
            views = state.clicks + state.misses
            want = np.array(
                [
                    upper_by_bisection(int(c), int(n), delta)
                    for c, n in zip(state.clicks, views, strict=True)
                ]
            )
            now = kept.delta == delta
            assert kept.value[now] == pytest.approx(want[now], abs=1e-12)
            assert (kept.value <= want + 1e-12).all()
            bounds = np.array([tangent(kept, item, delta) for item in range(users.n_items)])
            assert (bounds >= want).all()
            assert sorted(want[ranking]) == sorted(want)[-users.n_positions :]
        learner.update(ranking, memo, users.sample(ranking, rng.users))


def test_indices_are_seldom_computed() -> None:
    """Only for items that were looked at, and few others."""
    users = MODELS["mixed"]
    learner = Learner(policy("cascade-kl-ucb"), users.n_items, users.n_positions)
    rng = streams(6, 0)
    computed = looked_at = 0
    for t in range(1, 2000):
        ranking, memo = learner.rank(rng.policy)
        computed += int((learner.cache.indices.delta == exploration_budget(float(t))).sum())
        clicks = users.sample(ranking, rng.users)
        before = learner.state.misses.sum() + learner.state.clicks.sum()
        learner.update(ranking, memo, clicks)
        looked_at += int(learner.state.misses.sum() + learner.state.clicks.sum() - before)
    assert computed < 2.5 * looked_at
