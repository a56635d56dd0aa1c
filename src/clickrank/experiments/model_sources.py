"""What policies play on, as data: a click model, a file of them, drawn ones, or judged queries."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class Spec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of all specs: read-only, and a misspelt key is an error."""


class Model(Spec, frozen=True, kw_only=True):
    """A click model by its registered name, with its parameters."""

    name: str
    parameters: dict[str, Any] = {}


class ModelSet(Spec, frozen=True, kw_only=True):
    """Many click models of one kind, the same for all policies.

    Parameters
    ----------
    name
        The registered name of the kind.
    file
        A file of the data folder: a JSON object from labels to the parameters of a model.
    runs
        "random": each run draws one of the models. "each": as many runs on every model.
    first
        Keep this many models, the first of the file; by default all.
    items
        Keep this many items of each, the most attractive; by default all.
    positions
        Keep this many positions, the most examined, and sort them so; by default all as they are.
    log
        Whether the log of KDD Cup 2012 may take the file's place: the models are then fitted to it.
    path
        The log, or the folder that holds it; the file is used if it is empty.
    """

    name: str
    file: str
    log: bool = False
    path: str = ""
    runs: Literal["random", "each"] = "random"
    first: int | None = None
    items: int | None = None
    positions: int | None = None


class Drawn(Spec, frozen=True, kw_only=True):
    """Click models drawn from Beta priors, the same for all policies; each comes with its prior.

    Parameters
    ----------
    name, parameters
        The registered name of the kind, and its parameters besides the attraction.
    items
        How many items there are.
    alpha
        α of every item; or two whole numbers between which that of each item is drawn evenly.
    beta
        β of every item. In a sweep its points say both.
    priors
        How often α is drawn.
    draws
        How many models are drawn from each prior.
    """

    name: str
    items: int
    parameters: dict[str, Any] = {}
    alpha: float | tuple[int, int] = 1.0
    beta: float = 1.0
    priors: int = 1
    draws: int

    def __post_init__(self) -> None:
        """Check the numbers."""
        for key in ("items", "priors", "draws"):
            if getattr(self, key) < 1:
                raise ValueError(f"{key} must be at least 1")
        if isinstance(self.alpha, tuple) and not 1 <= self.alpha[0] <= self.alpha[1]:
            raise ValueError("alpha must be two whole numbers of at least 1, the smaller first")


class Linear(Spec, frozen=True, kw_only=True):
    """Click models with attractions linear in features, drawn (li2019, section 5).

    Parameters
    ----------
    name, parameters
        The registered name of the kind, and its parameters besides the attraction.
    items, features
        How many items there are, and by how many numbers each is described: Gaussian ones, put on
        a sphere, and a constant (li2019, eq. 12).
    orthogonal
        Each item has a feature of its own instead, which tells nothing about others, and an
        attraction drawn evenly between 0 and 1. There must be as many features as items.
    draws
        How many models are drawn.
    """

    name: str
    items: int
    features: int
    orthogonal: bool = False
    parameters: dict[str, Any] = {}
    draws: int

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.items < 1 or self.draws < 1 or self.features < 2:
            raise ValueError("items and draws must be at least 1, features at least 2")
        if self.orthogonal and self.features != self.items:
            raise ValueError("features must be as many as items where they are orthogonal")


class MovieLens(Spec, frozen=True, kw_only=True):
    """Movies as items: features from the ratings of some users, attraction from those of others.

    li2019, section 5: the movies with most ratings, and the users who rate most of them, are kept;
    the users are split at random. A singular-value decomposition of what the first ones rated
    describes the movies (eq. 12), and a least-squares fit of the share of the others who rated a
    movie gives the weights.

    Parameters
    ----------
    name, parameters
        The registered name of the click model, and its parameters besides the attraction.
    path
        The folder with MovieLens's ratings.csv; by default the first of `movielens.FOLDERS`.
    movies, features
        How many movies are kept, and by how many numbers each is described.
    describing, rating
        How many users describe the movies, and how many others rate them, at most.
    draws
        How often the users are split.
    """

    name: str = "dctr"
    parameters: dict[str, Any] = {}
    path: str = ""
    movies: int
    features: int
    describing: int
    rating: int
    draws: int


class Point(Spec, frozen=True, kw_only=True):
    """A place on the axis of a sweep, and what the models have there.

    The prior, α and β, of drawn models; the numbers of items and features of linear ones.
    """

    at: float
    alpha: float | None = None
    beta: float | None = None
    items: int | None = None
    features: int | None = None

    def replaced(self, source: Drawn | Linear) -> Drawn | Linear:
        """Return a source of models with what this place says about it."""
        fields = ("items", "features") if isinstance(source, Linear) else ("alpha", "beta")
        said = {key: getattr(self, key) for key in ("alpha", "beta", "items", "features")}
        said = {key: value for key, value in said.items() if value is not None}
        if not said or not set(said) <= set(fields):
            raise ValueError(f"points must give {' or '.join(fields)}")
        return msgspec.structs.replace(source, **said)


class Sweep(Spec, frozen=True, kw_only=True):
    """Models along an axis: the figure shows the regret at the horizon over it.

    Parameters
    ----------
    label
        The axis, as in ``γ``.
    points
        Places on the axis, in order, each with what the models have there.
    xscale
        The axis's scale.
    """

    label: str
    points: list[Point]
    xscale: Literal["log", "linear"] = "linear"

    def __post_init__(self) -> None:
        """Check that there is something to compare."""
        places = [point.at for point in self.points]
        if len(places) < 2 or places != sorted(set(places)):
            raise ValueError("points must be at least two, in increasing order")

    def curve(self, policy: str, at: float) -> str:
        """Return the name of a policy's curve at a place."""
        return f"{policy} {self.label}={at:g}"


class Judged(Spec, frozen=True, kw_only=True):
    """Queries with graded documents: clicks follow the grades, priors come from offline rankers.

    Rankers are trained on the training queries, and give every document of a test query a score
    each. Clicks on the test queries are simulated.

    Parameters
    ----------
    name
        The registered name of the click model.
    path
        A folder with train.txt and test.txt in the LETOR format; by default the example that comes
        with clickrank.
    positions, one_in
        A list has so many positions, but no more than one in so many of a query's documents.
    satisfaction
        With dependent clicks: the probability that a click satisfies, at every position.
    attraction
        The attraction of a document of each grade.
    targets
        What the rankers are trained to say of each grade.
    rankers, share
        How many rankers are trained, each on this share of the training queries.
    """

    name: str = "cascade"
    path: str = ""
    positions: int = 10
    one_in: int = 1
    satisfaction: float = 0.5
    attraction: list[float]
    targets: list[float]
    rankers: int = 10
    share: float = 0.9

    def __post_init__(self) -> None:
        """Check the numbers."""
        for key in ("positions", "one_in", "rankers"):
            if getattr(self, key) < 1:
                raise ValueError(f"{key} must be at least 1")
        if not 0.0 < self.share <= 1.0:
            raise ValueError("share must be above 0 and at most 1")
        if len(self.attraction) != len(self.targets):
            raise ValueError("attraction and targets must have one entry a grade")
