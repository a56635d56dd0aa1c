"""Epoch-TS for unknown biases: its draws against the exact posterior."""

import numpy as np
import pytest

import clickrank as cr
from clickrank._core.arrays import Floats
from clickrank.clickmodels import MNL
from clickrank.learning import Learner
from clickrank.policies import EpochTSUnknown


def posterior_orders(n: Floats, m: Floats) -> Floats:
    """P(α_0 > α_1 and λ_0 > λ_1), and so on, of the composite posterior, by integration."""
    grid = np.linspace(-6.0, 6.0, 41)
    x0, x1, y0, y1 = np.meshgrid(grid, grid, grid, grid, indexing="ij", sparse=True)
    log = np.zeros((41,) * 4)
    for z, clicks, epochs in (
        (x0 + y0, n[0, 0], m[0, 0]),
        (x0 + y1, n[0, 1], m[0, 1]),
        (x1 + y0, n[1, 0], m[1, 0]),
        (x1 + y1, n[1, 1], m[1, 1]),
        *((v, 1, 1) for v in (x0, x1, y0, y1)),
    ):
        log = log + clicks * z - (clicks + epochs) * np.logaddexp(0, z)
    density = np.exp(log - log.max())
    density /= density.sum()
    found = np.zeros(4)
    for number, items in enumerate((x0 - x1, x1 - x0)):
        for other, places in enumerate((y0 - y1, y1 - y0)):
            # Equal values on the grid belong half to each side.
            both = (0.5 + 0.5 * np.sign(items)) * (0.5 + 0.5 * np.sign(places))
            found[2 * number + other] = (density * both).sum()
    return found


def test_draws_are_those_of_the_posterior() -> None:
    """Two items at two positions, by brute force: how often each list is shown."""
    n, m = np.array([[6, 3], [4, 4]]), np.array([[10, 9], [9, 10]])
    want = posterior_orders(n, m)
    learner = Learner(EpochTSUnknown(), 2, 2, seed=0)
    learner.state.clicks[:], learner.state.epochs[:] = n, m
    runs = 4000
    shares = np.zeros(4)
    for _ in range(runs):
        learner.rank()
        items = int(learner.cache.draws_buffer[0] < learner.cache.draws_buffer[1])
        places = int(
            learner.cache.drawn_log_bias_buffer[0] < learner.cache.drawn_log_bias_buffer[1]
        )
        shares[2 * items + places] += 1 / runs
    # Chance moves a share by 0.008 (one standard deviation); the approximation by no more.
    np.testing.assert_allclose(shares, want, atol=0.04)
    assert want.max() > 0.3
    assert want.min() < 0.2


def information(attraction: Floats, bias: Floats, lists: int) -> tuple[Floats, Floats]:
    """Expected precision of (log α, log λ) after epochs of random lists: exact and composite."""
    items, positions = attraction.size, bias.size
    rng = np.random.default_rng(0)
    both = attraction / (1 + attraction) ** 2, bias / (1 + bias) ** 2
    prior = 2.0 * np.diag(np.concatenate(both))
    exact, composite = prior.copy(), prior.copy()
    for _ in range(lists):
        shown = rng.permutation(items)[:positions]
        mean = attraction[shown] * bias  # clicks of an epoch, which the others make less certain
        cells = np.zeros((positions, items + positions))
        cells[np.arange(positions), shown] = 1.0
        cells[np.arange(positions), items + np.arange(positions)] = 1.0
        related = np.diag(mean) - np.outer(mean, mean) / (1.0 + mean.sum())
        exact += cells.T @ related @ cells
        composite += cells.T @ np.diag(mean / (1.0 + mean)) @ cells
    return exact, composite


@pytest.mark.parametrize(
    ("attraction", "bias", "least", "most"),
    [
        ([0.3, 0.28, 0.26, 0.24, 0.22, 0.2], [1.0, 0.3, 0.2, 0.1], 1.01, 1.06),
        ([0.05, 0.1, 0.15, 0.2], [1.0, 0.2, 0.9], 1.01, 1.06),
        ([1.0] * 4 + [0.8] * 2 + [0.1] * 24, [1.0, 0.9, 0.7, 0.3, 0.5, 0.7], 1.06, 1.14),
    ],
)
def test_the_composite_posterior_is_a_little_wider(
    attraction: list[float], bias: list[float], least: float, most: float
) -> None:
    """Standard deviations of log(λ_k / λ_l), on the source's problems (a), (b) and (c)."""
    exact, composite = (
        np.linalg.inv(precision)[len(attraction) :, len(attraction) :]
        for precision in information(np.array(attraction), np.array(bias), 500)
    )
    k, l = np.triu_indices(len(bias), 1)  # noqa: E741
    variance = [v[k, k] + v[l, l] - 2 * v[k, l] for v in (exact, composite)]
    ratio = np.sqrt(variance[1] / variance[0])
    assert least < ratio.min()
    assert ratio.max() < most


def test_scale_and_order_of_positions_do_not_matter() -> None:
    """The second position is the more prominent, which no other policy here must know."""
    model = MNL([0.2, 0.5, 0.9, 0.4], [0.3, 1.0])
    ours, even = (
        cr.simulate(name, model, 3000, runs=6, seed=0).regret[:, -1].mean()
        for name in ("epoch-ts-unknown", "uniform")
    )
    assert ours < 0.15 * even
