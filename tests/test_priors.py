"""Priors from scores, from rankers and from history."""

import itertools
import math
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import betaln, digamma, expit, gammaln
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clickrank.errors import InvalidValue, MissingExtra
from clickrank.priors import (
    Beta,
    JudgedQueries,
    effective_votes,
    from_history,
    from_rankers,
    from_scores,
    load_example,
    ranker_scores,
)
from clickrank.priors.history import _Tally
from clickrank.types import Floats


def test_scores_are_soft_votes() -> None:
    scores = np.random.default_rng(0).random((10, 7))
    prior = from_scores(scores)
    np.testing.assert_allclose(prior.alpha, scores.sum(axis=0), rtol=1e-14)
    np.testing.assert_allclose(prior.beta, (1 - scores).sum(axis=0), rtol=1e-14)
    tempered = from_scores(scores, temper=0.25)
    np.testing.assert_allclose(tempered.mean, prior.mean, rtol=1e-14)
    np.testing.assert_allclose(tempered.weight, 2.5, rtol=1e-14)


def test_unanimous_votes_leave_room() -> None:
    prior = from_scores([[0.0, 1.0, 0.5]] * 4)
    np.testing.assert_allclose(prior.mean, [1e-4, 1 - 1e-4, 0.5], rtol=1e-12)
    np.testing.assert_allclose(prior.weight, 4.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("scores", "temper", "message"),
    [
        ([[0.5, 0.5], [0.2, 1.01]], 1.0, "score of model 1 for item 1 must be .*, got 1.01"),
        ([[0.5, -0.1], [0.2, 1.0]], 1.0, "score of model 0 for item 1 must be .*, got -0.1"),
        ([[0.5, np.nan]], 1.0, "score of model 0 for item 1 must be .*, got nan"),
        ([0.5, 0.1], 1.0, r"must be a matrix, .*, got 'shape \(2,\)'"),
        ([[]], 1.0, "scores must be a matrix"),
        ([[0.5]], 0.0, "temper must be above 0"),
        ([[0.5]], 1.5, "temper must be a number between 0 and 1"),
        ([[0.5]], "some", 'temper must be a number or "auto"'),
        ([[0.5]], "auto", "scores must be of at least 2 items"),
    ],
)
def test_wrong_scores(scores: Any, temper: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        from_scores(scores, temper)


def test_effective_votes_find_the_correlation() -> None:
    rng = np.random.default_rng(1)
    m, rho = 8, 0.3
    shared, own = rng.normal(size=(1, 200_000)), rng.normal(size=(m, 200_000))
    scores = 0.5 + 0.05 * (np.sqrt(rho) * shared + np.sqrt(1 - rho) * own)
    assert effective_votes(scores) == pytest.approx(m / (1 + (m - 1) * rho), rel=0.02)
    independent = 0.5 + 0.05 * own
    assert effective_votes(independent) == pytest.approx(m, rel=0.02)
    assert effective_votes(independent[:1]) == 1.0
    assert effective_votes(np.full((3, 4), 0.2)) == 1.0
    # by the covariance matrix
    few = rng.random((5, 9))
    covariance = np.cov(few)
    off = (covariance.sum() - np.trace(covariance)) / 20
    expected = 5 / (1 + 4 * max(off / (np.trace(covariance) / 5), 0.0))
    assert effective_votes(few) == pytest.approx(expected, rel=1e-12)
    weight = from_scores(few, temper="auto").weight
    np.testing.assert_allclose(weight, expected, rtol=1e-12)


class Spy(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts a constant and remembers what it was trained on."""

    seen: list[tuple[NDArray[Any], Floats, int | None]] = []  # noqa: RUF012

    def __init__(self, score: float = 0.5, random_state: int | None = None) -> None:
        self.score = score
        self.random_state = random_state

    def fit(self, X: Any, y: Floats) -> "Spy":
        rows = X.toarray() if isinstance(X, csr_matrix) else np.asarray(X)
        Spy.seen.append((rows, y, self.random_state))
        return self

    def predict(self, X: Any) -> Floats:
        return np.full(X.shape[0], self.score, dtype=np.float64)


def judged(n_queries: int = 20, sparse: bool = False) -> JudgedQueries:
    """Queries of 1, 2, 3, 1, 2, 3, … documents whose only feature is the query's place."""
    sizes = np.arange(n_queries) % 3 + 1
    places = np.repeat(np.arange(n_queries), sizes)
    features: Any = np.column_stack([places, places % 5]).astype(np.float32)
    features = csr_matrix(features) if sparse else features
    return JudgedQueries(features, places % 5, sizes, np.arange(n_queries) + 100)


@pytest.mark.parametrize("sparse", [False, True])
def test_each_ranker_sees_a_share_of_whole_queries(sparse: bool) -> None:
    train = judged(sparse=sparse)
    Spy.seen.clear()
    prior = from_rankers(train, [[0.0, 1.0]], Spy(0.25), m=5, share=0.9, seed=3)
    assert prior == Beta([1.25], [3.75])
    chosen = []
    for rows, targets, _ in Spy.seen:
        places, counts = np.unique(rows[:, 0].astype(int), return_counts=True)
        assert places.size == 18
        np.testing.assert_array_equal(counts, train.sizes[places])  # whole queries
        np.testing.assert_array_equal(targets, rows[:, 1] / 4)  # grades as [0, .25, .5, .75, 1]
        chosen.append(tuple(places))
    assert len(set(chosen)) > 1
    states = [state for _, _, state in Spy.seen]
    assert len(set(states)) == 5
    assert None not in states
    first = list(Spy.seen)
    Spy.seen.clear()
    ranker_scores(train, [[0.0, 1.0]], Spy(0.25, random_state=7), m=5, share=0.9, seed=3)
    for (rows, _, _), (again, _, state) in zip(first, Spy.seen, strict=True):
        np.testing.assert_array_equal(rows, again)  # the same seed
        assert state == 7  # which was set, and is kept
    Spy.seen.clear()
    ranker_scores(train, [[0.0, 1.0]], Spy(), m=1, share=0.01, relevance=[0, 0.1, 0.2, 0.4, 1])
    ((rows, targets, _),) = Spy.seen
    np.testing.assert_array_equal(targets, np.array([0, 0.1, 0.2, 0.4, 1])[rows[:, 1].astype(int)])
    assert np.unique(rows[:, 0]).size == 1


def test_priors_come_by_query() -> None:
    train, items = judged(), judged(6)
    line = LinearRegression()
    scores = ranker_scores(train, items, line, m=3, clip=True)
    assert scores.shape == (3, items.n_rows)
    priors = from_rankers(train, items, line, m=3, clip=True, temper="auto")
    assert list(priors) == list(items)
    weight = effective_votes(scores)
    for place, qid in enumerate(items):
        rows = slice(items.offsets[place], items.offsets[place + 1])
        expected = from_scores(scores[:, rows], temper=weight / 3)
        np.testing.assert_allclose(priors[qid].alpha, expected.alpha, rtol=1e-12)
        np.testing.assert_allclose(priors[qid].beta, expected.beta, rtol=1e-12)


def test_classifiers_score_the_expected_relevance() -> None:
    train = judged(60)
    items = [[0.0, 0.0], [0.0, 4.0]]
    forest = RandomForestClassifier(20)
    scores = ranker_scores(train, items, forest, m=4, seed=1)
    assert (scores[:, 0] < 0.4).all()
    assert (scores[:, 1] > 0.6).all()
    np.testing.assert_array_equal(scores, ranker_scores(train, items, forest, m=4, seed=1))
    assert not np.array_equal(scores, ranker_scores(train, items, forest, m=4, seed=2))
    # Grades may be missing from what a ranker sees.
    two = JudgedQueries([[0.0], [1.0]] * 4, [0, 3] * 4, [2] * 4)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(C=1e6))
    scores = ranker_scores(two, [[0.0], [1.0]], pipeline, m=1)
    np.testing.assert_allclose(scores, [[0.0, 0.75]], atol=1e-3)


def test_lightgbm_is_the_default() -> None:
    train, test = load_example("train"), load_example("test")
    scores = ranker_scores(train, test, m=2, progress=False)
    assert scores.shape == (2, test.n_rows)
    assert scores.min() > 0.0
    assert scores.max() < 1.0
    assert not np.array_equal(scores[0], scores[1])
    # It learned something that holds for queries it has not seen.
    assert np.corrcoef(scores.mean(axis=0), test.grades)[0, 1] > 0.5
    one = from_rankers(train, test[0].features, m=1)
    again = from_scores(scores[:1, : test.sizes[0]])
    assert one == again  # repeatable; one query alone or among others
    assert isinstance(train.features, csr_matrix)
    assert isinstance(test.features, csr_matrix)
    dense = JudgedQueries(train.features.toarray(), train.grades, train.sizes)
    alike = ranker_scores(dense, test.features.toarray(), m=1)
    np.testing.assert_allclose(alike[0], scores[0], rtol=1e-9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"estimator": Spy(1.2)}, "score of model 0 for item 0 must be between 0 and 1, got 1.2"),
        ({"items": [[1.0]]}, "items must have the 2 features of train.*, got 1"),
        ({"m": 0}, "m must be a whole number of at least 1"),
        ({"share": 0.0}, "share must be above 0"),
        ({"share": 1.1}, "share must be a number between 0 and 1"),
        ({"relevance": [0, 1]}, "grades must be at most 1, the last that relevance .*, got 4"),
        ({"relevance": [0, 2]}, r"relevance\[1\] must be between 0 and 1"),
        ({"train": [[1.0]]}, "train must be JudgedQueries"),
        ({"seed": -1}, "seed must be a whole number"),
    ],
)
def test_wrong_arguments_of_rankers(changes: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"train": judged(), "items": [[0.0, 1.0]], "estimator": Spy()}
    with pytest.raises(InvalidValue, match=message):
        from_rankers(**({"m": 2} | arguments | changes))


