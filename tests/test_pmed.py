"""PMED: its plan, its queue, and what happens at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clickrank._rng import streams
from clickrank.clickmodels import PBM
from clickrank.errors import InvalidValue
from clickrank.learning import Learner
from clickrank.numerics.exploration_program import solve_program, workspace
from clickrank.numerics.pbm_likelihood import maximise_likelihood
from clickrank.policies import PMED

MODEL = PBM([0.6, 0.5, 0.3, 0.2, 0.1], [0.9, 0.5, 0.3])


def played(model: PBM, rounds: int, spec: PMED | None = None, seed: int = 0) -> Learner:
    learner = Learner(spec or PMED(), model.n_items, model.n_positions, seed=seed)
    users = streams(seed, 0).users
    for _ in range(rounds):
        ranking, memo = learner.rank()
        learner.update(ranking, memo, model.sample(ranking, users))
    return learner


def rotations(n_items: int, n_positions: int) -> set[tuple[int, ...]]:
    return {tuple((i + k) % n_items for k in range(n_positions)) for i in range(n_items)}


def test_before_feedback_every_rotation_is_shown() -> None:
    """As many lists as one likes may be in flight: each loop shows each rotation again."""
    learner = Learner(PMED(), 5, 3, seed=0)
    for _ in range(4):
        shown = [tuple(learner.rank()[0].tolist()) for _ in range(6)]
        assert rotations(5, 3) <= set(shown)


def test_where_the_program_failed_every_rotation_is_shown() -> None:
    learner = played(MODEL, 300)
    assert learner.state.failures[0] == 0
    learner.state.n_lists[0] = -1
    learner.state.size[0] = 0
    shown = [tuple(learner.rank()[0].tolist()) for _ in range(6)]
    assert rotations(5, 3) <= set(shown)


@pytest.mark.parametrize("examination", [[0.9, 0.5, 0.3], [0.3, 0.9, 0.5]])
def test_the_best_list_goes_to_the_most_examined_positions(examination: list[float]) -> None:
    model = PBM(MODEL.attraction, examination)
    learner = played(model, 3000)
    shown = [tuple(learner.rank()[0].tolist()) for _ in range(60)]
    best = tuple(model.best_ranking().tolist())
    assert shown.count(best) == max(shown.count(each) for each in shown)


def test_the_plan_is_the_program_of_the_estimates() -> None:
    """The lists of a plan add up to the amounts; these are near those of the true parameters."""
    learner = played(MODEL, 5000)
    state = learner.state
    amounts = np.zeros((5, 3))
    for s in range(state.n_lists[0]):
        assert len(set(state.lists[s].tolist())) == 3
        amounts[state.lists[s], np.arange(3)] += state.weights[s]
    off = ~np.eye(5, 3, dtype=bool)
    assert amounts[off] == pytest.approx(state.amounts[off], rel=1e-6, abs=1e-6 * amounts.max())
    assert state.amounts.max() > 0

    work = workspace(5, 3)
    x, y = np.log(MODEL.attraction), np.log(MODEL.examination)
    _, cost = solve_program(work, x, y, 0.01, 80)
    estimated = sum(
        state.amounts[i, k] * (state.mu[k, k] - state.mu[i, k]) for i in range(5) for k in range(3)
    )
    assert estimated == pytest.approx(cost, rel=0.5)


def test_what_the_plan_asks_for_is_shown() -> None:
    learner = played(MODEL, 20_000)
    state = learner.state
    views = state.clicks + state.misses
    log_t = math.log(20_000)
    short = 0.0
    for i in range(5):
        for k in range(3):
            if i != k:
                asked = state.amounts[i, k] * log_t
                short += max(0.0, asked - views[state.order[i], state.places[k]])
    assert short <= 0.1 * state.amounts.sum() * log_t
    # and little more: four in five lists were the best one.
    best = views[MODEL.best_ranking(), np.arange(3)]
    assert best.min() > 16_000


def test_least_exploration() -> None:
    learner = played(MODEL, 2000, PMED(alpha=20.0))
    views = learner.state.clicks + learner.state.misses
    assert views.min() >= 20 * math.sqrt(math.log(2000)) - 2


def test_where_the_fit_starts_does_not_matter() -> None:
    """A learner that forgets its last estimate before every round shows the same lists."""
    one, two = (Learner(PMED(), 5, 3, seed=3) for _ in range(2))
    users = streams(3, 0).users
    for t in range(600):
        two.state.fitted[0] = 0
        (ranking, memo), (other, _) = one.rank(), two.rank()
        assert ranking.tolist() == other.tolist(), t
        clicks = MODEL.sample(ranking, users)
        one.update(ranking, memo, clicks)
        two.update(ranking, memo, clicks)


@pytest.mark.parametrize(
    "model",
    [
        PBM([0.5] * 6, [1.0] * 4),
        PBM([0.0] * 6, [1.0] * 4),
        PBM([1.0] * 4, [1.0] * 4),
        PBM([1.0, 0.0, 1.0, 0.0], [1.0, 0.0]),
        PBM([0.01, 0.011, 0.012, 0.013, 0.014], [1.0, 0.99, 0.01]),
        PBM([0.7], [0.5]),
        PBM([0.7, 0.6], [0.5, 0.4]),
    ],
    ids=str,
)
def test_the_program_never_fails(model: PBM) -> None:
    for seed in range(2):
        learner = played(model, 800, PMED(renewal=0.01), seed)
        assert learner.state.failures[0] == 0
        assert learner.state.n_lists[0] >= (0 if model.n_items == 1 else 1)


def test_hinge_explores_where_estimates_tie() -> None:
    tied = PBM([0.5, 0.5, 0.5, 0.5], [1.0, 0.5])
    plain, hinge = (played(tied, 300, PMED(hinge=h, beta=0.2)) for h in (False, True))
    assert hinge.state.log_theta.size == 4
    least = [int((each.state.clicks + each.state.misses).min()) for each in (plain, hinge)]
    assert least[1] > 50 > least[0]


def test_hinge_is_a_flag() -> None:
    with pytest.raises(InvalidValue, match=r"PMED: hinge must be True or False, got 'yes'"):
        PMED(hinge="yes")  # type: ignore[arg-type]


def test_the_fit_settles_where_the_first_position_is_examined_least() -> None:
    """x + y cancels there: at 10,000,000 views no step is small beside the distance from 1."""
    clicks = np.full((4, 3), 10**7)
    clicks[:, 0] //= 2
    misses = 10**7 - clicks
    x, y = np.full(4, math.log(0.5)), np.array([0.0, 0.6, 0.6])
    room = np.zeros(4), np.zeros(3), np.zeros((4, 3)), np.zeros((3, 3))
    assert maximise_likelihood(clicks, misses, x, y, *room)
    assert np.exp(x[:, None] + y) == pytest.approx(clicks / 10**7, abs=1e-6)
