"""PB-MHB: the limit of its random walk is the posterior."""

import math

import numpy as np
import pytest
from scipy import stats

from clickrank._compile.jit import kernel
from clickrank._core.arrays import Floats, Ints
from clickrank.clickmodels import PBM
from clickrank.errors import DoesNotApply, InvalidValue
from clickrank.learning import Learner
from clickrank.policies import PBMHB, pb_mhb
from clickrank.policies._shared.particle import Particle, no_particle
from clickrank.simulation import simulate
from clickrank.stats.beta_prior import Beta
from tests.policies.test_particle_start import CLICKS, COUNTS, MISSES, start_mhb, statistics_of

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


@pytest.mark.parametrize("kappa", [(0.6, 1.0, 0.75, 0.3, 0.1), (0.1, 0.3, 0.6, 0.75, 1.0)])
def test_any_position_may_be_looked_at_most(kappa: tuple[float, ...]) -> None:
    """The thesis's website with other positions: 89 and 79 clicks are lost, 8 runs, ± 6.

    With κ_1 = 1, where the first position is not the largest, 924 and 1,902: linear regret.
    """
    model = PBM([0.3, 0.2, 0.15, 0.15, 0.15, 0.10, 0.05, 0.05, 0.01, 0.01], kappa)
    regret = simulate(PBMHB(), model, 20_000, runs=8, seed=0).regret[:, -1]
    assert regret.mean() < 150.0
    paper = PBMHB(unit_position="first")
    with pytest.raises(DoesNotApply, match="the first position is examined most"):
        simulate(paper, model, 20_000, runs=8, seed=0)
    regret = simulate(paper, model, 20_000, runs=8, seed=0, allow_mismatch=True).regret[:, -1]
    assert regret.min() > 800.0


def test_a_particle_that_hardly_moves_is_still_random() -> None:
    """With many counts most candidates are refused, so that two draws are often the same list."""
    learner = statistics_of(PBMHB(), *COUNTS["many"])
    learner.drop_cache()
    learner.rank(np.random.default_rng(0))
    assert not learner.propensities(accuracy=0.05).exact
