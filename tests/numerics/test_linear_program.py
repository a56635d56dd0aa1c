"""The dual simplex method against SciPy's linear programs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from clickrank._core.arrays import Floats
from clickrank.numerics.linear_program import (
    INFEASIBLE,
    OPTIMAL,
    add_constraint,
    drop_row,
    dual_simplex,
)


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
