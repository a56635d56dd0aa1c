"""Runner of simulations: finds missing runs, saves each result, and collects results for claims."""

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

from clickrank._core.progress import Say
from clickrank.bounds import pbm_lower_bound
from clickrank.clickmodels import PBM
from clickrank.errors import ClickRankError, MissingData, MissingExtra
from clickrank.experiments.claim_evidence import FIGURE_LEVEL, Evidence
from clickrank.experiments.claim_kinds import AnyClaim, Parameters, Range, TimeRatio
from clickrank.experiments.claims import judge
from clickrank.experiments.figure_models import ModelInstance
from clickrank.experiments.figure_spec import Experiment, Figure, Scale
from clickrank.experiments.horizon_bounds import upper_bounds
from clickrank.experiments.judged_queries import rankers_quality
from clickrank.experiments.kdd_queries import fitted_queries, log_notes
from clickrank.experiments.simulation_plan import AnyCell, Cell, ManyCell, cells, played_on
from clickrank.experiments.verdicts import ClaimVerdict
from clickrank.simulation import PartialResults, Result, simulate, simulate_many
from clickrank.simulation.simulation_result import load_results, save_results


class ExperimentOutcome(NamedTuple):
    """The results of an experiment so far, and the verdicts on its claims."""

    experiment: Experiment
    scale: Scale
    evidence: Evidence
    verdicts: list[tuple[AnyClaim, ClaimVerdict]]
    notes: tuple[str, ...] = ()  # sentences that the report shows above the figure

    @property
    def results(self) -> dict[str, Result]:
        """The results by curve, in drawing order."""
        return dict(self.evidence.results)

    @property
    def played(self) -> dict[str, Result]:
        """The results by curve, with those of curves that were stopped early."""
        return self.evidence.played

    @property
    def complete(self) -> bool:
        """Whether no run of any curve is missing."""
        wanted = len(self.experiment.figure.curves(self.scale))
        results = self.results.values()
        return len(results) == wanted and not any(r.interrupted for r in results)


class CellRuns(NamedTuple):
    """A cell, its saved runs, and the numbers of its missing runs."""

    cell: AnyCell
    saved: Result | None
    missing: list[int]


def missing_runs(cell: AnyCell, say: Say) -> CellRuns:
    """Read the saved runs of a cell, and return them with the numbers of those that are missing."""
    saved = load_cell(cell, say)
    done = set() if saved is None else set(saved.run_ids.tolist())
    return CellRuns(cell, saved, [run for run in cell.run_ids if run not in done])


def run(work: CellRuns, threads: int | None, progress: bool | None) -> None:
    """Simulate the missing runs and save them together with the earlier ones.

    After Ctrl-C, the finished runs are saved and KeyboardInterrupt is raised.
    """
    if isinstance(work.cell, ManyCell):
        _run_many(work.cell, threads, progress)
    else:
        _run_one(work.cell, work.saved, work.missing, threads, progress)


def _run_one(
    cell: Cell, saved: Result | None, missing: list[int], threads: int | None, progress: bool | None
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
    save_results(cell.path, {cell.curve: result if saved is None else saved.merged(result)})
    if result.runs < len(missing):
        raise KeyboardInterrupt


def _run_many(cell: ManyCell, threads: int | None, progress: bool | None) -> None:
    folder = cell.path.with_suffix("")  # finished parts, until the whole cell is finished
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PartialResults)  # the caller reports it
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
    """Return the saved runs of a cell; None if there is no file or it cannot be read."""
    if not cell.path.exists():
        return None
    try:
        if not zipfile.is_zipfile(cell.path):
            raise ValueError("it is incomplete, or not a result file")
        result = load_results(cell.path)[cell.curve]
        expected = (result.regret.shape[0], result.checkpoints.tolist())
        if expected != (result.run_ids.size, cell.checkpoints.tolist()):
            raise ValueError("its arrays have inconsistent shapes")
    except (
        ClickRankError, OSError, ValueError, KeyError, TypeError, EOFError,
        zipfile.BadZipFile, zlib.error,
    ) as error:  # fmt: skip
        say(f"{cell.path} cannot be read ({error}); its runs are simulated again.")
        return None
    return result


