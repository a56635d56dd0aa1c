"""What a report says is what the counts say: against brute force, simulation and the model."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize
from scipy.special import betainc

from clickrank._core.arrays import Floats, Ints
from clickrank.clickmodels import PBM
from clickrank.errors import InvalidValue
from clickrank.fit import fit_pbm_page
from clickrank.fit.pbm_page import CELL_MISSES, ITEM_WEIGHT, POSITION_WEIGHT
from clickrank.service.runtime.context_report import (
    Attraction,
    Best,
    ContextCounts,
    best_probabilities,
    report,
)
from clickrank.service.schemas.answers import Report

THETA = np.r_[0.6, 0.5, 0.45, 0.4, np.linspace(0.35, 0.05, 16)]
KAPPA = np.array([1.0, 0.7, 0.5, 0.35, 0.25])


def counted(
    seed: int, lists: int, theta: Floats = THETA, kappa: Floats = KAPPA, best: float = 0.0
) -> tuple[Ints, Ints]:
    """Views and clicks of random lists, a share of them the best one."""
    rng = np.random.default_rng(seed)
    views = np.zeros((theta.size, kappa.size), dtype=np.int64)
    places = np.arange(kappa.size)
    views[np.argsort(-theta)[: kappa.size], places] += round(lists * best)
    order = np.argsort(rng.random((lists - round(lists * best), theta.size)), axis=1)
    np.add.at(views, (order[:, : kappa.size], places), 1)
    return views, rng.binomial(views, theta[:, None] * kappa).astype(np.int64)


def reported(views: Ints, clicks: Ints, retired: tuple[int, ...] = ()) -> Report:
    n_items = views.shape[0]
    settled = int(views[:, 0].sum())
    gone = np.isin(np.arange(n_items), retired)
    counts = ContextCounts(views, clicks, settled, settled, min(settled, int(clicks.sum())))
    return report("shop", "", [f"item {i}" for i in range(n_items)], gone, counts)


def shrunk_loss(z: Floats, views: Ints, clicks: Ints) -> float:
    """The objective as the docstring has it, cell by cell."""
    n_items, n_positions = views.shape
    x, y = z[:n_items], np.r_[0.0, z[n_items:]]
    overall = (clicks.sum() + 0.5) / (views.sum() + 1.0)
    total = 0.0
    for k in range(n_positions):
        weights = [n / (n + 1.0) for n in views[:, k]]
        rates = [c / n if n else 0.0 for n, c in zip(views[:, k], clicks[:, k], strict=True)]
        typical = sum(w * r for w, r in zip(weights, rates, strict=True)) + overall
        typical /= sum(weights) + 1.0
        for i in range(n_items):
            if views[i, k]:
                more = ITEM_WEIGHT * views[i, k] / views[i].sum()
                hits = clicks[i, k] + more * typical
                misses = views[i, k] - clicks[i, k] + more * (1.0 - typical) + CELL_MISSES
                if x[i] + y[k] >= 0.0:
                    return math.inf
                total += hits * (x[i] + y[k]) + misses * math.log(-math.expm1(x[i] + y[k]))
        if k:
            total += POSITION_WEIGHT * (y[k] - math.exp(y[k]))
    if (x >= 0.0).any():
        return math.inf
    return -total - CELL_MISSES * float(np.log(-np.expm1(x)).sum())


@pytest.mark.parametrize("seed", range(4))
def test_fit_is_the_maximum_that_a_general_method_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    views = rng.integers(0, 9, (3, 3))
    views[:, 0] += 1
    clicks = rng.binomial(views, rng.random((3, 3)))
    if seed == 0:
        clicks[:] = 0
    if seed == 1:
        clicks = views.copy()
    fit = fit_pbm_page(views, clicks)
    ours = np.r_[np.log(fit.attraction), np.log(fit.examination[1:])]
    start = np.r_[np.full(3, -2.0), np.full(2, -0.1)]
    options: Any = {"maxiter": 20_000, "maxfev": 20_000, "xatol": 1e-9, "fatol": 1e-12}
    minimize: Any = optimize.minimize
    again: Any = None
    for _ in range(2):  # start again from a simplex that has shrunk
        again = minimize(
            lambda z: shrunk_loss(z, views, clicks),
            start,
            method="Nelder-Mead",
            options=options,
        )
        start = again.x
    assert fit.converged
    assert shrunk_loss(ours, views, clicks) <= again.fun + 1e-9
    np.testing.assert_allclose(ours, again.x, atol=2e-3)  # the simplex's own accuracy


@pytest.mark.parametrize("lists", [3, 30, 3000])
@pytest.mark.parametrize("high", [0.02, 0.6, 1.0])
def test_no_step_lowers_the_likelihood(lists: int, high: float) -> None:
    for seed in range(10):
        theta = np.random.default_rng(seed).uniform(0.0, high, 12)
        fit = fit_pbm_page(*counted(seed, lists, theta, KAPPA[:4], best=0.5))
        assert fit.converged
        assert (np.diff(fit.objectives) <= 0.0).all()


def test_fit_recovers_the_model_that_clicks_come_from() -> None:
    # 24 estimates in 30 data sets: a z-score beyond 4.5 has a probability of 7e-6, 0.5 % in all.
    # Their mean square is 1 within 4 standard deviations of χ². Errors are relative to estimates,
    # by clicks: √(estimate · truth) makes of them about those at the truth.
    model = PBM(THETA, KAPPA)
    scores = []
    for seed in range(30):
        views, clicks = counted(seed, 20_000, model.attraction, model.examination)
        fit = fit_pbm_page(views, clicks)
        for found, truth, error in (
            (fit.attraction, model.attraction, fit.attraction_error),
            (fit.examination[1:], model.examination[1:], fit.examination_error[1:]),
        ):
            scores += list((found - truth) / (np.sqrt(found * truth) * error))
    z = np.array(scores)
    assert abs(z).max() < 4.5
    assert abs((z**2).mean() - 1.0) < 4.0 * math.sqrt(2.0 / z.size)


@pytest.mark.parametrize(
    ("lists", "theta", "coverage", "error"),
    [
        (2000, np.linspace(0.05, 0.6, 20), 0.947, 0.009),
        (2000, np.linspace(0.01, 0.05, 20), 0.920, 0.018),  # 2 to 10 clicks per item
        (100, np.linspace(0.05, 0.6, 20), 0.933, 0.014),  # 25 views per item
        (500, np.linspace(0.7, 0.95, 20), 0.929, 0.012),
        (20_000, np.linspace(0.7, 0.95, 20), 0.954, 0.009),
    ],
)
def test_intervals_hold_the_truth(lists: int, theta: Floats, coverage: float, error: float) -> None:
    # Coverage as measured in 300 data sets, and its standard error in 30: items of one data set
    # share the error of κ. A false alarm is at 4 of them, one in 15,000.
    held = []
    for seed in range(30):
        done = reported(*counted(seed, lists, theta))
        for entry, truth in zip(done.items, theta, strict=True):
            assert entry.low is not None
            assert entry.high is not None
            assert entry.estimate is not None
            assert 0.0 <= entry.low <= entry.estimate <= entry.high <= 1.0
            held.append(entry.low <= truth <= entry.high)
    assert abs(np.mean(held) - coverage) < 4.0 * error


def test_best_probabilities_are_calibrated() -> None:
    # Of the items given a probability of p, a share of p is in the best list of the truth, which
    # is drawn again each time. Items of one data set are correlated (five are in): the bins hold
    # 100 items and more, the standard error is below 0.05, and 4 of them are allowed.
    rng = np.random.default_rng(5)
    given, truth = [], []
    for seed in range(60):
        theta = rng.beta(2.0, 6.0, 20)
        done = reported(*counted(seed, 300, theta))
        given += [entry.best_probability for entry in done.items]
        truth += list(np.argsort(np.argsort(-theta)) < 5)
    p, inside = np.array(given), np.array(truth)
    for low, high in [(0.0, 0.2), (0.2, 0.4), (0.4, 0.7), (0.7, 1.01)]:
        chosen = (p >= low) & (p < high)
        assert chosen.sum() >= 80
        assert abs(p[chosen].mean() - inside[chosen].mean()) < 4.0 * 0.5 / math.sqrt(chosen.sum())


def test_best_probabilities_against_integration() -> None:
    # Three items, one position, and a crowd not shown: P(i is highest) = ∫ f_i Π F_j.
    known = Attraction(
        np.array([3.0, 5.0, 2.0, 2.0, 2.0]), np.array([5.0, 9.0, 9.0, 9.0, 9.0]), (2.0, 9.0)
    )
    shown = np.array([True, True, False, False, False])
    got = best_probabilities(known, shown, np.ones(5, dtype=bool), 1)
    t = np.linspace(0.0, 1.0, 20_001)
    below = [betainc(a, b, t) for a, b in zip(known.alpha, known.beta, strict=True)]
    for i, own in enumerate(below):
        others = np.prod([other for j, other in enumerate(below) if j != i], axis=0)
        expected = (np.diff(own) * (others[1:] + others[:-1]) / 2.0).sum()
        assert got[i] == pytest.approx(expected, abs=4.0 * 0.01)
    assert got[2] == got[3] == got[4]
    assert got.sum() == pytest.approx(1.0)


def test_report_finds_the_best_list_and_the_positions() -> None:
    views, clicks = counted(1, 20_000)
    done = reported(views, clicks)
    assert done.best == [f"item {i}" for i in range(5)]
    assert [entry.best_probability > 0.5 for entry in done.items] == [True] * 5 + [False] * 15
    assert sum(entry.best_probability for entry in done.items) == pytest.approx(5.0)
    examined = [place.examination for place in done.positions]
    assert examined[0] == 1.0
    np.testing.assert_allclose(np.array(examined, float), KAPPA, atol=0.06)  # 4 standard errors
    assert [place.click_rate for place in done.positions] == pytest.approx(
        list(clicks.sum(axis=0) / views.sum(axis=0))
    )
    # Random lists lose what they lose: the estimate is the truth within a few percent.
    lost = 20_000 * (np.sort(THETA)[::-1][:5] @ KAPPA - THETA.mean() * KAPPA.sum())
    assert done.regret == pytest.approx(lost, rel=0.05)


def test_the_best_item_goes_to_the_most_examined_position() -> None:
    kappa = np.array([1.0, 1.6, 0.5])
    views, clicks = counted(2, 20_000, np.array([0.5, 0.4, 0.3, 0.1]), kappa)
    assert Best(views, clicks).among(np.ones(4, dtype=bool)).tolist() == [1, 0, 2]
    assert Best(views, clicks).among(np.array([False, True, True, True])).tolist() == [2, 1, 3]
    assert Best(views, clicks).among(np.array([True, False, False, True])).tolist() == [3, 0]


def test_showing_the_best_list_costs_nothing_more() -> None:
    explored = reported(*counted(3, 5000)).regret
    views, clicks = counted(3, 50_000, best=0.9)
    then = reported(views, clicks).regret
    assert explored is not None
    assert then is not None
    assert then < 1.5 * explored  # ten times the impressions


def test_luck_does_not_make_the_best_list() -> None:
    # A thousand items with a few views each, and ten that are known: the list of the highest
    # click rates would be chance, and claim 1.2 clicks per impression more than there are.
    rng = np.random.default_rng(4)
    theta, kappa = rng.uniform(0.05, 0.6, 1000), np.arange(1.0, 11.0) ** -0.7
    views, clicks = counted(4, 20_000, theta, kappa, best=0.9)
    best = Best(views, clicks).among(np.ones(1000, dtype=bool))
    assert theta[best].mean() > 0.5
    assert (
        theta[best].mean() > theta[np.argsort(-fit_pbm_page(views, clicks).attraction)[:10]].mean()
    )


def test_retired_items_have_no_chance_and_keep_their_history() -> None:
    views, clicks = counted(5, 2000)
    done = reported(views, clicks, retired=(0, 2))
    assert done.items[0].best_probability == 0.0
    assert done.items[0].estimate == pytest.approx(0.6, abs=0.15)
    assert done.items[0].retired
    assert "item 0" not in done.best
    assert sum(entry.best_probability for entry in done.items) == pytest.approx(5.0)


def test_no_data() -> None:
    nothing = np.zeros((4, 3), dtype=np.int64)
    done = reported(nothing, nothing)
    assert (done.click_rate, done.regret, done.exploration, done.shadow) == (None,) * 4
    assert done.best == ["item 0", "item 1", "item 2"]
    assert [entry.estimate for entry in done.items] == [None] * 4
    assert [entry.best_probability for entry in done.items] == [0.75] * 4
    assert [place.examination for place in done.positions] == [1.0, None, None]
    assert [place.click_rate for place in done.positions] == [None] * 3


@pytest.mark.parametrize("clicked", [0, 1])
@pytest.mark.parametrize("shape", [(1, 1), (20, 5), (5, 5)])
def test_all_clicks_and_none(clicked: int, shape: tuple[int, int]) -> None:
    views = np.full(shape, 50)
    done = reported(views, views * clicked)
    for entry in done.items:
        assert entry.estimate is not None
        assert abs(entry.estimate - clicked) < 0.03
        assert entry.low is not None
        assert entry.high is not None
        assert 0.0 <= entry.low < entry.high <= 1.0
        assert entry.best_probability == pytest.approx(min(1.0, shape[1] / shape[0]), abs=0.05)
    told = [place.examination for place in done.positions]
    if clicked:
        assert told == pytest.approx([1.0] * shape[1], abs=0.01)
    else:  # without a click nothing links positions
        assert told == [1.0] + [None] * (shape[1] - 1)
    assert done.regret == pytest.approx(0.0, abs=1e-6)


def test_a_page_that_never_changes_tells_no_examination() -> None:
    views = np.diag([1000, 1000, 1000])
    done = reported(views, np.diag([300, 150, 70]))
    assert [place.examination for place in done.positions] == [1.0, None, None]
    assert done.best == ["item 0", "item 1", "item 2"]
    assert done.regret == pytest.approx(0.0, abs=1e-6)
    known, unknown = done.items[0], done.items[2]
    assert known.low is not None
    assert known.high is not None
    assert known.high - known.low < 0.07
    # 0.07 may be a bad item, or a good one that few look at.
    assert unknown.low is not None
    assert unknown.high is not None
    assert unknown.high - unknown.low > 0.25


def test_positions_linked_to_each_other_but_not_to_the_first_are_not_told() -> None:
    views = np.zeros((4, 3), dtype=np.int64)
    views[0, 0] = views[1, 1] = views[1, 2] = views[2, 1] = views[2, 2] = 500
    done = reported(views, views // 4)
    assert [place.examination for place in done.positions] == [1.0, None, None]
    views[0, 2] = 500  # the first item links them all
    done = reported(views, views // 4)
    assert None not in [place.examination for place in done.positions]


def test_a_link_of_a_few_views_is_not_enough() -> None:
    views = np.array([[1000, 3], [0, 1000]])
    done = reported(views, np.array([[300, 1], [0, 100]]))
    assert done.positions[1].examination is None


def test_shadow_mode_compares_lists_by_the_same_estimates() -> None:
    views, clicks = counted(6, 4000)
    own = np.zeros_like(views)
    own[np.arange(5), np.arange(5)] = 4000  # the ranker has found the best list
    counts = ContextCounts(views, clicks, 4000, 4000, 3000, 100, 25, own, views, same_items=5000)
    done = report("shop", "q", [str(i) for i in range(20)], np.zeros(20, dtype=bool), counts)
    assert done.shadow is not None
    assert done.shadow.impressions == 4000
    assert done.shadow.same_items == 5000 / 20_000
    # Four standard errors of 2 %, and 2 % that shrinkage takes of these items.
    assert done.shadow.own_value == pytest.approx(THETA[:5] @ KAPPA, rel=0.1)
    assert done.shadow.page_value == pytest.approx(clicks.sum() / 4000, rel=0.02)
    assert done.exploration == 0.25
    assert done.click_rate == 0.75


def test_a_page_that_never_changes_its_list_does_not_tell_what_lists_are_worth() -> None:
    views = np.zeros((6, 3), dtype=np.int64)
    views[np.arange(3), np.arange(3)] = 500
    own = np.roll(views, 1, axis=0)
    counts = ContextCounts(views, views // 4, 500, 500, 300, 100, 25, own, views, same_items=1000)
    done = report("shop", "q", list("abcdef"), np.zeros(6, dtype=bool), counts)
    assert done.shadow is not None
    assert (done.shadow.own_value, done.shadow.page_value) == (None, None)


@pytest.mark.parametrize("power", [1, 3, 6, 9])
def test_any_counts_give_a_report(power: int) -> None:
    # Cells not shown, always or never clicked, of a view and of a billion: all that holds always.
    rng = np.random.default_rng(power)
    for case in range(25):
        n_items = int(rng.integers(1, 25))
        n_positions = int(rng.integers(1, min(n_items, 7) + 1))
        shape = (n_items, n_positions)
        views = (rng.random(shape) ** rng.choice([1, 5, 20]) * 10**power).astype(np.int64)
        views *= rng.random(shape) < rng.choice([0.2, 0.7, 1.0])
        rates = rng.random((n_items, 1)) ** 3 * rng.random(n_positions) ** (case % 4)
        if case % 5 == 0:
            rates = rng.integers(0, 2, shape).astype(np.float64)
        clicks = rng.binomial(views, rates)
        fit = fit_pbm_page(views, clicks)
        assert fit.converged
        assert (np.diff(fit.objectives) <= 0.0).all()
        retired = tuple(np.flatnonzero(rng.random(n_items) < 0.2).tolist())
        done = reported(views, clicks, retired)
        for entry in done.items:
            assert 0.0 <= entry.best_probability <= 1.0
            if entry.shown:
                assert entry.low is not None
                assert entry.high is not None
                assert entry.estimate is not None
                assert 0.0 <= entry.low <= entry.estimate <= entry.high <= 1.0
        n_active = n_items - len(retired)
        assert len(set(done.best)) == len(done.best) == min(n_positions, n_active)
        chances = sum(entry.best_probability for entry in done.items)
        assert chances == pytest.approx(min(n_positions, n_active))


def test_equal_counts_give_equal_reports() -> None:
    views, clicks = counted(7, 50)
    assert reported(views, clicks) == reported(views, clicks)


def test_counts_must_fit() -> None:
    with pytest.raises(InvalidValue, match=r"page: clicks\[0, 1\] must be between 0 and views"):
        fit_pbm_page([[1, 1]], [[1, 2]])
    with pytest.raises(InvalidValue, match=r"page: clicks must have the shape of views \(1, 2"):
        fit_pbm_page([[1, 1]], [[1]])
    with pytest.raises(InvalidValue, match="fit_pbm_page: views must be whole numbers"):
        fit_pbm_page([[0.5]], [[0]])
