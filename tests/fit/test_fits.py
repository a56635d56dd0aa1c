"""Fits of click models to logs: estimates, standard errors and sentences."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import xlog1py, xlogy

from benchmarks import fits
from clickrank._core.arrays import Floats, Ints
from clickrank.errors import DoesNotApply, InvalidValue, UnknownName
from clickrank.fit import FITS, bordered, fit, fit_cascade, fit_dcm, fit_dctr, fit_pbm, fit_pbm_svd
from clickrank.fit.dcm_problem import DCMProblem
from clickrank.fit.em import maximise
from clickrank.fit.pbm_problem import PBMProblem
from clickrank.logs import Cells, Counts, Sessions
from clickrank.logs.counts import merge_equal_lists, texts
from tests.paths import DOCS

MINE = ("dctr", "pbm", "cascade", "dcm")
EXAMINATION = np.array([1.0, 0.7, 0.4, 0.3])
SATISFACTION = np.array([0.8, 0.3, 0.5, 0.5])
#: That of the last position no log tells.
AT_POSITIONS = {"examination": EXAMINATION, "satisfaction": SATISFACTION[:-1]}


def clicks_on(name: str, attraction: Floats, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Draw clicks on lists, given the attraction of what each shows."""
    attracted = rng.random(attraction.shape) < attraction
    if name == "dctr":
        return attracted.astype(np.uint8)
    if name == "pbm":
        seen = rng.random(attraction.shape) < EXAMINATION[: attraction.shape[1]]
        return (attracted & seen).astype(np.uint8)
    satisfied = np.ones(attracted.shape, dtype=bool)
    if name == "dcm":
        satisfied = rng.random(attraction.shape) < SATISFACTION[: attraction.shape[1]]
    ended: Ints = (attracted & satisfied).astype(np.int64)
    clicks: NDArray[np.uint8] = attracted & (np.cumsum(ended, axis=1) == ended)
    return clicks.astype(np.uint8)


def drawn(
    name: str, n_lists: int, seed: int, n_queries: int = 3, n_items: int = 6
) -> tuple[Counts, Floats]:
    """Draw a log of random lists of some queries, and the attractions of its pairs."""
    rng = np.random.default_rng(seed)
    truth = np.random.default_rng(99).uniform(0.1, 0.6, n_queries * n_items)
    shown = np.argsort(rng.random((n_lists, n_items)), axis=1)[:, : EXAMINATION.size]
    shown += rng.integers(0, n_queries, n_lists)[:, None] * n_items
    counts = Counts.of_lists(shown, clicks_on(name, truth[shown], rng), names=["x"] * truth.size)
    counts = dataclasses.replace(
        counts,
        queries=texts([f"q{i}" for i in range(n_queries)]),
        pair_query=np.repeat(np.arange(n_queries), n_items),
    )
    return counts, truth


def of_cells(shown: Ints, clicked: Ints) -> Counts:
    """Return the counts of one query without lists."""
    pair, position = np.nonzero(shown)
    cells = Cells(pair, position, shown[pair, position], clicked[pair, position])
    names = texts([str(i) for i in range(len(shown))])
    pairs = np.zeros(len(shown), dtype=np.int64)
    return Counts(shown.shape[1], texts([""]), pairs, names, cells, None)


@pytest.mark.parametrize("name", MINE)
def test_the_truth_is_within_standard_errors(name: str) -> None:
    """30 parameters beyond 4.5 standard errors: once in 5,000 seeds, and this one is fixed."""
    counts, truth = drawn(name, 30_000, seed=1)
    found = fit(name, counts)
    assert found.converged
    assert found.name == name
    assert (np.abs(found.attraction - truth) <= 4.5 * found.attraction_error).all()
    assert (found.attraction_error < 0.05).all()
    for effect, (values, errors) in found.position_effects.items():
        expected = AT_POSITIONS[effect]
        known = slice(0, expected.size)
        assert (np.abs(values[known] - expected) <= 4.5 * errors[known]).all(), effect


