"""PB-MHB's walk has the posterior for its limit, and PB-LB's steps follow its gradient."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from clickrank._compile.jit import kernel
from clickrank._core.arrays import Floats, Ints, statistic_fields
from clickrank.checks.playing import rankings_of_run
from clickrank.clickmodels import PBM
from clickrank.errors import DoesNotApply, InvalidValue
from clickrank.learning import Learner
from clickrank.numerics.pbm_maximum import PRIOR
from clickrank.policies import PBLB, PBMHB, Policy, pb_lb, pb_mhb
from clickrank.policies._shared.particle import Particle, no_particle
from clickrank.policies._shared.particle_start import start_langevin, start_metropolis
from clickrank.simulation import simulate
from clickrank.stats.beta_prior import Beta

# Small counts, so that the posterior is wide and skew: an item without a click, one with few misses
# where few people look (so that pseudo-view's maximum matters), and one with more of both.
CLICKS = np.array([[0, 0], [1, 4], [3, 2]])
MISSES = np.array([[3, 1], [1, 1], [4, 9]])

STEPS, BATCHES = 1_000_000, 50
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@kernel
def walk(
    params: pb_mhb.Params,
    deviation: float,
    state: pb_mhb.State,
    particle: Particle,
    rng: np.random.Generator,
    theta: Floats,
    kappa: Floats,
) -> None:
    for s in range(theta.shape[0]):
        pb_mhb.step(params, deviation, state, particle, rng)
        theta[s] = particle.attraction
        kappa[s] = particle.examination


def counted(policy: PBMHB, clicks: Ints, misses: Ints) -> pb_mhb.State:
    return policy.init(*clicks.shape)._replace(clicks=clicks.copy(), misses=misses.copy())


def walked(policy: PBMHB, clicks: Ints, misses: Ints, deviation: float) -> tuple[Floats, Floats]:
    """Return θ and κ of many steps, one per row."""
    params = policy.params(*clicks.shape)
    state = counted(policy, clicks, misses)
    particle = no_particle(params, state)
    rng = np.random.default_rng(11)
    start_mhb(params, state, particle, rng)
    theta, kappa = (np.empty((STEPS, n)) for n in clicks.shape)
    walk(params, deviation, state, particle, rng, theta, kappa)
    return theta, kappa


def marginals(clicks: Ints, misses: Ints, policy: PBMHB) -> list[tuple[Floats, Floats]]:
    """Edges of a grid, and the probabilities of its cells, for each θ_i and for the place of κ.

    Given κ the θ_i are independent, so sums over a two-dimensional grid are enough. Where the first
    κ is 1 the place is κ_2, from 0 to 1; where κ_2 is the largest it is 2 - κ_1, from 1 to 2.
    """
    half = (np.arange(1000) + 0.5) / 1000
    first = np.column_stack([np.ones(1000), half])
    pairs = first if policy.unit_position == "first" else np.vstack([first, first[::-1, ::-1]])
    prior = np.array([policy.prior.alpha, policy.prior.beta], dtype=float) - 1.0
    theta = half[:, None]
    joint = []
    for s, f in zip(clicks, misses, strict=True):
        log = prior[0] * np.log(theta) + prior[1] * np.log1p(-theta)
        for k in range(2):
            p = theta * pairs[:, k]
            log = log + s[k] * np.log(p) + f[k] * np.log1p(-p)
        joint.append(np.exp(log))
    sums = [table.sum(axis=0) for table in joint]
    rows = []
    for i, table in enumerate(joint):
        others = np.prod([total for j, total in enumerate(sums) if j != i], axis=0)
        rows.append(table @ others)
    rows.append(np.prod(sums, axis=0))
    return [(np.arange(row.size + 1) / 1000, row / row.sum()) for row in rows]


def assert_drawn_from(x: Floats, edges: Floats, cells: Floats, limit: float, what: str) -> None:
    """Compare moments and distribution function, with errors from means over batches."""
    middles, cumulated = (edges[1:] + edges[:-1]) / 2, np.append(0.0, np.cumsum(cells))
    for want, values in [
        (cells @ middles, x),
        (cells @ middles**2, x**2),
        *((q, x < np.interp(q, cumulated, edges)) for q in QUANTILES),
    ]:
        batches = values.reshape(BATCHES, -1).mean(axis=1)
        error = batches.std(ddof=1) / math.sqrt(BATCHES)
        assert 0.0 < error < 0.02
        gap = abs(batches.mean() - want)
        assert gap < limit * error, f"{what}: {gap / error} errors off"


WALKS = [
    *(
        (position, proposal, deviation, Beta(1.0, 1.0))
        for position in ("first", "largest")
        for proposal, deviation in [
            ("truncated-gaussian", 0.25),
            ("truncated-gaussian", 0.8),
            ("truncated-gaussian", 100.0),
            ("logit-gaussian", 1.5),
            ("pseudo-view", 1.0),
            ("max-pos", 1.0),
        ]
    ),
    ("largest", "truncated-gaussian", 1.0, Beta(3.0, 2.0)),
    ("largest", "pseudo-view", 1.0, Beta(3.0, 2.0)),
    ("largest", "max-pos", 1.0, Beta(3.0, 2.0)),
]


@pytest.mark.parametrize(("position", "proposal", "deviation", "prior"), WALKS)
def test_the_limit_is_the_posterior(
    position: str, proposal: str, deviation: float, prior: Beta
) -> None:
    """Means, second moments and distribution functions are what integration gives.

    The 28 numbers of each case are t-distributed about that; all together are false alarms with a
    probability below 1e-4. The grid's error is a hundredth of theirs.
    """
    policy = PBMHB(proposal=proposal, unit_position=position, prior=prior)
    theta, kappa = walked(policy, CLICKS, MISSES, deviation)
    place = np.where(kappa[:, 0] == 1.0, kappa[:, 1], 2.0 - kappa[:, 0])
    limit = stats.t.isf(1e-4 / (len(WALKS) * 28) / 2, BATCHES - 1)
    wanted = marginals(CLICKS, MISSES, policy)
    for variable, (edges, cells) in enumerate(wanted):
        x = theta[:, variable] if variable < 3 else place
        assert_drawn_from(x, edges, cells, limit, f"variable {variable}")


@pytest.mark.parametrize(
    ("proposal", "more"), [("logit-gaussian", 1), ("logit-gaussian-printed", 0)]
)
def test_the_printed_logit_walk_has_another_limit(proposal: str, more: int) -> None:
    """With one position the posterior is Beta(1 + S, 1 + F), and the printed limit Beta(S, F)."""
    clicks, misses = np.array([[1], [3]]), np.array([[4], [2]])
    theta, _ = walked(PBMHB(proposal=proposal), clicks, misses, 2.0)
    limit = stats.t.isf(1e-6 / 28 / 2, BATCHES - 1)
    edges = np.linspace(0.0, 1.0, 1001)
    for i in range(2):
        cumulated = stats.beta.cdf(edges, clicks[i, 0] + more, misses[i, 0] + more)
        assert_drawn_from(theta[:, i], edges, np.diff(cumulated), limit, f"item {i}")


@pytest.mark.parametrize("shape", [(4, 3), (3, 3), (1, 1)])
def test_without_data_every_position_is_as_likely_to_be_the_largest(shape: tuple[int, int]) -> None:
    """The limit is the prior: all θ uniform, some κ is 1 and the others are uniform below it."""
    nothing = np.zeros(shape, dtype=np.int64)
    theta, kappa = walked(PBMHB(), nothing, nothing, 0.7)
    assert (kappa.max(axis=1) == 1.0).all()
    limit = stats.t.isf(1e-6 / 100 / 2, BATCHES - 1)
    uniform = np.linspace(0.0, 1.0, 1001), np.full(1000, 0.001)
    for i in range(shape[0]):
        assert_drawn_from(theta[:, i], *uniform, limit, f"item {i}")
    if shape[1] == 1:
        return
    for k in range(shape[1]):
        largest = (kappa[:, k] == 1.0).reshape(BATCHES, -1).mean(axis=1)
        error = largest.std(ddof=1) / math.sqrt(BATCHES)
        assert abs(largest.mean() - 1.0 / shape[1]) < limit * error
        below = np.where(kappa[:, k] == 1.0, np.nan, kappa[:, k]).reshape(BATCHES, -1)
        means = np.nanmean(below, axis=1)
        assert abs(means.mean() - 0.5) < limit * means.std(ddof=1) / math.sqrt(BATCHES)


def test_logarithms_are_those_of_the_particle() -> None:
    """What is kept between rounds does not drift: it is replaced, never added to."""
    learner = Learner(PBMHB(width=3.0), 6, 3, seed=0)
    rng = np.random.default_rng(1)
    for _ in range(500):
        ranking, memo = learner.rank()
        learner.update(ranking, memo, rng.integers(0, 2, 3))
        cache = learner.cache.cache
        want = np.log(1.0 - np.outer(cache.attraction, cache.examination))
        assert np.allclose(cache.miss_logs, want, rtol=1e-14, atol=0.0)
        assert cache.examination.max() == 1.0


def test_best_item_goes_to_the_largest_examination() -> None:
    learner = Learner(PBMHB(), 5, 3, seed=0)
    for _ in range(50):
        ranking, memo = learner.rank()
        learner.update(ranking, memo, [0, 0, 1])  # the third position is the best one
        theta, kappa = learner.cache.cache.attraction, learner.cache.cache.examination
        best = np.argsort(-theta)[:3]
        assert ranking[np.argsort(-kappa)].tolist() == best.tolist()


@pytest.mark.parametrize("field", ["proposal", "start"])
def test_names_are_checked(field: str) -> None:
    with pytest.raises(InvalidValue, match=f"PBMHB: {field} must be '.*' or '.*', got 'none'"):
        PBMHB(**{field: "none"})  # type: ignore[arg-type]


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


@pytest.mark.parametrize("kappa", [(0.6, 1.0, 0.75, 0.3, 0.1), (0.1, 0.3, 0.6, 0.75, 1.0)])
def test_any_position_may_be_looked_at_most(kappa: tuple[float, ...]) -> None:
    """The thesis's website with other positions: 89 and 79 clicks are lost, 8 runs, ± 6.

    With κ_1 = 1, where the first position is not the largest, 924 and 1,902: linear regret.
    """
    model = PBM([0.3, 0.2, 0.15, 0.15, 0.15, 0.10, 0.05, 0.05, 0.01, 0.01], kappa)
    regret = simulate(PBMHB(), model, 20_000, runs=8, seed=0).regret[:, -1]
    assert regret.mean() < 150.0
    paper = PBMHB(unit_position="first")
    with pytest.raises(DoesNotApply, match="the first position is looked at most"):
        simulate(paper, model, 20_000, runs=8, seed=0)
    regret = simulate(paper, model, 20_000, runs=8, seed=0, allow_mismatch=True).regret[:, -1]
    assert regret.min() > 800.0


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


def test_a_particle_that_hardly_moves_is_still_random() -> None:
    """With many counts most candidates are refused, so that two draws are often the same list."""
    learner = statistics_of(PBMHB(), *COUNTS["many"])
    learner.drop_cache()
    learner.rank(np.random.default_rng(0))
    assert not learner.propensities(accuracy=0.05).exact


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
