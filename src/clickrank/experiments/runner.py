"""Runs what is missing of an experiment, and keeps every result as soon as it is there."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clickrank.bounds import pbm_lower_bound
from clickrank.clickmodels import PBM
from clickrank.errors import ClickRankError, MissingData, MissingExtra
from clickrank.experiments.claim_evidence import Evidence
from clickrank.experiments.claim_kinds import AnyClaim
from clickrank.experiments.claims import judge
from clickrank.experiments.figure_models import Instance
from clickrank.experiments.figure_spec import Experiment, Figure, Scale
from clickrank.experiments.horizon_bounds import upper_bounds
from clickrank.experiments.judged_queries import rankers_quality
from clickrank.experiments.kdd_queries import fitted_queries, log_notes
from clickrank.experiments.simulation_plan import AnyCell, Cell, ManyCell, Say, cells, played_on
from clickrank.experiments.verdicts import Verdict
from clickrank.simulation import PartialResults, Result, simulate, simulate_many
from clickrank.simulation.simulation_result import load_results, save_results


class Outcome(NamedTuple):
    """An experiment's results as far as they are there, and what they say of its claims."""

    experiment: Experiment
    scale: Scale
    evidence: Evidence
    verdicts: list[tuple[AnyClaim, Verdict]]
    notes: tuple[str, ...] = ()  # to be read next to the curves

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


class Work(NamedTuple):
    """What is left to do of a cell, and what is there already."""

    cell: AnyCell
    have: Result | None
    missing: list[int]


def work_left(cell: AnyCell, say: Say) -> Work:
    """Look at what is saved of a cell."""
    have = load_cell(cell, say)
    done = set() if have is None else set(have.run_ids.tolist())
    return Work(cell, have, [run for run in cell.run_ids if run not in done])


def run(work: Work, threads: int | None, progress: bool | None) -> None:
    """Simulate the missing runs and save them with those that were there.

    Ctrl-C saves the finished runs before it goes on its way as a KeyboardInterrupt.
    """
    if isinstance(work.cell, ManyCell):
        _run_many(work.cell, threads, progress)
    else:
        _run_one(work.cell, work.have, work.missing, threads, progress)


def _run_one(
    cell: Cell, have: Result | None, missing: list[int], threads: int | None, progress: bool | None
) -> None:
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


def _run_many(cell: ManyCell, threads: int | None, progress: bool | None) -> None:
    folder = cell.path.with_suffix("")  # what is finished while the rest is not
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PartialResults)  # the caller says so in its own words
        found = simulate_many(
            cell.policies,
            cell.models,
            int(cell.checkpoints[-1]),
            cell.runs,
            cell.figure.seed,
            checkpoints=cell.checkpoints,
            threads=threads,
            progress=progress,
            allow_mismatch=cell.mismatch,
            counted_positions=cell.figure.counted_positions,
            folder=folder,
        )
    save_results(cell.path, {cell.curve: found.result()})
    if found.interrupted:
        raise KeyboardInterrupt
    shutil.rmtree(folder, ignore_errors=True)


def load_cell(cell: AnyCell, say: Say) -> Result | None:
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
        if saved and isinstance(parts[0], ManyCell) and parts[0].runs > 1:
            results[curve] = by_model(results[curve], parts[0].runs)
    figure = experiment.figure
    players = played_on(experiment, scale, out)
    models = {label: instance.model for label, instance in players[0][1].items()}
    only = next(iter(models.values()))
    bound = float("nan")
    if figure.bound == "pbm" and isinstance(only, PBM):
        bound = pbm_lower_bound(only)
    evidence = Evidence(
        results,
        models,
        bound,
        figure.grid.places() if figure.grid else {},
        upper_bounds(players, scale) if figure.bound in ("bayes", "linear") else {},
        figure.sweep,
        figure.scale["paper"].horizon,
        {p.curve: p.milliseconds for p in figure.policies if p.milliseconds is not None},
    )
    verdicts = [(claim, judge(claim, evidence)) for claim in experiment.claims]
    notes = _notes(figure, players[0][1])
    return Outcome(experiment, scale, evidence, verdicts, tuple(filter(None, notes)))


def _notes(figure: Figure, instances: dict[str, Instance]) -> list[str]:
    """Return what to read next to the curves of a figure on data."""
    if figure.judged is not None:
        return [rankers_quality(instances)]
    if figure.model_set is not None and figure.model_set.path:
        with contextlib.suppress(MissingData, MissingExtra):  # the log has gone since
            return log_notes(fitted_queries(figure.model_set.path))
    return []


def by_model(result: Result, runs: int) -> Result:
    """Return the mean of the runs on each model as one run, of models that have all of theirs.

    The models, as queries, are what the next ones will be like: runs on one are no new ones.
    """
    ids, counts = np.unique(result.run_ids // runs, return_counts=True)
    whole = ids[counts == runs]
    regret = result.regret[np.isin(result.run_ids // runs, whole)]
    return dataclasses.replace(
        result,
        regret=regret.reshape(whole.size, runs, -1).mean(axis=1),
        run_ids=whole,
        seconds=result.seconds / runs,
        wanted=result.wanted // runs,
    )


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
