"""Priors from scores and from rankers, and docs/howto/priors.md."""

import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from lightgbm import LGBMRanker
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from clickrank._core.arrays import Floats
from clickrank.errors import InvalidValue, MissingExtra
from clickrank.priors import (
    Beta,
    JudgedQueries,
    effective_votes,
    from_rankers,
    from_scores,
    load_example,
    ranker_scores,
)
from tests.paths import DOCS


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
        ([0.5, 0.1], 1.0, r"must be a matrix .*, got 'shape \(2,\)'"),
        ([[]], 1.0, "scores must be a matrix"),
        ([[0.5]], 0.0, "temper must be above 0"),
        ([[0.5]], 1.5, "temper must be a number between 0 and 1"),
        ([[0.5]], "some", 'temper must be a number or "auto"'),
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
    """Predicts a constant, and stores its training data."""

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
    """Return queries of 1, 2, 3, 1, 2, 3, … documents, whose only feature is their query."""
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
        ({"items": [[1.0]]}, r"items must have as many features as train \(2\), got 1"),
        ({"m": 0}, "m must be a whole number of at least 1"),
        ({"share": 0.0}, "share must be above 0"),
        ({"share": 1.1}, "share must be a number between 0 and 1"),
        ({"relevance": [0, 1]}, "grades must be at most 1, the last grade in relevance, got 4"),
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
    with pytest.raises(MissingExtra, match=r"needs lightgbm: pip install .*\[ltr\]'"):
        from_rankers(judged(), [[0.0, 1.0]])
    assert from_rankers(judged(), [[0.0, 1.0]], Spy(), m=1).n_items == 1  # needs no LightGBM
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtra, match="needs sklearn: pip install"):
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


def test_page_on_priors() -> None:
    page = DOCS / "howto" / "priors.md"
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    lost = names["lost"]
    assert lost["with prior"] < 0.7 * lost["uninformed"]
    assert names["query"].n_items == 19
    uninformed, informed = names["both"].values()
    assert informed.runs == uninformed.runs == 50
    assert informed.regret[:, -1].mean() < 0.9 * uninformed.regret[:, -1].mean()


def test_one_item_tells_nothing_of_how_models_agree() -> None:
    assert from_scores([[0.25], [0.5]], temper="auto") == from_scores([[0.375]])


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        ("ridge", "must have the interface of scikit-learn"),
        (Ridge, "must have the interface of scikit-learn"),
        (LinearSVC(), "must have predict_proba as a classifier"),
        (LGBMRanker(), "must be a regressor or a classifier"),
    ],
)
def test_estimators_are_looked_at_before_they_are_trained(estimator: Any, message: str) -> None:
    train = load_example("train")
    with pytest.raises(InvalidValue, match=message):
        ranker_scores(train, train, estimator, m=1)


def test_queries_are_widened_without_change() -> None:
    narrow = JudgedQueries([[0.5, 1.0], [0.1, 2.0]], [1, 0], [2], qids=[7])
    wide = narrow.widened(4)
    assert isinstance(wide.features, np.ndarray)
    assert wide.features.tolist() == [[0.5, 1.0, 0.0, 0.0], [np.float32(0.1), 2.0, 0.0, 0.0]]
    assert list(wide) == [7]
    assert narrow.widened(2) is narrow
    sparse = load_example("test")
    before, after = sparse.features, sparse.widened(310).features
    assert isinstance(before, csr_matrix)
    assert isinstance(after, csr_matrix)
    assert after.shape == (768, 310)
    assert np.array_equal(after.data, before.data)
    assert np.array_equal(after.indices, before.indices)
    with pytest.raises(InvalidValue, match="n_features must be at least 2, got 1"):
        narrow.widened(1)
