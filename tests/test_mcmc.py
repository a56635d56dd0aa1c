"""PB-MHB's walk has the posterior for its limit, and PB-LB's steps follow its gradient."""

import math

import numpy as np
import pytest
from scipy import stats

from clickrank._jit import kernel
from clickrank.errors import InvalidValue
from clickrank.policies import PBLB, PBMHB, Learner, pb_lb, pb_mhb
from clickrank.policies.pb_mhb import PROPOSALS
from clickrank.types import Floats, Ints
from tests.twins.gauthier_2022_mcmc import PBLBTwin

# Small counts, so that the posterior is wide and skew: an item without a click, one with few misses
# where few people look (so that pseudo-view's maximum matters), and one with more of both.
CLICKS = np.array([[0, 0], [1, 4], [3, 2]])
MISSES = np.array([[3, 1], [1, 1], [4, 9]])

STEPS, BATCHES = 1_000_000, 50
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@kernel
def walk(
    proposal: int, deviation: float, state: pb_mhb.State, rng: np.random.Generator, out: Floats
) -> None:
    n_items = state.attraction.shape[0]
    for s in range(out.shape[0]):
        pb_mhb.step(proposal, deviation, state, rng)
        out[s, :n_items] = state.attraction
        out[s, n_items] = state.examination[1]


def counted(clicks: Ints, misses: Ints) -> pb_mhb.State:
    state = PBMHB().init(*clicks.shape)
    state.clicks[:] = clicks
    state.misses[:] = misses
    state.item_clicks[:] = clicks.sum(axis=1)
    state.position_clicks[:] = clicks.sum(axis=0)
    return state


def marginals(clicks: Ints, misses: Ints) -> tuple[Floats, Floats]:
    """Midpoints of a grid, and the probabilities of the cells for each θ_i and for κ_2.

    Given κ_2 the θ_i are independent, so sums over a two-dimensional grid are enough.
    """
    grid = (np.arange(1000) + 0.5) / 1000
    theta, kappa = grid[:, None], grid[None, :]
    joint = []
    for s, f in zip(clicks, misses, strict=True):
        log = s[0] * np.log(theta) + f[0] * np.log1p(-theta)
        joint.append(np.exp(log + s[1] * np.log(theta * kappa) + f[1] * np.log1p(-theta * kappa)))
    sums = [table.sum(axis=0) for table in joint]
    rows = []
    for i, table in enumerate(joint):
        others = np.prod([total for j, total in enumerate(sums) if j != i], axis=0)
        rows.append(table @ others)
    rows.append(np.prod(sums, axis=0))
    return grid, np.array([row / row.sum() for row in rows])


@pytest.mark.parametrize(
    ("proposal", "deviation"),
    [
        ("truncated-gaussian", 0.25),
        ("truncated-gaussian", 0.8),
        ("truncated-gaussian", 100.0),
        ("logit-gaussian", 1.5),
        ("pseudo-view", 0.0),
        ("max-pos", 0.0),
    ],
)
def test_the_limit_is_the_posterior(proposal: str, deviation: float) -> None:
    """Means, second moments and distribution functions, with errors from means over batches.

    The 28 numbers of the six cases are t-distributed about what integration gives; all together
    are false alarms with a probability below 1e-4. The grid's error is a hundredth of theirs.
    """
    state = counted(CLICKS, MISSES)
    rng = np.random.default_rng(11)
    pb_mhb._start(False, state, rng)
    draws = np.empty((STEPS, 4))
    walk(PROPOSALS.index(proposal), deviation, state, rng, draws)
    grid, weights = marginals(CLICKS, MISSES)
    limit = stats.t.isf(1e-4 / (6 * 28) / 2, BATCHES - 1)
    for variable in range(4):
        x, cells = draws[:, variable], weights[variable]
        edges = np.append(0.0, np.cumsum(cells))
        for want, values in [
            (cells @ grid, x),
            (cells @ grid**2, x**2),
            *(
                (q, x < np.interp(q, edges, np.arange(1001) / 1000))  # at this quantile
                for q in QUANTILES
            ),
        ]:
            batches = values.reshape(BATCHES, -1).mean(axis=1)
            error = batches.std(ddof=1) / math.sqrt(BATCHES)
            assert 0.0 < error < 0.01
            gap = abs(batches.mean() - want)
            assert gap < limit * error, f"variable {variable}: {gap / error} errors off"


