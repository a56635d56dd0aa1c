"""MovieLens ratings as click models: features from one group of users, attraction from another."""

from __future__ import annotations

import functools
from pathlib import Path

import msgspec
import numpy as np

from clickrank._core.arrays import Floats
from clickrank.clickmodels import LinearAttraction
from clickrank.errors import InvalidValue, MissingData, invalid
from clickrank.experiments.figure_models import ModelInstance, build_model, drawing
from clickrank.experiments.model_sources import MovieLens

#: Folders that are searched for the ratings if none is given.
FOLDERS = ("data/movielens_latest_small", "../shared/data/movielens_latest_small")
NOWHERE = (
    "the ratings of MovieLens are missing; their licence does not allow shipping them with "
    "clickrank. Get ml-20m or ml-latest-small from GroupLens, and add --data FOLDER"
)


def movie_instances(source: MovieLens, seed: int) -> dict[str, ModelInstance]:
    """Split the users several times, and return the click model of each split, by label."""
    # The folder depends on the current directory, so it is searched for each time.
    return cached_instances(msgspec.json.encode(source), seed, _folder(source.path).resolve())


@functools.lru_cache(maxsize=2)  # needed for the plan, and again for the report
def cached_instances(encoded: bytes, seed: int, folder: Path) -> dict[str, ModelInstance]:
    """Return the models of an encoded `MovieLens`, which can be the key of a cache."""
    source = msgspec.json.decode(encoded, type=MovieLens)
    ratings = most_rated(folder / "ratings.csv", source)
    found = {}
    for i in range(source.draws):
        order = drawing(seed, "users", i).permutation(ratings.shape[0])
        describing, rating = np.split(ratings[order], [source.describing])
        attraction = movie_attraction(describing, rating, source.features)
        parameters = {"attraction": attraction, **source.parameters}
        found[str(i)] = ModelInstance(build_model(source.name, parameters))
    return found


def _folder(path: str) -> Path:
    places = [Path(path)] if path else [Path(place) for place in FOLDERS]
    for place in places:
        if holds_ratings(place):
            return place
    if path:
        raise MissingData(f"{path}: the file ratings.csv of MovieLens is missing.")
    raise MissingData(f"{NOWHERE}.")


def holds_ratings(folder: Path) -> bool:
    """Return whether a folder has the ratings of MovieLens."""
    return (folder / "ratings.csv").is_file()


def most_rated(path: Path, source: MovieLens) -> Floats:
    """Return a matrix of users and movies with most ratings: 1 if rated, else 0."""
    try:
        table = np.loadtxt(path, delimiter=",", skiprows=1, usecols=(0, 1), dtype=np.float64)
    except ValueError as error:
        raise InvalidValue(
            f"{path}: lines must be userId,movieId,…: {str(error).rstrip('.')}."
        ) from error
    movies = _most_frequent(table[:, 1], source.movies)
    selected = np.isin(table[:, 1], movies)
    users = _most_frequent(table[selected, 0], source.describing + source.rating)
    if movies.size < source.movies or users.size <= source.describing:
        rule = (
            f"{path} must have ratings of {source.movies} movies by more than "
            f"{source.describing} users"
        )
        raise invalid("movielens", rule, (movies.size, users.size))
    table = table[selected & np.isin(table[:, 0], users)]
    matrix = np.zeros((users.size, movies.size))
    matrix[np.searchsorted(users, table[:, 0]), np.searchsorted(movies, table[:, 1])] = 1.0
    return matrix


def _most_frequent(ids: Floats, count: int) -> Floats:
    """Return the ids that occur most often, sorted; ties go to the smaller id."""
    found, times = np.unique(ids, return_counts=True)
    return np.sort(found[np.argsort(-times, kind="stable")[:count]])


def movie_attraction(describing: Floats, rating: Floats, features: int) -> LinearAttraction:
    """Compute features from the first users' ratings, and fit the others' ratings to them.

    If none of the first users rated a movie, its features are 0 except for the constant.
    """
    _, _, right = np.linalg.svd(describing, full_matrices=False)
    # One feature fewer, because eq. 12 adds a constant.
    vectors = right[: features - 1].T * (describing.sum(axis=0) > 0.0)[:, None]
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    sphere = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0.0)
    described = np.hstack([sphere, np.ones((norms.size, 1))]) / np.sqrt(2.0)
    weights, *_ = np.linalg.lstsq(described, rating.mean(axis=0), rcond=None)
    # A fit may leave [0, 1]. Then all attractions are shifted and scaled in the same way.
    fitted = described @ weights
    low, high = min(fitted.min(), 0.0), max(fitted.max(), 1.0)
    weights[-1] -= low * np.sqrt(2.0)
    return LinearAttraction(described, weights / (high - low))
