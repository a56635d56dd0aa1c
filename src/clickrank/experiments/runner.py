"""Runs what is missing of an experiment, and keeps every result as soon as it is there.

A *cell* is one policy on one click model: what is simulated in one go and saved in one file, whose
name carries a hash of all that decides its numbers. A *curve* is a policy's cells put together.
"""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from clickrank._jit import fingerprint
from clickrank._rng import generator
from clickrank.bounds import pbm_lower_bound
from clickrank.clickmodels import PBM, ClickModel
from clickrank.clickmodels.base import source_of as model_source
from clickrank.errors import ClickRankError
from clickrank.experiments.claims import Evidence, Verdict, judge
from clickrank.experiments.models import models_of
from clickrank.experiments.spec import Experiment, Figure, PolicySpec, Scale
from clickrank.experiments.statements import AnyClaim
from clickrank.policies import Policy, policy
from clickrank.policies.base import source_of as policy_source
from clickrank.simulate import Result, simulate
from clickrank.simulate.result import load_results, save_results
from clickrank.simulate.run import check_applies, recording_rounds
from clickrank.types import Ints

Say = Callable[[str], None]


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


class Outcome(NamedTuple):
    """An experiment's results as far as they are there, and what they say of its claims."""

    experiment: Experiment
    scale: Scale
    evidence: Evidence
    verdicts: list[tuple[AnyClaim, Verdict]]

    @property
    def results(self) -> dict[str, Result]:
        """The results by curve, in drawing order."""
        return dict(self.evidence.results)

    @property
    def complete(self) -> bool:
        """Whether every run of every curve is there."""
        wanted = len(self.experiment.figure.curves(self.scale))
        results = self.results.values()
        return len(results) == wanted and not any(r.interrupted for r in results)


def cells(experiment: Experiment, scale: Scale, out: Path) -> dict[str, list[Cell]]:
    """Return the cells of each curve; raises if a policy does not apply to its model."""
    figure = experiment.figure
    folder = out / "results" / experiment.paper_id / experiment.figure_id
    models = models_of(figure)
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


def runs_by_model(figure: Figure, labels: list[str], runs: int) -> dict[str, list[int]]:
    """Say which runs play on which model, the same for all policies."""
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
    stops = _stop(spec, scale)
    # A policy may be told another horizon than the true one.
    made = policy(spec.name, model=model, **{"horizon": stops, **spec.settings})
    check_applies(made, model, allow_mismatch=spec.mismatch)
    checkpoints = recording_rounds(scale.horizon, None)
    # Claims ask about the last half, and compare policies where the first of them stops.
    marks = [max(1, stops // 2), *(_stop(other, scale) for other in figure.policies)]
    checkpoints = np.unique(np.append(checkpoints, marks))
    checkpoints = checkpoints[checkpoints <= stops]
    facts = {
        "policy": [made.name, repr(made)],
        "model": [model.name, {k: v.tolist() for k, v in model.params._asdict().items()}],
        "horizon": stops,
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


def _stop(spec: PolicySpec, scale: Scale) -> int:
    """Return the last round of a policy."""
    return max(1, round(spec.share * scale.horizon))


class Work(NamedTuple):
    """What is left to do of a cell, and what is there already."""

    cell: Cell
    have: Result | None
    missing: list[int]


def work_left(cell: Cell, say: Say) -> Work:
    """Look at what is saved of a cell."""
    have = load_cell(cell, say)
    done = set() if have is None else set(have.run_ids.tolist())
    return Work(cell, have, [run for run in cell.run_ids if run not in done])


def run(work: Work, threads: int | None, progress: bool | None) -> None:
    """Simulate the missing runs and save them with those that were there.

    Ctrl-C saves the finished runs before it goes on its way as a KeyboardInterrupt.
    """
    cell, have, missing = work
    result = simulate(
        cell.policy,
        cell.model,
        int(cell.checkpoints[-1]),
        cell.wanted,
        cell.figure.seed,
        checkpoints=cell.checkpoints,
        threads=1 if cell.figure.timed else threads,
        progress=progress,
        allow_mismatch=cell.mismatch,
        run_ids=missing,
        counted_positions=cell.figure.counted_positions,
    )
    save_results(cell.path, {cell.curve: result if have is None else have.merged(result)})
    if result.runs < len(missing):
        raise KeyboardInterrupt


def load_cell(cell: Cell, say: Say) -> Result | None:
    """Return what is saved of a cell; a file that cannot be read counts as not there."""
    if not cell.path.exists():
        return None
    try:
        if not zipfile.is_zipfile(cell.path):
            raise ValueError("it is cut short, or no result")
        result = load_results(cell.path)[cell.curve]
        expected = (result.regret.shape[0], result.checkpoints.tolist())
        if expected != (result.run_ids.size, cell.checkpoints.tolist()):
            raise ValueError("its arrays do not fit together")
    except (
        ClickRankError, OSError, ValueError, KeyError, TypeError, EOFError,
        zipfile.BadZipFile, zlib.error,
    ) as error:  # fmt: skip
        say(f"{cell.path} cannot be read ({error}); its runs are simulated again.")
        return None
    return result


def collect(experiment: Experiment, scale: Scale, out: Path, say: Say) -> Outcome:
    """Read what is saved of an experiment, and judge its claims on it."""
    results: dict[str, Result] = {}
    for curve, parts in cells(experiment, scale, out).items():
        saved = [r for r in (load_cell(cell, say) for cell in parts) if r is not None]
        if saved:
            results[curve] = joined(curve, saved)
    models = models_of(experiment.figure)
    only = next(iter(models.values()))
    bound = float("nan")
    if experiment.figure.bound == "pbm" and isinstance(only, PBM):
        bound = pbm_lower_bound(only)
    grid = experiment.figure.grid
    evidence = Evidence(
        results, models, bound, frozenset(p.curve for p in grid.policies()) if grid else frozenset()
    )
    verdicts = [(claim, judge(claim, evidence)) for claim in experiment.claims]
    return Outcome(experiment, scale, evidence, verdicts)


def joined(curve: str, parts: list[Result]) -> Result:
    """Put the runs of one policy on several models together, in the order of their numbers."""
    if len(parts) == 1:
        return parts[0]
    ids = np.concatenate([part.run_ids for part in parts])
    order = np.argsort(ids, kind="stable")
    return Result(
        policy=curve,
        model=f"{len(parts)} models, one drawn for each run",
        checkpoints=parts[0].checkpoints,
        regret=np.concatenate([part.regret for part in parts])[order],
        run_ids=ids[order],
        seed=parts[0].seed,
        seconds=sum(part.seconds for part in parts),
        wanted=parts[0].wanted,
    )
