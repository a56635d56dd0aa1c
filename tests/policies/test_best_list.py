"""Policies of blocks and pairs come to show the best list."""

from __future__ import annotations

import numpy as np
import pytest

import clickrank as cr
from clickrank._core.rng import streams
from clickrank.clickmodels import PBM, Cascade
from clickrank.clickmodels.click_model import ClickModel
from clickrank.learning import Learner
from clickrank.policies import policy as make_policy

SQUARE = PBM([0.1, 0.9, 0.4, 0.6], [1.0, 0.9, 0.8, 0.7])


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


@pytest.mark.parametrize("name", ["toprank", "unirank"])
@pytest.mark.parametrize(
    "model", [PBM([0.6, 0.45, 0.3, 0.1], [1, 0.5]), Cascade([0.6, 0.5, 0.1], 2)], ids=["pbm", "cm"]
)
def test_comes_to_show_the_best_list(name: str, model: ClickModel) -> None:
    """After 10,000 rounds the lists shown are nearly all of the best value."""
    learner = Learner(make_policy(name, horizon=10_000), model.n_items, model.n_positions)
    rng = streams(10, 0)
    values: list[float] = []
    for _ in range(10_000):
        ranking, memo = learner.rank(rng.policy)
        learner.update(ranking, memo, model.sample(ranking, rng.users))
        values.append(model.value(ranking))
    best = model.value(model.best_ranking()) - 1e-12
    assert np.mean([value >= best for value in values[-1000:]]) > 0.9
