"""Simulations shuffle positions unless the page or the policy assumes an order."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import clickrank as cr
from clickrank._core.rng import streams
from clickrank.clickmodels import MNL, PBM, Cascade, ClickModel
from clickrank.policies.capabilities import relabelled_positions
from clickrank.simulation import simulate_runs as simulation

PAGE = PBM([0.6, 0.4, 0.3, 0.1], [0.3, 0.9, 0.5])


def losses(monkeypatch: pytest.MonkeyPatch, positions: Any, model: ClickModel) -> set[float]:
    """The losses of one list over many runs, items left as they are: one value per order seen."""
    policy, assumes = cr.policies.Oracle, cr.policies.Oracle.assumes
    monkeypatch.setattr(policy, "assumes", dataclasses.replace(assumes, positions=positions))
    monkeypatch.setattr(policy, "relabelled", lambda self, order, new: self)
    monkeypatch.setattr(type(model), "relabelled", lambda self, order: self)
    monkeypatch.setattr(simulation, "relabelled_positions", lambda policy, order: policy)
    found = cr.simulate(policy([0, 1, 2]), model, 1, runs=60, seed=0).regret[:, -1]
    return set(found.round(9).tolist())


@pytest.mark.parametrize(
    ("positions", "model", "orders"),
    [
        ("any", PBM([0.7, 0.4, 0.2], [0.9, 0.6, 0.2]), 6),
        ("first", PBM([0.7, 0.4, 0.2], [0.9, 0.6, 0.2]), 2),
        ("decreasing", PBM([0.7, 0.4, 0.2], [0.9, 0.6, 0.2]), 1),
        ("any", MNL([0.7, 0.4, 0.2], [0.9, 0.6, 0.2]), 6),
        ("any", Cascade([0.7, 0.4, 0.2, 0.1], 3), 1),
    ],
)
def test_which_positions_are_shuffled(
    monkeypatch: pytest.MonkeyPatch, positions: str, model: ClickModel, orders: int
) -> None:
    """Sixty runs miss one of six orders with a probability below 6 (5/6)^60 < 2e-4."""
    assert len(losses(monkeypatch, positions, model)) == orders


def test_clicks_that_a_policy_does_not_assume_leave_positions_in_order() -> None:
    """CascadeUCB1 puts the best item first: shuffled, it would lose for no fault of its own."""
    page = PBM([0.9, 0.5, 0.1], [1.0, 0.1])
    result = cr.simulate("cascade-ucb1", page, 2000, runs=4, allow_mismatch=True)
    lost = result.regret[:, -1] - result.regret[:, result.checkpoints.searchsorted(1000)]
    assert (lost < 1000 * (page.value([0, 1]) - page.value([1, 0]))).all()


@pytest.mark.parametrize("counted", [None, 2])
def test_users_and_regret_are_those_of_the_page(counted: int | None) -> None:
    """A policy without a view of its own on positions plays as if nothing were shuffled."""
    result = cr.simulate("pbm-ucb", PAGE, 300, runs=4, seed=5, counted_positions=counted)
    counts = PAGE if counted is None else PAGE.first_positions(counted)
    for run in range(4):
        rng = streams(5, run)
        users = PAGE.relabelled(rng.items.permutation(4))
        learner = cr.Learner(cr.policy("pbm-ucb", model=PAGE), 4, 3)
        regret = 0.0
        for _ in range(300):
            ranking, memo = learner.rank(rng.policy)
            learner.update(ranking, memo, users.sample(ranking, rng.users))
            shown = users.relabelled(np.arange(4)) if counted is None else users.first_positions(2)
            regret += counts.best_value() - shown.value(ranking[:counted])
        assert result.regret[run, -1] == pytest.approx(regret, abs=1e-9), run


def test_what_a_policy_is_given_of_positions_is_shuffled_with_them() -> None:
    order = np.array([2, 0, 1])
    spec = relabelled_positions(cr.policy("pbm-ts", model=PAGE), order)
    assert spec == cr.policy("pbm-ts", examination=[0.5, 0.3, 0.9])
    assert cr.simulate("oracle", PAGE, 10, runs=5).regret.max() == 0.0
