"""The user browsing, dynamic Bayesian and multinomial logit models fitted to lists."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from clickrank._core.arrays import Floats, Ints
from clickrank.clickmodels import DBN, DCM, MNL, PBM, UBM, Cascade, ClickModel
from clickrank.errors import DoesNotApply, InvalidValue
from clickrank.fit import (
    fit,
    fit_cascade,
    fit_dbn,
    fit_dcm,
    fit_mnl,
    fit_pbm,
    fit_ubm,
    mnl,
    ubm,
)
from clickrank.fit.dbn_problem import DBNProblem
from clickrank.fit.mnl_problem import MNLProblem
from clickrank.logs import Counts, Sessions
from clickrank.logs.counts import texts

NAMES = ("ubm", "dbn", "mnl")
N_QUERIES, N_ITEMS, N_POSITIONS = 3, 6, 4
AFTER = np.array([[1, 0, 0, 0], [0.7, 0.9, 0, 0], [0.4, 0.6, 0.8, 0], [0.3, 0.4, 0.5, 0.7]])
BIAS = np.array([1.0, 0.8, 0.5, 0.6])
CONTINUATION = 0.85


def truth(name: str, query: int) -> ClickModel:
    """Return the model that the clicks of a query are drawn from."""
    rng = np.random.default_rng(99 + query)
    attraction = rng.uniform(0.1, 0.6, N_ITEMS)
    if name == "ubm":
        return UBM(attraction, AFTER)
    if name == "dbn":
        return DBN(attraction, rng.uniform(0.2, 0.8, N_ITEMS), N_POSITIONS, CONTINUATION)
    return MNL(attraction, BIAS)


def drawn(models: list[ClickModel], n_lists: int, seed: int) -> Counts:
    """Draw a log of some queries, 24 random lists each."""
    rng = np.random.default_rng(seed)
    shown, clicks = [], []
    for query, model in enumerate(models):
        n_kinds = 24
        for n in rng.multinomial(n_lists // len(models), np.full(n_kinds, 1.0 / n_kinds)):
            ranking = rng.permutation(model.n_items)[: model.n_positions]
            drawn_clicks = model.sample(ranking, rng, n)
            shown.append(np.tile(ranking, (n, 1)) + sum(m.n_items for m in models[:query]))
            clicks.append(drawn_clicks)
    sizes = [model.n_items for model in models]
    items, marks = np.concatenate(shown), np.concatenate(clicks)
    counts = Counts.of_lists(items, marks, names=["x"] * sum(sizes))
    return dataclasses.replace(
        counts,
        queries=texts([f"q{i}" for i in range(len(models))]),
        pair_query=np.repeat(np.arange(len(models)), sizes),
    )


def log_of(name: str, n_lists: int, seed: int, n_queries: int = N_QUERIES) -> Counts:
    return drawn([truth(name, query) for query in range(n_queries)], n_lists, seed)


def lists(counts: Counts) -> Sessions:
    assert counts.sessions is not None
    return counts.sessions


def compared(name: str, found: Any, n_queries: int = N_QUERIES) -> tuple[Floats, Floats, Floats]:
    """Return estimates, errors and truth of all that a log tells."""
    models: list[Any] = [truth(name, query) for query in range(n_queries)]
    parts = [(found.attraction, found.attraction_error, [m.attraction for m in models])]
    if name == "ubm":
        lower = np.tril_indices(N_POSITIONS)
        after, error = found.examination_after[lower][1:], found.examination_after_error[lower][1:]
        parts.append((after, error, [AFTER[lower][1:]]))
    elif name == "dbn":
        wanted = [m.item_satisfaction for m in models]
        parts.append((found.satisfaction, found.satisfaction_error, wanted))
        parts.append(([found.continuation], [found.continuation_error], [[CONTINUATION]]))
    else:
        parts.append((found.position_bias[1:], found.position_bias_error[1:], [BIAS[1:]]))
    estimate, error = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    return estimate, error, np.concatenate([np.concatenate(part[2]) for part in parts])


@pytest.mark.parametrize("name", NAMES)
def test_the_truth_is_within_standard_errors(name: str) -> None:
    """Some 30 parameters beyond 4.5 standard errors: once in 5,000 seeds, and this is fixed."""
    found = fit(name, log_of(name, 60_000, seed=1))
    assert found.converged
    assert found.name == name
    estimate, error, wanted = compared(name, found)
    assert (np.abs(estimate - wanted) <= 4.5 * error).all()
    assert (error < 0.08).all()


@pytest.mark.proof
@pytest.mark.parametrize("name", NAMES)
def test_standard_errors_cover_the_truth_as_often_as_they_should(name: str) -> None:
    """40 logs of 21 to 37 parameters: some 1,000 intervals of 95 %.

    The share's own error is about 0.7 %, were they independent.
    """
    hits = []
    for seed in range(40):
        estimate, error, wanted = compared(name, fit(name, log_of(name, 9_000, 100 + seed)))
        hits.append(np.abs(estimate - wanted) <= 1.96 * error)
    assert 0.925 < np.mean(hits) < 0.975


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shrinkage", [0.0, 2.0])
def test_no_step_lowers_the_likelihood(name: str, shrinkage: float) -> None:
    for seed in range(5):
        counts = log_of(name, 90, seed)
        found = fit(name, counts, shrinkage=shrinkage)
        assert (np.diff(found.log_likelihoods) >= 0).all()
        assert found.converged
        likelihood = lists(counts).times @ found.log_probabilities(lists(counts))
        assert found.log_likelihood == pytest.approx(likelihood, abs=1e-9)
        if not shrinkage:
            assert found.log_likelihood == pytest.approx(found.log_likelihoods[-1], abs=1e-9)
        for values, _ in found.position_effects.values():
            assert values.max() == 1.0


@pytest.mark.parametrize("name", NAMES)
def test_probabilities_are_those_of_the_model(name: str) -> None:
    counts = log_of(name, 300, seed=3)
    found = fit(name, counts, shrinkage=1.0)
    sessions = lists(counts)
    probabilities = found.click_probabilities(sessions)
    logs = found.log_probabilities(sessions)
    for query in (0, 2):
        model = found.model(f"q{query}")
        rows = np.flatnonzero(counts.pair_query[sessions.items[:, 0]] == query)
        for row in rows[:20]:
            shown, clicks = sessions.items[row] - N_ITEMS * query, sessions.clicks[row]
            assert probabilities[row] == pytest.approx(model.click_probabilities(shown))
            assert logs[row] == pytest.approx(model.log_prob(shown, clicks))


@pytest.mark.parametrize("name", NAMES)
def test_lists_may_be_shorter(name: str) -> None:
    counts = log_of(name, 900, seed=4)
    sessions = lists(counts)
    shown, clicks = sessions.items.copy(), sessions.clicks.copy()
    shown[::3, 2:], clicks[::3, 2:] = -1, 0
    times = sessions.times
    counts = Counts.of_lists(np.repeat(shown, times, axis=0), np.repeat(clicks, times, axis=0))
    found = fit(name, counts)
    short = lists(counts).items[:, 2] == -1
    assert (found.click_probabilities(lists(counts))[short, 2:] == 0).all()
    # All click vectors on a short list, which are what can happen on it.
    vectors = np.array([[*v, 0, 0] for v in itertools.product([0, 1], repeat=2)], dtype=np.uint8)
    only = np.tile(np.array([0, 1, -1, -1], dtype=np.int32), (4, 1))
    logs = found.log_probabilities(Sessions(only, vectors, np.ones(4, dtype=np.int64)))
    assert np.exp(logs).sum() == pytest.approx(1.0)


def loss_of(name: str, found: Any, counts: Counts) -> tuple[Callable[[Floats], float], Floats]:
    """Return minus the likelihood as a function of all that is free, and the estimates."""
    sessions, n = lists(counts), counts.n_pairs
    lower = np.tril_indices(N_POSITIONS)

    def fields(z: Floats) -> dict[str, Any]:
        if name == "ubm":
            after = np.zeros((N_POSITIONS, N_POSITIONS))
            after[lower] = np.r_[1.0, z[n:]]
            return {"examination_after": after}
        if name == "dbn":
            return {"satisfaction": z[n : 2 * n], "continuation": float(z[-1])}
        return {"position_bias": np.r_[1.0, z[n:]]}

    def loss(z: Floats) -> float:
        other = dataclasses.replace(found, attraction=z[:n], **fields(z))
        return -float(sessions.times @ other.log_probabilities(sessions))

    if name == "ubm":
        return loss, np.r_[found.attraction, found.examination_after[lower][1:]]
    if name == "dbn":
        return loss, np.r_[found.attraction, found.satisfaction, found.continuation]
    return loss, np.r_[found.attraction, found.position_bias[1:]]


@pytest.mark.parametrize("name", NAMES)
def test_a_general_search_finds_nothing_better(name: str) -> None:
    """From three starts each, on logs that are so small that some estimates are at an edge."""
    for seed in range(3):
        counts = log_of(name, 60, seed, n_queries=1)
        found = fit(name, counts, tolerance=1e-9)
        loss, at = loss_of(name, found, counts)
        rng = np.random.default_rng(seed)
        options: Any = {"ftol": 1e-14, "gtol": 1e-8}
        for _ in range(3):
            start = rng.uniform(0.2, 0.8, at.size)
            bounds = [(1e-9, 1 - 1e-9)] * at.size
            best = float(minimize(loss, start, bounds=bounds, options=options).fun)
            assert found.log_likelihood >= -best - 1e-4


@pytest.mark.parametrize("name", NAMES)
def test_errors_are_the_curvature(name: str) -> None:
    counts = log_of(name, 4_000, seed=5, n_queries=1)
    found = fit(name, counts, tolerance=1e-10)
    loss, at = loss_of(name, found, counts)
    _, errors, _ = compared(name, found, n_queries=1)
    assert ((at > 0.001) & (at < 0.999)).all()
    step = 1e-4 * np.eye(at.size)
    signs = [(a, b) for a in (1, -1) for b in (1, -1)]
    bend = [
        [sum(a * b * loss(at + a * one + b * two) for a, b in signs) for one in step]
        for two in step
    ]
    expected = np.sqrt(np.diag(np.linalg.inv(np.array(bend) / 4e-8)))
    assert errors == pytest.approx(expected, rel=1e-3)


# The steps, compared with plain loops


def test_ubm_cells_are_those_of_a_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = log_of("ubm", 200, seed=6)
    sessions = lists(counts)
    expected: dict[tuple[int, int], list[int]] = {}
    for items, clicks, n in zip(sessions.items, sessions.clicks, sessions.times, strict=True):
        for k in range(N_POSITIONS):
            above = [j + 1 for j in range(k) if clicks[j]]
            key = int(items[k]), k * (k + 1) // 2 + max(above, default=0)
            cell = expected.setdefault(key, [0, 0])
            cell[0] += int(n)
            cell[1] += int(n * clicks[k])
    for table in (1 << 24, 20):  # at once, and in passes of two pairs
        monkeypatch.setattr(ubm, "LARGEST_TABLE", table)
        cells = ubm.browsing_cells(sessions, counts.n_pairs, N_POSITIONS)
        found = zip(cells.pair.tolist(), cells.position.tolist(), strict=True)
        numbers = zip(cells.shown.tolist(), cells.clicked.tolist(), strict=True)
        wanted = sorted(expected.items())
        assert list(zip(found, numbers, strict=True)) == [(k, tuple(v)) for k, v in wanted]


def test_ubm_solvers_agree() -> None:
    counts = log_of("ubm", 2_000, seed=7)
    newton, em = fit_ubm(counts), fit_ubm(counts, solver="em", tolerance=1e-10)
    assert em.converged
    assert (np.diff(em.log_likelihoods) >= 0).all()
    assert em.examination_after == pytest.approx(newton.examination_after, abs=1e-3)
    assert em.log_likelihood == pytest.approx(newton.log_likelihood, abs=1e-5)


def test_ubm_solvers_agree_where_a_start_at_the_edge_would_hold_em() -> None:
    """EM cannot leave an attraction or an examination of 1: from there it ended up to 6.6 lower."""
    model = PBM([0.95, 0.9, 0.5, 0.2], [1.0, 0.9, 0.8])
    for seed in range(4):
        rng = np.random.default_rng(seed)
        shown = np.argsort(rng.random((300, 4)), axis=1)[:, :3]
        counts = Counts.of_lists(shown, [model.sample(row, rng) for row in shown])
        newton, em = fit_ubm(counts), fit_ubm(counts, solver="em", tolerance=1e-12)
        assert em.converged
        # A step gained less than 1e-12, and some hundred led there, each a constant factor less.
        assert em.log_likelihood == pytest.approx(newton.log_likelihood, abs=1e-10, rel=0)


def test_dbn_step_is_that_of_a_sum_over_what_may_have_happened() -> None:
    """Looks, satisfactions and goings-on are summed over all ways to read each list."""
    counts = log_of("dbn", 60, seed=8, n_queries=1)
    sessions = lists(counts)
    rng = np.random.default_rng(9)
    n = N_ITEMS
    params = rng.uniform(0.2, 0.8, 2 * n + 1)
    a, s, stay = params[:n], params[n:-1], params[-1]
    looks, clicked, left, told, chances, gone, value = (np.zeros(n) for _ in range(7))
    for items, clicks, times in zip(sessions.items, sessions.clicks, sessions.times, strict=True):
        ways = []
        # Read down to ``end``, and left there because of being satisfied, or not.
        for end, satisfied in itertools.product(range(N_POSITIONS), (True, False)):
            if clicks[end + 1 :].any() or (satisfied and not clicks[end]):
                continue
            p = 1.0
            for k in range(end + 1):
                p *= a[items[k]] if clicks[k] else 1 - a[items[k]]
                if clicks[k]:
                    p *= s[items[k]] if satisfied and k == end else 1 - s[items[k]]
                p *= stay if k < end else 1.0
            if not satisfied and end < N_POSITIONS - 1:
                p *= 1 - stay
            ways.append((end, satisfied, p))
        total = sum(p for _, _, p in ways)
        value[0] += times * math.log(total)
        for end, satisfied, p in ways:
            weight = times * p / total
            for k in range(end + 1):
                looks[items[k]] += weight
                if clicks[k] and k < N_POSITIONS - 1:
                    told[items[k]] += weight
                    left[items[k]] += weight * (satisfied and k == end)
                if k < N_POSITIONS - 1 and not (satisfied and k == end):
                    chances[0] += weight
                    gone[0] += weight * (k < end)
        np.add.at(clicked, items, times * clicks)
    new, found = DBNProblem(counts, sessions, 0.0, None).step(params)
    assert found == pytest.approx(value[0])
    assert new[:n] == pytest.approx(clicked / looks)
    assert new[n:-1] == pytest.approx(left / told)
    assert new[-1] == pytest.approx(gone[0] / chances[0])


def test_mnl_step_maximises_the_bound_of_a_plain_loop() -> None:
    counts = log_of("mnl", 200, seed=10, n_queries=1)
    sessions = lists(counts)
    rng = np.random.default_rng(11)
    attraction, bias = rng.uniform(0.2, 0.8, N_ITEMS), np.r_[1.0, rng.uniform(0.2, 0.8, 3)]
    weights, value = np.zeros((N_ITEMS, N_POSITIONS)), 0.0
    clicks = np.zeros((N_ITEMS, N_POSITIONS))
    for items, marks, times in zip(sessions.items, sessions.clicks, sessions.times, strict=True):
        d = 1 + sum(attraction[items[k]] * bias[k] for k in range(N_POSITIONS))
        for k in range(N_POSITIONS):
            weights[items[k], k] += times / d
            clicks[items[k], k] += times * marks[k]
            value += times * marks[k] * math.log(attraction[items[k]] * bias[k])
        value -= times * math.log(d)
    problem = MNLProblem(counts, sessions, "share", 0.0)
    new, found = problem.step(np.r_[attraction, bias])
    assert found == pytest.approx(value)
    assert new[:N_ITEMS] * (weights @ new[N_ITEMS:]) == pytest.approx(clicks.sum(axis=1), rel=1e-4)
    assert new[N_ITEMS:] * (new[:N_ITEMS] @ weights) == pytest.approx(clicks.sum(axis=0), rel=1e-4)
    assert new[N_ITEMS] == 1.0


# Models within models


def test_ubm_of_position_based_clicks() -> None:
    """It is no worse than the PBM, and examination hardly depends on the last click."""
    examination = np.array([1.0, 0.7, 0.5, 0.3])
    counts = drawn([PBM([0.6, 0.5, 0.4, 0.3, 0.2], examination)] * 2, 40_000, seed=12)
    browsing, by_position = fit_ubm(counts), fit_pbm(counts)
    gain = browsing.log_likelihood - by_position.log_likelihood
    assert 0.0 <= gain < 12.6  # twice that is chi-squared of 6: beyond it once in 3,000 logs
    z = browsing.examination_after - examination[:, None]
    lower = np.tril_indices(4)
    assert (np.abs(z[lower]) <= 4.5 * browsing.examination_after_error[lower]).all()
    of_pbm = UBM(by_position.model("q0").attraction, by_position.model("q0").examination_after)
    shown = [0, 1, 2, 3]
    assert of_pbm.value(shown) == pytest.approx(by_position.model("q0").value(shown))


def test_ubm_and_dbn_of_cascade_clicks() -> None:
    """Both contain the cascade, whose closed form they find."""
    counts = drawn([Cascade([0.6, 0.5, 0.4, 0.3, 0.2], 4)] * 2, 4_000, seed=13)
    cascade = fit_cascade(counts)
    browsing, bayesian = fit_ubm(counts), fit_dbn(counts, continuation=1.0, tolerance=1e-10)
    assert bayesian.satisfaction == pytest.approx(np.ones(10), abs=1e-6)
    for found in (browsing, bayesian):
        # The UBM has three parameters more: this is beyond 16 / 2 of their chi-squared.
        gain = found.log_likelihood - cascade.log_likelihood
        assert -1e-4 <= gain < 8.0
    assert bayesian.attraction == pytest.approx(cascade.attraction, abs=1e-6)
    assert bayesian.attraction_error == pytest.approx(cascade.attraction_error, rel=1e-4)
    assert browsing.examination_after[2].tolist()[1:] == [0.0, 0.0, 0.0]


def test_dbn_of_dependent_clicks_with_equal_satisfaction() -> None:
    counts = drawn([DCM([0.6, 0.5, 0.4, 0.3, 0.2], [0.5] * 4)] * 2, 40_000, seed=14)
    bayesian, dependent = fit_dbn(counts), fit_dcm(counts)
    satisfied = np.abs(bayesian.satisfaction - 0.5) <= 4.5 * bayesian.satisfaction_error
    assert satisfied.all()
    assert abs(bayesian.continuation - 1.0) <= 4.5 * bayesian.continuation_error
    errors = np.hypot(bayesian.attraction_error, dependent.attraction_error)
    assert (np.abs(bayesian.attraction - dependent.attraction) <= 4.5 * errors).all()


# What the log does not tell


@pytest.mark.parametrize("name", NAMES)
def test_pairs_never_shown_are_typical_and_of_infinite_error(name: str) -> None:
    clicks = [[1, 0], [1, 0], [0, 1], [0, 0], [0, 0], [0, 0], [0, 0]]
    found = fit(name, Counts.of_lists([[0, 1]] * 7, clicks, names=["a", "b", "c"]))
    assert found.attraction_error[2] == np.inf
    assert found.attraction[:2].min() <= found.attraction[2] <= found.attraction[:2].max()
    assert any("1 pair never shown" in text for text in found.not_identified)


@pytest.mark.parametrize("name", NAMES)
def test_a_log_without_a_click_is_fitted(name: str) -> None:
    found = fit(name, Counts.of_lists([[0, 1], [1, 0]], [[0, 0], [0, 0]]))
    assert found.converged
    assert found.log_likelihood == 0.0
    assert np.isfinite(found.model().attraction).all()
    assert found.model().value([0, 1]) == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_logs_without_lists_and_bad_options_are_errors(name: str) -> None:
    counts = log_of(name, 30, seed=0)
    with pytest.raises(DoesNotApply, match="whole lists"):
        fit(name, dataclasses.replace(counts, sessions=None))
    with pytest.raises(InvalidValue, match=f"fit_{name}: shrinkage must be a number of at least 0"):
        fit(name, counts, shrinkage=-1.0)
    with pytest.raises(InvalidValue, match="query must be given"):
        fit(name, counts).model()


def test_options_are_checked() -> None:
    counts = log_of("mnl", 30, seed=0)
    with pytest.raises(InvalidValue, match="several must be one of share, first, leave out"):
        fit_mnl(counts, several="all")
    with pytest.raises(InvalidValue, match="solver must be one of newton, em"):
        fit_ubm(counts, solver="svd")
    with pytest.raises(InvalidValue, match="continuation must be a number between 0 and 1"):
        fit_dbn(counts, continuation=1.5)


@pytest.mark.parametrize("name", ["ubm", "mnl"])
def test_lists_always_in_one_order_tell_no_position_effects(name: str) -> None:
    clicks = [[1, 0], [0, 1], [0, 0], [0, 0], [0, 0], [0, 0]] * 10
    found: Any = fit(name, Counts.of_lists([[0, 1]] * 60, clicks))
    text = " ".join(found.not_identified)
    assert ("links these positions to 1 after no click" in text) or ("positions 1; 2" in text)
    (effect,) = found.position_fields
    assert getattr(found, effect).tolist() == [1.0, 1.0]
    both = found.click_probabilities(lists(found.counts))[0]
    assert both == pytest.approx([1 / 6, 1 / 6])


def test_ubm_says_what_it_does_not_know_of_examination() -> None:
    """Nobody clicks twice, and nothing was ever clicked after a click at the second position."""
    shown = [[0, 1, 2], [1, 2, 0], [2, 0, 1]] * 12
    clicks = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]] * 9
    found = fit_ubm(Counts.of_lists(shown, clicks))
    assert found.examination_after[2, 1:].tolist() == [0.0, 0.0]
    assert "2 after 1, 3 after 1, 3 after 2" in " ".join(found.not_identified)
    never = fit_ubm(Counts.of_lists([[0, 1], [1, 0]] * 9, [[0, 0], [0, 1], [0, 1]] * 6))
    assert "2 after 1" in " ".join(never.not_identified)
    assert never.examination_after_error[1, 1] == np.inf


def test_dbn_says_what_it_does_not_know() -> None:
    counts = Counts.of_lists([[0, 1]] * 6, [[0, 1], [1, 0]] * 3)
    found = fit_dbn(counts)
    assert np.isinf(found.satisfaction_error).tolist() == [False, True]
    assert found.satisfaction[1] == found.satisfaction[0]
    assert "Satisfaction of 1 pair is not known" in found.not_identified[0]
    alone = fit_dbn(Counts.of_lists([[0], [0]], [[1], [0]]))
    assert "Continuation is not known" in " ".join(alone.not_identified)
    assert alone.continuation_error == np.inf


def test_mnl_with_several_clicks_on_a_list() -> None:
    shown = [[0, 1], [1, 0]] * 20
    clicks = [[1, 1], [0, 0], [1, 0], [0, 0], [0, 0]] * 8
    counts = Counts.of_lists(shown, clicks)
    shared, first, without = (fit_mnl(counts, several=how) for how in mnl.SEVERAL)
    assert "8 of 40 lists have more than one click" in shared.not_identified[-1]
    assert "equal parts of one choice" in shared.not_identified[-1]
    # The share of lists with a click is kept, and with the first alone the second has no click.
    clicked = shared.click_probabilities(lists(counts)).sum(axis=1)
    assert clicked @ lists(counts).times == pytest.approx(16)
    assert first.position_bias[1] == without.position_bias[1] == 0.0
    assert shared.position_bias[1] == pytest.approx(4 / 12, abs=0.05)
    assert first.model().position_bias[1] > 0.0
    assert shared.log_probabilities(lists(counts)).min() == -np.inf


def test_mnl_attraction_is_at_most_one() -> None:
    """As in the click model: more clicks than that put the estimate at the edge."""
    counts = Counts.of_lists([[0, 1], [1, 0]] * 50, [[1, 0], [0, 1], [1, 0], [1, 0]] * 25)
    found = fit_mnl(counts)
    assert found.attraction[0] == 1.0
    assert any("1 pair of attraction 1, at the edge" in text for text in found.not_identified)
    assert found.model().value([0, 1]) < 1.0


def test_shrinkage_keeps_estimates_from_the_edges() -> None:
    counts = Counts.of_lists([[0, 1], [1, 0], [0, 1], [1, 0]], [[1, 0], [1, 0], [0, 0], [0, 0]])
    for name in NAMES:
        found: Any = fit(name, counts, shrinkage=2.0)
        assert ((found.attraction > 0.0) & (found.attraction < 1.0)).all()
    bayesian = fit_dbn(counts, shrinkage=2.0)
    assert ((bayesian.satisfaction > 0.0) & (bayesian.satisfaction < 1.0)).all()


def test_nested_models_are_shrunk_alike() -> None:
    """The richer model of a thin log says of its items what the simpler, true one does."""
    rng = np.random.default_rng(0)
    n_queries, n = 60, 60
    lists = np.argsort(np.arange(6) + 3.0 * rng.normal(size=(n_queries * n, 6)), axis=1)[:, :4]
    attraction = rng.uniform(0.0, 0.5, 6 * n_queries)
    pairs = lists + 6 * np.repeat(np.arange(n_queries), n)[:, None]

    def spreads(names: tuple[str, str], examined: Floats, shrinkage: float) -> Floats:
        clicks = (rng.random(pairs.shape) < attraction[pairs] * examined).astype(np.uint8)
        counts = Counts.of_lists(pairs, clicks)
        found = [fit(name, counts, shrinkage=shrinkage).attraction for name in names]
        return np.array([each.std() for each in found])

    for shrinkage in (1.0, 5.0):
        simple, rich = spreads(("pbm", "ubm"), np.array([1.0, 0.6, 0.4, 0.2]), shrinkage)
        assert rich == pytest.approx(simple, rel=0.03)
        simple, rich = spreads(("dctr", "pbm"), np.ones(4), shrinkage)
        assert rich == pytest.approx(simple, rel=0.03)


def test_wide_queries_leave_out_what_pairs_share(monkeypatch: pytest.MonkeyPatch) -> None:
    from clickrank.fit import bordered

    for name in ("dbn", "mnl"):
        counts = log_of(name, 2_000, seed=15)
        exact: Any = fit(name, counts)
        with monkeypatch.context() as patched:
            patched.setattr(bordered, "MOST_ENTRIES", 0)
            rough: Any = fit(name, counts)
        assert "depend on each other" in rough.not_identified[-1]
        ratio: Ints = rough.attraction_error / exact.attraction_error
        assert ((ratio > 0.7) & (ratio < 1.3)).all()
