"""Rounds for the checks of policies: an easy click model, and functions that play on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank._compile.callbacks import Held
from clickrank._core.arrays import Floats, Ints
from clickrank._core.rng import streams
from clickrank.checks.click_model_checks import example_parameters
from clickrank.clickmodels import CLICK_MODELS, ClickModel, LinearAttraction
from clickrank.clickmodels.click_model import code_of as model_code
from clickrank.learning import Learner
from clickrank.learning.rounds import compiled_play
from clickrank.policies import Policy
from clickrank.policies import policy as make_policy
from clickrank.policies.contract import ANY_ITEMS
from clickrank.simulation.simulate_runs import in_flight
from clickrank.simulation.visits import showing, users_of

#: A function that builds the policy to check for a click model and a horizon.
Make = Callable[[ClickModel, int], Policy]

HORIZON = 400


def by_name(cls: type[Policy]) -> Make:
    """Return the builder that takes known parameters from the model, and otherwise defaults."""
    return lambda model, horizon: make_policy(cls.name, model=model, horizon=horizon)


def matched_model(cls: type[Policy], n_items: int, n_positions: int) -> ClickModel:
    """Return an easy click model that fits the policy's assumptions: attractions far apart.

    It has one position if the policy assumes that.
    """
    if cls.assumes.positions == "one":
        n_positions = 1
    assumed = CLICK_MODELS[(*cls.assumes.click_models, cls.checked_on)[0]]
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
    """Return a learner of six items and three positions, or one position, and its click model."""
    model = matched_model(cls, 6, 3)
    return Learner(make(model, HORIZON), 6, model.n_positions), model


def play(learner: Learner, model: ClickModel, rounds: int, seed: int) -> Log:
    """Play some rounds, and return the rankings with their memos and clicks."""
    rng = streams(seed, 0)
    return play_with(learner, model, rounds, rng.policy, rng.users)


def play_with(
    learner: Learner,
    model: ClickModel,
    rounds: int,
    policy_rng: np.random.Generator,
    user_rng: np.random.Generator,
) -> Log:
    """Play some rounds with given generators."""
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
    """Play rounds like `play_with`, in compiled code; return the rankings, one per row."""
    return _play(learner, model, rounds, policy_rng, user_rng)[0]


def reward_of_run(
    learner: Learner,
    model: ClickModel,
    rounds: int,
    policy_rng: np.random.Generator,
    user_rng: np.random.Generator,
) -> float:
    """Play rounds like `play_with`, in compiled code; return their total expected reward."""
    return -_play(learner, model, rounds, policy_rng, user_rng)[1]


def _play(
    learner: Learner,
    model: ClickModel,
    rounds: int,
    policy_rng: np.random.Generator,
    user_rng: np.random.Generator,
) -> tuple[Ints, float]:
    """Return the rankings, one per row, and the regret compared with a reward of 0."""
    positions = np.arange(learner.n_positions)
    users = users_of(model, user_rng, positions, 0.0, learner.n_positions, np.array([rounds]))
    # Both are used by their addresses: these variables keep them alive.
    held_users, held_rng = Held(users, model_code(model)), Held(policy_rng)
    # With one slot per round, the ring of impressions in flight keeps everything that was shown.
    flying = in_flight(learner, rounds)
    fixed = learner.params, learner.state, learner.cache, ANY_ITEMS, held_rng.address
    compiled_play(learner.policy)(*fixed, showing(held_users, model), *flying, 0, 0, rounds, 0, 1)
    return flying[0], float(users.total[0])


def assert_same(one: dict[str, NDArray[Any]], two: dict[str, NDArray[Any]], message: str) -> None:
    """Compare arrays by name."""
    for name, array in one.items():
        assert np.array_equal(array, two[name]), f"{message} {name!r}"


def assert_same_views(one: Floats, two: Floats, errors: float, rule: str) -> None:
    """Raise if the mean views of two samples, (runs, items, positions), differ by many errors."""
    difference = np.abs(one.mean(axis=0) - two.mean(axis=0))
    error = np.sqrt((one.var(axis=0, ddof=1) + two.var(axis=0, ddof=1)) / len(one))
    worst = float((difference - errors * error).max())
    assert worst <= 1e-9, (
        f"{rule}; mean views by item and position differ by {difference.round(2).tolist()}"
    )
