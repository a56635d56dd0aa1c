"""Priors from rankers trained offline on judged queries."""

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

#: What the grades 0 to 4 are trained as (kveton2022, section 7.4).
RELEVANCE = (0.0, 0.25, 0.5, 0.75, 1.0)

# Threads wait for each other after every leaf: with fewer rows, one alone is as quick.
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
    """Train m rankers on judged queries and return the prior that their scores of items make.

    This is `ranker_scores` followed by `from_scores` (kveton2022, section 7.4).

    Parameters
    ----------
    train, estimator, m, share, seed, relevance, clip, progress
        As in `ranker_scores`.
    items
        The items of one query, one row of features each: a prior is returned. Or judged queries,
        whose grades are not looked at: a dictionary from each query's number to its prior.
    temper
        As in `from_scores`; "auto" looks at the items of all queries at once.
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
        What to score: a matrix with one row of features an item, or judged queries.
    estimator
        Any regressor or classifier with scikit-learn's interface; each ranker is a clone of it. A
        regressor learns ``relevance[grade]``; a classifier learns the grade, and its score is the
        expected relevance. The default is LightGBM's regressor with the cross-entropy objective,
        whose scores are within [0, 1] by itself.
    m
        How many rankers.
    share
        Which share of the training queries each sees, drawn without replacement; above 0.
    seed
        Decides which queries each ranker sees, and its ``random_state`` where that is None.
    relevance
        What each grade from 0 on is trained as, between 0 and 1.
    clip
        Whether scores out of [0, 1] are moved to its nearest end; they are an error otherwise.
    progress
        Whether to draw a progress bar; by default on a terminal only.

    Returns
    -------
    ndarray, shape (m, number of items)
        Items of judged queries come in the order of their rows.

    Notes
    -----
    Next to ``train``, memory holds the share of it that a ranker sees, and the ranker's own copy.
    """
    owner = "ranker_scores"
    require_rankers(lightgbm=estimator is None)
    if not isinstance(train, JudgedQueries):
        raise invalid(owner, "train must be JudgedQueries, as load_letor returns", type(train))
    if isinstance(items, JudgedQueries):
        features = items.features
    else:
        features = features_of(owner, "items", items)
    if features.shape[1] != train.n_features:
        rule = f"items must have the {train.n_features} features of train; see n_features"
        raise invalid(owner, rule, features.shape[1])
    count = check_int(owner, "m", m, 1)
    part = check_float(owner, "share", share, 0.0, 1.0)
    if part == 0.0:
        raise invalid(owner, "share must be above 0", share)
    table = probabilities(owner, "relevance", relevance)
    if train.grades.max() >= table.size:
        rule = f"grades must be at most {table.size - 1}, the last that relevance tells of"
        raise invalid(owner, rule, int(train.grades.max()))
    seeds = np.random.SeedSequence(check_int(owner, "seed", seed, 0)).spawn(count)
    scores = np.empty((count, features.shape[0]))
    with progress_bar("Training rankers", count, progress) as tick:
        for i, sequence in enumerate(seeds):
            rng = np.random.default_rng(sequence)
            seen = train.take(_some_queries(len(train), part, rng))
            ranker = _unfitted(estimator, seen.n_rows, rng)
            scores[i] = _predicted(ranker, seen, features, table)
            tick(1)
    if clip:
        np.clip(scores, 0.0, 1.0, out=scores)
    return scores_of(owner, scores)


def require_rankers(lightgbm: bool = True) -> None:
    """Raise, with the command that installs them, if scikit-learn or LightGBM is missing."""
    require("Training rankers needs", "ltr", but=() if lightgbm else ("lightgbm",))


def ranker_description() -> str:
    """Return what decides the default's scores besides the data: versions and parameters."""
    import lightgbm
    import sklearn

    parameters = _default(0).get_params()
    del parameters["n_jobs"]  # deterministic: the number of threads changes nothing
    return f"{lightgbm.__version__} {sklearn.__version__} {sorted(parameters.items())}"


def _some_queries(n_queries: int, share: float, rng: np.random.Generator) -> Ints:
    """Draw a share of the queries, at least one, in the order of the file."""
    count = max(round(share * n_queries), 1)
    return np.sort(rng.choice(n_queries, size=count, replace=False))


def _unfitted(estimator: Estimator, n_rows: int, rng: np.random.Generator) -> Estimator:
    """Return a clone with a random state of its own wherever none is set."""
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
        raise invalid(owner, "estimator must be an estimator of scikit-learn's kind", estimator)
    if is_classifier(estimator):
        if not hasattr(estimator, "predict_proba"):
            raise invalid(owner, "estimator must have predict_proba if it classifies", estimator)
    elif not is_regressor(estimator):
        rule = "estimator must be a regressor or a classifier, whose scores mean something alone"
        raise invalid(owner, rule, estimator)


def _default(n_rows: int) -> Estimator:
    from joblib import cpu_count  # type: ignore[import-untyped]
    from lightgbm import LGBMRegressor

    return LGBMRegressor(
        objective="cross_entropy",
        deterministic=True,
        force_row_wise=True,  # or timing decides between two ways that round differently
        n_jobs=min(cpu_count(only_physical_cores=True), 1 + n_rows // _ROWS_PER_THREAD),
        verbosity=-1,
    )


def _predicted(
    ranker: Estimator, seen: JudgedQueries, features: Features, relevance: Floats
) -> Floats:
    from sklearn.base import is_classifier

    if is_classifier(ranker):
        ranker.fit(seen.features, seen.grades)
        chances: Floats = ranker.predict_proba(features)
        expected: Floats = chances @ relevance[np.asarray(ranker.classes_, dtype=np.int64)]
        return np.clip(expected, 0.0, 1.0)  # chances may add up to 1 plus rounding
    ranker.fit(seen.features, relevance[seen.grades])
    return np.asarray(ranker.predict(features), dtype=np.float64)
