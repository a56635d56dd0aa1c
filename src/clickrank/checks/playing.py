"""What the checks of policies have in common: an easy click model, and rounds played on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank._jit import kernel_for
from clickrank._rng import streams
from clickrank.checks.clickmodels import example_parameters
from clickrank.clickmodels import CLICK_MODELS, ClickModel, LinearAttraction
from clickrank.clickmodels.base import source_of as model_source
from clickrank.policies import Learner, Policy
from clickrank.policies import policy as make_policy
from clickrank.policies.base import source_of as policy_source
from clickrank.simulate.loop import advance, new_progress
from clickrank.types import Ints

#: Builds the policy to check for a click model and a horizon.
Make = Callable[[ClickModel, int], Policy]

HORIZON = 400


def by_name(cls: type[Policy]) -> Make:
    """Return the builder that fills a spec's known parameters from the model, and defaults."""
    return lambda model, horizon: make_policy(cls.name, model=model, horizon=horizon)


def matched_model(cls: type[Policy], n_items: int, n_positions: int) -> ClickModel:
    """Return an easy click model that the policy assumes: attractions far apart."""
    assumed = CLICK_MODELS[(*cls.assumes.click_models, "pbm")[0]]
    values = example_parameters(assumed, n_items, n_positions, seed=0)[0]
    for name, value in values.items():
        if name == "attraction":
            values[name] = np.linspace(0.9, 0.1, n_items)
            if cls.assumes.features:  # as many as items, so that any attractions are linear in them
                values[name] = LinearAttraction(np.eye(n_items), values[name])
        elif np.ndim(value) == 1:
            values[name] = np.linspace(0.9, 0.5, n_positions)
    build: Any = assumed
    made: ClickModel = build(**values)
    return made


Log = list[tuple[Ints, Ints, Ints]]


def learner_for(cls: type[Policy], make: Make) -> tuple[Learner, ClickModel]:
    """Return a learner of six items and three positions, and its users."""
    model = matched_model(cls, 6, 3)
    return Learner(make(model, HORIZON), 6, 3), model


def play(learner: Learner, model: ClickModel, rounds: int, seed: int) -> Log:
    """Play some rounds, and return what was shown with its memos and clicks."""
    rng = streams(seed, 0)
    return play_with(learner, model, rounds, rng.policy, rng.users)


def play_with(
    learner: Learner,
    model: ClickModel,
    rounds: int,
    policy_rng: np.random.Generator,
    user_rng: np.random.Generator,
) -> Log:
    """Play some rounds with generators that go on."""
    log: Log = []
    for _ in range(rounds):
        ranking, memo = learner.rank(policy_rng)
        clicks = model.sample(ranking, user_rng)
        learner.update(ranking, memo, clicks)
        log.append((ranking, memo, clicks))
    return log


def rankings_of_run(
    learner: Learner,
    model: ClickModel,
    rounds: int,
    policy_rng: np.random.Generator,
    user_rng: np.random.Generator,
) -> Ints:
    """Play some rounds as `play_with`, in compiled code alone; return the rankings, one a row."""
    play = kernel_for(advance, policy_source(learner.policy), model_source(model))
    # With a place for each round, the ring of what is in flight keeps all that was shown.
    progress = new_progress(learner.n_positions, learner.memo_size, delay=0, batch=rounds)
    end, regret = np.array([rounds]), np.zeros(1)
    rngs = policy_rng, user_rng
    play(
        learner.params, learner.state, model.params, 0.0, *rngs, progress,
        rounds, 0, 1, end, regret, learner.n_positions,
    )  # fmt: skip
    return progress.rankings


def assert_same(one: dict[str, NDArray[Any]], two: dict[str, NDArray[Any]], message: str) -> None:
    """Compare arrays by name."""
    for name, array in one.items():
        assert np.array_equal(array, two[name]), f"{message} {name!r}"
