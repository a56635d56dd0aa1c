"""The assignment solver, against SciPy and all lists."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from clickrank._core.arrays import Floats, Ints
from clickrank.numerics.assignment import (
    TIE,
    assign,
    assignment_buffers,
    exchange_cost,
    optimise,
)


def work(n_items: int, n_positions: int) -> tuple[Floats, Ints, Floats]:
    fields = assignment_buffers(n_items, n_positions)
    return fields["float_buffer"], fields["int_buffer"], fields["graph_buffer"]


def matrices(seed: int, size: int) -> list[Floats]:
    rng = np.random.default_rng(seed)
    found = []
    for i in range(size):
        n_items = int(rng.integers(1, 7))
        shape = (n_items, int(rng.integers(1, n_items + 1)))
        values = (
            rng.random(shape),
            rng.integers(0, 3, shape).astype(float),
            np.outer(rng.random(shape[0]), rng.random(shape[1])),
            rng.normal(size=shape) * 10.0 ** rng.integers(-3, 1),
        )[i % 4]
        found.append(values)
    return found


@pytest.mark.parametrize("values", matrices(2, 200), ids=lambda v: str(v.shape))
def test_assignment_against_scipy_and_all_lists(values: Floats) -> None:
    n_items, n_positions = values.shape
    rng = np.random.default_rng(3)
    rows, columns = linear_sum_assignment(values, maximize=True)
    best = rng.permutation(n_items)[:n_positions]
    lead = assign(values, rng, best, *work(n_items, n_positions))
    assert len(set(best.tolist())) == n_positions
    total = values[best, np.arange(n_positions)].sum()
    assert total == pytest.approx(values[rows, columns].sum(), abs=1e-10)
    sums = sorted(
        math.fsum(values[item, k] for k, item in enumerate(chosen))
        for chosen in itertools.permutations(range(n_items), n_positions)
    )
    second = sums[-1] - sums[-2] if len(sums) > 1 else math.inf
    assert lead == second or abs(lead - second) <= 1e-12
    # From the optimum nothing changes, and without ties nothing is drawn.
    if lead > TIE:
        again, state = best.copy(), rng.bit_generator.state
        assign(values, rng, again, *work(n_items, n_positions))
        assert again.tolist() == best.tolist()
        assert rng.bit_generator.state == state


def test_large_assignment_against_scipy() -> None:
    rng = np.random.default_rng(4)
    for n_items, n_positions in ((120, 10), (30, 30), (200, 1)):
        values = rng.random((n_items, n_positions))
        best = np.arange(n_positions)
        optimise(values, best, *work(n_items, n_positions))
        rows, columns = linear_sum_assignment(values, maximize=True)
        assert values[best, np.arange(n_positions)].sum() == pytest.approx(
            values[rows, columns].sum(), abs=1e-9
        )


def test_ties_are_settled_evenly() -> None:
    rng = np.random.default_rng(5)
    seen: dict[tuple[int, ...], int] = {}
    values = np.zeros((4, 2))
    best = np.arange(2)
    rounds = 6000
    for _ in range(rounds):
        assert assign(values, rng, best, *work(4, 2)) <= TIE
        seen[tuple(best.tolist())] = seen.get(tuple(best.tolist()), 0) + 1
    expected = rounds / 12
    chi2 = sum((count - expected) ** 2 / expected for count in seen.values())
    assert len(seen) == 12
    assert chi2 < 43.2  # the quantile of 1 - 1e-5 with 11 degrees of freedom


@pytest.mark.parametrize("value", [0.0, 1.5])
def test_ties_among_many_items_do_not_follow_their_labels(value: float) -> None:
    """Where rounding makes bonuses equal, too: the mean label at each position, to 5 errors."""
    rng = np.random.default_rng(6)
    n_items, n_positions, rounds = 400, 20, 400
    values = np.full((n_items, n_positions), value)
    best = np.arange(n_positions)
    space = work(n_items, n_positions)
    total = np.zeros(n_positions)
    for _ in range(rounds):
        assign(values, rng, best, *space)
        total += best
    error = math.sqrt((n_items**2 - 1) / 12 / rounds)
    assert np.abs(total / rounds - (n_items - 1) / 2).max() < 5 * error


def test_an_exchange_that_improves_has_a_negative_cost() -> None:
    values = np.array([[0.9, 0.5], [0.8, 0.1], [0.2, 0.3]])
    used, graph = np.zeros(3, dtype=np.int64), np.zeros((3, 3))
    # (0, 1) earns 1.0; swapping its items 1.3, taking item 2 at the second position 1.2.
    assert exchange_cost(values, np.array([0, 1]), used, graph) <= -0.3 + 1e-12
    assert exchange_cost(values, np.array([1, 0]), used, graph) == pytest.approx(0.1)
