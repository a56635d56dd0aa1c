"""MovieLens ratings as click models: who is kept, and what attracts."""

from pathlib import Path

import numpy as np
import pytest

from clickrank._core.arrays import Floats
from clickrank.errors import InvalidValue, MissingData
from clickrank.experiments import list_experiments, reproduce
from clickrank.experiments.cost_estimate import estimate
from clickrank.experiments.figure_spec import Scale
from clickrank.experiments.model_sources import MovieLens
from clickrank.experiments.movielens import most_rated, movie_attraction, movie_instances
from clickrank.experiments.paper_files import select


def rated(users: int, movies: int, seed: int) -> Floats:
    """Draw who rated what: the first movies are rated by more users, of two kinds."""
    rng = np.random.default_rng(seed)
    liking = np.where(np.arange(users)[:, None] % 2 == np.arange(movies) % 2, 0.8, 0.3)
    return (rng.random((users, movies)) < liking * np.linspace(1.0, 0.3, movies)).astype(float)


def write(folder: Path, matrix: Floats) -> None:
    lines = [f"{u + 1},{10 * m + 7},{1 + (u + m) % 5},0" for u, m in np.argwhere(matrix)]
    folder.mkdir(exist_ok=True)
    text = "\n".join(["userId,movieId,rating,timestamp", *lines])
    (folder / "ratings.csv").write_text(text + "\n")


def source(folder: Path, **changes: int) -> MovieLens:
    settings = {"movies": 12, "features": 3, "describing": 8, "rating": 20, "draws": 3, **changes}
    return MovieLens(path=str(folder), parameters={"n_positions": 4}, **settings)  # type: ignore[arg-type]


def test_the_most_rated_movies_and_the_users_who_rate_them(tmp_path: Path) -> None:
    matrix = rated(60, 40, seed=1)
    matrix[17] = 0.0
    matrix[17, 30:] = 1.0  # rates a lot, but not what is kept
    write(tmp_path, matrix)
    got = most_rated(tmp_path / "ratings.csv", source(tmp_path))
    movies = np.sort(np.argsort(-matrix.sum(axis=0), kind="stable")[:12])
    users = np.sort(np.argsort(-matrix[:, movies].sum(axis=1), kind="stable")[:28])
    assert 17 not in users
    assert np.array_equal(got, matrix[np.ix_(users, movies)])


def test_weights_fit_what_others_rated() -> None:
    describing, rating = rated(30, 25, seed=2), rated(200, 25, seed=3)
    attraction = movie_attraction(describing, rating, features=4)
    x = attraction.features
    assert np.allclose((x * x).sum(axis=1), 1.0)
    assert np.allclose(x[:, -1], np.sqrt(0.5))
    # In the space of the three largest eigenvectors of what movies have in common.
    _, vectors = np.linalg.eigh(describing.T @ describing)
    largest = vectors[:, -3:]
    unit = largest / np.linalg.norm(largest, axis=1, keepdims=True)
    assert np.allclose(2.0 * x[:, :3] @ x[:, :3].T, unit @ unit.T)
    # Residuals are orthogonal to the features: least squares.
    assert np.allclose(x.T @ (attraction.values - rating.mean(axis=0)), 0.0)


def test_a_movie_that_nobody_described_has_the_constant_alone() -> None:
    describing, rating = rated(30, 25, seed=2), rated(200, 25, seed=3)
    describing[:, [4, 9]] = 0.0
    attraction = movie_attraction(describing, rating, features=4)
    assert np.allclose(attraction.features[[4, 9]], [0.0, 0.0, 0.0, np.sqrt(0.5)])
    assert attraction.values[4] == attraction.values[9]


def test_a_fit_beyond_probabilities_keeps_its_order() -> None:
    describing = rated(30, 25, seed=2)
    rating = np.zeros((10, 25))
    rating[:, describing.sum(axis=0) > 16] = 1.0
    attraction = movie_attraction(describing, rating, features=4)
    x = attraction.features
    fitted = x @ np.linalg.lstsq(x, rating.mean(axis=0), rcond=None)[0]
    assert fitted.min() < 0.0
    assert attraction.values.min() == pytest.approx(0.0, abs=1e-12)
    moved = (fitted - fitted.min()) / (max(fitted.max(), 1.0) - fitted.min())
    assert np.allclose(attraction.values, moved)


def test_each_split_is_another_model(tmp_path: Path) -> None:
    write(tmp_path, rated(60, 40, seed=1))
    models = [i.model for i in movie_instances(source(tmp_path), seed=5).values()]
    assert len({model.features.values.tobytes() for model in models}) == 3
    assert (models[0].n_items, models[0].n_positions) == (12, 4)


def test_too_few_ratings_are_told(tmp_path: Path) -> None:
    write(tmp_path, rated(60, 40, seed=1))
    with pytest.raises(InvalidValue, match="must have ratings of 50 movies by more than 8 users"):
        movie_instances(source(tmp_path, movies=50), seed=5)
    (tmp_path / "ratings.csv").write_text("userId,movieId\n1,two\n")
    with pytest.raises(InvalidValue, match="lines must be userId,movieId"):
        movie_instances(source(tmp_path, movies=2), seed=5)


def test_without_ratings_the_rest_of_the_paper_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where none are found
    tiny = Scale(horizon=10, runs=1, models=1)
    paper = select("002", list_experiments())
    movies = [e for e in paper if e.figure.movielens is not None]
    left_out = estimate(paper, tiny, tmp_path).notes
    assert [note.partition(" ")[0] for note in left_out] == ["li-2019/figure-2c"]
    with pytest.raises(MissingData, match="add --data FOLDER"):
        estimate(movies, tiny, tmp_path)
    with pytest.raises(MissingData, match="add --data FOLDER"):
        reproduce("002/figure-2c", scale=tiny, out=tmp_path / "out", progress=False)
