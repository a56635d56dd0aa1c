"""The program of the lower bound: its constraints, its value, and how closely it is solved."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from scipy import optimize

from clickrank._core.arrays import Floats
from clickrank.numerics.exploration_program import solve_program
from clickrank.numerics.exploration_rivals import Workspace, cell_divergence, workspace
from tests.naive import kl


def test_cell_divergence() -> None:
    for mu in (1e-6, 0.01, 0.3, 0.9, 1 - 1e-6):
        for change in (-5.0, -0.1, -1e-3, -1.1e-4, 0.9e-4, 1.1e-4, 1e-3, 0.05):
            moved = mu * math.exp(change)
            got = cell_divergence(mu, change)
            if moved >= 1:
                assert got == math.inf
            else:
                assert got == pytest.approx(kl(mu, moved), rel=1e-4, abs=1e-15)
        assert cell_divergence(mu, 0.0) == 0.0


def solved(
    theta: Floats, kappa: Floats, tolerance: float, most_rounds: int = 80
) -> tuple[float, float, Workspace]:
    work = workspace(theta.size, kappa.size)
    lower, upper = solve_program(work, np.log(theta), np.log(kappa), tolerance, most_rounds)
    return lower, upper, work


def instances(seed: int, count: int, most_items: int) -> Iterator[tuple[Floats, Floats]]:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = int(rng.integers(2, most_items + 1))
        m = int(rng.integers(1, n + 1))
        yield (
            np.sort(rng.uniform(0.05, 0.95, n))[::-1],
            np.sort(rng.uniform(0.1, 1.0, m))[::-1],
        )


def confusion(amounts: Floats, theta: Floats, kappa: Floats, a: int, b: int, gap: float) -> float:
    """Minimise Σ q d over θ', κ' that agree on the best list and tie, by scipy from two starts."""
    n, m = theta.size, kappa.size
    mu = np.outer(theta, kappa)
    free = [i for i in range(n) if i not in (a, b)]

    def value(v: Floats) -> float:
        w = np.zeros(n)
        w[a] = gap
        w[free] = v
        moved = mu * np.exp(w[:, None] - w[None, :m])
        if (moved >= 1).any():
            return 1e9
        d = mu * np.log(mu / moved) + (1 - mu) * np.log((1 - mu) / (1 - moved))
        return float((amounts * d)[~np.eye(n, m, dtype=bool)].sum())

    if not free:
        return value(np.zeros(0))
    ends = []
    for start in (0.0, gap):
        first = np.full(len(free), start)
        found = optimize.minimize(value, first, method="Nelder-Mead", tol=1e-9)
        ends.append(float(found.fun))
    return min(ends)


def ties(theta: Floats, kappa: Floats) -> Iterator[tuple[int, int, float]]:
    """Neighbours whose order makes the best list: w_a - w_b = gap where they tie."""
    n, m = theta.size, kappa.size
    for i in range(1, n):
        b = min(i - 1, m - 1)
        yield i, b, math.log(theta[b] / theta[i])
    for k in range(m - 1):
        yield k, k + 1, math.log(kappa[k] / kappa[k + 1])


def test_amounts_satisfy_all_constraints() -> None:
    """No (θ', κ') that scipy finds is less than 1 away, and lists can have the amounts."""
    for theta, kappa in instances(0, 12, 5):
        _, upper, work = solved(theta, kappa, 1e-3)
        q, m = work.amounts, kappa.size
        for a, b, gap in ties(theta, kappa):
            assert confusion(q, theta, kappa, a, b, gap) >= 1 - 1e-3
        assert (q >= 0).all()
        assert (np.diag(q) == 0).all()
        for k in range(m):
            assert q[k].sum() <= q[:, k].sum() * (1 + 1e-9) + 1e-9
        cost = sum(
            q[i, k] * kappa[k] * (theta[k] - theta[i]) for i in range(theta.size) for k in range(m)
        )
        assert upper == pytest.approx(cost)


def grid_program(theta: Floats, kappa: Floats, points: int) -> float:
    """Solve with one constraint for each point of a grid of w on each tie, by scipy's linprog."""
    n, m = theta.size, kappa.size
    mu = np.outer(theta, kappa)
    off = ~np.eye(n, m, dtype=bool)
    cells = np.argwhere(off)
    cuts = []
    for a, b, gap in ties(theta, kappa):
        free = [i for i in range(n) if i not in (a, b)]
        for v in itertools.product(np.linspace(-1.2, 1.2 + gap, points), repeat=len(free)):
            w = np.zeros(n)
            w[a] = gap
            w[free] = v
            moved = mu * np.exp(w[:, None] - w[None, :m])
            if (moved < 1).all():
                d = mu * np.log(mu / moved) + (1 - mu) * np.log((1 - mu) / (1 - moved))
                cuts.append(d[off])
    flows = [[float(i == item) - float(k == item) for i, k in cells] for item in range(m)]
    costs = [kappa[k] * (theta[k] - theta[i]) for i, k in cells]
    matrix = np.vstack([-np.array(cuts), np.array(flows)])
    limits = np.concatenate([-np.ones(len(cuts)), np.zeros(m)])
    found = optimize.linprog(costs, matrix, limits)
    assert found.status == 0
    assert found.fun is not None
    return found.fun


