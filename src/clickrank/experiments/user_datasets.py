"""Experiments on data that users give: one folder of results per data set.

The click models made from the data are saved with the results, so the report can be written again
when the data no longer exists.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from clickrank._core.features import Features
from clickrank.errors import ClickRankError, InvalidValue, MissingData, MissingExtra, invalid
from clickrank.experiments.claim_kinds import Parameters
from clickrank.experiments.figure_models import ModelInstance, build_model, models_of
from clickrank.experiments.figure_spec import Experiment, Figure
from clickrank.experiments.judged_queries import holds_queries, instance, judged_instances
from clickrank.experiments.kdd_queries import fitted_queries, holds_log
from clickrank.experiments.movielens import holds_ratings, movie_instances
from clickrank.priors import effective_votes
from clickrank.simulation.simulation_result import read_file, write_file

#: The kinds of data by field of `Figure`, each with a test of a path and a description.
KINDS = {
    "judged": (holds_queries, "train.txt and test.txt (judged queries)"),
    "movielens": (holds_ratings, "ratings.csv (of MovieLens)"),
    "model_set": (holds_log, "training.txt (the log of KDD Cup 2012)"),
}
_PATH = "data.json"


def kind_of(figure: Figure) -> str | None:
    """Return the kind of data that a figure can be played on, if any."""
    if figure.model_set is not None:
        return "model_set" if figure.model_set.log else None
    return next((kind for kind in KINDS if getattr(figure, kind) is not None), None)


def with_data(
    chosen: list[Experiment], data: str | Path | None, owner: str = "reproduce"
) -> list[Experiment]:
    """Return the experiments, with the given folder or file for those that can use it.

    It is an error if the path does not exist, or has no data that one of the experiments can use.
    """
    if data is None:
        return chosen
    path = Path(data).resolve()
    if not path.exists():
        raise InvalidValue(f"{owner}: --data {data}: no such file or folder.")
    kinds = [kind for kind, (holds, _) in KINDS.items() if holds(path)]
    if not kinds:
        wanted = " or ".join(words for _, words in KINDS.values())
        rule = f"--data must be a folder with {wanted}, or a file that is such a log"
        raise invalid(owner, rule, str(data))
    if not any(kind_of(e.figure) in kinds for e in chosen):
        names = ", ".join(e.name for e in chosen)
        holds = " and ".join(KINDS[kind][1] for kind in kinds)
        raise InvalidValue(f"{owner}: --data {data} holds {holds}, which {names} cannot use.")
    return [_on(e, str(path)) if kind_of(e.figure) in kinds else e for e in chosen]


def _on(experiment: Experiment, path: str) -> Experiment:
    """Return the experiment on the data of a folder or file.

    Claims about the parameters of the paper's click models are left out: they do not apply to
    other data.
    """
    kind = kind_of(experiment.figure)
    assert kind is not None
    source = replace(getattr(experiment.figure, kind), path=path)
    figure = replace(experiment.figure, **{kind: source})
    claims = [claim for claim in experiment.claims if not isinstance(claim, Parameters)]
    return replace(experiment, figure=figure, claims=claims, data=path)


def remember(experiment: Experiment, folder: Path) -> None:
    """Save the path of the data of an experiment's results."""
    if experiment.data:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _PATH).write_bytes(msgspec.json.encode({"path": experiment.data}))


def remembered(experiment: Experiment, folder: Path) -> list[Experiment]:
    """Return the experiment on each data set that has results in a folder next to ``folder``."""
    found = []
    if kind_of(experiment.figure) is not None:
        for file in sorted(folder.parent.glob(f"{folder.name}@*/{_PATH}")):
            with contextlib.suppress(OSError, msgspec.DecodeError):
                path = msgspec.json.decode(file.read_bytes(), type=dict[str, str]).get("path", "")
                found.append(_on(experiment, path))
    return found


def data_instances(figure: Figure, cache: Path) -> dict[str, ModelInstance]:
    """Return the click models made from a figure's data, or saved ones if the data is missing."""
    if figure.model_set is not None and not figure.model_set.path:  # the shipped file
        return {label: ModelInstance(model) for label, model in models_of(figure).items()}
    file = cache / f"data-{_digest(figure)}.npz"
    try:
        if figure.judged is not None:
            found = judged_instances(figure.judged, figure.seed, cache)
        elif figure.model_set is not None:
            queries = fitted_queries(figure.model_set.path)
            found = {label: ModelInstance(query.model) for label, query in queries.items()}
        else:
            assert figure.movielens is not None
            found = movie_instances(figure.movielens, figure.seed)
    except (MissingData, MissingExtra):
        if not file.exists():
            raise
        return _load(figure, file)
    arrays = _arrays(found)
    if not _is_saved(arrays, file):
        write_file(file, {"labels": list(found)}, arrays)
    return found


def _digest(figure: Figure) -> str:
    """Return a hash of everything but the data itself that determines the saved arrays."""
    facts: Any = figure.movielens or figure.model_set
    if figure.judged is not None:  # panels differ only in their click models
        judged = figure.judged
        facts = (judged.path, judged.rankers, judged.share, judged.targets)
    return hashlib.sha256(msgspec.json.encode((facts, figure.seed))).hexdigest()[:12]


def _arrays(instances: dict[str, ModelInstance]) -> dict[str, NDArray[Any]]:
    """Return the arrays from which the click models and priors can be rebuilt."""
    all_of = list(instances.values())
    arrays: dict[str, NDArray[Any]] = {"n_items": np.array([one.model.n_items for one in all_of])}
    if all_of[0].scores is not None:
        arrays["scores"] = np.hstack([one.scores for one in all_of if one.scores is not None])
        arrays["grades"] = np.concatenate([one.grades for one in all_of if one.grades is not None])
    else:
        arrays["attraction"] = np.concatenate([one.model.attraction for one in all_of])
        if hasattr(all_of[0].model, "features"):
            arrays["features"] = np.vstack([one.model.features.values for one in all_of])
        else:
            arrays["examination"] = np.vstack([one.model.params.examination for one in all_of])
    return arrays


def _is_saved(arrays: dict[str, NDArray[Any]], file: Path) -> bool:
    try:
        saved = read_file(file)[1]
    except (ClickRankError, OSError):  # missing or damaged
        return False
    return saved.keys() == arrays.keys() and all(
        np.array_equal(saved[name], array) for name, array in arrays.items()
    )


def _load(figure: Figure, file: Path) -> dict[str, ModelInstance]:
    facts, arrays = read_file(file)
    ends = np.cumsum(arrays["n_items"])
    parts = [slice(int(e - n), int(e)) for e, n in zip(ends, arrays["n_items"], strict=True)]
    found = {}
    if figure.judged is not None:
        scores, grades = arrays["scores"], arrays["grades"]
        votes = effective_votes(scores)
        for label, rows in zip(facts["labels"], parts, strict=True):
            found[label] = instance(figure.judged, grades[rows], scores[:, rows], votes)
        return found
    if figure.model_set is not None:
        examined = arrays["examination"]
        for label, rows, examination in zip(facts["labels"], parts, examined, strict=True):
            parameters = {"attraction": arrays["attraction"][rows], "examination": examination}
            found[label] = ModelInstance(build_model(figure.model_set.name, parameters))
        return found
    assert figure.movielens is not None
    for label, rows in zip(facts["labels"], parts, strict=True):
        parameters = {"attraction": arrays["attraction"][rows], **figure.movielens.parameters}
        model = build_model(figure.movielens.name, parameters)
        model.features = Features(arrays["features"][rows])
        found[label] = ModelInstance(model)
    return found
