"""Sources of click models in specifications: given, from a file, drawn, or made from data."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class Spec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of all specifications: read-only, and an unknown key is an error."""


class Model(Spec, frozen=True, kw_only=True):
    """A click model by its registered name, with its parameters."""

    name: str
    parameters: dict[str, Any] = {}


class ModelSet(Spec, frozen=True, kw_only=True):
    """Several click models of one kind, the same for all policies.

    Parameters
    ----------
    name
        The registered name of the click model.
    file
        A file in the data folder: a JSON object that maps labels to the parameters of a model.
    runs
        "random": each run uses a randomly drawn model. "each": every model gets all the runs.
    first
        Number of models to use, from the beginning of the file; by default all.
    items
        Number of items to use of each model, the most attractive ones; by default all.
    positions
        Number of positions to use, the most examined first; by default all in their order.
    log
        Whether the models may be fitted to the log of KDD Cup 2012 instead of read from the file.
    path
        The path of the log or of its folder; if empty, the file is used.
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
        The registered name of the click model, and its parameters other than the attraction.
    items
        The number of items.
    alpha
        α of every item, or two integers between which α of each item is drawn uniformly.
    beta
        β of every item. In a sweep, its points give α and β.
    priors
        The number of priors to draw.
    draws
        The number of models to draw from each prior.
    """

    name: str
    items: int
    parameters: dict[str, Any] = {}
    alpha: float | tuple[int, int] = 1.0
    beta: float = 1.0
    priors: int = 1
    draws: int

    def __post_init__(self) -> None:
        """Check that the numbers are in range."""
        for key in ("items", "priors", "draws"):
            if getattr(self, key) < 1:
                raise ValueError(f"{key} must be at least 1")
        if isinstance(self.alpha, tuple) and not 1 <= self.alpha[0] <= self.alpha[1]:
            raise ValueError("alpha must be two integers of at least 1, the smaller first")


class Linear(Spec, frozen=True, kw_only=True):
    """Randomly drawn click models whose attraction is linear in features (li2019, section 5).

    Parameters
    ----------
    name, parameters
        The registered name of the click model, and its parameters other than the attraction.
    items, features
        The numbers of items and of features. The features of an item are Gaussian numbers, scaled
        to a sphere, and a constant (li2019, eq. 12).
    orthogonal
        Whether each item has a separate feature instead, which says nothing about other items, and
        an attraction drawn uniformly from [0, 1]. There must be as many features as items.
    draws
        The number of models to draw.
    """

    name: str
    items: int
    features: int
    orthogonal: bool = False
    parameters: dict[str, Any] = {}
    draws: int

    def __post_init__(self) -> None:
        """Check that the numbers are in range."""
        if self.items < 1 or self.draws < 1 or self.features < 2:
            raise ValueError("items and draws must be at least 1, features at least 2")
        if self.orthogonal and self.features != self.items:
            raise ValueError("orthogonal features need as many features as items")


class Featured(Spec, frozen=True, kw_only=True):
    """Click models on many items whose attraction is linear in features, randomly drawn.

    The features of an item are shares that sum to one, each as likely as any other, and its
    attraction is the mean of the weights with these shares.

    Parameters
    ----------
    name, parameters
        The registered name of the click model, and its parameters other than the attraction.
    items, features
        The numbers of items and of features.
    most
        Weights are drawn uniformly between 0 and this number.
    draws
        The number of models to draw.
    """

    name: str
    items: int
    features: int
    most: float
    draws: int
    parameters: dict[str, Any] = {}

    def __post_init__(self) -> None:
        """Check that the numbers are in range."""
        if self.items < 1 or self.draws < 1 or self.features < 2:
            raise ValueError("items and draws must be at least 1, features at least 2")
        if not 0.0 < self.most <= 1.0:
            raise ValueError("most must be above 0 and at most 1")


class MovieLens(Spec, frozen=True, kw_only=True):
    """Movies as items: features from the ratings of some users, attraction from those of others.

    As in li2019, section 5, the movies with most ratings and the users who rate most of them are
    selected, and the users are split at random. The singular value decomposition of the ratings of
    the first group gives the features of the movies (eq. 12). The weights are a least-squares fit
    of the share of users in the second group who rated a movie.

    Parameters
    ----------
    name, parameters
        The registered name of the click model, and its parameters other than the attraction.
    path
        The folder with ratings.csv of MovieLens; by default the first of `movielens.FOLDERS`.
    movies, features
        The numbers of movies and of features.
    describing, rating
        The number of users in the first group, and the maximum number in the second.
    draws
        The number of random splits of the users.
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
    """A point on the axis of a sweep, and the parameters of the models there.

    These are α and β of the prior of drawn models, or the numbers of items and features of linear
    models. The key of ``place`` in files is ``at``.
    """

    place: float = msgspec.field(name="at")
    alpha: float | None = None
    beta: float | None = None
    items: int | None = None
    features: int | None = None

    def replaced(self, source: Drawn | Linear) -> Drawn | Linear:
        """Return a source of models with the parameters of this point."""
        fields = ("items", "features") if isinstance(source, Linear) else ("alpha", "beta")
        keys = ("alpha", "beta", "items", "features")
        given = {key: getattr(self, key) for key in keys if getattr(self, key) is not None}
        if not given or not set(given) <= set(fields):
            raise ValueError(f"points must give {' or '.join(fields)}")
        return msgspec.structs.replace(source, **given)


class Sweep(Spec, frozen=True, kw_only=True):
    """Models along an axis; the figure shows the regret at the horizon over this axis.

    Parameters
    ----------
    label
        The label of the axis, as in ``γ``.
    points
        The points on the axis, in increasing order.
    xscale
        The scale of the axis.
    """

    label: str
    points: list[Point]
    xscale: Literal["log", "linear"] = "linear"

    def __post_init__(self) -> None:
        """Check the points."""
        places = [point.place for point in self.points]
        if len(places) < 2 or places != sorted(set(places)):
            raise ValueError("points must be at least two, in increasing order")

    def curve(self, policy: str, place: float) -> str:
        """Return the name of a policy's curve at a point of the axis."""
        return f"{policy} {self.label}={place:g}"


class Judged(Spec, frozen=True, kw_only=True):
    """Queries with graded documents: clicks follow the grades, priors come from offline rankers.

    Rankers are trained on the training queries and score every document of the test queries.
    Clicks on the test queries are simulated.

    Parameters
    ----------
    name
        The registered name of the click model.
    path
        A folder with train.txt and test.txt in the LETOR format; by default the example shipped
        with clickrank.
    positions, one_in
        The number of positions; a list shows at most one in ``one_in`` of a query's documents.
    satisfaction
        The probability that a click satisfies, at every position (for the dependent click model).
    attraction
        The attraction of a document of each grade.
    targets
        The target score of each grade in training.
    rankers, share
        The number of rankers, and the share of the training queries that each is trained on.
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
        """Check that the numbers are in range."""
        for key in ("positions", "one_in", "rankers"):
            if getattr(self, key) < 1:
                raise ValueError(f"{key} must be at least 1")
        if not 0.0 < self.share <= 1.0:
            raise ValueError("share must be above 0 and at most 1")
        if len(self.attraction) != len(self.targets):
            raise ValueError("attraction and targets must have one entry per grade")