@pytest.mark.parametrize(
    ("theta", "kappa", "points"),
    [
        ([0.6, 0.3], [0.9], 1),
        ([0.6, 0.3], [0.9, 0.4], 1),
        ([0.6, 0.4, 0.2], [0.9], 60),
        ([0.6, 0.4, 0.2], [0.9, 0.5], 2000),
        ([0.9, 0.8, 0.3], [1.0, 0.7], 2000),
        ([0.7, 0.5, 0.2], [1.0, 0.6, 0.3], 2000),
        ([0.6, 0.4, 0.3, 0.2], [0.9, 0.5], 60),
    ],
)
def test_value_against_a_grid(theta: list[float], kappa: list[float], points: int) -> None:
    lower, upper, _ = solved(np.array(theta), np.array(kappa), 1e-5)
    assert lower * (1 - 1e-9) <= upper <= lower * (1 + 2e-5)
    want = grid_program(np.array(theta), np.array(kappa), points)
    assert want <= upper * (1 + 1e-5)  # a grid has some of the constraints
    assert want == pytest.approx(upper, rel=3e-3)


def test_one_position_is_the_classical_bound() -> None:
    """Σ Δ / d(θ_i, θ_1): Lai and Robbins."""
    theta = np.array([0.8, 0.5, 0.45, 0.1])
    _, upper, work = solved(theta, np.ones(1) * 0.9, 1e-6)
    p = theta * 0.9
    assert work.amounts[1:, 0] == pytest.approx([1 / kl(v, p[0]) for v in p[1:]])
    assert upper == pytest.approx(sum((p[0] - v) / kl(v, p[0]) for v in p[1:]))


def test_bounds_are_as_close_as_asked_for() -> None:
    for theta, kappa in instances(3, 200, 12):
        lower, upper, _ = solved(theta, kappa, 0.01)
        assert lower * (1 - 1e-9) <= upper <= lower / (1 - 0.0101)


def test_work_that_is_cut_short_satisfies_the_constraints() -> None:
    """After a few rounds only, the amounts are enough and cost too much; or they are refused."""
    used = 0
    for theta, kappa in instances(5, 30, 8):
        _, best, _ = solved(theta, kappa, 1e-4)
        for most_rounds in (2, 3, 5):
            lower, upper, work = solved(theta, kappa, 1e-4, most_rounds)
            assert lower <= best * (1 + 1e-9)
            if math.isfinite(upper):
                used += 1
                assert upper >= best * (1 - 1e-3)
            else:
                assert (work.amounts == 0).all()
    assert used > 40


def test_tolerances_below_rounding_are_none() -> None:
    for theta, kappa in instances(5, 20, 8):
        lower, upper, _ = solved(theta, kappa, 0.0)
        assert lower == pytest.approx(upper, rel=3e-7)


def test_shapes_without_a_rival() -> None:
    lower, upper, work = solved(np.array([0.4]), np.array([0.5]), 0.01)
    assert (lower, upper, workspace(1, 1).changes.shape[0]) == (0.0, 0.0, 0)
    assert work.amounts.tolist() == [[0.0]]


def test_near_ties_and_tiny_probabilities_are_solved() -> None:
    rng = np.random.default_rng(4)
    for _ in range(150):
        n = int(rng.integers(2, 12))
        m = int(rng.integers(1, n + 1))
        x = np.sort(np.log(rng.beta(0.1, 0.1, n).clip(1e-6, 1 - 1e-6)))[::-1].copy()
        y = np.sort(np.log(rng.beta(0.2, 0.2, m).clip(1e-6, 1 - 1e-6)))[::-1].copy()
        for i in range(1, n):
            x[i] = min(x[i], x[min(i - 1, m - 1)] - 1e-3)
        for k in range(1, m):
            y[k] = min(y[k], y[k - 1] - 1e-3)
        work = workspace(n, m)
        lower, upper = solve_program(work, x, y, 0.01, 80)
        assert lower * (1 - 1e-9) <= upper <= lower / (1 - 0.0101)