def test_clipped_scores() -> None:
    prior = from_rankers(judged(), [[0.0, 1.0]], Spy(1.2), m=2, clip=True)
    np.testing.assert_allclose(prior.mean, 1 - 1e-4)


def test_missing_extra_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(MissingExtra, match=r"pip install 'clickrank\[ltr\]'"):
        from_rankers(judged(), [[0.0, 1.0]])
    assert from_rankers(judged(), [[0.0, 1.0]], Spy(), m=1).n_items == 1  # needs no LightGBM
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    with pytest.raises(MissingExtra, match="scikit-learn"):
        from_rankers(judged(), [[0.0, 1.0]], Spy(), m=1)


def test_import_needs_no_extra() -> None:
    code = "import sys, clickrank.priors; print(sorted({'sklearn', 'lightgbm'} & {*sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_progress_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    from_rankers(judged(), [[0.0, 1.0]], Spy(), m=2, progress=True)
    shown = capsys.readouterr()
    assert "Training rankers" in shown.err
    assert shown.out == ""


def likelihood(alpha: Any, beta: Any, clicks: NDArray[Any], views: NDArray[Any]) -> float:
    """Beta-binomial log-likelihood, up to what depends on the counts alone."""
    found = betaln(alpha + clicks, beta + views - clicks) - betaln(alpha, beta)
    return float(found.sum())


