"""Scale `decide`: adds passes of runs until every claim is decided, or a cap or budget is reached.

Each step plays what the claim that is probably cheapest to decide waits for. A curve whose
comparisons are all decided gets no more runs, so that in a grid or a sweep the settings that are
worse with confidence are eliminated one after the other. Most of them are eliminated early: of long
runs the first hundredth is played first, then the first tenth, and the whole run only if that does
not decide (`clickrank.experiments.figure_progress`). Verdicts are valid whenever one stops, since
their intervals are confidence sequences.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from clickrank._core.progress import Say
from clickrank.errors import MissingData, MissingExtra
from clickrank.experiments.cross_figure_claims import judged_across
from clickrank.experiments.figure_progress import FigureProgress, Unit
from clickrank.experiments.figure_spec import Experiment
from clickrank.experiments.run_archive import ArchivedRun, RunArchive
from clickrank.experiments.runner import ExperimentOutcome
from clickrank.simulation.simulate_runs import Job, Played, default_threads


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
        needs = min(waiting, key=lambda claim: claim[:2]).needs
        units = [u for need in needs for u in need.figure.next_units(need.curve, need.rounds)]
        names = list(dict.fromkeys(need.figure.experiment.name for need in needs))
        numbers = sorted({need.passes + 1 for need in needs})
        passes = "-".join(str(number) for number in dict.fromkeys((numbers[0], numbers[-1])))
        rounds = " or ".join(f"{number:,}" for number in sorted({n.rounds for n in needs}))
        say(
            f"{', '.join(names)}: pass {passes} of {len(needs)} curves, {len(units)} runs of "
            f"{rounds} rounds"
        )
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
