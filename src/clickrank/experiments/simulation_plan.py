"""Plan of the simulations of an experiment: cells, curves, and the files for their results.

A *cell* is one policy on one click model, or on many models of which each comes with a prior. It is
simulated in one call and saved in one file, whose name has a hash of everything that determines
the results. A *curve* consists of all cells of one policy.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from clickrank._compile.jit import fingerprint
from clickrank._core.arrays import Ints
from clickrank._core.rng import generator
from clickrank.clickmodels import ClickModel
from clickrank.clickmodels.click_model import source_of as model_source
from clickrank.experiments.figure_models import (
    ModelInstance,
    draw_instances,
    draw_linear,
    models_of,
)
from clickrank.experiments.figure_spec import (
    AtPoint,
    Experiment,
    Figure,
    KnownPrior,
    PolicySpec,
    Scale,
)
from clickrank.experiments.model_sources import Linear
from clickrank.experiments.user_datasets import data_instances, kind_of
from clickrank.policies import Policy, policy
from clickrank.policies.contract import source_of as policy_source
from clickrank.simulation.many_results import Key
from clickrank.simulation.simulate_runs import check_applies, recording_rounds
from clickrank.stats.beta_prior import Beta


class Cell(NamedTuple):
    """One policy on one click model."""

    curve: str
    policy: Policy
    model: ClickModel
    run_ids: list[int]
    checkpoints: Ints
    wanted: int
    figure: Figure
    mismatch: bool
    path: Path


class ManyCell(NamedTuple):
    """One policy on many click models, with the same number of runs on each.

    There is one policy object per model, because each may be given another prior.
    """

    curve: str
    policies: dict[Key, Policy]
    models: dict[Key, ClickModel]
    runs: int
    checkpoints: Ints
    figure: Figure
    mismatch: bool
    path: Path

    @property
    def run_ids(self) -> list[int]:
        """The run numbers; those of one model are consecutive."""
        return list(range(self.runs * len(self.models)))


AnyCell = Cell | ManyCell


def pair(cell: AnyCell) -> tuple[Policy, ClickModel]:
    """Return one policy and one model of a cell; their compiled code serves the whole cell."""
    if isinstance(cell, Cell):
        return cell.policy, cell.model
    label = next(iter(cell.models))
    return cell.policies[label], cell.models[label]


def folder_of(experiment: Experiment, out: Path) -> Path:
    """Return the folder for the results of an experiment."""
    return out / "results" / experiment.place


def cells(experiment: Experiment, scale: Scale, out: Path) -> dict[str, list[AnyCell]]:
    """Return the cells of each curve; an error if a policy does not apply to its model."""
    figure = experiment.figure
    folder = folder_of(experiment, out)
    if figure.many:
        return {
            spec.curve: [many_cell(spec, instances, scale, figure, folder)]
            for spec, instances in played_on(experiment, scale, out)
        }
    models = models_of(figure)
    if kind_of(figure) is not None:
        models = {k: one.model for k, one in data_instances(figure, folder.parent).items()}
    runs = runs_by_model(figure, list(models), scale.runs)
    total = sum(len(ids) for ids in runs.values())
    return {
        spec.curve: [
            _cell(spec, label, models[label], runs[label], total, scale, figure, folder)
            for label in models
            if runs[label]
        ]
        for spec in figure.curves(scale)
    }


def played_on(
    experiment: Experiment, scale: Scale, out: Path
) -> list[tuple[PolicySpec, dict[str, ModelInstance]]]:
    """Return the policies of a figure, each with the models it is played on, by label."""
    figure = experiment.figure
    shared: dict[str, ModelInstance] = {}
    if kind_of(figure) is not None:
        shared = data_instances(figure, folder_of(experiment, out).parent)
    elif figure.linear is not None and figure.sweep is None:
        shared = draw_linear(figure.linear, figure.seed)
    elif figure.drawn is not None and figure.sweep is None:
        shared = draw_instances(figure.drawn, figure.seed)
    elif figure.drawn is None and figure.linear is None:
        shared = {label: ModelInstance(model) for label, model in models_of(figure).items()}
    found = []
    for spec in figure.curves(scale):
        instances = _drawn_at(spec, figure.seed) if isinstance(spec, AtPoint) else shared
        found.append((spec, dict(list(instances.items())[: scale.models])))
    return found


def _drawn_at(spec: AtPoint, seed: int) -> dict[str, ModelInstance]:
    if isinstance(spec.source, Linear):
        return draw_linear(spec.source, seed)
    return draw_instances(spec.source, seed)


def runs_by_model(figure: Figure, labels: list[str], runs: int) -> dict[str, list[int]]:
    """Return the run numbers of each model, the same for all policies."""
    if figure.model_set is not None and figure.model_set.runs == "each":
        n = len(labels)
        return {label: list(range(i, n * runs, n)) for i, label in enumerate(labels)}
    drawn = generator(figure.seed, 0).integers(len(labels), size=runs)
    return {label: np.flatnonzero(drawn == i).tolist() for i, label in enumerate(labels)}


def _cell(
    spec: PolicySpec,
    label: str,
    model: ClickModel,
    run_ids: list[int],
    total: int,
    scale: Scale,
    figure: Figure,
    folder: Path,
) -> Cell:
    made = make_policy(spec, ModelInstance(model), scale)
    check_applies(made, model, allow_mismatch=spec.mismatch)
    checkpoints = _checkpoints(spec, scale, figure)
    facts = {
        "policy": [made.name, repr(made)],
        "model": [model.name, {k: v.tolist() for k, v in model.params._asdict().items()}],
        "horizon": last_round(spec, scale),
        "runs": total,
        "counted_positions": figure.counted_positions,
        "run_ids": run_ids,
        "checkpoints": checkpoints.tolist(),
        "seed": figure.seed,
        "code": fingerprint(policy_source(made) or "", model_source(model) or ""),
    }
    key = hashlib.sha256(msgspec.json.encode(facts)).hexdigest()[:12]
    name = "-".join(part for part in (spec.curve, label, key) if part)
    path = folder / f"{name}.npz"
    return Cell(
        spec.curve, made, model, run_ids, checkpoints, total, figure, spec.mismatch, path
    )  # fmt: skip


def many_cell(
    spec: PolicySpec,
    instances: dict[str, ModelInstance],
    scale: Scale,
    figure: Figure,
    folder: Path,
) -> ManyCell:
    """Return the cell of a policy on many models."""
    policies: dict[Key, Policy] = {k: make_policy(spec, it, scale) for k, it in instances.items()}
    models: dict[Key, ClickModel] = {k: it.model for k, it in instances.items()}
    first = next(iter(instances))
    check_applies(policies[first], models[first], allow_mismatch=spec.mismatch)
    checkpoints = _checkpoints(spec, scale, figure)
    facts: dict[str, Any] = {
        "policies": [[label, repr(made)] for label, made in policies.items()],
        "horizon": last_round(spec, scale),
        "runs": scale.runs,
        "counted_positions": figure.counted_positions,
        "checkpoints": checkpoints.tolist(),
        "seed": figure.seed,
        "code": fingerprint(
            policy_source(policies[first]) or "", model_source(models[first]) or ""
        ),
    }  # fmt: skip
    digest = hashlib.sha256(msgspec.json.encode(facts))
    for model in models.values():
        digest.update(model.name.encode())
        for array in model.params:
            digest.update(array.tobytes())
    path = folder / f"{spec.curve}-{digest.hexdigest()[:12]}.npz"
    return ManyCell(
        spec.curve, policies, models, scale.runs, checkpoints, figure, spec.mismatch, path
    )  # fmt: skip


def make_policy(spec: PolicySpec, instance: ModelInstance, scale: Scale) -> Policy:
    """Make a policy with what it is given: a prior, scores of items, and the horizon."""
    given: dict[str, Any] = {}
    if isinstance(spec.knows, KnownPrior):
        given["prior"] = Beta(spec.knows.alpha, spec.knows.beta)
    elif spec.knows == "prior":
        given["prior"] = instance.prior
    elif spec.knows == "tempered":
        given["prior"] = instance.tempered
    elif spec.knows == "scores":
        given["scores"] = instance.scores
    # The settings may give a policy another horizon than the true one.
    settings = {"horizon": last_round(spec, scale), **given, **spec.settings}
    return policy(spec.name, model=instance.model, **settings)


def _checkpoints(spec: PolicySpec, scale: Scale, figure: Figure) -> Ints:
    stops = last_round(spec, scale)
    checkpoints = recording_rounds(scale.horizon, None)
    # Claims are about halves and tenths of the horizon, and compare policies where the first stops.
    rounds = [max(1, stops // part) for part in (2, 10, 100)]
    rounds += [last_round(other, scale) for other in figure.policies]
    checkpoints = np.unique(np.append(checkpoints, rounds))
    return checkpoints[checkpoints <= stops]


def last_round(spec: PolicySpec, scale: Scale) -> int:
    """Return the round at which a policy is stopped."""
    return max(1, round(spec.share * scale.horizon))