def collect(experiment: Experiment, scale: Scale, out: Path, say: Say) -> ExperimentOutcome:
    """Read the saved results of an experiment, and judge its claims."""
    results: dict[str, Result] = {}
    for curve, parts in cells(experiment, scale, out).items():
        saved = [r for r in (load_cell(cell, say) for cell in parts) if r is not None]
        if saved:
            results[curve] = joined(curve, saved)
        if saved and isinstance(parts[0], ManyCell) and parts[0].runs > 1:
            by = by_run if experiment.figure.judged is not None else by_model
            results[curve] = by(results[curve], parts[0].runs)
    return judged_outcome(experiment, scale, results, out)


def judged_outcome(
    experiment: Experiment, scale: Scale, results: dict[str, Result], out: Path
) -> ExperimentOutcome:
    """Judge the claims of an experiment on results by curve."""
    known = known_evidence(experiment, scale, out)
    return known.judged(known.evidence._replace(results=results))


class KnownEvidence(NamedTuple):
    """What the claims of an experiment are judged on, except the results of simulations."""

    experiment: Experiment
    scale: Scale
    evidence: Evidence
    notes: tuple[str, ...]

    def judged(self, evidence: Evidence) -> ExperimentOutcome:
        """Judge the claims on evidence to which results were added."""
        verdicts = [(claim, judge(claim, evidence)) for claim in self.experiment.claims]
        return ExperimentOutcome(self.experiment, self.scale, evidence, verdicts, self.notes)


def known_evidence(experiment: Experiment, scale: Scale, out: Path) -> KnownEvidence:
    """Draw the models of an experiment and compute its bounds, which may take seconds."""
    figure = experiment.figure
    players = played_on(experiment, scale, out)
    models = {label: instance.model for label, instance in players[0][1].items()}
    only = next(iter(models.values()))
    bound = float("nan")
    if figure.bound == "pbm" and isinstance(only, PBM):
        bound = pbm_lower_bound(only)
    evidence = Evidence(
        {},
        models,
        bound,
        figure.grid.places() if figure.grid else {},
        upper_bounds(players, scale) if figure.bound in ("bayes", "linear") else {},
        figure.sweep,
        figure.scale["paper"].horizon,
        {p.curve: p.milliseconds for p in figure.policies if p.milliseconds is not None},
        pass_size=figure.pass_size(len(models)),
        stratified=figure.on_each_model,
        level=level_of_claim(experiment.claims),
    )
    notes = tuple(filter(None, _notes(figure, players[0][1])))
    return KnownEvidence(experiment, scale, evidence, notes)


def level_of_claim(claims: list[AnyClaim]) -> float:
    """Return the level of each claim of a figure that is judged from random results."""
    count = sum(not isinstance(claim, Parameters | Range | TimeRatio) for claim in claims)
    return 1.0 - (1.0 - FIGURE_LEVEL) / max(count, 1)


def _notes(figure: Figure, instances: dict[str, ModelInstance]) -> list[str]:
    """Return sentences on the data that a figure is played on."""
    if figure.judged is not None:
        return [rankers_quality(instances)]
    if figure.model_set is not None and figure.model_set.path:
        with contextlib.suppress(MissingData, MissingExtra):  # the log does not exist any more
            return log_notes(fitted_queries(figure.model_set.path))
    return []


def by_model(result: Result, runs: int) -> Result:
    """Return the mean over the runs on each model as one run, for models with all their runs.

    The models are a sample, and several runs on one model are not independent of each other.
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


def by_run(result: Result, runs: int) -> Result:
    """Number the runs on queries by pass: the first runs of all queries, then the second runs."""
    query, run = np.divmod(result.run_ids, runs)
    queries = result.wanted // runs
    ids = run * queries + query
    order = np.argsort(ids, kind="stable")
    return dataclasses.replace(result, regret=result.regret[order], run_ids=ids[order])


def joined(curve: str, parts: list[Result]) -> Result:
    """Return the runs of one policy on several models as one result, sorted by run number."""
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
