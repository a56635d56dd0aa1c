"""Click models of figures: built from tables of parameters, read from files, or drawn."""

from __future__ import annotations

import functools
import inspect
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from clickrank._core.arrays import Floats, Ints
from clickrank._core.rng import generator
from clickrank.clickmodels import CLICK_MODELS, ClickModel, LinearAttraction
from clickrank.errors import InvalidValue, invalid, unknown
from clickrank.experiments.figure_spec import Figure
from clickrank.experiments.model_sources import Drawn, Linear, ModelSet
from clickrank.experiments.paper_files import DATA
from clickrank.stats.beta_prior import Beta


def parameters_of(name: str) -> dict[str, bool]:
    """Return the parameters of a click model, each with whether it is required.

    >>> parameters_of("pbm")
    {'attraction': True, 'examination': True}
    """
    signature = inspect.signature(CLICK_MODELS[name])
    return {key: p.default is inspect.Parameter.empty for key, p in signature.parameters.items()}


def build_model(name: str, parameters: Mapping[str, Any]) -> ClickModel:
    """Return a click model, by its registered name.

    >>> build_model("pbm", {"attraction": [0.5, 0.3], "examination": [1.0]})
    PBM(n_items=2, n_positions=1)
    >>> build_model("pbm", {"attraction": [0.5, 0.3]})
    Traceback (most recent call last):
    clickrank.errors.InvalidValue: PBM: examination must be given.
    """
    cls = CLICK_MODELS[name]
    known = parameters_of(name)
    for key in parameters:
        if key not in known:
            raise unknown(f"parameter of {name}", key, known)
    for key, required in known.items():
        if required and key not in parameters:
            raise invalid(cls.__name__, f"{key} must be given")
    return cls(**parameters)


def load_model(path: Path) -> ClickModel:
    """Read a model from a JSON or TOML file: the key ``model`` has its name, others parameters."""
    try:
        text = path.read_text(encoding="utf-8")
        table = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise InvalidValue(f"{path}: the file must be readable: {error.strerror}.") from error
    except ValueError as error:  # raised by both parsers, and for a wrong encoding
        raise InvalidValue(f"{path}: the file must be JSON or TOML: {error}.") from error
    if not isinstance(table, dict) or not isinstance(table.get("model"), str):
        raise InvalidValue(f"{path}: the file must be a table with the key 'model'.")
    return build_model(table.pop("model"), table)


class ModelInstance(NamedTuple):
    """A click model, and what policies may be given about its items."""

    model: ClickModel
    prior: Beta | None = None
    scores: Floats | None = None  # (rankers, items)
    tempered: Beta | None = None  # the prior that weights the rankers' votes by their agreement
    grades: Ints | None = None  # (items,): grades of the documents of a judged query


def models_of(figure: Figure) -> dict[str, ClickModel]:
    """Return the click models of a figure by label; a single model has the label ''."""
    if figure.model is not None:
        return {"": build_model(figure.model.name, figure.model.parameters)}
    assert figure.model_set is not None  # Figure has checked it
    return models_of_set(figure.model_set)


def models_of_set(chosen: ModelSet) -> dict[str, ClickModel]:
    """Return several click models from a file of the data folder, by label."""
    tables = json.loads((DATA / chosen.file).read_text(encoding="utf-8"))
    return {
        label: build_model(chosen.name, largest(table, chosen.items, chosen.positions))
        for label, table in list(tables.items())[: chosen.first]
    }


def drawing(seed: int, what: str, i: int = 0, j: int = 0) -> np.random.Generator:
    """Return the random generator for something that is drawn, never equal to that of a run.

    The generators of runs are keyed by two or three numbers, these by four.
    """
    return generator(seed, DRAWINGS.index(what), i, j, 0)


#: What is drawn. Additions must go to the end, or the others would be drawn differently.
DRAWINGS = ("prior", "attraction", "features", "users", "made-up queries")


def draw_instances(drawn: Drawn, seed: int) -> dict[str, ModelInstance]:
    """Draw the priors, and the models from each, by label.

    Each has its own random numbers, which are the same for every kind of click model.

    >>> drawn = Drawn(name="dctr", items=3, parameters={"n_positions": 2}, draws=2, priors=2)
    >>> list(draw_instances(drawn, seed=0))
    ['0-0', '0-1', '1-0', '1-1']
    """
    return _drawn(msgspec.json.encode(drawn), seed)


@functools.lru_cache(maxsize=64)  # needed for the plan, and again for the report
def _drawn(encoded: bytes, seed: int) -> dict[str, ModelInstance]:
    drawn = msgspec.json.decode(encoded, type=Drawn)
    found = {}
    for i in range(drawn.priors):
        prior = _draw_prior(drawn, drawing(seed, "prior", i))
        for j in range(drawn.draws):
            attraction = prior.sample(drawn.items, drawing(seed, "attraction", i, j))
            model = build_model(drawn.name, {"attraction": attraction, **drawn.parameters})
            found[f"{i}-{j}"] = ModelInstance(model, prior)
    return found


def draw_linear(linear: Linear, seed: int) -> dict[str, ModelInstance]:
    """Draw items and weights, by label; each model has its own random numbers.

    >>> linear = Linear(name="dctr", items=9, features=3, parameters={"n_positions": 2}, draws=2)
    >>> draw_linear(linear, seed=0)["1"].model.features
    Features(9 items, 3 features, ...)
    """
    found = {}
    for i in range(linear.draws):
        rng = drawing(seed, "features", i)
        if linear.orthogonal:
            attraction = LinearAttraction(np.eye(linear.items), rng.random(linear.items))
            parameters = {"attraction": attraction, **linear.parameters}
            found[str(i)] = ModelInstance(build_model(linear.name, parameters))
            continue
        vectors = rng.standard_normal((linear.items, linear.features - 1))
        weights = rng.standard_normal(linear.features - 1)
        attraction = LinearAttraction.normalised(vectors, weights)
        parameters = {"attraction": attraction, **linear.parameters}
        found[str(i)] = ModelInstance(build_model(linear.name, parameters))
    return found


def _draw_prior(drawn: Drawn, rng: np.random.Generator) -> Beta:
    if isinstance(drawn.alpha, tuple):
        low, high = drawn.alpha
        alpha = rng.integers(low, high, size=drawn.items, endpoint=True)
        return Beta(alpha.astype(np.float64), drawn.beta)
    return Beta(drawn.alpha, drawn.beta)


def largest(table: dict[str, Any], items: int | None, positions: int | None) -> dict[str, Any]:
    """Return the parameters of the most attractive items and the most examined positions.

    Both are sorted in decreasing order. A model without examination is given the number of
    positions instead.

    >>> table = {"attraction": [0.1, 0.3, 0.2], "examination": [0.5, 0.2, 1.0]}
    >>> largest(table, items=2, positions=2)
    {'attraction': [0.3, 0.2], 'examination': [1.0, 0.5]}
    >>> largest({"attraction": [0.1, 0.3, 0.2]}, items=2, positions=1)
    {'attraction': [0.3, 0.2], 'n_positions': 1}
    """
    found = dict(table)
    if items is not None:
        found["attraction"] = sorted(table["attraction"], reverse=True)[:items]
    if positions is not None and "examination" in table:
        found["examination"] = sorted(table["examination"], reverse=True)[:positions]
    elif positions is not None:
        found["n_positions"] = positions
    return found
