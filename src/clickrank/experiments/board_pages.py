"""Pages of the board: problems on which every policy is played, one table each in a TOML file."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import numpy as np

from clickrank.clickmodels import LinearAttraction
from clickrank.errors import unknown
from clickrank.experiments.figure_models import (
    ModelInstance,
    build_model,
    draw_instances,
    drawing,
    models_of_set,
)
from clickrank.experiments.model_sources import Drawn, Featured, Model, ModelSet, Spec
from clickrank.experiments.paper_files import read
from clickrank.experiments.shipped_board import PAGES


class BoardPage(Spec, frozen=True, kw_only=True):
    """A page: how people click there, how long it is played, and what it tests.

    Exactly one of model, model_set, drawn and featured is given. With several click models, run i
    is played on model i modulo their number.

    Parameters
    ----------
    title, tests
        What the page is, and what it tests.
    seed, horizon
        The seed of all random numbers, and the number of rounds.
    delay, batch
        How many rounds later clicks arrive, and how many rounds arrive together.
    mismatch
        Whether policies that do not assume its clicks are played, too, and marked.
    prior
        Whether policies that take priors are given those from which the models are drawn.
    """

    title: str
    tests: str
    seed: int
    horizon: int
    delay: int = 0
    batch: int = 1
    mismatch: bool = False
    prior: bool = False
    model: Model | None = None
    model_set: ModelSet | None = None
    drawn: Drawn | None = None
    featured: Featured | None = None

    def __post_init__(self) -> None:
        """Check the numbers, and that there is one source of click models."""
        given = (self.model, self.model_set, self.drawn, self.featured)
        if sum(source is not None for source in given) != 1:
            raise ValueError("exactly one of model, model_set, drawn and featured must be given")
        if self.horizon < 1 or self.seed < 0 or self.delay < 0 or self.batch < 1:
            rule = "horizon and batch must be at least 1, seed and delay at least 0"
            raise ValueError(rule)
        if max(self.delay, self.batch) > self.horizon:
            raise ValueError("delay and batch must be at most the horizon")
        if self.prior and self.drawn is None:
            raise ValueError("prior needs models that are drawn")

    @property
    def digest(self) -> str:
        """A hash of the page without its description: results of another one are stale."""
        bare = msgspec.structs.replace(self, title="", tests="")
        return hashlib.sha256(msgspec.json.encode(bare)).hexdigest()[:16]

    def instances(self) -> list[ModelInstance]:
        """Return the click models of the page, each with what is known about its items."""
        if self.model is not None:
            return [ModelInstance(build_model(self.model.name, self.model.parameters))]
        if self.model_set is not None:
            return [ModelInstance(model) for model in models_of_set(self.model_set).values()]
        if self.drawn is not None:
            return list(draw_instances(self.drawn, self.seed).values())
        assert self.featured is not None  # it was checked
        return [_featured(self.featured, self.seed, i) for i in range(self.featured.draws)]


class Board(Spec, frozen=True, kw_only=True):
    """The file of all pages.

    Parameters
    ----------
    seconds_per_run
        A policy that needs more processor time for one run is too slow for a page.
    runs
        The number of runs of every policy on every page.
    pages
        The pages by name, in the order of the board.
    """

    seconds_per_run: float
    runs: int
    pages: dict[str, BoardPage]

    def __post_init__(self) -> None:
        """Check the numbers: an interval needs two runs."""
        if self.runs < 2 or self.seconds_per_run <= 0.0:
            raise ValueError("runs must be at least 2, and seconds_per_run above 0")


def read_board(path: Path = PAGES) -> Board:
    """Read and check the pages.

    >>> len(read_board().pages)
    12
    """
    return read(path, Board)


def chosen_pages(board: Board, name: str | None) -> dict[str, BoardPage]:
    """Return the page of this name, or all pages if it is None."""
    if name is None:
        return board.pages
    if name not in board.pages:
        raise unknown("page", name, board.pages)
    return {name: board.pages[name]}


def _featured(source: Featured, seed: int, i: int) -> ModelInstance:
    rng = drawing(seed, "features", i)
    shares = rng.dirichlet(np.ones(source.features), size=source.items)
    attraction = LinearAttraction(shares, source.most * rng.random(source.features))
    return ModelInstance(build_model(source.name, {"attraction": attraction, **source.parameters}))