@pytest.mark.parametrize("name", MINE)
def test_standard_errors_cover_the_truth_as_often_as_they_should(name: str) -> None:
    """60 logs of 18 pairs: 1,080 intervals of 95 %, which lie in 92.5 to 97.5 % of the cases.

    Attractions of a log share little, so that the share's own error is about 0.7 %.
    """
    hits: list[NDArray[np.bool_]] = []
    at_positions: list[NDArray[np.bool_]] = []
    for seed in range(60):
        counts, truth = drawn(name, 3_000, seed=100 + seed)
        found = fit(name, counts)
        hits.append(np.abs(found.attraction - truth) <= 1.96 * found.attraction_error)
        for effect, (values, errors) in found.position_effects.items():
            expected = AT_POSITIONS[effect]
            inside = np.abs(values[: expected.size] - expected) <= 1.96 * errors[: expected.size]
            at_positions.append(inside[errors[: expected.size] > 0])
    assert 0.925 < np.mean(hits) < 0.975
    if at_positions:  # 180 intervals: a share's own error is 1.6 %
        assert 0.89 < np.mean(at_positions) < 0.995


@pytest.mark.parametrize("name", MINE)
@pytest.mark.parametrize("shrinkage", [0.0, 2.0])
def test_no_step_lowers_the_likelihood(name: str, shrinkage: float) -> None:
    for seed in range(5):
        counts, _ = drawn(name, 60, seed)
        found = fit(name, counts, shrinkage=shrinkage)
        assert (np.diff(found.log_likelihoods) >= 0).all()
        assert found.converged
        if not shrinkage:
            assert found.log_likelihood == pytest.approx(found.log_likelihoods[-1], abs=1e-9)


@pytest.mark.parametrize("name", MINE)
def test_probabilities_are_those_of_the_model(name: str) -> None:
    counts, _ = drawn(name, 300, seed=3)
    found = fit(name, counts, shrinkage=1.0)
    assert counts.sessions is not None
    probabilities = found.click_probabilities(counts.sessions)
    logs = found.log_probabilities(counts.sessions)
    for query in ("q0", "q2"):
        model = found.model(query)
        first = 6 * int(query[1])
        rows = np.flatnonzero(counts.pair_query[counts.sessions.items[:, 0]] == int(query[1]))
        for row in rows[:20]:
            shown, clicks = counts.sessions.items[row] - first, counts.sessions.clicks[row]
            assert probabilities[row] == pytest.approx(model.click_probabilities(shown))
            assert logs[row] == pytest.approx(model.log_prob(shown, clicks))
    if name != "cascade":
        assert counts.sessions.times @ logs == pytest.approx(found.log_likelihood)


@pytest.mark.parametrize("name", MINE)
def test_lists_may_be_shorter(name: str) -> None:
    rng = np.random.default_rng(0)
    shown = np.argsort(rng.random((400, 5)), axis=1)[:, :4]
    clicks = clicks_on(name, np.full(shown.shape, 0.3), rng)
    shown[::3, 2:], clicks[::3, 2:] = -1, 0
    counts = Counts.of_lists(shown, clicks)
    found = fit(name, counts)
    assert counts.sessions is not None
    short = counts.sessions.items[:, 2] == -1
    assert (found.click_probabilities(counts.sessions)[short, 2:] == 0).all()
    # All click vectors on a short list, which are what can happen on it.
    lists = np.tile(np.array([0, 1, -1, -1], dtype=np.int32), (4, 1))
    vectors = np.array([[*v, 0, 0] for v in itertools.product([0, 1], repeat=2)], dtype=np.uint8)
    logs = found.log_probabilities(Sessions(lists, vectors, np.ones(4, dtype=np.int64)))
    assert np.exp(logs).sum() == pytest.approx(1.0)


def best_of(loss: Callable[[Floats], float], size: int, seed: int) -> float:
    """Return the smallest loss that a general search finds, parameters between 0 and 1."""
    rng = np.random.default_rng(seed)
    options: Any = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 3000}
    bounds = [(1e-9, 1 - 1e-9)] * size
    start = rng.uniform(0.2, 0.8, size)
    return float(minimize(loss, start, bounds=bounds, options=options).fun)


