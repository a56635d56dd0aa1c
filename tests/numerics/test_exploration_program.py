"""PMED's numerics: linear programs, Birkhoff, the likelihood, the program of the lower bound."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from scipy import optimize

from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.cholesky import solve_positive
from clickrank.numerics.doubly_stochastic import birkhoff
from clickrank.numerics.exploration_program import (
    Workspace,
    cell_divergence,
    solve_program,
    workspace,
)
from clickrank.numerics.linear_program import (
    INFEASIBLE,
    OPTIMAL,
    add_constraint,
    drop_row,
    dual_simplex,
)
from clickrank.numerics.pbm_likelihood import (
    GRID,
    PRIOR,
    maximise_likelihood,
    rounded,
    start_likelihood,
)
from tests.naive import kl

# Linear programs


class Program:
    """A linear program by the kernels, constraint by constraint."""

    def __init__(self, costs: Floats, most_rows: int) -> None:
        self.n = costs.size
        self.table = np.zeros((most_rows + 1, self.n + 1))
        self.table[0, 1:] = costs
        self.basic = np.zeros(most_rows + 1, dtype=np.int64)
        self.nonbasic = np.arange(-1, self.n)
        self.rows = 0
        self.label = self.n

    def add(self, coefficients: Floats, least: float) -> None:
        args = (self.table, self.rows, self.basic, self.nonbasic, self.n)
        add_constraint(*args, coefficients, least, self.label)
        self.rows += 1
        self.label += 1

    def solve(self, most: int = 2000) -> int:
        return dual_simplex(self.table, self.rows, self.basic, self.nonbasic, self.n, most)

    def solution(self) -> Floats:
        x = np.zeros(self.n)
        for row in range(1, self.rows + 1):
            if self.basic[row] < self.n:
                x[self.basic[row]] = self.table[row, 0]
        return x


def random_program(rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    n, rows = rng.integers(1, 15), rng.integers(1, 20)
    costs = rng.random(n) * (rng.random(n) < 0.8)  # zeros: degenerate
    matrix = rng.normal(size=(rows, n)) * (rng.random((rows, n)) < 0.7)
    least = rng.normal(size=rows) * rng.choice([0.0, 1.0], size=rows)
    if rng.random() < 0.5:
        matrix = abs(matrix)
    return costs, matrix, least


def test_linear_programs_against_scipy() -> None:
    rng = np.random.default_rng(0)
    ends = []
    for _ in range(500):
        costs, matrix, least = random_program(rng)
        program = Program(costs, least.size)
        for row, (coefficients, b) in enumerate(zip(matrix, least, strict=True)):
            program.add(coefficients, b)
            if row % 3 == 0 and program.solve() == INFEASIBLE:
                break  # more constraints do not help
        end = program.solve()
        ends.append(end)
        want = optimize.linprog(costs, -matrix, -least)
        assert (end, want.status) in ((OPTIMAL, 0), (INFEASIBLE, 2))
        if end == OPTIMAL:
            x = program.solution()
            assert program.table[0, 0] == pytest.approx(want.fun, rel=1e-7, abs=1e-8)
            assert costs @ x == pytest.approx(want.fun, rel=1e-7, abs=1e-8)
            assert (x >= -1e-8).all()
            assert (matrix @ x >= least - 1e-7).all()
    assert 100 < ends.count(OPTIMAL) < 400  # both kinds were met


def test_bland_rule_alone_finds_the_optimum() -> None:
    """With few pivots allowed the careful rule takes over at once; solve from where it ended."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        costs, matrix, least = random_program(rng)
        costs[:] = 0.0  # everything ties
        program = Program(costs, least.size)
        for coefficients, b in zip(matrix, least, strict=True):
            program.add(coefficients, b)
        end = program.solve(1)
        for _ in range(500):
            if end in (OPTIMAL, INFEASIBLE):
                break
            end = program.solve(1)
        want = optimize.linprog(costs, -matrix, -least)
        assert (end, want.status) in ((OPTIMAL, 0), (INFEASIBLE, 2))


def test_constraints_that_are_slack_can_be_dropped() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        costs, matrix = rng.random(6), rng.random((8, 6))
        program = Program(costs, 9)
        for coefficients in matrix:
            program.add(coefficients, 1.0)
        assert program.solve() == OPTIMAL
        value = program.table[0, 0]
        slack = [row for row in range(1, program.rows + 1) if program.basic[row] >= 6]
        for row in slack[::-1]:
            drop_row(program.table, program.rows, row, program.basic, 6)
            program.rows -= 1
        assert program.solve() == OPTIMAL
        assert program.table[0, 0] == pytest.approx(value)
        assert costs @ program.solution() == pytest.approx(value)


# Birkhoff


@pytest.mark.parametrize("n", [1, 2, 3, 5, 9])
def test_birkhoff_rebuilds_the_matrix(n: int) -> None:
    rng = np.random.default_rng(n)
    for used in (1, 2, n, n * n):
        target = np.zeros((n, n))
        for _ in range(used):
            target[rng.permutation(n), np.arange(n)] += rng.random() ** 4 * 100
        rest = target.copy()
        lists, weights = np.zeros((n * n, n), dtype=np.int64), np.zeros(n * n)
        count = birkhoff(rest, lists, weights, np.zeros((4, n), dtype=np.int64))
        again = np.zeros((n, n))
        for rows, weight in zip(lists[:count], weights[:count], strict=True):
            assert sorted(rows.tolist()) == list(range(n))
            assert weight > 0
            again[rows, np.arange(n)] += weight
        assert again == pytest.approx(target, abs=1e-7 * target.max())
        assert (rest >= 0).all()


