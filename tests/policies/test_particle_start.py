"""Particles of PB-MHB and PB-LB that start from statistics."""

from typing import Any

import numpy as np
import pytest
from scipy import optimize

from clickrank._compile.jit import kernel
from clickrank._core.arrays import Floats, Ints, statistic_fields
from clickrank.checks.playing import rankings_of_run
from clickrank.clickmodels import PBM
from clickrank.learning import Learner
from clickrank.numerics.pbm_maximum import PRIOR
from clickrank.policies import PBLB, PBMHB, Policy, pb_lb, pb_mhb
from clickrank.policies._shared.particle import Particle, no_particle
from clickrank.policies._shared.particle_start import start_langevin, start_metropolis
from clickrank.stats.beta_prior import Beta

# Small counts, so that the posterior is wide and skew: an item without a click, one with few misses
# where few people look (so that pseudo-view's maximum matters), and one with more of both.
CLICKS = np.array([[0, 0], [1, 4], [3, 2]])
MISSES = np.array([[3, 1], [1, 1], [4, 9]])


def statistics_of(policy: Policy, clicks: Ints, misses: Ints) -> Learner:
    """Return a learner restored from statistics alone."""
    learner = Learner(policy, *clicks.shape)
    state = learner.state
    sums = {"item_clicks": clicks.sum(axis=1), "position_clicks": clicks.sum(axis=0)}
    for name, array in {"clicks": clicks, "misses": misses, **sums}.items():
        if name in state._fields:
            getattr(state, name)[:] = array
    state.rounds[0] = (clicks + misses).sum() // clicks.shape[1]
    return learner


@kernel
def start_mhb(
    params: pb_mhb.Params, state: pb_mhb.State, particle: Particle, rng: np.random.Generator
) -> None:
    start_metropolis(params, state, particle, rng)


@kernel
def start_lb(
    params: pb_lb.Params, state: pb_lb.State, particle: Particle, rng: np.random.Generator
) -> None:
    start_langevin(state, particle, rng)


def started(learner: Learner, seed: int = 0) -> tuple[Floats, Floats]:
    """Return the θ and κ at which a new particle starts."""
    particle = no_particle(learner.params, learner.state)
    start = start_mhb if isinstance(learner.policy, PBMHB) else start_lb
    start(learner.params, learner.state, particle, np.random.default_rng(seed))
    return particle.attraction, particle.examination


COUNTS = {
    "few": (CLICKS, MISSES),
    "one round": (np.array([[1, 0], [0, 0], [0, 0]]), np.array([[0, 0], [0, 1], [0, 0]])),
    "no click": (np.zeros((3, 2), dtype=np.int64), MISSES),
    "many": (
        np.array([[300_000, 12, 3], [40, 150_000, 2], [1, 30, 60_000], [2, 3, 5]]),
        np.array([[700_000, 30, 50], [140, 600_000, 20], [30, 130, 440_000], [200, 300, 900]]),
    ),
}


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("policy", [PBMHB(), PBMHB(unit_position="first"), PBLB()], ids=repr)
def test_a_restored_particle_starts_at_the_maximum(policy: Policy, counts: str) -> None:
    """Against a general optimiser of the likelihood, with 0.05 clicks and misses more everywhere.

    Where κ_1 is 1 and another κ would have to exceed it, the start is not the maximum: not tested.
    """
    clicks, misses = COUNTS[counts]
    n_items = clicks.shape[0]
    s, f = clicks + PRIOR, misses + PRIOR

    def loss(x: Floats) -> float:
        log = np.minimum(x[:n_items, None] + np.append(0.0, x[n_items:]), -1e-12)
        return float(-(s * log + f * np.log1p(-np.exp(log))).sum())

    shares = np.log(s.sum(axis=1) / (s + f).sum(axis=1))
    begin: Floats = np.append(shares, np.zeros(clicks.shape[1] - 1))
    options: Any = {"maxiter": 100_000, "maxfev": 100_000, "xatol": 1e-10, "fatol": 1e-12}
    for _ in range(3):
        found = optimize.minimize(loss, begin, method="Nelder-Mead", options=options)
        begin = found.x
    best = np.exp(begin[:n_items, None] + np.append(0.0, begin[n_items:]))
    theta, kappa = started(statistics_of(policy, clicks, misses))
    shown = (clicks + misses).sum(axis=1) > 0
    products = np.outer(theta, kappa)
    if isinstance(policy, PBMHB):
        assert kappa.max() == 1.0
    if isinstance(policy, PBMHB) and policy.unit_position == "first":
        assert kappa[0] == 1.0
        if best[0].argmax() != 0:
            return
    assert products[shown] == pytest.approx(best[shown], rel=1e-4)
    # The likelihood does not depend on an item that was never shown.
    other = started(statistics_of(policy, clicks, misses), seed=1)[0]
    assert (theta[shown] == other[shown]).all()
    assert (theta[~shown] != other[~shown]).all()


def test_a_restored_particle_starts_at_the_maximum_with_a_prior() -> None:
    """Given κ each θ_i is where its posterior is largest; before any round it is drawn from it."""
    alpha, beta = [3.0, 1.0, 40.0], [7.0, 5.0, 60.0]
    prior = Beta(alpha, beta)
    theta, kappa = started(statistics_of(PBMHB(prior=prior), CLICKS, MISSES))
    assert kappa.max() == 1.0
    grid = (np.arange(100_000) + 0.5) / 100_000
    for i in range(3):
        log = (alpha[i] - 1.0) * np.log(grid) + (beta[i] - 1.0) * np.log1p(-grid)
        for k in range(2):
            s, f = CLICKS[i, k] + PRIOR, MISSES[i, k] + PRIOR
            log += s * np.log(grid) + f * np.log1p(-grid * kappa[k])
        assert theta[i] == pytest.approx(grid[log.argmax()], abs=2e-5)
    nothing = np.zeros((3, 2), dtype=np.int64)
    draws = [
        started(statistics_of(PBMHB(prior=prior), nothing, nothing), seed) for seed in range(9)
    ]
    assert len({theta[2] for theta, _ in draws}) == 9
    assert all(0.2 < theta[2] < 0.6 for theta, _ in draws)  # Beta(40, 60) is 4 deviations inside


@pytest.mark.parametrize("policy", [PBMHB(), PBLB()], ids=repr)
def test_a_restart_after_many_lists_forgets_nothing(policy: Policy) -> None:
    """On the thesis's website, after 300,000 lists.

    Started at random, the next 5,000 lists of each run lose 76 to 1,300 clicks.
    """
    theta = np.array([0.3, 0.2, 0.15, 0.15, 0.15, 0.10, 0.05, 0.05, 0.01, 0.01])
    kappa = np.array([1.0, 0.75, 0.6, 0.3, 0.1])
    for run in range(3):
        rngs = [np.random.default_rng([run, stream]) for stream in range(4)]
        learner, restored = (Learner(policy, 10, 5) for _ in range(2))
        rankings_of_run(learner, PBM(theta, kappa), 300_000, rngs[0], rngs[1])
        for name in statistic_fields(type(learner.state)):
            getattr(restored.state, name)[...] = getattr(learner.state, name)
        restored.drop_cache()
        shown = rankings_of_run(restored, PBM(theta, kappa), 5_000, rngs[2], rngs[3])
        assert 5_000 * (theta[:5] @ kappa) - (theta[shown] @ kappa).sum() < 5.0
