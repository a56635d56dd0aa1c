"""Kernels show the same rankings as their naive twins, round by round, with the same seed."""

from typing import Any

import numpy as np
import pytest

from clickrank._rng import streams
from clickrank.clickmodels import PBM, Cascade, ClickModel
from clickrank.learning import Learner
from clickrank.policies import POLICIES, Policy, policy
from clickrank.policies.base import settings_of
from clickrank.priors import Beta
from clickrank.types import scratch_fields
from tests.twins import CASES, FEATURES, TWINS

MODELS = {
    "001": PBM([0.45, 0.35, 0.25, 0.15, 0.05], [0.9, 0.6, 0.3]),
    "near one": PBM([0.95, 0.85, 0.75, 0.65, 0.55], [0.9, 0.6, 0.3]),
    "increasing": PBM([0.5, 0.4, 0.3, 0.2], [0.2, 1.0]),
    "one": PBM([0.3, 0.6, 0.9], [1.0]),
    "all": PBM([0.3, 0.6, 0.9], [0.5, 1.0, 0.7]),
    "certain": PBM([1.0, 0.0, 1.0, 0.5], [1.0, 0.5]),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_same_rankings(name: str, settings: dict[str, Any], model: str) -> None:
    users = MODELS[model]
    if POLICIES[name].assumes.positions == "one":
        users = users.first_positions(1)
    settings = {
        key: value(users.n_items) if callable(value) else value for key, value in settings.items()
    }
    if "position_bias" in POLICIES[name].assumes.known:  # which stands in for examination
        settings = {"position_bias": users.examination, **settings}
    if name in FEATURES:
        settings = {**settings, "features": FEATURES[name](users.n_items)}
    elif POLICIES[name].assumes.features:  # any attractions are linear in a feature an item
        settings = {**settings, "features": np.eye(users.n_items)}
    spec = policy(name, model=users, horizon=250, **settings)
    learner = Learner(spec, users.n_items, users.n_positions)
    twin = TWINS[name](spec, users.n_items, np.array(users.examination))
    ours, theirs = streams(3, 0), streams(3, 0)
    for t in range(250):
        ranking, memo = learner.rank(ours.policy)
        want, want_memo = twin.rank(theirs.policy)
        assert ranking.tolist() == want, f"round {t}"
        assert memo.tolist() == want_memo, f"round {t}"
        clicks = users.sample(ranking, ours.users)
        learner.update(ranking, memo, clicks)
        twin.update(want, want_memo, clicks)


@pytest.mark.parametrize("model", ["001", "near one", "almost certain"])
@pytest.mark.parametrize("name", ["pbm-kl-ucb", "pbm-pie", "pbm-ts", "rba-kl-ucb", "thompson"])
def test_lazy_equals_always_fresh(name: str, model: str) -> None:
    """Losing all caches before every ranking changes no ranking, round by round."""
    users = {**MODELS, "almost certain": PBM([0.9999] * 5, [1.0, 1.0, 0.5])}[model]
    compare_lazy_with_fresh(policy(name, model=users), users, rounds=1500)


@pytest.mark.parametrize("name", ["bayes-ucb", "thompson"])
def test_lazy_equals_always_fresh_for_long(name: str) -> None:
    """Thirty items whose prior has a pole at 0, so that most draws are bounds alone."""
    users = Cascade(np.linspace(0.4, 0.02, 30), n_positions=5)
    prior = Beta(np.linspace(0.1, 1.2, 30), 1.5)
    spec = policy(name, model=users, horizon=5000, prior=prior)
    compare_lazy_with_fresh(spec, users, rounds=5000)


def compare_lazy_with_fresh(spec: Policy, users: ClickModel, rounds: int) -> None:
    lazy, fresh = (Learner(spec, users.n_items, users.n_positions) for _ in range(2))
    empty = lazy.policy.init(users.n_items, users.n_positions)
    scratch = scratch_fields(type(lazy.state))
    ours, theirs = streams(4, 0), streams(4, 0)
    for t in range(rounds):
        for field in scratch:
            getattr(fresh.state, field)[...] = getattr(empty, field)
        fresh.drop_cache()
        ranking, memo = lazy.rank(ours.policy)
        want, want_memo = fresh.rank(theirs.policy)
        assert ranking.tolist() == want.tolist(), f"round {t}"
        clicks = users.sample(ranking, ours.users)
        lazy.update(ranking, memo, clicks)
        fresh.update(want, want_memo, clicks)


def test_every_policy_that_learns_has_a_twin() -> None:
    own = {n for n, cls in POLICIES.items() if cls.__module__.startswith("clickrank.policies")}
    assert own - set(TWINS) == {"oracle", "uniform", "greedy", "ensemble"}  # they learn nothing


def _told(cls: type[Policy]) -> set[str]:
    """Return the parameters that the cases take from the click models, which differ."""
    return {*cls.assumes.known, "features", *(["horizon"] if cls.assumes.horizon else [])}


@pytest.mark.parametrize("name", TWINS)
def test_every_parameter_is_moved_from_its_default(name: str) -> None:
    """A twin that ignores a parameter, or a kernel that does, would agree at the default alone."""
    cases = [settings for case, settings in CASES if case == name]
    for field in settings_of(POLICIES[name]):
        if field.name not in _told(POLICIES[name]):
            values = [settings.get(field.name, field.default) for settings in cases]
            assert any(value != field.default for value in values), field.name
