"""Designs against known ones, brute force, and their certificate computed another way."""

from __future__ import annotations

import itertools
import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from clickrank._core.arrays import Floats
from clickrank._core.features import Features
from clickrank.errors import InvalidValue
from clickrank.numerics.design_support import reduce_support
from clickrank.numerics.g_optimal import GOptimalDesign

TOLERANCE = 1e-3


def leverages(vectors: Floats, design: GOptimalDesign) -> Floats:
    largest = np.abs(vectors).max(axis=0)
    vectors = vectors / np.where(largest > 0, largest, 1.0)  # which changes no leverage
    chosen = vectors[design.items]
    gram = (chosen.T * design.weights) @ chosen
    inverse = np.linalg.pinv(gram, rcond=1e-10, hermitian=True)
    out: Floats = np.einsum("ia,ab,ib->i", vectors, inverse, vectors)
    return out


def check(vectors: Floats, design: GOptimalDesign, tolerance: float = TOLERANCE) -> None:
    """Everything that a design promises, for vectors whose rank is clear."""
    rank = int(np.linalg.matrix_rank(vectors, tol=1e-9))
    assert design.rank == rank
    assert design.items.size <= rank * (rank + 1) // 2
    assert np.all(np.diff(design.items) > 0)
    assert (design.weights > 0).all()
    assert design.weights.sum() == pytest.approx(1.0, abs=1e-12)
    found = leverages(vectors, design).max()
    assert found == pytest.approx(design.leverage, rel=1e-9)
    assert rank * (1 - 1e-9) <= found <= rank * (1 + tolerance)


def polynomials(degree: int) -> Floats:
    x = np.linspace(-1.0, 1.0, 2001)
    return np.vander(x, degree + 1, increasing=True)


def sphere(n: int, d: int, seed: int = 0) -> Floats:
    """Vectors of eq. 12 of li2019: on a sphere, with a constant."""
    x = np.random.default_rng(seed).normal(size=(n, d - 1))
    x /= np.sqrt(2.0) * np.linalg.norm(x, axis=1, keepdims=True)
    return np.hstack([x, np.full((n, 1), np.sqrt(0.5))])


def gauss(*shape: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=shape)


ANGLES = np.linspace(0.0, np.pi, 60, endpoint=False)
SETS = {
    "gauss": gauss(500, 5),
    "scales": gauss(500, 4) * [1e-6, 1.0, 30.0, 1e6],
    "lengths": gauss(300, 3) * np.exp(3 * gauss(300, 1, seed=1)),
    "sphere": sphere(3000, 5),
    "circle": np.column_stack([np.cos(ANGLES), np.sin(ANGLES)]),
    "cube": np.array(list(itertools.product([-1.0, 1.0], repeat=6))),
    "cube and constant": np.array([(1.0, *p) for p in itertools.product([-1.0, 1.0], repeat=5)]),
    "in a plane": gauss(200, 2) @ gauss(2, 7, seed=1),
    "fewer than features": gauss(3, 8),
    "one": gauss(1, 4),
    "twins": np.repeat(gauss(7, 3), 20, axis=0),
    "opposite": np.vstack([gauss(20, 3), -gauss(20, 3)]),
    "zeros among them": np.vstack([np.zeros((5, 3)), gauss(9, 3), np.zeros((5, 3))]),
    "one feature": gauss(50, 1),
    "unused feature": np.hstack([gauss(50, 2), np.zeros((50, 1))]),
    "many features": gauss(2000, 50),
}


@pytest.mark.parametrize("name", SETS)
def test_certificate(name: str) -> None:
    vectors = SETS[name]
    check(vectors, GOptimalDesign.of(vectors))
    if name != "many features":
        check(vectors, GOptimalDesign.of(vectors, tolerance=1e-6), tolerance=1e-6)


def test_known_designs() -> None:
    design = GOptimalDesign.of(np.eye(4))
    assert design.weights == pytest.approx(np.full(4, 0.25), abs=1e-12)
    # Polynomials on [-1, 1]: equal weights at the roots of (1 - x²) P'(x), P Legendre's polynomial.
    for degree, roots in ((1, [-1, 1]), (2, [-1, 0, 1]), (3, [-1, -(0.2**0.5), 0.2**0.5, 1])):
        design = GOptimalDesign.of(polynomials(degree), tolerance=1e-6)
        x = -1.0 + design.items / 1000.0
        for root in roots:
            near = np.abs(x - root) < 2e-3  # the grid of the vectors
            assert design.weights[near].sum() == pytest.approx(1 / len(roots), abs=2e-3)