def history(alpha: float, beta: float, n: int, largest: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    views = rng.integers(0, largest, n)
    return rng.binomial(views, rng.beta(alpha, beta, n)), views


PRIORS = [(1.0, 10.0), (0.3, 0.5), (40.0, 400.0), (8.0, 1.5)]


@pytest.mark.parametrize(("alpha", "beta"), PRIORS)
def test_history_recovers_its_prior(alpha: float, beta: float) -> None:
    clicks, views = history(alpha, beta, 1_000_000, 300)
    start = time.process_time()
    prior = from_history(clicks, views)
    assert time.process_time() - start < 3.0
    assert prior.mean == pytest.approx(alpha / (alpha + beta), rel=0.01)
    assert prior.weight == pytest.approx(alpha + beta, rel=0.03)


@pytest.mark.parametrize(
    ("alpha", "beta", "largest"),
    # Three views each do not show how narrow Beta(40, 400) is.
    [(*p, n) for p in PRIORS for n in (4, 50, 100_000) if (*p, n) != (40.0, 400.0, 4)],
)
def test_history_is_at_the_maximum(alpha: float, beta: float, largest: int) -> None:
    clicks, views = history(alpha, beta, 400, largest, seed=1)
    prior = from_history(clicks, views)
    assert prior.weight < 0.9 * views.sum()  # the maximum is not at the end of the range
    a, b = prior.mean * prior.weight, (1.0 - prior.mean) * prior.weight
    here = likelihood(a, b, clicks, views)
    for da, db in itertools.product((0.999, 1.0, 1.001), repeat=2):
        assert likelihood(a * da, b * db, clicks, views) <= here + 1e-12 * abs(here)

    def loss(logs: Floats) -> float:
        return -likelihood(math.exp(logs[0]), math.exp(logs[1]), clicks, views)

    direct = minimize(loss, [math.log(alpha), math.log(beta)], method="Nelder-Mead", tol=1e-9)
    # The likelihood is flat at its maximum: half of its digits are left for the parameters.
    np.testing.assert_allclose([a, b], np.exp(direct.x), rtol=1e-4)
    # Its derivatives are 0 there.
    up = (digamma(a + clicks) - digamma(a)).sum()
    down = (digamma(b + views - clicks) - digamma(b)).sum()
    both = (digamma(a + b + views) - digamma(a + b)).sum()
    np.testing.assert_allclose([up, down], both, rtol=1e-9)


@pytest.mark.parametrize(
    ("clicks", "views"),
    [  # each has a maximum in the middle, and rises again towards an infinite weight
        ([2, 0, 6], [61, 16, 3035]),
        ([11, 266], [25, 1333]),
        ([3, 54, 0, 1], [5, 336, 1, 1]),
        ([245, 0, 5], [320, 5, 5]),
        ([9, 365, 1, 2, 2, 834], [9, 486, 1, 2, 8, 1109]),
    ],
)
@pytest.mark.parametrize("cap", [None, 1e6])
def test_history_takes_the_highest_maximum(
    clicks: list[int], views: list[int], cap: float | None
) -> None:
    prior = from_history(clicks, views, cap)
    mean, weight = float(prior.mean), float(prior.weight)
    won, seen = np.array(clicks), np.array(views)
    here = likelihood(mean * weight, (1 - mean) * weight, won, seen)
    means = expit(np.linspace(-8, 8, 801))[:, None, None]
    weights = np.geomspace(0.01, sum(views) if cap is None else cap, 300)[:, None]
    a, b = means * weights, (1 - means) * weights
    tried = (betaln(a + won, b + seen - won) - betaln(a, b)).sum(axis=2)
    assert here >= tried.max() - 1e-8
    assert here <= tried.max() + 0.01  # no better than the grid can see


def test_near_counts_are_taken_together() -> None:
    clicks, views = history(1.0, 10.0, 30_000, 10**9)
    tally = _Tally.of(views)
    assert tally.counts.size < 15_000
    assert tally.times.sum() == (views > 0).sum()
    assert np.dot(tally.counts, tally.times) == pytest.approx(views.sum(), rel=1e-12)
    exact = _Tally(views[views > 0].astype(np.float64), np.ones(int((views > 0).sum())))
    for x in (0.5, 10.0, 1e4, 1e8):
        assert tally.rise(x) == pytest.approx(exact.rise(x), rel=1e-6)
    start = time.process_time()
    prior = from_history(clicks, views)
    assert time.process_time() - start < 10.0
    assert prior.weight == pytest.approx(11.0, rel=0.03)
    small = np.arange(1, 30_000)
    np.testing.assert_array_equal(_Tally.of(small).counts[:1999], small[:1999])


def test_history_of_equal_rates_is_worth_the_cap() -> None:
    clicks, views = [10] * 50, [100] * 50
    assert from_history(clicks, views).weight == pytest.approx(5000.0, rel=1e-12)
    for cap in (3.0, 200.0, 1e6, 1e12):
        assert from_history(clicks, views, cap).weight == pytest.approx(cap, rel=1e-12)
    assert from_history(clicks, views, 1e12).mean == pytest.approx(0.1, rel=1e-9)
    # A cap below the maximum binds, and the mean is the best one for it.
    clicks, views = history(2.0, 20.0, 500, 100)
    capped = from_history(clicks, views, largest_weight=5.0)
    assert capped.weight == pytest.approx(5.0, rel=1e-12)
    mean = float(capped.mean)
    here = likelihood(5 * mean, 5 - 5 * mean, clicks, views)
    for other in (mean * 0.999, mean * 1.001):
        assert likelihood(5 * other, 5 - 5 * other, clicks, views) < here


def test_history_of_all_or_nothing_is_worth_little() -> None:
    assert from_history([0, 5, 0], [3, 5, 2]).weight == pytest.approx(0.01, rel=1e-12)


def test_rise_is_accurate_however_large() -> None:
    # As a sum of reciprocals, which is exact to rounding.
    for x in (0.01, 3.7, 99.0, 101.0, 1e4, 1e8, 1e12):
        for count in (1, 2, 50, 1000):
            exact = math.fsum(1.0 / (x + j) for j in range(count))
            found = _Tally(np.array([float(count)]), np.array([1.0])).rise(x)
            # SciPy's digamma loses what the difference cancels; the series must not.
            assert found == pytest.approx(exact, rel=1e-12 if x < 100 else 1e-14)
            logs = math.fsum(math.log1p(j / x) for j in range(count))
            grown = _Tally(np.array([float(count)]), np.array([1.0])).log_rise(x)
            parts = gammaln(x + count) + gammaln(x) if x < 100 else 0.0  # which cancel
            assert grown == pytest.approx(logs, rel=1e-11, abs=1e-15 * (parts + 5 * count))


def test_history_by_query_is_pooled() -> None:
    flat = from_history([1, 2, 3, 0], [4, 9, 5, 7])
    assert from_history([[1, 2], [3, 0]], [[4, 9], [5, 7]]) == flat
    assert from_history([[1], [2, 3, 0]], [[4], [9, 5, 7]]) == flat
    assert from_history([np.array([1]), np.array([2, 3, 0])], [[4], [9, 5, 7]]) == flat
    assert from_history(np.array([[1, 2], [3, 0]]), np.array([[4, 9], [5, 7]])) == flat
    named = from_history({"a": [1, 2], "b": [3, 0]}, {"b": [5, 7], "a": [4, 9]})
    assert named == flat
    assert from_history([1, 2, 3, 0, 0], [4, 9, 5, 7, 0]) == flat  # no view says nothing
    assert isinstance(flat.alpha, float)


@pytest.mark.parametrize(
    ("clicks", "views", "message"),
    [
        ([1, 6, 7], [2, 5, 6], r"clicks\[1\] must be at most views\[1\] \(5\), got 6"),
        ([[1], [6, 7]], [[2], [5, 9]], r"clicks\[1\]\[0\] must be at most views\[1\]\[0\] \(5\)"),
        ({"q": [3]}, {"q": [2]}, r"clicks\['q'\]\[0\] must be at most views\['q'\]\[0\] \(2\)"),
        ([1, -1], [2, 2], r"clicks\[1\] must be a whole number of at least 0, got -1.0"),
        ([1, 1], [2, 2.5], r"views\[1\] must be a whole number of at least 0, got 2.5"),
        ([1, np.nan], [2, 2], r"clicks\[1\] must be a whole number .*, got nan"),
        ([1], [2, 2], r"clicks and views must hold as many numbers, got \(1, 2\)"),
        ([[1]], [[2], [2]], r"clicks and views must be of as many queries, got \(1, 2\)"),
        ({"a": [1]}, {"b": [2]}, "clicks and views must have the same names, got '[ab]'"),
        ({"a": [1]}, [2], "clicks and views must both be by name, or neither"),
        ({}, {}, "clicks and views must not be empty"),
        ([], [], "views must hold a view, or nothing can be learned"),
        ([0, 0], [0, 0], "views must hold a view, or nothing can be learned"),
        ([0, 0], [3, 4], "clicks must hold a click, or nothing can be learned, got '7 views'"),
        ([3, 4], [3, 4], "there must be a view without a click"),
        ([0, 1, 1], [1, 1, 1], "there must be an item viewed at least twice"),
    ],
)
def test_wrong_history(clicks: Any, views: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        from_history(clicks, views)


def test_wrong_cap() -> None:
    with pytest.raises(InvalidValue, match=r"largest_weight must be a number between 0\.01 and"):
        from_history([1, 2], [4, 9], largest_weight=0.0)


def test_page_on_priors() -> None:
    page = Path(__file__).parent.parent / "docs" / "howto" / "priors.md"
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    lost = names["lost"]
    assert lost["with prior"] < 0.7 * lost["uninformed"]
    assert names["query"].n_items == 19
