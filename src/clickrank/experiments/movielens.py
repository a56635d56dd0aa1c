"""MovieLens ratings as click models: movies described by some users, rated by others (li2019)."""

from __future__ import annotations

import functools
from pathlib import Path

import msgspec
import numpy as np

from clickrank._core.arrays import Floats
from clickrank.clickmodels import LinearAttraction
from clickrank.errors import InvalidValue, MissingData, invalid
from clickrank.experiments.figure_models import Instance, build_model, drawing
from clickrank.experiments.model_sources import MovieLens

#: Where the ratings are looked for when no folder is given.
FOLDERS = ("data/movielens_latest_small", "../shared/data/movielens_latest_small")
NOWHERE = (
    "MovieLens's ratings.csv must be given, as its licence does not let it come with clickrank: "
    "get ml-20m or ml-latest-small from GroupLens, and add --data FOLDER"
)


def movie_instances(source: MovieLens, seed: int) -> dict[str, Instance]:
    """Split the users several times, and return the click model of each, by label."""
    # Where the ratings are depends on the current folder: it is found anew each time.
    return cached_instances(msgspec.json.encode(source), seed, _folder(source.path).resolve())


@functools.lru_cache(maxsize=2)  # asked for when planning, and again for the report
def cached_instances(encoded: bytes, seed: int, folder: Path) -> dict[str, Instance]:
    """Return the models of an encoded `MovieLens`, which can be the key of a cache."""
    source = msgspec.json.decode(encoded, type=MovieLens)
    ratings = most_rated(folder / "ratings.csv", source)
    found = {}
    for i in range(source.draws):
        order = drawing(seed, "users", i).permutation(ratings.shape[0])
        describing, rating = np.split(ratings[order], [source.describing])
        attraction = movie_attraction(describing, rating, source.features)
        parameters = {"attraction": attraction, **source.parameters}
        found[str(i)] = Instance(build_model(source.name, parameters))
    return found


def _folder(path: str) -> Path:
    places = [Path(path)] if path else [Path(place) for place in FOLDERS]
    for place in places:
        if holds_ratings(place):
            return place
    if path:
        raise MissingData(f"{path}: MovieLens's ratings.csv is not there.")
    raise MissingData(f"{NOWHERE}.")


def holds_ratings(folder: Path) -> bool:
    """Say whether a folder holds MovieLens's ratings."""
    return (folder / "ratings.csv").is_file()


def most_rated(path: Path, source: MovieLens) -> Floats:
    """Return who rated what, of those with most ratings: 1 by user and movie, 0 for none."""
    try:
        table = np.loadtxt(path, delimiter=",", skiprows=1, usecols=(0, 1), dtype=np.float64)
    except ValueError as error:
        raise InvalidValue(
            f"{path}: lines must be userId,movieId,…: {str(error).rstrip('.')}."
        ) from error
    movies = _most_frequent(table[:, 1], source.movies)
    kept = np.isin(table[:, 1], movies)
    users = _most_frequent(table[kept, 0], source.describing + source.rating)
    if movies.size < source.movies or users.size <= source.describing:
        rule = f"{path} must rate {source.movies} movies by more than {source.describing} users"
        raise invalid("movielens", rule, (movies.size, users.size))
    table = table[kept & np.isin(table[:, 0], users)]
    matrix = np.zeros((users.size, movies.size))
    matrix[np.searchsorted(users, table[:, 0]), np.searchsorted(movies, table[:, 1])] = 1.0
    return matrix


def _most_frequent(ids: Floats, count: int) -> Floats:
    """Return the ids that occur most often, in increasing order; ties to the smaller id."""
    found, times = np.unique(ids, return_counts=True)
    return np.sort(found[np.argsort(-times, kind="stable")[:count]])


def movie_attraction(describing: Floats, rating: Floats, features: int) -> LinearAttraction:
    """Describe movies by what the first users rated, and fit to that what the others did.

    A movie that none of the first users rated has no direction: its features are 0, but for the
    constant.
    """
    _, _, right = np.linalg.svd(describing, full_matrices=False)
    # One feature less: eq. 12 adds a constant.
    vectors = right[: features - 1].T * (describing.sum(axis=0) > 0.0)[:, None]
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    sphere = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0.0)
    described = np.hstack([sphere, np.ones((norms.size, 1))]) / np.sqrt(2.0)
    weights, *_ = np.linalg.lstsq(described, rating.mean(axis=0), rcond=None)
    # A fit may leave [0, 1]. If so, all attractions are moved and shrunk alike, by the constant.
    fitted = described @ weights
    low, high = min(fitted.min(), 0.0), max(fitted.max(), 1.0)
    weights[-1] -= low * np.sqrt(2.0)
    return LinearAttraction(described, weights / (high - low))
