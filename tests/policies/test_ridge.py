"""Ridge regression, and draws from the posterior of its weights."""

import numpy as np
import pytest

from clickrank._core.arrays import Floats
from clickrank._core.rng import streams
from clickrank.clickmodels import Cascade, LinearAttraction
from clickrank.learning import Learner
from clickrank.numerics.jacobi_pseudo_inverse import factor_pseudo_inverse
from clickrank.policies import CascadeLinUCB, policy
from clickrank.policies._shared.ridge import fit, invert_factor, perturb


def users_of(n_items: int, n_positions: int, seed: int) -> Cascade:
    """Return users of many items, a third of which have the features of others."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n_items, 3))
    vectors[: n_items // 3] = vectors[-(n_items // 3) :]
    attraction = LinearAttraction.normalised(vectors, rng.normal(size=3))
    return Cascade(LinearAttraction(attraction.features, attraction.weights / 2), n_positions)


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
