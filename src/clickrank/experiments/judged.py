"""From judged queries to click models and priors: the real-world experiment of 004, section 7.4.

Offline rankers learn from the training queries. On a test query they score every document, the
scores become its prior, and its grades decide how people click. Scores are kept on disk: training
takes longer than the rest.
"""

from __future__ import annotations

import functools
import hashlib
import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from clickrank.errors import invalid
from clickrank.experiments.models import Instance, build_model
from clickrank.experiments.sources import Judged
from clickrank.priors import JudgedQueries, from_scores, load_example, load_letor, ranker_scores
from clickrank.priors.rankers import ranker_description, require_rankers
from clickrank.types import Floats, Ints


def judged_instances(judged: Judged, seed: int, cache: Path) -> dict[str, Instance]:
    """Return the test queries by number; what the rankers say is kept in a folder."""
    return _instances(msgspec.json.encode(judged), seed, cache)


@functools.lru_cache(maxsize=2)  # asked for when planning, and again for the report
def _instances(encoded: bytes, seed: int, cache: Path) -> dict[str, Instance]:
    judged = msgspec.json.decode(encoded, type=Judged)
    train, test = load_queries(judged.path)
    scores = _scores(judged, train, test, seed, cache)
    found = {}
    for i, qid in enumerate(test):
        rows = slice(int(test.offsets[i]), int(test.offsets[i + 1]))
        found[str(qid)] = instance(judged, test.grades[rows], scores[:, rows])
    return found


def instance(judged: Judged, grades: Ints, scores: Floats) -> Instance:
    """Return one query: the click model of its grades, and the prior of its scores."""
    if int(grades.max()) >= len(judged.attraction):
        rule = f"grades must be at most {len(judged.attraction) - 1}"
        raise invalid("judged queries", rule, int(grades.max()))
    # Only the example's queries are small: other data get the paper's lists, or all documents.
    one_in = 1 if judged.path else judged.one_in
    n_positions = min(judged.positions, math.ceil(grades.size / one_in))
    attraction = np.array(judged.attraction)[grades]
    parameters = {"attraction": attraction, "n_positions": n_positions}
    return Instance(build_model(judged.name, parameters), from_scores(scores), scores)


def load_queries(path: str) -> tuple[JudgedQueries, JudgedQueries]:
    """Read the training and the test queries of a folder; of the shipped example if it is empty."""
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
    rule = f"--data must be a folder with train.txt and test.txt, as they are or compressed; {part}"
    raise invalid("reproduce", f"{rule}.txt is not there", path)


def _scores(
    judged: Judged, train: JudgedQueries, test: JudgedQueries, seed: int, cache: Path
) -> Floats:
    """Return what each ranker says of each document, from disk if it was asked before."""
    require_rankers()
    path = cache / f"scores-{_key(judged, train, test, seed)}.npz"
    try:
        with np.load(path, allow_pickle=False) as file:
            kept: Floats = file["scores"]
            if kept.shape == (judged.rankers, test.n_rows):
                return kept
    except (OSError, ValueError, KeyError, EOFError):
        pass  # not there, or not whole: trained anew
    scores = ranker_scores(
        train, test, m=judged.rankers, share=judged.share, relevance=judged.targets, seed=seed
    )
    cache.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part")
    with partial.open("wb") as file:
        np.savez_compressed(file, scores=scores)
    partial.replace(path)
    return scores


def _key(judged: Judged, train: JudgedQueries, test: JudgedQueries, seed: int) -> str:
    """Hash all that decides the scores."""
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
