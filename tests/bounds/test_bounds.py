"""The bounds of lagree2016, against brute force, and what its text says of them."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

from clickrank.bounds import (
    bernoulli_kl,
    debiased_variance,
    multiple_play_lower_bound,
    pbm_exploring_positions,
    pbm_information,
    pbm_lower_bound,
    pbm_pie_constant,
    pbm_ucb_constant,
    pooled_efficiency,
    pooled_variance,
)
from clickrank.clickmodels import DCTR, PBM, Cascade
from clickrank.errors import InvalidValue


def by_linear_programme(model: PBM | DCTR, looks_observed: bool = False) -> float:
    """Corollary 5: the cheapest exploration, over all rankings, that tells each item apart.

    If looks are observed, position l tells κ_l d(θ_k, θ_L) instead of d(κ_l θ_k, κ_l θ_L).
    """
    n = model.n_positions
    best = model.best_ranking()
    order = np.argsort(-model.attraction, kind="stable")
    last = model.attraction[order[n - 1]]
    worse = [k for k in order[n:] if model.attraction[k] < last]
    rankings = list(itertools.permutations(range(model.n_items), n))
    cost = [model.value(best) - model.value(r) for r in rankings]

    def told(kappa: float, theta: float) -> float:
        if looks_observed:
            return kappa * bernoulli_kl(theta, last)
        return bernoulli_kl(kappa * theta, kappa * last)

    information = [
        [
            -sum(
                told(e, model.attraction[k])
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


def drawn_page(seed: int) -> PBM:
    rng = np.random.default_rng(seed)
    n_items, n_positions = (5, 3) if seed % 2 else (4, 2)
    return PBM(rng.uniform(0.05, 0.95, n_items), rng.uniform(0.1, 1.0, n_positions))


FIGURE_1B = PBM([0.45, 0.35, 0.25, 0.15, 0.05], [0.9, 0.6, 0.3])


@pytest.mark.parametrize("seed", range(8))
def test_equals_the_linear_programme(seed: int) -> None:
    model = drawn_page(seed)
    assert pbm_lower_bound(model) == pytest.approx(by_linear_programme(model), rel=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_document_based_clicks_have_the_bound_of_multiple_plays(seed: int) -> None:
    """They are position-based clicks with examination 1, and eq. 6 becomes eq. 3."""
    attraction = np.random.default_rng(seed).uniform(0.05, 0.95, 5)
    documents = DCTR(attraction, n_positions=3)
    bound = pbm_lower_bound(documents)
    assert bound == pbm_lower_bound(PBM(attraction, [1.0] * 3))
    assert bound == pytest.approx(multiple_play_lower_bound(attraction, 3), rel=1e-12)
    assert bound == pytest.approx(by_linear_programme(documents), rel=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_observed_looks_have_the_bound_of_multiple_plays(seed: int) -> None:
    """Remark 7: it does not depend on the examination, and censoring only makes it larger."""
    model = drawn_page(seed)
    plain = multiple_play_lower_bound(model.attraction, model.n_positions)
    assert plain == pytest.approx(by_linear_programme(model, looks_observed=True), rel=1e-7)
    assert multiple_play_lower_bound(model.attraction, model.n_positions, 0.3) == 0.3 * plain
    assert pbm_lower_bound(model) >= plain - 1e-9


def explored_by_enumeration(model: PBM) -> list[int]:
    """The position at which each item costs least in eq. 6, by the definition of v(k, l)."""
    n = model.n_positions
    places = np.argsort(-model.examination)
    order = np.argsort(-model.attraction)
    found = [-1] * model.n_items
    for k in order[n:]:
        ratios = []
        for rank, place in enumerate(places):
            items = [*order[:rank], k, *order[rank : n - 1]]
            ranking = np.empty(n, dtype=np.int64)
            ranking[places] = items
            e = model.examination[place]
            apart = bernoulli_kl(e * model.attraction[k], e * model.attraction[order[n - 1]])
            ratios.append((model.value(model.best_ranking()) - model.value(ranking)) / apart)
        found[int(k)] = int(places[int(np.argmin(ratios))])
    return found


@pytest.mark.parametrize("seed", range(20))
def test_exploring_positions(seed: int) -> None:
    model = drawn_page(seed)
    assert pbm_exploring_positions(model).tolist() == explored_by_enumeration(model)


def test_exploring_positions_as_the_text_says() -> None:
    """On top if the optimal items are alike, at the last position if another is close to them."""
    page = [0.9, 0.6, 0.3]
    alike = PBM([0.5 + 2e-6, 0.5 + 1e-6, 0.5, 0.2], page)
    assert pbm_exploring_positions(alike).tolist() == [-1, -1, -1, 0]
    close = PBM([0.7, 0.6, 0.5, 0.5 - 1e-6], page)
    assert pbm_exploring_positions(close).tolist() == [-1, -1, -1, 2]
    assert pbm_exploring_positions(FIGURE_1B).tolist() == [-1, -1, -1, 2, 2]
    in_any_order = PBM([0.05, 0.45, 0.15, 0.25, 0.35], [0.3, 0.9, 0.6])
    assert pbm_exploring_positions(in_any_order).tolist() == [0, -1, 0, -1, -1]
    assert pbm_exploring_positions(PBM([0.5, 0.3, 0.3], [1.0, 0.5])).tolist() == [-1, -1, -1]


def test_exploring_at_the_last_position_is_no_lower_bound() -> None:
    """The text takes it for one: it is above eq. 6 wherever another position is better."""
    for seed in range(20):
        model = drawn_page(seed)
        assert pbm_pie_constant(model, 1e-12) >= pbm_lower_bound(model) * (1 - 1e-9)
    alike = PBM([0.5, 0.5, 0.5, 0.1], [0.9, 0.5, 0.2])
    assert pbm_pie_constant(alike, 1e-12) > 1.3 * pbm_lower_bound(alike)
    # Where every item is best explored there, PBM-PIE attains the lower bound.
    assert pbm_pie_constant(FIGURE_1B, 1e-12) == pytest.approx(pbm_lower_bound(FIGURE_1B))


def test_constant_of_pie_by_hand() -> None:
    terms = [0.3 * (0.25 - k) / bernoulli_kl(0.3 * k, 0.3 * (0.25 - 0.02)) for k in (0.15, 0.05)]
    found = pbm_pie_constant(FIGURE_1B, epsilon=0.1, margin=0.02)
    assert found == pytest.approx(1.1**2 * sum(terms), rel=1e-12)
    assert found > pbm_pie_constant(FIGURE_1B, epsilon=0.1)
    with pytest.raises(InvalidValue, match=r"below half the smallest difference .*0\.05"):
        pbm_pie_constant(FIGURE_1B, epsilon=0.1, margin=0.051)
    with pytest.raises(InvalidValue, match="epsilon must be above 0"):
        pbm_pie_constant(FIGURE_1B, epsilon=0.0)


@pytest.mark.parametrize("seed", range(8))
def test_constant_of_ucb_by_enumeration(seed: int) -> None:
    model = drawn_page(seed)
    kappa = sorted(model.examination.tolist(), reverse=True)
    theta = sorted(model.attraction.tolist(), reverse=True)
    n = len(kappa)
    best = model.best_ranking()
    orders = [r for r in itertools.permutations(best.tolist()) if list(r) != best.tolist()]
    delta = min(model.value(best) - model.value(r) for r in orders)
    factor = min(
        (sum(kappa) ** 2 / place + sum(kappa[:place]) ** 2) / kappa[-1] ** 2
        for place in range(1, n + 1)
    )
    gaps = sum(1 / (kappa[-1] * (theta[n - 1] - k)) for k in theta[n:])
    by_hand = 16 * 1.5 * factor * (n / delta + gaps)
    assert pbm_ucb_constant(model, epsilon=0.5) == pytest.approx(by_hand, rel=1e-9)
    assert by_hand > pbm_lower_bound(model)


def test_constant_of_ucb_at_corners() -> None:
    assert pbm_ucb_constant(DCTR([0.5, 0.3, 0.1], 2), 0.1) == math.inf  # orders are alike
    assert pbm_ucb_constant(PBM([0.5, 0.5, 0.1], [1.0, 0.5]), 0.1) == math.inf
    assert pbm_ucb_constant(PBM([0.5, 0.3, 0.3], [1.0, 0.5]), 0.1) == math.inf
    one = pbm_ucb_constant(PBM([0.5, 0.3], [1.0]), 0.1)  # one position has one order
    assert one == pytest.approx(16 * 1.1 * 2 / 0.2)
    assert pbm_ucb_constant(PBM([0.5, 0.3], [0.0]), 0.1) == 0.0


def test_corners() -> None:
    assert pbm_lower_bound(PBM([0.5, 0.3], [1.0, 0.5])) == 0.0  # nothing to leave out
    assert pbm_lower_bound(PBM([0.5, 0.3, 0.3], [1.0, 0.5])) == 0.0  # indifferent
    one = pbm_lower_bound(PBM([0.5, 0.3], [1.0]))  # Lai and Robbins
    assert one == pytest.approx(0.2 / bernoulli_kl(0.3, 0.5))
    hidden = pbm_lower_bound(PBM([0.9, 0.5, 0.1], [1.0, 0.0]))
    assert hidden == pbm_lower_bound(PBM([0.9, 0.5, 0.1], [1.0]))
    assert pbm_lower_bound(PBM([0.9, 0.5], [0.0])) == 0.0
    assert pbm_exploring_positions(PBM([0.9, 0.5], [0.0])).tolist() == [-1, -1]


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


# Estimators of one attraction (section 2), on every possible number of clicks at two positions.

KAPPA, VIEWS = [0.9, 0.3], [4, 7]


def moments(theta: float, weights: list[float]) -> tuple[float, float]:
    """Mean and variance of the estimator that weighs the clicks at each position."""
    outcomes = itertools.product(range(VIEWS[0] + 1), range(VIEWS[1] + 1))
    values, chances = [], []
    for clicks in outcomes:
        each = [binom.pmf(s, n, k * theta) for s, n, k in zip(clicks, VIEWS, KAPPA, strict=True)]
        chances.append(float(np.prod(each)))
        values.append(sum(w * s for w, s in zip(weights, clicks, strict=True)))
    mean = float(np.dot(chances, values))
    return mean, float(np.dot(chances, (np.array(values) - mean) ** 2))


@pytest.mark.parametrize("theta", [0.05, 0.4, 0.95])
def test_variances_by_enumeration(theta: float) -> None:
    looks = sum(n * k for n, k in zip(VIEWS, KAPPA, strict=True))
    mean, variance = moments(theta, [1 / looks] * 2)
    assert mean == pytest.approx(theta)
    assert pooled_variance(theta, KAPPA, VIEWS) == pytest.approx(variance)
    mean, variance = moments(theta, [1 / (k * sum(VIEWS)) for k in KAPPA])
    assert mean == pytest.approx(theta)  # divided by N_k: by N_kl, as printed, it would be biased
    assert debiased_variance(theta, KAPPA, VIEWS) == pytest.approx(variance)


@pytest.mark.parametrize("theta", [0.05, 0.4, 0.95])
def test_information_is_the_curvature_of_the_expected_likelihood(theta: float) -> None:
    def expected(x: float) -> float:
        return sum(
            n * (k * theta * math.log(k * x) + (1 - k * theta) * math.log(1 - k * x))
            for n, k in zip(VIEWS, KAPPA, strict=True)
        )

    h = 1e-4
    curvature = (2 * expected(theta) - expected(theta + h) - expected(theta - h)) / h**2
    assert pbm_information(theta, KAPPA, VIEWS) == pytest.approx(curvature, rel=1e-4)


def test_what_the_text_says_of_the_pooled_estimator() -> None:
    """It loses at most a factor 1/(1 − θ) of the best variance, and always beats the other."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = int(rng.integers(1, 6))
        kappa, views = rng.uniform(0.01, 1.0, n), rng.integers(1, 1000, n)
        theta = float(rng.uniform(0.01, 0.99))
        efficiency = pooled_efficiency(theta, kappa, views)
        assert 1 - theta - 1e-12 <= efficiency <= 1 + 1e-12
        assert pooled_variance(theta, kappa, views) <= debiased_variance(theta, kappa, views) * (
            1 + 1e-12
        )
    assert pooled_efficiency(0.7, [0.4], [10]) == pytest.approx(1.0)
    # "When θ gets very close to one, it is no longer close to optimal."
    assert pooled_efficiency(0.99, [1.0, 0.1], [100, 1000]) < 0.05
    # "Very unreliable as soon as one of the κ's gets very small."
    rare = ([1.0, 0.001], [100, 100])
    assert debiased_variance(0.4, *rare) > 100 * pooled_variance(0.4, *rare)


def test_wrong_views() -> None:
    with pytest.raises(InvalidValue, match="attraction must be above 0 and below 1"):
        pbm_information(1.0, [1.0], [1])
    with pytest.raises(InvalidValue, match=r"views must have one entry per position \(2\)"):
        pooled_variance(0.5, [1.0, 0.5], [1])
    with pytest.raises(InvalidValue, match="views must contain at least one view"):
        debiased_variance(0.5, [1.0], [0])
