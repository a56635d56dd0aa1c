"""The lower bound of 001, Theorem 6, against the linear programme it solves."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from clickrank.bounds import bernoulli_kl, pbm_lower_bound
from clickrank.clickmodels import PBM, Cascade
from clickrank.errors import InvalidValue


def by_linear_programme(model: PBM) -> float:
    """Corollary 5: the cheapest exploration, over all rankings, that tells each item apart."""
    n = model.n_positions
    best = model.best_ranking()
    order = np.argsort(-model.attraction, kind="stable")
    last = model.attraction[order[n - 1]]
    worse = [k for k in order[n:] if model.attraction[k] < last]
    rankings = list(itertools.permutations(range(model.n_items), n))
    cost = [model.value(best) - model.value(r) for r in rankings]
    information = [
        [
            -sum(
                bernoulli_kl(e * model.attraction[k], e * last)
                for item, e in zip(r, model.examination, strict=True)
                if item == k
            )
            for r in rankings
        ]
        for k in worse
    ]
    found = linprog(cost, A_ub=information, b_ub=[-1.0] * len(worse), bounds=(0, None))
    assert found.fun is not None
    return float(found.fun)


@pytest.mark.parametrize("seed", range(8))
def test_equals_the_linear_programme(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_items, n_positions = (5, 3) if seed % 2 else (4, 2)
    model = PBM(rng.uniform(0.05, 0.95, n_items), rng.uniform(0.1, 1.0, n_positions))
    assert pbm_lower_bound(model) == pytest.approx(by_linear_programme(model), rel=1e-7)


def test_corners() -> None:
    assert pbm_lower_bound(PBM([0.5, 0.3], [1.0, 0.5])) == 0.0  # nothing to leave out
    assert pbm_lower_bound(PBM([0.5, 0.3, 0.3], [1.0, 0.5])) == 0.0  # indifferent
    one = pbm_lower_bound(PBM([0.5, 0.3], [1.0]))  # Lai and Robbins
    assert one == pytest.approx(0.2 / bernoulli_kl(0.3, 0.5))
    hidden = pbm_lower_bound(PBM([0.9, 0.5, 0.1], [1.0, 0.0]))
    assert hidden == pbm_lower_bound(PBM([0.9, 0.5, 0.1], [1.0]))
    assert pbm_lower_bound(PBM([0.9, 0.5], [0.0])) == 0.0


def test_near_ties() -> None:
    """For close attractions d(p, q) = (p - q)²/(2q(1 - q)), so the bound is 2q(1 - q)/(p - q)."""
    for gap in (1e-4, 1e-8, 1e-12):
        bound = pbm_lower_bound(PBM([0.3, 0.3 - gap], [1.0]))
        real = 0.3 - (0.3 - gap)
        assert bound == pytest.approx(2 * 0.3 * 0.7 / real, rel=1e-3)


def test_divergence() -> None:
    for p, q in ((0.2, 0.7), (0.5, 0.5), (0.0, 0.3), (1.0, 0.3), (0.31, 0.3)):
        plain = sum(a * math.log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0)
        assert bernoulli_kl(p, q) == pytest.approx(plain, abs=1e-15)
    assert bernoulli_kl(0.2, 0.0) == bernoulli_kl(0.2, 1.0) == math.inf
    assert bernoulli_kl(0.0, 0.0) == bernoulli_kl(1.0, 1.0) == 0.0


def test_wrong_models() -> None:
    with pytest.raises(InvalidValue, match="must be a PBM"):
        pbm_lower_bound(Cascade([0.5, 0.3], 1))  # type: ignore[arg-type]
