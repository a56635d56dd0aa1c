"""CascadeLinUCB and CascadeLinTS: regression, draws and lists against direct computation."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from clickrank._core.arrays import Floats
from clickrank._core.rng import streams
from clickrank.clickmodels import Cascade, LinearAttraction
from clickrank.errors import DoesNotApply, InvalidValue
from clickrank.learning import Learner
from clickrank.numerics.jacobi_pseudo_inverse import factor_pseudo_inverse
from clickrank.policies import CascadeLinTS, CascadeLinUCB, policy
from clickrank.policies._shared.ridge import fit, invert_factor, perturb

CASES: list[tuple[str, dict[str, Any]]] = [
    ("cascade-lin-ucb", {"width": 0.3, "sigma": 0.2}),
    ("cascade-lin-ts", {"sigma": 0.1}),
]


def users_of(n_items: int, n_positions: int, seed: int) -> Cascade:
    """Return users of many items, a third of which have the features of others."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n_items, 3))
    vectors[: n_items // 3] = vectors[-(n_items // 3) :]
    attraction = LinearAttraction.normalised(vectors, rng.normal(size=3))
    return Cascade(LinearAttraction(attraction.features, attraction.weights / 2), n_positions)


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
    ours, theirs = streams(6, 0), streams(6, 0)
    for t in range(2000):
        fresh.drop_cache()
        ranking, memo = lazy.rank(ours.policy)
        want, _ = fresh.rank(theirs.policy)
        assert ranking.tolist() == want.tolist(), f"round {t}"
        clicks = users.sample(ranking, ours.users)
        lazy.update(ranking, memo, clicks)
        fresh.update(want, memo, clicks)
    for field, array in lazy.statistics().items():
        assert np.array_equal(array, fresh.statistics()[field]), field


def fitted(sigma: float, rounds: int) -> tuple[Learner, Floats, Floats]:
    """Return a learner after some rounds, and the features and clicks of what was looked at."""
    users = users_of(30, 3, seed=3)
    spec = policy("cascade-lin-ts", model=users, sigma=sigma)
    learner = Learner(spec, 30, 3)
    rng = streams(7, 0)
    seen, clicked = [], []
    for _ in range(rounds):
        ranking, memo = learner.rank(rng.policy)
        clicks = users.sample(ranking, rng.users)
        learner.update(ranking, memo, clicks)
        stop = int(np.argmax(clicks)) + 1 if clicks.any() else 3
        seen += users.features.values[ranking[:stop]].tolist()
        clicked += clicks[:stop].tolist()
    return learner, np.array(seen), np.array(clicked, dtype=np.float64)


def regression(learner: Learner) -> tuple[Floats, Floats]:
    """Return θ̂, and W with WᵀW = M⁻¹."""
    d = learner.state.response.size
    inverse, weights = np.zeros((d, d)), np.zeros(d)
    invert_factor(learner.state.gram, np.zeros((d, d)), inverse)
    fit(inverse, learner.state.response, learner.params.precision, weights)
    return weights, inverse


@pytest.mark.parametrize("sigma", [1.0, 0.3])
def test_weights_are_those_of_ridge_regression(sigma: float) -> None:
    """θ̂ minimises Σ (click - ⟨x, θ⟩)²/σ² + ‖θ‖²: least squares with one more row a feature."""
    learner, seen, clicked = fitted(sigma, 300)
    weights, inverse = regression(learner)
    d = seen.shape[1]
    rows = np.vstack([seen / sigma, np.eye(d)])
    want = np.linalg.lstsq(rows, np.append(clicked / sigma, np.zeros(d)), rcond=None)[0]
    assert weights == pytest.approx(want, rel=1e-9, abs=1e-11)
    gram = np.eye(d) + seen.T @ seen / sigma**2
    assert np.tril(learner.state.gram) == pytest.approx(np.tril(gram), rel=1e-12)
    assert inverse.T @ inverse == pytest.approx(np.linalg.inv(gram), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("rank", "size"), [(0, 3), (1, 4), (3, 5), (5, 5), (1, 1)])
def test_pseudo_inverse(rank: int, size: int) -> None:
    x = np.random.default_rng(rank).normal(size=(rank, size))
    gram = x.T @ x
    factor = np.zeros((size, size))
    factor_pseudo_inverse(np.tril(gram), np.zeros((size, size)), factor)
    want = np.linalg.pinv(gram, rcond=1e-12, hermitian=True)
    assert factor.T @ factor == pytest.approx(want, rel=1e-9, abs=1e-11)


def test_draws_have_the_mean_and_covariance_of_the_posterior() -> None:
    learner, seen, _ = fitted(0.5, 60)
    mean, inverse = regression(learner)
    rng = np.random.default_rng(0)
    draws = np.empty((20_000, mean.size))
    for draw in draws:
        perturb(inverse, mean, rng, draw)
    want = np.linalg.inv(np.eye(4) + seen.T @ seen / 0.25)
    scale = np.linalg.cholesky(np.linalg.inv(want))
    white = (draws - mean) @ scale  # independent standard normals
    assert np.abs(white.mean(axis=0)).max() < 5.5 / np.sqrt(20_000)
    assert np.abs(np.cov(white.T) - np.eye(4)).max() < 5.5 * np.sqrt(2 / 20_000)


def test_order_of_feedback_does_not_matter() -> None:
    """Statistics are sums: with features that add up without rounding, equal in any order."""
    features = np.random.default_rng(4).integers(-3, 4, (12, 3)).astype(float)
    spec = CascadeLinUCB(features, width=1.0)  # type: ignore[arg-type]
    one, two = Learner(spec, 12, 3, seed=0), Learner(spec, 12, 3)
    rng = np.random.default_rng(5)
    log = [(*one.rank(), rng.integers(0, 2, 3)) for _ in range(50)]
    for ranking, memo, clicks in log:
        one.update(ranking, memo, clicks)
    for ranking, memo, clicks in log[::-1]:
        two.update(ranking, memo, clicks)
    for field, array in one.statistics().items():
        assert np.array_equal(array, two.statistics()[field]), field


def test_a_better_item_never_seen_is_explored() -> None:
    """The bonus stays where nothing was seen: the click rates of others do not end exploration."""
    learner = Learner(CascadeLinUCB(np.eye(3), width=0.5), 3, 1, seed=0)  # type: ignore[arg-type]
    shown = set()
    for _ in range(50):
        ranking, memo = learner.rank()
        shown.add(int(ranking[0]))
        learner.update(ranking, memo, [0])
    assert shown == {0, 1, 2}


def test_the_square_as_bonus_stays_with_a_bad_list() -> None:
    """What the program of li2019's authors does where the first items happen to be clicked.

    After s clicks in s views item 0 has 1 + c/s, and the others nothing: S† does not know them.
    With the norm, and the identity in M, an unknown item has min(c, 1) = 1.
    """
    lists = {}
    for bonus in ("square", "norm"):
        spec = CascadeLinUCB(np.eye(3), horizon=1000, bonus=bonus)  # type: ignore[arg-type]
        learner = Learner(spec, 3, 1, seed=0)
        rng = np.random.default_rng(0)
        ranking, memo = learner.rank()
        learner.update(ranking, memo, [1])
        lists[bonus] = {int(ranking[0])}
        for _ in range(300):
            ranking, memo = learner.rank()
            lists[bonus].add(int(ranking[0]))
            learner.update(ranking, memo, [int(rng.random() < 0.3)])
    assert len(lists["square"]) == 1
    assert len(lists["norm"]) == 3


def test_width_of_the_square() -> None:
    """About 9, as in li2019's experiments."""
    widths = []
    for horizon in (500_000, 2_000_000, 5_000_000):
        spec = CascadeLinUCB(np.eye(5), horizon=horizon, bonus="square")  # type: ignore[arg-type]
        widths.append(spec.params(5, 2).width)
    assert widths == pytest.approx([8.59, 9.03, 9.31], abs=0.01)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "CascadeLinUCB: horizon must be given, or width"),
        ({"width": -1.0}, "CascadeLinUCB: width must be a number of at least 0"),
        ({"horizon": 0}, "CascadeLinUCB: horizon must be a whole number"),
        ({"width": 1.0, "sigma": 0.0}, "CascadeLinUCB: sigma must be above 0"),
        ({"width": 1.0, "bonus": "root"}, "CascadeLinUCB: bonus must be 'norm' or 'square'"),
    ],
)
def test_parameters(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        policy("cascade-lin-ucb", features=np.eye(2), **settings)
    with pytest.raises(DoesNotApply, match="features must be given"):
        policy("cascade-lin-ts", model=Cascade([0.5, 0.2], 1))
    with pytest.raises(InvalidValue, match="CascadeLinTS: features must have 3 rows"):
        Learner(CascadeLinTS(np.eye(2)), 3, 1)  # type: ignore[arg-type]