def test_pbm_is_the_maximum_that_search_finds_at_edges_too() -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n, k = int(rng.integers(1, 7)), int(rng.integers(1, 5))
        shown = rng.integers(0, 6, (n, k)) * (rng.random((n, k)) < 0.7)
        clicked = rng.binomial(shown, rng.random((n, 1)) * rng.random(k))

        def loss(z: Floats, n: int = n, s: Ints = clicked, m: Ints = shown - clicked) -> float:
            p = np.outer(z[:n], z[n:])
            return -float((xlogy(s, p) + xlog1py(m, -p)).sum())

        found = fit_pbm(of_cells(shown, clicked))
        assert found.converged
        assert found.log_likelihood >= -best_of(loss, n + k, seed) - 1e-6
        by_em = fit_pbm(of_cells(shown, clicked), solver="em", steps=300)
        assert by_em.log_likelihood <= found.log_likelihood + 1e-9


def test_pbm_solvers_agree_where_a_start_at_the_edge_would_hold_em() -> None:
    """EM cannot leave an attraction of 1: from there, the fifth of these logs ended 3.1 lower."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        shown = rng.integers(20, 200, (5, 3))
        rates = np.outer([0.95, 0.9, 0.5, 0.3, 0.2], [1.0, 0.9, 0.3])
        counts = of_cells(shown, rng.binomial(shown, rates))
        newton, em = fit_pbm(counts), fit_pbm(counts, solver="em", tolerance=1e-12)
        assert em.converged
        # A step gained less than 1e-12, and about 100 steps led there, each a constant factor less.
        assert em.log_likelihood == pytest.approx(newton.log_likelihood, abs=1e-10, rel=0)


def test_dcm_is_the_maximum_that_search_finds_and_its_errors_are_the_curvature() -> None:
    for seed in range(3):
        counts, _ = drawn("dcm", 80, seed, n_queries=1, n_items=5)
        found = fit_dcm(counts, tolerance=1e-10)
        sessions = counts.sessions
        assert sessions is not None

        def loss(z: Floats, found: Any = found, sessions: Sessions = sessions) -> float:
            other = dataclasses.replace(found, attraction=z[:5], satisfaction=z[5:])
            return -float(sessions.times @ other.log_probabilities(sessions))

        assert found.log_likelihood >= -best_of(loss, 9, seed) - 1e-6
        at = np.concatenate([found.attraction, found.satisfaction])
        errors = np.concatenate([found.attraction_error, found.satisfaction_error])
        check_curvature(loss, at, errors, np.arange(8))


@pytest.mark.parametrize("kind", ["dctr", "cascade"])
@pytest.mark.parametrize("shrinkage", [0.0, 1.0])
def test_dcm_reaches_the_maximum_where_em_is_slow(kind: str, shrinkage: float) -> None:
    """At the edges of satisfaction, and with clicks that are rare: EM alone takes thousands."""
    rng = np.random.default_rng(14)
    for rate, seed in ((0.3, 0), (0.02, 1), (0.02, 2)):
        shown = np.argsort(rng.random((400, 6)), axis=1)[:, :4]
        attraction = rate * np.random.default_rng(seed).uniform(0.5, 1.5, 6)[shown]
        counts = Counts.of_lists(shown, clicks_on(kind, attraction, rng))
        found = fit_dcm(counts, shrinkage=shrinkage)
        assert found.converged
        assert found.log_likelihoods.size < 60
        assert counts.sessions is not None
        problem = DCMProblem(counts, counts.sessions, shrinkage)
        slow = maximise(problem.step, problem.start(), tolerance=1e-12, steps=3000)
        assert found.log_likelihoods[-1] >= slow.log_likelihoods[-1] - 1e-9


def test_dcm_kernels_are_their_python_bodies() -> None:
    counts, _ = drawn("dcm", 60, seed=15)
    assert counts.sessions is not None
    problem = DCMProblem(counts, counts.sessions, 0.5)
    params = np.random.default_rng(16).uniform(0.1, 0.9, 22)

    def everything() -> list[Floats]:
        after, value = problem.step(params)
        blocks, slope, slope_shared = problem.curvature(params[:18], params[18:])
        parts = (blocks.inner, blocks.diagonal, blocks.cross, blocks.corner)
        return [after, np.array(value), slope, slope_shared, *parts]

    compiled = everything()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clickrank.fit.dcm_problem.kernel_for", lambda function, _: function)
        plain = everything()
    for one, other in zip(compiled, plain, strict=True):
        assert np.array_equal(one, other)


def test_pbm_errors_are_the_curvature() -> None:
    counts, _ = drawn("pbm", 500, seed=4, n_queries=2)
    found = fit_pbm(counts)
    cells = counts.cells

    def loss(z: Floats) -> float:
        p = z[cells.pair] * z[12 + cells.position]
        return -float((xlogy(cells.clicked, p) + xlog1py(cells.shown - cells.clicked, -p)).sum())

    at = np.concatenate([found.attraction, found.examination])
    errors = np.concatenate([found.attraction_error, found.examination_error])
    assert found.examination[0] == 1.0
    assert found.examination_error[0] == 0.0
    check_curvature(loss, at, errors, np.delete(np.arange(16), 12))


def check_curvature(
    loss: Callable[[Floats], float], at: Floats, errors: Floats, free: Ints
) -> None:
    """Compare standard errors with the inverse of second differences."""
    step = 1e-4 * np.eye(at.size)
    bend = np.array(
        [
            [
                loss(at + step[i] + step[j])
                - loss(at + step[i] - step[j])
                - loss(at - step[i] + step[j])
                + loss(at - step[i] - step[j])
                for j in free
            ]
            for i in free
        ]
    )
    expected = np.sqrt(np.diag(np.linalg.inv(bend / 4e-8)))
    assert errors[free] == pytest.approx(expected, rel=1e-4)


def test_pbm_step_is_that_of_a_plain_loop() -> None:
    rng = np.random.default_rng(5)
    shown = rng.integers(1, 9, (4, 3))
    clicked = rng.binomial(shown, 0.4)
    pair, position = (axis.ravel() for axis in np.indices(shown.shape))
    hits, misses = (n.ravel().astype(np.float64) for n in (clicked, shown - clicked))
    problem = PBMProblem(pair, position, hits, misses)
    theta, kappa = rng.random(4), rng.random(3)
    expected_theta, expected_kappa = np.zeros(4), np.zeros(3)
    for i, k in itertools.product(range(4), range(3)):
        # What each display says of attraction and of examination, display by display.
        for display in range(shown[i, k]):
            hit = display < clicked[i, k]
            no_click = 1 - theta[i] * kappa[k]
            expected_theta[i] += 1 if hit else theta[i] * (1 - kappa[k]) / no_click
            expected_kappa[k] += 1 if hit else kappa[k] * (1 - theta[i]) / no_click
    found = problem.em_step(theta, kappa)
    assert found[0] == pytest.approx(expected_theta / shown.sum(axis=1))
    assert found[1] == pytest.approx(expected_kappa / shown.sum(axis=0))


def test_dcm_step_is_that_of_a_sum_over_what_may_have_happened() -> None:
    """Looks and satisfaction are summed over all ways in which each list may have been read."""
    counts, _ = drawn("dcm", 40, seed=6, n_queries=1, n_items=4)
    sessions = counts.sessions
    assert sessions is not None
    rng = np.random.default_rng(7)
    attraction, satisfaction = rng.uniform(0.2, 0.8, 4), rng.uniform(0.2, 0.8, 4)
    looks, clicks, told, left, value = np.zeros(4), np.zeros(4), np.zeros(4), np.zeros(4), 0.0
    for items, clicked, n in zip(sessions.items, sessions.clicks, sessions.times, strict=True):
        total = 0.0
        ways = []
        for end in range(5):  # satisfied by the click at ``end``; 4: by none
            if (end < 4 and not clicked[end]) or clicked[end + 1 :].any():
                continue
            p = 1.0
            for k in range(min(end, 3) + 1):
                p *= attraction[items[k]] if clicked[k] else 1 - attraction[items[k]]
                if clicked[k]:
                    p *= satisfaction[k] if k == end else 1 - satisfaction[k]
            ways.append((end, p))
            total += p
        value += n * math.log(total)
        for end, p in ways:
            for k in range(min(end, 3) + 1):
                looks[items[k]] += n * p / total
            if end < 3:
                left[end] += n * p / total
        np.add.at(clicks, items, n * clicked)
        told[:3] += n * clicked[:3]
    new, found = DCMProblem(counts, sessions, 0.0).step(np.concatenate([attraction, satisfaction]))
    assert found == pytest.approx(value)
    assert new[:4] == pytest.approx(clicks / looks)
    assert new[4:7] == pytest.approx(left[:3] / told[:3])


def test_dcm_whose_clicks_all_satisfy_is_the_cascade() -> None:
    counts, _ = drawn("cascade", 3_000, seed=8)
    alone, dependent = fit_cascade(counts), fit_dcm(counts, tolerance=1e-12)
    assert dependent.satisfaction == pytest.approx(np.ones(4), abs=1e-9)
    assert dependent.attraction == pytest.approx(alone.attraction, abs=1e-9)
    assert dependent.attraction_error == pytest.approx(alone.attraction_error, rel=1e-6)
    assert dependent.log_likelihood == pytest.approx(alone.log_likelihood, abs=1e-6)


def test_pbm_whose_positions_are_all_examined_is_the_document_model() -> None:
    shown = np.array([[20, 40, 60], [10, 20, 0], [0, 30, 10]])
    counts = of_cells(shown, (shown * np.array([[0.5], [0.1], [0.2]])).round().astype(int))
    by_item, by_position = fit_dctr(counts), fit_pbm(counts)
    assert by_position.examination == pytest.approx(np.ones(3))
    assert by_position.attraction == pytest.approx(by_item.attraction)
    assert by_position.log_likelihood == pytest.approx(by_item.log_likelihood)
    # With one position there is nothing else to examine, whatever the clicks.
    rng = np.random.default_rng(9)
    one = of_cells(shown[:, 1:2], rng.binomial(shown[:, 1:2], 0.4))
    assert fit_pbm(one).attraction == pytest.approx(fit_dctr(one).attraction)
    for seed in range(5):
        counts, _ = drawn("pbm", 200, seed)
        assert fit_pbm(counts).log_likelihood >= fit_dctr(counts).log_likelihood


def test_a_cascade_uses_lists_down_to_the_first_click() -> None:
    counts = Counts.of_lists([[0, 1, 2], [0, 1, 2], [2, 1, 0]], [[0, 1, 1], [0, 0, 0], [1, 0, 0]])
    found = fit_cascade(counts)
    assert found.attraction == pytest.approx([0.0, 0.5, 0.5])
    assert found.log_likelihood == pytest.approx(math.log(0.5 * 0.5 * 0.5 * 0.5))
    assert any("1 of 3 lists have more than one click" in text for text in found.not_identified)
    assert counts.sessions is not None
    assert found.log_probabilities(counts.sessions)[0] == -np.inf


def test_pairs_never_shown_are_typical_and_of_infinite_error() -> None:
    counts = Counts.of_lists([[0, 1]] * 4, [[1, 0], [1, 0], [0, 1], [0, 0]], names=["a", "b", "c"])
    for name in MINE:
        found = fit(name, counts)
        assert found.attraction_error[2] == np.inf
        assert found.attraction[:2].min() <= found.attraction[2] <= found.attraction[:2].max()
        assert any("1 pair never shown" in text for text in found.not_identified)


def test_pbm_positions_that_nothing_links_are_compared_in_groups_only() -> None:
    shown = np.array([[100, 100, 0, 0], [0, 0, 100, 100], [0, 0, 0, 50]])
    clicked = np.array([[40, 20, 0, 0], [0, 0, 30, 10], [0, 0, 0, 0]])
    found = fit_pbm(of_cells(shown, clicked))
    assert found.part.tolist() == [0, 0, 1, 1]
    assert found.examination == pytest.approx([1, 0.5, 1, 1 / 3])
    assert any("positions 1, 2; 3, 4" in text for text in found.not_identified)
    silent = fit_pbm(of_cells(shown[:2, :3], clicked[:2, :3] * [1, 0, 1]))
    assert silent.part.tolist() == [0, -1, 1]
    assert silent.examination[1] == 0.0
    assert any("No click at position 2" in text for text in silent.not_identified)


@pytest.mark.parametrize("name", MINE)
def test_a_log_without_a_click_is_fitted(name: str) -> None:
    found = fit(name, Counts.of_lists([[0, 1], [1, 0]], [[0, 0], [0, 0]]))
    assert found.converged
    assert found.log_likelihood == 0.0
    assert np.isfinite(found.model().attraction).all()


def test_dcm_says_where_satisfaction_is_not_known() -> None:
    counts = Counts.of_lists([[0, 1, 2]] * 6, [[1, 0, 0], [1, 0, 1]] * 3)
    found = fit_dcm(counts)
    assert np.isinf(found.satisfaction_error).tolist() == [False, True, True]
    assert found.satisfaction[1:] == pytest.approx(found.satisfaction[0])
    assert "position 2, 3 is not known" in found.not_identified[0]


def test_shrinkage_adds_views_of_the_typical_pair() -> None:
    counts = Counts.of_lists([[0], [0], [0], [1]], [[1], [0], [0], [1]])
    typical = (1 / 4 + 1 / 2) / (3 / 4 + 1 / 2)
    for name in ("dctr", "cascade", "dcm"):
        found = fit(name, counts, shrinkage=2.0)
        assert found.attraction == pytest.approx([(1 + 2 * typical) / 5, (1 + 2 * typical) / 3])
    for name in MINE:
        assert fit(name, counts).attraction == pytest.approx([1 / 3, 1.0])
        assert fit(name, counts, shrinkage=2.0).attraction.max() < 1.0


def test_unknown_names_and_what_does_not_apply_are_errors() -> None:
    cells = of_cells(np.array([[3, 2]]), np.array([[1, 1]]))
    with pytest.raises(UnknownName, match=r"Did you mean 'cascade'\?"):
        fit("casade", cells)
    for name in ("cascade", "dcm"):
        with pytest.raises(DoesNotApply, match="whole lists"):
            fit(name, cells)
    with pytest.raises(InvalidValue, match="clicks must be at most displays"):
        fit_pbm(of_cells(np.array([[3]]), np.array([[4]])))
    with pytest.raises(InvalidValue, match="query must be one of the queries of the log"):
        fit_dctr(cells).model("shoes")
    with pytest.raises(InvalidValue, match="query must be given"):
        fit_dctr(drawn("dctr", 20, 0)[0]).model()
    with pytest.raises(InvalidValue, match="solver must be one of newton, em"):
        fit_pbm(cells, solver="adam")


def test_every_fit_is_of_a_click_model_and_takes_shrinkage() -> None:
    from clickrank.clickmodels import CLICK_MODELS

    assert set(FITS) <= set(CLICK_MODELS)
    assert set(MINE) <= set(FITS)


def test_em_takes_longer_steps_only_where_they_pay() -> None:
    """A map with a slow direction: 1 − p shrinks by 1 % a step, 1,000 steps of plain EM."""
    taken = []

    def step(p: Floats) -> tuple[Floats, float]:
        taken.append(1)
        return 0.7 + 0.99 * (p - 0.7), -float(((p - 0.7) ** 2).sum())

    path = maximise(step, np.array([0.2, 0.4]), tolerance=1e-10, steps=1000)
    assert path.converged
    assert path.params == pytest.approx([0.7, 0.7], abs=1e-7)
    assert len(taken) < 30
    assert (np.diff(path.log_likelihoods) >= 0).all()
    assert not maximise(step, np.array([0.2]), tolerance=1e-10, steps=1).converged


def test_svd_of_exact_rates_is_exact() -> None:
    theta, kappa = np.array([0.8, 0.4, 0.2]), np.array([0.5, 1.0])
    shown = np.full((3, 2), 1000)
    counts = of_cells(shown, (shown * np.outer(theta, kappa)).round().astype(int))
    found = fit_pbm_svd(counts)
    assert found.attraction == pytest.approx(theta)
    assert found.examination == pytest.approx(kappa[None])
    assert found.log_likelihood == pytest.approx(fit_pbm(counts).log_likelihood)
    model = found.model()
    lists = Sessions(
        np.array([[0, 2]], np.int32), np.array([[1, 0]], np.uint8), np.ones(1, np.int64)
    )
    assert found.click_probabilities(lists)[0] == pytest.approx(model.click_probabilities([0, 2]))
    assert found.log_probabilities(lists)[0] == pytest.approx(model.log_prob([0, 2], [1, 0]))


def test_equal_lists_are_merged_exactly() -> None:
    """Also where a row does not fit into one number, and with lists of different length."""
    rng = np.random.default_rng(11)
    items = rng.choice(np.array([-1, 0, 1, 2**30], dtype=np.int32), (500, 4))
    clicks = rng.integers(0, 2, (500, 4)).astype(np.uint8)
    times = rng.integers(1, 9, 500)
    found = merge_equal_lists(Sessions(items, clicks, times))
    expected: dict[tuple[int, ...], int] = {}
    for row, n in zip(np.hstack([items, clicks]).tolist(), times.tolist(), strict=True):
        expected[tuple(row)] = expected.get(tuple(row), 0) + n
    rows = np.hstack([found.items, found.clicks]).tolist()
    assert [tuple(row) for row in rows] == list(expected)
    assert found.times.tolist() == list(expected.values())


def test_queries_too_large_for_a_block_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, _ = drawn("dcm", 500, seed=12)
    exact = fit_dcm(counts)
    monkeypatch.setattr(bordered, "MOST_ENTRIES", 80)
    rough = fit_dcm(counts)
    assert "Standard errors in the 1 largest query" in rough.not_identified[-1]
    assert rough.attraction == pytest.approx(exact.attraction)
    ratio = rough.attraction_error / exact.attraction_error
    assert (ratio[12:] < 1.0).all()
    assert ratio == pytest.approx(np.ones(18), abs=0.1)


def test_a_block_without_an_inverse_says_nothing() -> None:
    counts, _ = drawn("dcm", 20, seed=13, n_queries=2, n_items=4)
    blocks = bordered.Blocks(counts, 1)
    blocks.diagonal[:] = 2.0
    blocks.inner[:16] = 2.0  # of the first query, whose pairs are indistinguishable
    blocks.corner[:] = 4.0
    pairs, shared = blocks.variances(np.ones(8, dtype=np.bool_), np.ones(1, dtype=np.bool_))
    assert np.isinf(pairs[:4]).all()
    assert pairs[4:] == pytest.approx(0.5)
    assert shared == pytest.approx(0.25)
    blocks.corner[:] = 0.0
    assert np.isinf(blocks.variances(np.ones(8, np.bool_), np.ones(1, np.bool_))[1]).all()


def test_the_benchmark_runs(capsys: pytest.CaptureFixture[str]) -> None:
    fits.main(1_000)
    assert set(FITS) <= set(re.findall(r"^(\S+) ", capsys.readouterr().out, re.MULTILINE))


def test_the_page_runs_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    page = DOCS / "howto" / "fit.md"
    code = "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
    names: dict[str, Any] = {}
    exec(compile(code, str(page), "exec"), names)  # the page's own code
    assert "Satisfaction at position 3 is not known" in capsys.readouterr().out
    assert names["fit"].satisfaction[:2] == pytest.approx([0.7, 0.5], abs=0.05)
