"""Priors from offline rankers that are trained on judged queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix

from clickrank._core.arrays import Floats, Ints, probabilities
from clickrank._core.extras import require
from clickrank._core.progress import progress_bar
from clickrank._core.validate import check_float, check_int
from clickrank.errors import invalid
from clickrank.priors.judgements import Features, JudgedQueries, features_of
from clickrank.priors.score_prior import prior_from_votes, scores_of, vote_weight
from clickrank.stats.beta_prior import Beta

#: The relevance that the grades 0 to 4 stand for in training (kveton2022, section 7.4).
RELEVANCE = (0.0, 0.25, 0.5, 0.75, 1.0)

# Threads wait for each other after every leaf; with fewer rows, one thread is as fast as several.
_ROWS_PER_THREAD = 20_000

#: Anything with scikit-learn's ``fit``, ``predict`` and ``get_params``.
Estimator: TypeAlias = Any
Items: TypeAlias = "ArrayLike | csr_matrix | JudgedQueries"


@overload
def from_rankers(
    train: JudgedQueries,
    items: JudgedQueries,
    estimator: Estimator = None,
    m: int = 10,
    share: float = 0.9,
    seed: int = 0,
    *,
    relevance: Sequence[float] = RELEVANCE,
    temper: float | Literal["auto"] = 1.0,
    clip: bool = False,
    progress: bool | None = None,
) -> dict[int, Beta]: ...


@overload
def from_rankers(
    train: JudgedQueries,
    items: ArrayLike | csr_matrix,
    estimator: Estimator = None,
    m: int = 10,
    share: float = 0.9,
    seed: int = 0,
    *,
    relevance: Sequence[float] = RELEVANCE,
    temper: float | Literal["auto"] = 1.0,
    clip: bool = False,
    progress: bool | None = None,
) -> Beta: ...


def from_rankers(
    train: JudgedQueries,
    items: Items,
    estimator: Estimator = None,
    m: int = 10,
    share: float = 0.9,
    seed: int = 0,
    *,
    relevance: Sequence[float] = RELEVANCE,
    temper: float | Literal["auto"] = 1.0,
    clip: bool = False,
    progress: bool | None = None,
) -> Beta | dict[int, Beta]:
    """Train m rankers on judged queries and return the prior that follows from their scores.

    This is `ranker_scores` followed by `from_scores` (kveton2022, section 7.4).

    Parameters
    ----------
    train, estimator, m, share, seed, relevance, clip, progress
        As in `ranker_scores`.
    items
        The items of one query, one row of features per item: one prior is returned. Or judged
        queries, whose grades are ignored: a dictionary from the number of each query to its prior
        is returned.
    temper
        As in `from_scores`; "auto" uses the items of all queries together.
    """
    scores = ranker_scores(
        train, items, estimator, m, share, seed,
        relevance=relevance, clip=clip, progress=progress,
    )  # fmt: skip
    weight = vote_weight("from_rankers", scores, temper)
    if not isinstance(items, JudgedQueries):
        return prior_from_votes(scores, weight)
    by_query = np.split(scores, items.offsets[1:-1], axis=1)
    return {
        qid: prior_from_votes(votes, weight) for qid, votes in zip(items, by_query, strict=True)
    }


def ranker_scores(
    train: JudgedQueries,
    items: Items,
    estimator: Estimator = None,
    m: int = 10,
    share: float = 0.9,
    seed: int = 0,
    *,
    relevance: Sequence[float] = RELEVANCE,
    clip: bool = False,
    progress: bool | None = None,
) -> Floats:
    """Train m rankers, each on a random share of the queries, and return their scores of items.

    Parameters
    ----------
    train
        The judged queries to learn from.
    items
        The items to score: a matrix with one row of features per item, or judged queries.
    estimator
        Any regressor or classifier with the interface of scikit-learn; each ranker is a clone of
        it. A regressor learns ``relevance[grade]``; a classifier learns the grade, and its score is
        the expected relevance. The default is LightGBM's regressor with the cross-entropy
        objective, whose scores are always within [0, 1].
    m
        The number of rankers.
    share
        The share of the training queries on which each ranker is trained, above 0; they are drawn
        without replacement.
    seed
        Determines the queries of each ranker, and its ``random_state`` where that is None.
    relevance
        The relevance of each grade, starting with grade 0; between 0 and 1.
    clip
        Whether scores outside [0, 1] are clipped; otherwise they are an error.
    progress
        Whether to show a progress bar; by default only on a terminal.

    Returns
    -------
    ndarray, shape (m, number of items)
        The items of judged queries are in the order of their rows.

    Notes
    -----
    In addition to ``train``, memory holds the part on which a ranker is trained, and the copy that
    the ranker makes of it.
    """
    owner = "ranker_scores"
    require_rankers(lightgbm=estimator is None)
    if not isinstance(train, JudgedQueries):
        raise invalid(owner, "train must be JudgedQueries, as load_letor returns them", type(train))
    if isinstance(items, JudgedQueries):
        features = items.features
    else:
        features = features_of(owner, "items", items)
    if features.shape[1] != train.n_features:
        rule = f"items must have as many features as train ({train.n_features})"
        raise invalid(owner, rule, features.shape[1])
    count = check_int(owner, "m", m, 1)
    part = check_float(owner, "share", share, 0.0, 1.0)
    if part == 0.0:
        raise invalid(owner, "share must be above 0", share)
    table = probabilities(owner, "relevance", relevance)
    if train.grades.max() >= table.size:
        rule = f"grades must be at most {table.size - 1}, the last grade in relevance"
        raise invalid(owner, rule, int(train.grades.max()))
    seeds = np.random.SeedSequence(check_int(owner, "seed", seed, 0)).spawn(count)
    scores = np.empty((count, features.shape[0]))
    with progress_bar("Training rankers", count, progress) as tick:
        for i, sequence in enumerate(seeds):
            rng = np.random.default_rng(sequence)
            part_of_train = train.take(_some_queries(len(train), part, rng))
            ranker = _unfitted(estimator, part_of_train.n_rows, rng)
            scores[i] = _predicted(ranker, part_of_train, features, table)
            tick(1)
    if clip:
        np.clip(scores, 0.0, 1.0, out=scores)
    return scores_of(owner, scores)


def require_rankers(lightgbm: bool = True) -> None:
    """Raise an error that says how to install scikit-learn or LightGBM if one is missing."""
    require("Training rankers needs", "ltr", but=() if lightgbm else ("lightgbm",))


def ranker_description() -> str:
    """Return the versions and parameters on which the scores of the default estimator depend."""
    import lightgbm
    import sklearn

    parameters = _default(0).get_params()
    del parameters["n_jobs"]  # the scores do not depend on the number of threads
    return f"{lightgbm.__version__} {sklearn.__version__} {sorted(parameters.items())}"


def _some_queries(n_queries: int, share: float, rng: np.random.Generator) -> Ints:
    """Draw a share of the queries, at least one; return their indices, sorted."""
    count = max(round(share * n_queries), 1)
    return np.sort(rng.choice(n_queries, size=count, replace=False))


def _unfitted(estimator: Estimator, n_rows: int, rng: np.random.Generator) -> Estimator:
    """Return a clone, with a random state wherever none is set."""
    from sklearn.base import clone

    if estimator is not None:
        _check_estimator(estimator)
    found = _default(n_rows) if estimator is None else clone(estimator)
    states = [
        name
        for name, value in found.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    return found.set_params(**{name: int(rng.integers(2**31)) for name in sorted(states)})


def _check_estimator(estimator: Estimator) -> None:
    from sklearn.base import is_classifier, is_regressor

    owner = "ranker_scores"
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise invalid(owner, "estimator must have the interface of scikit-learn", estimator)
    if is_classifier(estimator):
        if not hasattr(estimator, "predict_proba"):
            raise invalid(owner, "estimator must have predict_proba as a classifier", estimator)
    elif not is_regressor(estimator):
        rule = "estimator must be a regressor or a classifier"
        raise invalid(owner, rule, estimator)


def _default(n_rows: int) -> Estimator:
    from joblib import cpu_count  # type: ignore[import-untyped]
    from lightgbm import LGBMRegressor

    return LGBMRegressor(
        objective="cross_entropy",
        deterministic=True,
        force_row_wise=True,  # by default, timing decides between two algorithms
        n_jobs=min(cpu_count(only_physical_cores=True), 1 + n_rows // _ROWS_PER_THREAD),
        verbosity=-1,
    )


def _predicted(
    ranker: Estimator, train: JudgedQueries, features: Features, relevance: Floats
) -> Floats:
    from sklearn.base import is_classifier

    if is_classifier(ranker):
        ranker.fit(train.features, train.grades)
        probability: Floats = ranker.predict_proba(features)
        expected: Floats = probability @ relevance[np.asarray(ranker.classes_, dtype=np.int64)]
        return np.clip(expected, 0.0, 1.0)  # probabilities may add up to slightly more than 1
    ranker.fit(train.features, relevance[train.grades])
    return np.asarray(ranker.predict(features), dtype=np.float64)