def test_logarithms_are_those_of_the_particle() -> None:
    """What is kept between rounds does not drift: it is replaced, never added to."""
    learner = Learner(PBMHB(width=3.0), 6, 3, seed=0)
    rng = np.random.default_rng(1)
    for _ in range(500):
        ranking, memo = learner.rank()
        learner.update(ranking, memo, rng.integers(0, 2, 3))
        state = learner.state
        want = np.log(1.0 - np.outer(state.attraction, state.examination))
        assert np.allclose(state.miss_logs, want, rtol=1e-14, atol=0.0)
        assert state.examination[0] == 1.0


def test_best_item_goes_to_the_largest_examination() -> None:
    learner = Learner(PBMHB(), 5, 3, seed=0)
    for _ in range(50):
        ranking, memo = learner.rank()
        learner.update(ranking, memo, [0, 0, 1])  # the third position is the best one
        theta, kappa = learner.state.attraction, learner.state.examination
        best = np.argsort(-theta)[:3]
        assert ranking[np.argsort(-kappa)].tolist() == best.tolist()


@pytest.mark.parametrize("field", ["proposal", "start"])
def test_names_are_checked(field: str) -> None:
    with pytest.raises(InvalidValue, match=f"PBMHB: {field} must be one of .*, got 'none'"):
        PBMHB(**{field: "none"})  # type: ignore[arg-type]


def test_gradient() -> None:
    """Against differences of the log-likelihood."""
    twin = PBLBTwin(PBLB(), 3, np.ones(2))
    twin.clicks[:], twin.views[:] = CLICKS, CLICKS + MISSES
    place = np.array([0.2, 0.6, 0.9, 0.8, 0.3])

    def log_likelihood(x: Floats) -> float:
        p = np.outer(x[:3], x[3:])
        return float((CLICKS * np.log(p) + MISSES * np.log1p(-p)).sum())

    found = np.concatenate(twin.gradient(place[:3].tolist(), place[3:].tolist()))
    for j in range(5):
        step = np.eye(5)[j] * 1e-6
        want = (log_likelihood(place + step) - log_likelihood(place - step)) / 2e-6
        assert found[j] == pytest.approx(want, rel=1e-7)


@kernel
def slide(size: float, state: pb_lb.State, rng: np.random.Generator, out: Floats) -> None:
    n_items = state.attraction.shape[0]
    for s in range(out.shape[0]):
        pb_lb._step(size, state, rng)
        out[s, :n_items] = state.attraction
        out[s, n_items:] = state.examination


def test_reflected_steps_keep_the_uniform_distribution() -> None:
    """Without data a particle must be uniform. Clipping would leave it at the edges too often."""
    state = PBLB().init(2, 2)
    state.attraction[:] = state.examination[:] = 0.5
    out = np.empty((STEPS, 4))
    slide(0.02, state, np.random.default_rng(2), out)
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
        for part in (learner.state.attraction, learner.state.examination):
            assert ((part > 0.0) & (part < 1.0)).all()


def test_small_steps_find_the_posterior_mean() -> None:
    """With data, small steps come close to the posterior, here of θ where κ hardly moves it.

    Discrete steps are off by O(√h); this is a coarse check that gradient and noise go together.
    """
    state = PBLB().init(1, 1)
    state.misses[:], state.item_clicks[:], state.position_clicks[:] = 12, 8, 8
    state.attraction[:] = state.examination[:] = 0.5
    out = np.empty((2_000_000, 2))
    slide(1e-4, state, np.random.default_rng(4), out)
    grid = (np.arange(1000) + 0.5) / 1000
    p = np.outer(grid, grid)
    weights = p**8 * (1.0 - p) ** 12
    weights /= weights.sum()
    products = out[:, 0] * out[:, 1]
    assert products.mean() == pytest.approx((weights * p).sum(), abs=0.01)
    assert products.std() == pytest.approx(
        math.sqrt((weights * p**2).sum() - (weights * p).sum() ** 2), rel=0.05
    )
