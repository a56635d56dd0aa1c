"""Fast kernels give what the plain ones of the same policy give, with all kinds of settings.

`clickrank.checks` compares them on a click model that the policy assumes, with default settings.
Here every parameter is moved from its default, and the pages are difficult: attractions of 0 and 1,
a single position, as many positions as items, and positions that people look at more and more.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from clickrank.checks.kernel_checks import assert_same_rounds
from clickrank.clickmodels import PBM, Cascade
from clickrank.learning import Learner
from clickrank.policies import POLICIES, Policy, policy
from clickrank.policies.contract import has_fast_kernels, kernels_of
from clickrank.priors import Beta
from tests.policies.test_same_rankings import SETTINGS, features_of, policy_for

ROUNDS = 250
MODELS = {
    "001": PBM([0.45, 0.35, 0.25, 0.15, 0.05], [0.9, 0.6, 0.3]),
    "near one": PBM([0.95, 0.85, 0.75, 0.65, 0.55], [0.9, 0.6, 0.3]),
    "increasing": PBM([0.5, 0.4, 0.3, 0.2], [0.2, 1.0]),
    "one": PBM([0.3, 0.6, 0.9], [1.0]),
    "all": PBM([0.3, 0.6, 0.9], [0.5, 1.0, 0.7]),
    "certain": PBM([1.0, 0.0, 1.0, 0.5], [1.0, 0.5]),
}
FAST = [name for name, cls in POLICIES.items() if has_fast_kernels(cls)]


def spec_for(name: str, users: PBM, settings: dict[str, Any]) -> Policy:
    """Return the policy for a page, with features and position effects that fit the page."""
    assumes = POLICIES[name].assumes
    fitting: dict[str, Any] = {}
    if "position_bias" in assumes.known:  # which stands in for examination
        fitting["position_bias"] = users.examination
    if assumes.features:
        fitting["features"] = features_of(users.n_items)
    return policy_for(name, users, ROUNDS, **{**settings, **fitting})


@pytest.mark.parametrize("name", FAST)
def test_same_as_the_reference(name: str) -> None:
    """Same rankings and memos, round by round, and the same statistics in the end."""
    for settings in [{}, *SETTINGS.get(name, [])]:
        for label, page in MODELS.items():
            one = POLICIES[name].assumes.positions == "one"
            users = page.first_positions(1) if one else page
            spec = spec_for(name, users, settings)
            fast, plain = (
                Learner(each, users.n_items, users.n_positions)
                for each in (spec, dataclasses.replace(spec, reference=True))
            )
            kernels = [kernels_of(each.policy, each.state) for each in (fast, plain)]
            assert kernels[0] is not kernels[1]
            assert_same_rounds(fast, plain, users, ROUNDS, f"on {label}, {settings}")


@pytest.mark.parametrize("model", ["001", "near one", "almost certain"])
@pytest.mark.parametrize("name", ["pbm-kl-ucb", "pbm-pie", "pbm-ts", "rba-kl-ucb", "thompson"])
def test_lazy_equals_always_fresh(name: str, model: str) -> None:
    """Losing the cache before every ranking changes no ranking, round by round."""
    users = {**MODELS, "almost certain": PBM([0.9999] * 5, [1.0, 1.0, 0.5])}[model]
    spec = policy(name, model=users)
    lazy, fresh = (Learner(spec, users.n_items, users.n_positions) for _ in range(2))
    assert_same_rounds(lazy, fresh, users, 1500, f"on {model}", drop=True)


@pytest.mark.parametrize("name", ["bayes-ucb", "thompson"])
def test_lazy_equals_always_fresh_for_long(name: str) -> None:
    """Thirty items whose prior has a pole at 0, so that most draws are bounds alone."""
    users = Cascade(np.linspace(0.4, 0.02, 30), n_positions=5)
    prior = Beta(np.linspace(0.1, 1.2, 30), 1.5)
    spec = policy(name, model=users, horizon=5000, prior=prior)
    lazy, fresh = (Learner(spec, users.n_items, users.n_positions) for _ in range(2))
    assert_same_rounds(lazy, fresh, users, 5000, "with a pole at 0", drop=True)
