"""Near items: the lists of CascadeLinUCB and CascadeLinTS are those of all items."""

import dataclasses
from typing import Any

import pytest

from clickrank._core.rng import streams
from clickrank.checks.kernel_checks import assert_same_rounds
from clickrank.learning import Learner
from clickrank.policies import policy
from tests.policies.test_ridge import users_of

CASES: list[tuple[str, dict[str, Any]]] = [
    ("cascade-lin-ucb", {"width": 0.3, "sigma": 0.2}),
    ("cascade-lin-ts", {"sigma": 0.1}),
]


@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_far_items_left_out_like_the_reference(name: str, settings: dict[str, Any]) -> None:
    """With hundreds of items few are computed, and lists and ties are those of all."""
    users = users_of(300, 4, seed=1)
    spec = policy(name, model=users, horizon=1200, **settings)
    learner = Learner(spec, users.n_items, users.n_positions)
    plain = Learner(dataclasses.replace(spec, reference=True), users.n_items, users.n_positions)
    ours, theirs = streams(5, 0), streams(5, 0)
    near, tied = [], 0
    flying = []
    for t in range(1200):
        ranking, memo = learner.rank(ours.policy)
        want, _ = plain.rank(theirs.policy)
        assert ranking.tolist() == want.tolist(), f"round {t}"
        near.append(int(learner.cache.sizes[0]))
        x = users.features.values[ranking]
        tied += bool((x[1:] == x[:-1]).all(axis=1).any())
        flying.append((ranking, memo, users.sample(ranking, ours.users)))
        if len(flying) > t % 7:  # late, and not in order
            ranking, memo, clicks = flying.pop(t % len(flying))
            learner.update(ranking, memo, clicks)
            plain.update(ranking, memo, clicks)
    assert sum(n < 300 for n in near) > 400, near
    assert len(set(near)) > 3  # chosen more than once
    assert tied > 100


@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_lazy_equals_always_fresh(name: str, settings: dict[str, Any]) -> None:
    """Dropping the cache before every list changes no list and no statistic."""
    users = users_of(200, 4, seed=2)
    spec = policy(name, model=users, horizon=2000, **settings)
    lazy, fresh = (Learner(spec, users.n_items, users.n_positions) for _ in range(2))
    assert_same_rounds(lazy, fresh, users, 2000, "without its cache", seed=6, drop=True)