def test_birkhoff_takes_large_weights_first() -> None:
    """The first permutation is within a factor 2 of the largest that fits."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        target = np.zeros((4, 4))
        for _ in range(5):
            target[rng.permutation(4), np.arange(4)] += rng.random()
        best = max(
            min(target[row, k] for k, row in enumerate(rows))
            for rows in itertools.permutations(range(4))
        )
        lists, weights = np.zeros((16, 4), dtype=np.int64), np.zeros(16)
        birkhoff(target, lists, weights, np.zeros((4, 4), dtype=np.int64))
        assert best / 2 <= weights[0] <= best * (1 + 1e-12)


# The likelihood


def test_solve_positive() -> None:
    rng = np.random.default_rng(0)
    for n in range(1, 8):
        root = rng.normal(size=(n, n))
        matrix = root @ root.T + 0.1 * np.eye(n)
        right = rng.normal(size=(n,))
        want = np.linalg.solve(matrix, right)
        got = right.copy()
        assert solve_positive(np.tril(matrix), got)
        assert got == pytest.approx(want, rel=1e-6, abs=1e-9)
    right = np.ones(2)
    assert not solve_positive(np.ones((2, 2)), right)
    assert np.isfinite(right).all()


def counts(rng: np.random.Generator, kind: str) -> tuple[Ints, Ints]:
    n, m = int(rng.integers(1, 8)), int(rng.integers(1, 6))
    views = rng.integers(0, 10 ** rng.integers(1, 6), size=(n, m))
    if kind == "gaps":
        views *= rng.random((n, m)) < 0.4
    theta, kappa = rng.random(n), rng.random(m)
    clicks = rng.binomial(views, np.outer(theta, kappa))
    if kind == "none":
        clicks[:] = 0
    if kind == "all":
        clicks = views.copy()
    if kind == "extreme":
        clicks = np.where(rng.random((n, 1)) < 0.5, views, 0)
    return clicks, views - clicks


def fit(clicks: Ints, misses: Ints, x: Floats, y: Floats) -> bool:
    n, m = clicks.shape
    rooms = (np.zeros(n), np.zeros(m), np.zeros((n, m)), np.zeros((m, m)))
    return maximise_likelihood(clicks, misses, x, y, *rooms)


def negative_log_likelihood(clicks: Ints, misses: Ints, x: Floats, y: Floats) -> float:
    z = x[:, None] + y[None, :]
    if (z >= 0).any():
        return math.inf
    return float(-((clicks + PRIOR) * z + (misses + PRIOR) * np.log(-np.expm1(z))).sum())


@pytest.mark.parametrize("kind", ["plain", "gaps", "none", "all", "extreme"])
def test_likelihood_against_scipy(kind: str) -> None:
    """Scipy, from several starts, gets no further, and ends at the same probabilities."""
    rng = np.random.default_rng(7)
    for _ in range(5):
        clicks, misses = counts(rng, kind)
        n, m = clicks.shape
        x, y = np.zeros(n), np.zeros(m)
        start_likelihood(clicks, misses, x, y)
        assert fit(clicks, misses, x, y)
        assert y[0] == 0.0
        best = negative_log_likelihood(clicks, misses, x, y)
        for _ in range(2):
            # θ = logistic(a), κ = logistic(b): no constraints, not convex, another way.
            start: Floats = rng.normal(size=n + m)
            found = optimize.minimize(
                logistic_loss, start, (clicks, misses), "L-BFGS-B", jac=True, tol=1e-15
            )
            assert best <= found.fun + 1e-9 * abs(best)
            if kind in ("plain", "gaps"):
                assert found.fun == pytest.approx(best, rel=1e-3)  # it does get there
                if found.fun < best + 1e-7:
                    z = -np.logaddexp(0.0, -found.x)
                    p = np.exp(z[:n, None] + z[n:])
                    assert np.exp(x[:, None] + y) == pytest.approx(p, abs=1e-2)


def logistic_loss(v: Floats, clicks: Ints, misses: Ints) -> tuple[float, Floats]:
    n = clicks.shape[0]
    logs = -np.logaddexp(0.0, -v)
    z = np.minimum(logs[:n, None] + logs[n:], -1e-13)
    s, f = clicks + PRIOR, misses + PRIOR
    slope = f / np.expm1(-z) - s
    by_log = np.concatenate([slope.sum(axis=1), slope.sum(axis=0)])
    return float(-(s * z + f * np.log(-np.expm1(z))).sum()), by_log * np.exp(-np.logaddexp(0.0, v))


def test_likelihood_is_stationary_and_does_not_depend_on_the_start() -> None:
    rng = np.random.default_rng(8)
    for kind in ("plain", "gaps", "none", "all", "extreme"):
        for _ in range(20):
            clicks, misses = counts(rng, kind)
            n, m = clicks.shape
            x, y = np.zeros(n), np.zeros(m)
            start_likelihood(clicks, misses, x, y)
            assert fit(clicks, misses, x, y)
            p = np.exp(x[:, None] + y)
            slope = (clicks + PRIOR) - (misses + PRIOR) * p / (1 - p)
            scale = (clicks + misses).sum() + 1.0
            assert abs(slope.sum(axis=0)).max() < 1e-7 * scale
            assert abs(slope.sum(axis=1)).max() < 1e-7 * scale
            other_x = rng.uniform(-5.1, -0.1, size=(n,))
            other_y = rng.uniform(-2.0, 0.0, size=(m,))
            other_y[0] = 0.0
            assert fit(clicks, misses, other_x, other_y)
            assert [rounded(v) for v in other_x] == pytest.approx([rounded(v) for v in x], abs=GRID)
            assert other_x == pytest.approx(x, abs=1e-9)
            assert other_y == pytest.approx(y, abs=1e-9)


# The program


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