def test_longest_of_parallel_vectors() -> None:
    design = GOptimalDesign.of([[1.0, 2.0], [-3.0, -6.0], [2.0, 4.0]])
    assert design.items.tolist() == [1]
    assert design.rank == 1
    assert design.leverage == pytest.approx(1.0)


def test_zero_vectors() -> None:
    design = GOptimalDesign.of(np.zeros((3, 2)))
    assert (design.items.tolist(), design.weights.tolist()) == ([0], [1.0])
    assert (design.rank, design.leverage) == (0, 0.0)


@pytest.mark.parametrize(("n", "d", "seed"), [(4, 2, 0), (6, 3, 1), (8, 3, 2), (5, 4, 3)])
def test_brute_force(n: int, d: int, seed: int) -> None:
    """The determinant is the largest there is."""
    vectors = gauss(n, d, seed=seed)

    def loss(weights: Floats) -> float:
        return -float(np.linalg.slogdet((vectors.T * weights) @ vectors)[1])

    design = GOptimalDesign.of(vectors, tolerance=1e-7)
    ours = np.zeros(n)
    ours[design.items] = design.weights
    equal = np.full(n, 1 / n)
    total = {"type": "eq", "fun": lambda weights: weights.sum() - 1.0}
    minimize: Any = optimize.minimize  # whose stubs want more than SciPy
    best = minimize(loss, equal, bounds=[(0, 1)] * n, constraints=total, options={"ftol": 1e-13})
    assert loss(ours) == pytest.approx(best.fun, abs=1e-6)
    assert loss(ours) <= best.fun + 1e-8


def test_some_rows() -> None:
    vectors = gauss(400, 4)
    rows = np.array([7, 3, 250, 111, 399, 12, 13, 14])
    design = GOptimalDesign.of(vectors, items=rows)
    assert set(design.items) <= set(rows)
    places = np.array([rows.tolist().index(item) for item in design.items])
    order = np.argsort(places)
    check(
        vectors[rows],
        GOptimalDesign(places[order], design.weights[order], design.rank, design.leverage),
    )


def test_fewer_items_same_matrix() -> None:
    """Q(π) stays the same up to a factor of at least 1, which makes leverages smaller."""
    n, d = 30, 3
    points = gauss(n, d)
    weights = np.random.default_rng(1).dirichlet(np.ones(n))
    gram = (points.T * weights) @ points
    marks = np.arange(2 * n).reshape(2, n)
    kept, left = points.copy(), weights.copy()
    size = reduce_support(kept, left, n, d, np.zeros(n), marks, np.zeros((6, 7)))
    assert size <= 6
    assert np.array_equal(kept[:size], points[marks[0, :size]])
    assert left[:size].sum() == pytest.approx(1.0)
    ratio = ((kept[:size].T * left[:size]) @ kept[:size]) / gram
    assert ratio == pytest.approx(np.full((d, d), ratio[0, 0]), rel=1e-9)
    assert ratio[0, 0] >= 1.0


def test_no_copy_of_the_vectors() -> None:
    vectors = sphere(200_000, 5)
    GOptimalDesign.of(vectors[:100])  # compiled
    tracemalloc.start()
    try:
        design = GOptimalDesign.of(vectors)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < vectors.nbytes / 2
    check(vectors, design)


@pytest.mark.parametrize("items", [[], [[0]], [0.5], [3], [-1], ["a"]])
def test_rows_that_are_not(items: object) -> None:
    with pytest.raises(InvalidValue, match="GOptimalDesign: items must be a vector of row numbers"):
        GOptimalDesign.of(np.eye(3), items=items)  # type: ignore[arg-type]


def test_refused() -> None:
    with pytest.raises(InvalidValue, match="tolerance must be a number between 1e-09 and 1"):
        GOptimalDesign.of(np.eye(3), tolerance=0.0)
    with pytest.raises(InvalidValue, match="Features: the features of item 1 must be finite"):
        GOptimalDesign.of([[1.0], [np.nan]])
    assert GOptimalDesign.of(Features(np.eye(2))).rank == 2
