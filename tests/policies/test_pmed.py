"""PMED: its plan, its queue, and what happens at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clickrank._core.arrays import Floats
from clickrank._core.rng import streams
from clickrank.clickmodels import PBM
from clickrank.errors import InvalidValue
from clickrank.learning import Learner
from clickrank.numerics.exploration_program import exploration_amounts
from clickrank.numerics.pbm_maximum import estimate_pbm
from clickrank.policies import PMED
from clickrank.policies.pmed import MOST_ROUNDS, TOLERANCE, State

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
    assert learner.state.weights[0] > 0.0
    learner.state.weights[0] = -1.0
    learner.cache.size[0] = 0
    shown = [tuple(learner.rank()[0].tolist()) for _ in range(6)]
    assert rotations(5, 3) <= set(shown)


@pytest.mark.parametrize("examination", [[0.9, 0.5, 0.3], [0.3, 0.9, 0.5]])
def test_the_best_list_goes_to_the_most_examined_positions(examination: list[float]) -> None:
    model = PBM(MODEL.attraction, examination)
    learner = played(model, 3000)
    shown = [tuple(learner.rank()[0].tolist()) for _ in range(60)]
    best = tuple(model.best_ranking().tolist())
    assert shown.count(best) == max(shown.count(each) for each in shown)


def amounts_of(state: State) -> Floats:
    """Return how much the plan shows of each item, by rank, at each position, by rank."""
    amounts = np.zeros((5, 3))
    for s in range(np.count_nonzero(state.weights)):
        assert len(set(state.lists[s].tolist())) == 3
        amounts[state.lists[s], np.arange(3)] += state.weights[s]
    amounts[np.arange(3), np.arange(3)] = 0.0  # the best list itself is not asked for
    return amounts


def test_the_plan_is_the_program_of_the_estimates() -> None:
    """The lists of a plan add up to the amounts; these are near those of the true parameters."""
    learner = played(MODEL, 5000, PMED(renewal=0.0))
    amounts = amounts_of(learner.state)
    assert amounts.max() > 0

    estimates = estimate_pbm(learner.state.clicks, learner.state.misses)
    x, y = -np.sort(-estimates.log_theta), -np.sort(-estimates.log_kappa)
    assert min(-np.diff(x)[:3].max(), -np.diff(y).max()) > 1.0 / math.sqrt(5002)
    wanted, cost = exploration_amounts(x, y, TOLERANCE, MOST_ROUNDS)
    assert amounts == pytest.approx(wanted, rel=1e-6, abs=1e-6 * amounts.max())
    mu = np.exp(x[:, None] + y)
    assert (amounts * (np.diag(mu[:3]) - mu)).sum() == pytest.approx(cost, rel=1e-6)
    true = np.log(MODEL.attraction), np.log(MODEL.examination)
    assert cost == pytest.approx(exploration_amounts(*true, 0.01, 80)[1], rel=0.5)


def test_what_the_plan_asks_for_is_shown() -> None:
    learner = played(MODEL, 20_000)
    state = learner.state
    views = state.clicks + state.misses
    log_t = math.log(20_000)
    estimates = estimate_pbm(state.clicks, state.misses)
    order, places = np.argsort(-estimates.log_theta), np.argsort(-estimates.log_kappa)
    asked = amounts_of(state) * log_t
    short = np.maximum(asked - views[np.ix_(order, places)], 0.0).sum()
    assert short <= 0.1 * asked.sum()
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
        two.drop_cache()
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
        learner = Learner(PMED(renewal=0.01), model.n_items, model.n_positions, seed=seed)
        users = streams(seed, 0).users
        for _ in range(800):
            ranking, memo = learner.rank()
            learner.update(ranking, memo, model.sample(ranking, users))
            assert learner.state.weights.min() >= 0.0
        assert np.count_nonzero(learner.state.weights) >= (0 if model.n_items == 1 else 1)


def test_hinge_explores_where_estimates_tie() -> None:
    tied = PBM([0.5, 0.5, 0.5, 0.5], [1.0, 0.5])
    plain, hinge = (played(tied, 300, PMED(hinge=h, beta=0.2)) for h in (False, True))
    assert hinge.cache.log_theta.size == 4
    least = [int((each.state.clicks + each.state.misses).min()) for each in (plain, hinge)]
    assert least[1] > 50 > least[0]


def test_hinge_is_a_flag() -> None:
    with pytest.raises(InvalidValue, match=r"PMED: hinge must be True or False, got 'yes'"):
        PMED(hinge="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize("n_lists", [-1, 0, 2])
def test_weights_of_earlier_versions(n_lists: int) -> None:
    """Those after the lists of the plan, and these lists, were left from earlier plans."""
    learner = played(MODEL, 300)
    kept = {"lists": learner.state.lists.copy(), "weights": learner.state.weights.copy()}
    assert np.count_nonzero(kept["weights"]) > 2
    found = PMED().upgraded({**kept, "n_lists": np.array([n_lists])})
    of_plan = np.arange(kept["weights"].size) < n_lists
    want = np.where(of_plan, kept["weights"], 0.0)
    want[0] = -1.0 if n_lists < 0 else want[0]
    assert found["weights"].tolist() == want.tolist()
    assert found["lists"].tolist() == np.where(of_plan[:, None], kept["lists"], 0).tolist()
    assert PMED().upgraded(kept)["weights"] is kept["weights"]
