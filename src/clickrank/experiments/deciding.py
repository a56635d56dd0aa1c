"""Scale `decide`: adds passes of runs until every claim is decided, or a cap or budget is reached.

Each step plays one pass of the curves that the cheapest open claim waits for. A curve whose
comparisons are all decided gets no more runs, so that in a grid or a sweep the settings that are
worse with confidence are eliminated one after the other. Verdicts are valid whenever one stops,
since their intervals are confidence sequences.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clickrank._core.progress import Say
from clickrank.errors import MissingData, MissingExtra
from clickrank.experiments.claim_kinds import AnyClaim, PanelRatio, curves_of
from clickrank.experiments.cross_figure_claims import judged_across
from clickrank.experiments.figure_runs import FigureRuns, Strand, plan_runs
from clickrank.experiments.figure_spec import Experiment
from clickrank.experiments.run_archive import ArchivedRun, RunArchive
from clickrank.experiments.runner import ExperimentOutcome, judged_outcome
from clickrank.experiments.verdicts import ClaimVerdict
from clickrank.simulation import Result
from clickrank.simulation.simulate_runs import Job, Played, default_threads

#: No interval is finite before about this many passes.
FIRST_PASSES = 5
#: Processor time per round that is assumed before any run was played.
SECONDS_PER_ROUND = 1e-6


class Unit(NamedTuple):
    """One run that is to be played, and the experiment whose file it belongs to."""

    experiment: str
    strand: Strand
    run: int


class FigureProgress:
    """A figure, its archived runs, and the verdicts on its claims so far."""

    def __init__(self, experiment: Experiment, archive: RunArchive, cache: Path) -> None:
        """Plan the runs; those that were made by other code are forgotten, and played again."""
        self.experiment = experiment
        self.runs: FigureRuns = plan_runs(experiment, cache)
        self.archive = archive
        self._cache = cache
        stale = {s.key for s in self._strands() if archive.is_stale(s.key)}
        for key in stale:
            archive.remove(key)
        self.stale = bool(stale)
        self.outcome: ExperimentOutcome = self.judge()

    def _strands(self) -> Iterator[Strand]:
        return (strand for strands in self.runs.curves.values() for strand in strands)

    def judge(self) -> ExperimentOutcome:
        """Judge all claims on the passes that are complete."""
        results = results_in(self.runs, self.archive)
        self.outcome = judged_outcome(self.experiment, self.runs.scale, results, self._cache)
        return self.outcome

    def passes(self, curve: str) -> int:
        """Return the number of complete passes of a curve."""
        result = self.outcome.results.get(curve)
        return 0 if result is None else result.runs // self.runs.pass_size

    def open_claims(self, others: Mapping[str, FigureProgress]) -> list[OpenClaim]:
        """Return the open claims that more runs may decide, with the predicted cost of each."""
        found = []
        for claim, verdict in self.outcome.verdicts:
            if verdict.outcome != "undecided":
                continue
            needs = [n for n in self._needs(claim, verdict, others) if n.passes < n.most_passes]
            if needs:
                needed = max(verdict.needed_passes, FIRST_PASSES)
                cost = sum(max(needed - n.passes, 1) * n.seconds for n in needs)
                found.append(OpenClaim(0.0 if self.stale else cost, needs))
        return found

    def _needs(
        self, claim: AnyClaim, verdict: ClaimVerdict, others: Mapping[str, FigureProgress]
    ) -> list[Need]:
        """Return the curves of which more runs may decide a claim."""
        if isinstance(claim, PanelRatio):  # the same policy in two figures, run by run
            there = others.get(f"{self.experiment.paper_id}/{claim.over}", self)
            pair = [Need(figure, claim.policy) for figure in (self, there)]
            fewest = min(need.passes for need in pair)
            return [need for need in pair if need.passes == fewest]
        waiting = {c for comparison in verdict.open_comparisons for c in comparison.curves}
        if verdict.comparisons and not waiting:  # decided here; the claim counts several figures
            return []
        if not waiting:
            evidence = self.outcome.evidence
            waiting = {c for policy in curves_of(claim) for c in evidence.along(policy)}
        return [Need(self, c) for c in self.runs.curves if c in (waiting or self.runs.curves)]

    def seconds(self, curve: str) -> float:
        """Return the processor time of one pass of a curve."""
        result = self.outcome.results.get(curve)
        if result is not None and result.runs:
            return self.runs.pass_size * result.seconds / result.runs
        rounds = int(self.runs.curves[curve][0].plan.checkpoints[-1])
        return self.runs.pass_size * rounds * SECONDS_PER_ROUND

    def next_units(self, curve: str) -> list[Unit]:
        """Return the missing runs of the next pass of a curve."""
        found = []
        for place in self.runs.runs_of_pass(self.passes(curve)):
            strand = self.runs.curves[curve][place.strand]
            if self.archive.find(strand, place.run) is None:
                found.append(Unit(self.experiment.name, strand, place.run))
        return found


class Need(NamedTuple):
    """A curve of a figure of which another pass may decide a claim."""

    figure: FigureProgress
    curve: str

    @property
    def passes(self) -> int:
        """The number of complete passes of the curve."""
        return self.figure.passes(self.curve)

    @property
    def most_passes(self) -> int:
        """The number of passes after which the figure is given up."""
        return self.figure.runs.passes

    @property
    def seconds(self) -> float:
        """The processor time of one pass of the curve."""
        return self.figure.seconds(self.curve)


class OpenClaim(NamedTuple):
    """A claim that is not decided: what it would probably cost, and the curves that it needs."""

    cost: float
    needs: list[Need]


def decide(
    experiments: list[Experiment],
    archive: RunArchive,
    cache: Path,
    *,
    budget: float = math.inf,
    threads: int | None = None,
    say: Say = lambda text: None,
) -> None:
    """Add runs to the archive where they decide most; after Ctrl-C, finished runs are saved.

    Parameters
    ----------
    experiments
        The experiments whose claims are to be decided.
    archive
        Where runs are found and saved, after every pass.
    cache
        A folder for what is computed from data once.
    budget
        The number of seconds after which to stop.
    threads
        How many runs to play at once; by default one per core.
    say
        Called with one line of text for each pass.
    """
    deadline = time.monotonic() + budget
    figures = {f.experiment.name: f for f in _figures(experiments, archive, cache, say)}
    _judge_across(figures, experiments)
    while time.monotonic() < deadline:
        waiting = [claim for f in figures.values() for claim in f.open_claims(figures)]
        if not waiting:
            return
        needs = min(waiting, key=lambda claim: claim.cost).needs
        units = [unit for need in needs for unit in need.figure.next_units(need.curve)]
        names = list(dict.fromkeys(need.figure.experiment.name for need in needs))
        numbers = sorted({need.passes + 1 for need in needs})
        passes = "-".join(str(number) for number in dict.fromkeys((numbers[0], numbers[-1])))
        say(f"{', '.join(names)}: pass {passes} of {len(needs)} curves, {len(units)} runs")
        try:
            whole = play(units, threads or default_threads(), deadline, archive)
        finally:
            for name in names:
                archive.save(name)
        if not whole:
            return
        keys = {unit.strand.key for unit in units}
        for name, figure in figures.items():
            if name in names or keys & set(_keys(figure)):  # figures share runs
                figure.judge()
        for name in names:
            figures[name].stale = False
        _judge_across(figures, experiments)
        for name in names:
            say(f"{name}: {_counts(figures[name].outcome)}")


def _judge_across(figures: dict[str, FigureProgress], experiments: list[Experiment]) -> None:
    """Judge the claims that are about several figures."""
    outcomes = judged_across([figure.outcome for figure in figures.values()], experiments)
    for figure, outcome in zip(figures.values(), outcomes, strict=True):
        figure.outcome = outcome


def _figures(
    experiments: list[Experiment], archive: RunArchive, cache: Path, say: Say
) -> Iterator[FigureProgress]:
    """Yield the figures whose data exist. Those on computation time say nothing about regret."""
    for experiment in experiments:
        try:
            if not experiment.figure.timed:
                yield FigureProgress(experiment, archive, cache)
        except (MissingExtra, MissingData) as error:
            say(f"{experiment.name} is skipped: {error}")


def _keys(figure: FigureProgress) -> Iterator[str]:
    return (s.key for strands in figure.runs.curves.values() for s in strands)


def _counts(outcome: ExperimentOutcome) -> str:
    outcomes = [verdict.outcome for _, verdict in outcome.verdicts]
    return ", ".join(f"{outcomes.count(o)} {o}" for o in ("holds", "fails", "undecided"))


def play(units: list[Unit], threads: int, deadline: float, archive: RunArchive) -> bool:
    """Play runs and add them to the archive; return whether all of them were played."""
    stop = threading.Event()
    flying: dict[Future[Played | None], Unit] = {}
    complete = True

    def land(futures: set[Future[Played | None]]) -> None:
        nonlocal complete
        for future in futures:
            unit = flying.pop(future)
            played = future.result()
            if played is None:
                complete = False
                continue
            run = ArchivedRun(played.regret, played.seconds)
            archive.add(unit.experiment, unit.strand, unit.run, run)

    waiting = iter(units)
    with ThreadPoolExecutor(threads) as pool:
        try:
            while True:
                while len(flying) < 2 * threads and (unit := next(waiting, None)) is not None:
                    flying[pool.submit(play_unit, unit, stop)] = unit
                if not flying:
                    return complete
                left = max(deadline - time.monotonic(), 0.0)
                timeout = None if math.isinf(left) else left
                done, _ = wait(flying, timeout, return_when=FIRST_COMPLETED)
                if not done:
                    stop.set()
                    waiting = iter(())
                land(done)
        except KeyboardInterrupt:
            stop.set()
            land(wait(flying).done)
            raise
        except BaseException:
            stop.set()
            raise


def play_unit(unit: Unit, stop: threading.Event) -> Played | None:
    """Play one run; return None if it was stopped."""
    strand = unit.strand
    job = Job.of(strand.policy, strand.model, strand.plan, strand.instance)
    return job.play(unit.run, lambda done: None, stop)


def results_in(runs: FigureRuns, archive: RunArchive) -> dict[str, Result]:
    """Return the complete passes of each curve that the archive has, from the first pass on."""
    found = {}
    for curve, strands in runs.curves.items():
        rows: list[ArchivedRun] = []
        for place in runs.order:
            row = archive.find(strands[place.strand], place.run)
            if row is None:
                break
            rows.append(row)
        whole = len(rows) // runs.pass_size * runs.pass_size
        if whole:
            plan = strands[0].plan
            found[curve] = Result(
                policy=curve,
                model=f"{len(strands)} models" if len(strands) > 1 else repr(strands[0].model),
                checkpoints=plan.checkpoints,
                regret=np.array([row.regret for row in rows[:whole]]),
                run_ids=np.arange(whole),
                seed=plan.seed,
                seconds=sum(row.seconds for row in rows[:whole]),
                wanted=whole,
            )
    return found
