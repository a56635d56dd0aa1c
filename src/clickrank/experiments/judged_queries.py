"""Judged queries as click models with priors: the real-world experiment of kveton2022.

Offline rankers are trained on the training queries and score every document of the test queries.
The scores of a document become its prior, and its grade determines how people click. The scores are
saved, because training takes longer than everything else.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import Floats, Ints
from clickrank.errors import MissingData, invalid
from clickrank.experiments.figure_models import ModelInstance, build_model, parameters_of
from clickrank.experiments.model_sources import Judged
from clickrank.priors import (
    JudgedQueries,
    effective_votes,
    from_scores,
    load_example,
    load_letor,
    ranker_scores,
)
from clickrank.priors.ranker_prior import ranker_description, require_rankers


def judged_instances(judged: Judged, seed: int, cache: Path) -> dict[str, ModelInstance]:
    """Return the test queries by number; the scores of the rankers are saved in a folder."""
    return cached_instances(msgspec.json.encode(judged), seed, cache)


@functools.lru_cache(maxsize=2)  # needed for the plan, and again for the report
def cached_instances(encoded: bytes, seed: int, cache: Path) -> dict[str, ModelInstance]:
    """Return the test queries of an encoded `Judged`, which can be the key of a cache."""
    judged = msgspec.json.decode(encoded, type=Judged)
    train, test = load_queries(judged.path)
    scores = _scores(judged, train, test, seed, cache)
    votes = effective_votes(scores)  # of all queries, because one query may have only one document
    found = {}
    for i, qid in enumerate(test):
        rows = slice(int(test.offsets[i]), int(test.offsets[i + 1]))
        found[str(qid)] = instance(judged, test.grades[rows], scores[:, rows], votes)
    return found


def instance(
    judged: Judged, grades: Ints, scores: Floats, votes: float | None = None
) -> ModelInstance:
    """Return one query: the click model from its grades, and the priors from its scores.

    ``votes`` is the number of views that the tempered prior counts for; by default it is estimated
    from these scores.
    """
    if int(grades.max()) >= len(judged.attraction):
        rule = f"grades must be at most {len(judged.attraction) - 1}"
        raise invalid("judged queries", rule, int(grades.max()))
    # Only the queries of the example are small; other data have the lists of the paper.
    one_in = 1 if judged.path else judged.one_in
    n_positions = min(judged.positions, math.ceil(grades.size / one_in))
    attraction = np.array(judged.attraction)[grades]
    parameters: dict[str, Any] = {"attraction": attraction, "n_positions": n_positions}
    if "satisfaction" in parameters_of(judged.name):
        parameters = {"attraction": attraction, "satisfaction": [judged.satisfaction] * n_positions}
    temper: Any = "auto" if votes is None else votes / scores.shape[0]
    return ModelInstance(
        build_model(judged.name, parameters),
        from_scores(scores),
        scores,
        from_scores(scores, temper),
        grades,
    )


def ndcg(grades: Ints, scores: Floats, n_positions: int) -> float:
    """Return the normalised discounted cumulative gain of the order by these scores.

    Gains are 2^grade - 1, discounts log2(rank + 1). NaN if no document has a grade above 0.

    >>> round(ndcg(np.array([0, 2, 1]), np.array([0.5, 0.3, 0.9]), 2), 4)
    0.2754
    """
    gains = 2.0**grades - 1.0
    discounts = np.log2(np.arange(2, min(n_positions, grades.size) + 2))
    shown, best = (
        float(np.sum(gains[np.argsort(-by, kind="stable")[:n_positions]] / discounts))
        for by in (scores, gains)
    )
    return shown / best if best > 0.0 else math.nan


def rankers_quality(instances: Mapping[str, ModelInstance]) -> str:
    """Return a sentence on how well the offline rankers rank the test queries."""
    alone, together, chance = [], [], []
    rng = np.random.default_rng(0)
    for each in instances.values():
        if each.scores is None or each.grades is None or each.grades.max() == 0:
            continue
        k = each.model.n_positions
        alone.append([ndcg(each.grades, one, k) for one in each.scores])
        together.append(ndcg(each.grades, each.scores.mean(axis=0), k))
        orders = rng.random((20, each.grades.size))
        chance.append(np.mean([ndcg(each.grades, order, k) for order in orders]))
    if not together:
        return ""
    single = np.mean(alone, axis=0)
    return (
        f"nDCG of the offline rankers on the positions of the list, over {len(together):,} queries "
        f"with a relevant document: {np.mean(together):.3f} for their mean score, which Ensemble "
        f"ranks by, {single.min():.3f} to {single.max():.3f} for each alone, and "
        f"{np.mean(chance):.3f} for a random order."
    )


def load_queries(path: str) -> tuple[JudgedQueries, JudgedQueries]:
    """Read the training and test queries of a folder, or of the shipped example if it is empty."""
    if not path:
        return load_example("train"), load_example("test")
    train, test = load_letor(_file(path, "train")), load_test_queries(path)
    width = max(train.n_features, test.n_features)
    return train.widened(width), test.widened(width)


def load_test_queries(path: str) -> JudgedQueries:
    """Read the test queries of a folder."""
    return load_letor(_file(path, "test"))


def _file(path: str, part: str) -> Path:
    folder = Path(path)
    # MSLR-WEB30K has five folds, of which the paper uses one.
    if (folder / "Fold1").is_dir():
        folder /= "Fold1"
    for ending in ("", ".gz", ".bz2", ".xz"):
        found = folder / f"{part}.txt{ending}"
        if found.is_file():
            return found
    rule = "a folder of judged queries must have train.txt and test.txt, which may be compressed"
    raise MissingData(f"{path}: {rule}; {part}.txt is missing.")


def holds_queries(folder: Path) -> bool:
    """Return whether a folder has judged queries."""
    try:
        return all(_file(str(folder), part) for part in ("train", "test"))
    except MissingData:
        return False


def _scores(
    judged: Judged, train: JudgedQueries, test: JudgedQueries, seed: int, cache: Path
) -> Floats:
    """Return the score of each document by each ranker, read from disk if they were saved."""
    require_rankers()
    path = cache / f"scores-{scores_key(judged, train, test, seed)}.npz"
    try:
        with np.load(path, allow_pickle=False) as file:
            saved: Floats = file["scores"]
            if saved.shape == (judged.rankers, test.n_rows):
                return saved
    except (OSError, ValueError, KeyError, EOFError):
        pass  # missing or damaged: the rankers are trained again
    scores = ranker_scores(
        train, test, m=judged.rankers, share=judged.share, relevance=judged.targets, seed=seed
    )
    cache.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part")
    with partial.open("wb") as file:
        np.savez_compressed(file, scores=scores)
    partial.replace(path)
    return scores


def scores_key(judged: Judged, train: JudgedQueries, test: JudgedQueries, seed: int) -> str:
    """Return a hash of everything that determines the scores."""
    facts = (judged.rankers, judged.share, judged.targets, seed, ranker_description())
    digest = hashlib.sha256(repr(facts).encode())
    for queries in (train, test):
        digest.update(repr(queries.features.shape).encode())
        features = queries.features
        parts: list[NDArray[Any]] = [queries.grades, queries.offsets]
        if isinstance(features, np.ndarray):
            parts.append(features)
        else:
            parts += [features.data, features.indices, features.indptr]
        for part in parts:
            digest.update(repr(part.shape).encode())
            digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()[:12]
