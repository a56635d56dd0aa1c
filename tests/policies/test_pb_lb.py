"""PB-LB: its steps follow the gradient, and stay between 0 and 1."""

import math

import numpy as np
import pytest
from scipy import stats

from clickrank._compile.jit import kernel
from clickrank._core.arrays import Floats
from clickrank.learning import Learner
from clickrank.policies import PBLB, pb_lb
from clickrank.policies._shared.particle import Particle

# Small counts, so that the posterior is wide and skew: an item without a click, one with few misses
# where few people look (so that pseudo-view's maximum matters), and one with more of both.
CLICKS = np.array([[0, 0], [1, 4], [3, 2]])
MISSES = np.array([[3, 1], [1, 1], [4, 9]])
STEPS, BATCHES = 1_000_000, 50


def test_gradient() -> None:
    """What a step adds to its noise, against differences of the log-likelihood."""
    state = pb_lb.State(
        rounds=np.zeros(1, dtype=np.int64),
        misses=MISSES,
        item_clicks=CLICKS.sum(axis=1),
        position_clicks=CLICKS.sum(axis=0),
    )
    place = np.array([0.2, 0.6, 0.9, 0.8, 0.3])
    particle = Particle(np.ones(1, dtype=np.int64), place[:3].copy(), place[3:].copy())
    size = 1e-6  # too small to reach 0 or 1, where steps are reflected
    pb_lb.step(size, state, particle, np.random.default_rng(0))
    noise = math.sqrt(2.0 * size) * np.random.default_rng(0).standard_normal(5)
    moved = np.concatenate([particle.attraction, particle.examination])
    found = (moved - place - noise) / size

    def log_likelihood(x: Floats) -> float:
        p = np.outer(x[:3], x[3:])
        return float((CLICKS * np.log(p) + MISSES * np.log1p(-p)).sum())

    for j in range(5):
        step = np.eye(5)[j] * 1e-6
        want = (log_likelihood(place + step) - log_likelihood(place - step)) / 2e-6
        assert found[j] == pytest.approx(want, rel=1e-7)


@kernel
def slide(
    size: float, state: pb_lb.State, particle: Particle, rng: np.random.Generator, out: Floats
) -> None:
    n_items = particle.attraction.shape[0]
    for s in range(out.shape[0]):
        pb_lb.step(size, state, particle, rng)
        out[s, :n_items] = particle.attraction
        out[s, n_items:] = particle.examination


def in_the_middle(n_items: int, n_positions: int) -> Particle:
    return Particle(np.ones(1, dtype=np.int64), np.full(n_items, 0.5), np.full(n_positions, 0.5))


def test_reflected_steps_keep_the_uniform_distribution() -> None:
    """Without data a particle must be uniform. Clipping would leave it at the edges too often."""
    out = np.empty((STEPS, 4))
    slide(0.02, PBLB().init(2, 2), in_the_middle(2, 2), np.random.default_rng(2), out)
    limit = stats.t.isf(1e-6 / 12 / 2, BATCHES - 1)
    for power in (1, 2, 3):
        batches = (out**power).reshape(BATCHES, -1, 4).mean(axis=1)
        error = batches.std(axis=0, ddof=1) / math.sqrt(BATCHES)
        assert (np.abs(batches.mean(axis=0) - 1.0 / (power + 1)) < limit * error).all()


def test_particles_stay_inside() -> None:
    """Even with steps so large that each gradient throws the particle far out."""
    learner = Learner(PBLB(step_size=1e6), 4, 2, seed=0)
    rng = np.random.default_rng(3)
    for _ in range(300):
        ranking, memo = learner.rank()
        learner.update(ranking, memo, rng.integers(0, 2, 2))
        particle = learner.cache.cache
        for part in (particle.attraction, particle.examination):
            assert ((part > 0.0) & (part < 1.0)).all()


def test_small_steps_find_the_posterior_mean() -> None:
    """With data, small steps come close to the posterior, here of θ where κ hardly moves it.

    Discrete steps are off by O(√h); this is a coarse check that gradient and noise go together.
    """
    state = PBLB().init(1, 1)
    state.misses[:], state.item_clicks[:], state.position_clicks[:] = 12, 8, 8
    out = np.empty((2_000_000, 2))
    slide(1e-4, state, in_the_middle(1, 1), np.random.default_rng(4), out)
    grid = (np.arange(1000) + 0.5) / 1000
    p = np.outer(grid, grid)
    weights = p**8 * (1.0 - p) ** 12
    weights /= weights.sum()
    products = out[:, 0] * out[:, 1]
    assert products.mean() == pytest.approx((weights * p).sum(), abs=0.01)
    assert products.std() == pytest.approx(
        math.sqrt((weights * p**2).sum() - (weights * p).sum() ** 2), rel=0.05
    )
