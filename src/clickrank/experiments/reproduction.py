"""Reproduction of the papers: runs their experiments, judges their claims, writes the report."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rich.table import Table

from clickrank._core.extras import require
from clickrank._core.progress import Say
from clickrank.errors import MissingData, MissingExtra, invalid
from clickrank.experiments.cross_figure_claims import judged_across
from clickrank.experiments.decided_outcomes import outcomes_in
from clickrank.experiments.deciding import decide
from clickrank.experiments.figure_spec import Experiment, Figure, Scale
from clickrank.experiments.paper_files import list_experiments, select
from clickrank.experiments.reproduction_report import claim_facts, write_report
from clickrank.experiments.run_archive import SHIPPED, RunArchive
from clickrank.experiments.runner import CellRuns, ExperimentOutcome, collect, missing_runs, run
from clickrank.experiments.simulation_plan import AnyCell, cells, folder_of, pair
from clickrank.experiments.user_datasets import remember, remembered, with_data
from clickrank.simulation.background_compilation import compiling_in_background

BADGES = {"holds": "green", "fails": "red", "undecided": "yellow", "history": "blue"}


class Reproduction(NamedTuple):
    """Result of `reproduce`: one outcome per experiment, and the path of the report."""

    outcomes: list[ExperimentOutcome]
    report: Path
    interrupted: bool

    def claims_table(self) -> Table:
        """Return the verdicts as a rich table."""
        table = Table("claim", "verdict", "measured", show_lines=True)
        for outcome in self.outcomes:
            for claim, verdict in outcome.verdicts:
                name = f"{outcome.experiment.name}\n{claim.id}"
                badge = f"[{BADGES[verdict.outcome]}]{verdict.words}[/]"
                note = f"\n[dim]{claim.note}[/]" if claim.note else ""
                table.add_row(name, badge, f"{claim.text}\n{verdict.measured}{note}")
        return table

    def claims(self) -> list[dict[str, object]]:
        """Return the claims with their verdicts, as in ``claims.json``."""
        return claim_facts(self.outcomes)


def reproduce(
    target: str | None = None,
    *,
    scale: str | Scale = "quick",
    out: str | Path = "report",
    threads: int | None = None,
    progress: bool | None = None,
    say: Say = lambda text: None,
    experiments: list[Experiment] | None = None,
    data: str | Path | None = None,
    budget: float | None = None,
) -> Reproduction:
    """Run the missing simulations of experiments; write ``OUT/index.html`` and ``OUT/claims.json``.

    Results are saved under ``OUT/results`` as they finish. After an interruption, also by Ctrl-C,
    the same call continues; if nothing is missing, it only writes the report again. The report
    shows every experiment, on every data set, that has results in the folder.

    Parameters
    ----------
    target
        A paper, as in ``lagree-2016``, or a figure, as in ``lagree-2016/figure-1a``; by default
        all experiments.
    scale
        "quick"; "decide", which adds runs until the claims are decided; "paper"; or a `Scale`.
    out
        The folder for the results and the report.
    threads, progress
        As for `clickrank.simulate`.
    say
        Called with one line of text for each step.
    experiments
        The experiments to choose from; by default those shipped with clickrank.
    data
        Data for the experiments that need some: a folder with judged queries, such as a fold of
        MSLR-WEB30K, a folder with the ratings of MovieLens, or the log of KDD Cup 2012 or its
        folder. Experiments that use other data, or none, are run without it.
    budget
        The number of seconds after which scale "decide" stops adding runs; by default no limit.
    """
    require("reproduce needs", "plots")  # before the simulations, which take long
    out = Path(out)
    known = list_experiments() if experiments is None else experiments
    chosen = with_data(select(target, known), data)
    if budget is not None and scale != "decide":
        raise invalid("reproduce", "scale must be 'decide' if a budget is given", scale)
    if scale == "decide":
        return _decided(chosen, known, out, math.inf if budget is None else budget, threads, say)
    plan = {}
    missing: Exception | None = None
    for e in chosen:
        try:
            plan[e.name] = cells(e, scale_of(e, scale), out)
        except (MissingExtra, MissingData) as error:
            say(f"{e.name} is skipped: {error}")
            missing = error
    if not plan and missing is not None:
        raise missing
    chosen = [e for e in chosen if e.name in plan]
    for e in chosen:
        remember(e, folder_of(e, out))
    interrupted = False
    try:
        _run(plan, threads, progress, say)
    except KeyboardInterrupt:
        interrupted = True
        say("Interrupted. Finished runs are saved; the same command runs the rest.")
    outcomes = []
    for e in _in_report(known, chosen, out):
        try:
            outcomes.append(collect(e, scale_of(e, scale), out, say))
        except (MissingExtra, MissingData) as error:  # an earlier call had the data or the extra
            say(f"{e.name} is left out of the report: {error}")
    outcomes = _judged_by_data(outcomes, known)
    shown = [o for o in outcomes if o.experiment in chosen or o.results]
    report = write_report(out, shown, scale if isinstance(scale, str) else "custom")
    return Reproduction([o for o in shown if o.experiment in chosen], report, interrupted)


def _decided(
    chosen: list[Experiment],
    known: list[Experiment],
    out: Path,
    budget: float,
    threads: int | None,
    say: Say,
) -> Reproduction:
    """Add runs to those that are shipped, until the claims are decided; write the report."""
    archive = RunArchive(out / "runs", RunArchive(SHIPPED))
    cache = out / "results"
    interrupted = False
    try:
        decide(chosen, archive, cache, budget=budget, threads=threads, say=say)
    except KeyboardInterrupt:
        interrupted = True
        say("Interrupted. Finished runs are saved; the same command goes on.")
    papers = {e.paper_id for e in chosen}
    others = [e for e in known if e.paper_id in papers and e.name not in {c.name for c in chosen}]
    # Claims on several figures need the other figures of their paper.
    outcomes = outcomes_in([*chosen, *others], archive, cache, known, say)
    shown = [o for o in outcomes if o.experiment in chosen]
    report = write_report(out, shown, "decide")
    return Reproduction(shown, report, interrupted)


def _in_report(
    known: list[Experiment], chosen: list[Experiment], out: Path
) -> Iterator[Experiment]:
    """Yield the chosen experiments, and those with results of earlier calls, on each data set."""
    for e in known:
        for one in (e, *remembered(e, folder_of(e, out))):
            if one in chosen or folder_of(one, out).exists():
                yield one


def _judged_by_data(
    outcomes: list[ExperimentOutcome], known: list[Experiment]
) -> list[ExperimentOutcome]:
    """Judge claims that involve several figures, separately for each data set.

    Figures that were not run on a data set are taken from the results without data.
    """
    found: dict[str, ExperimentOutcome] = {}
    for data in dict.fromkeys(o.experiment.data for o in outcomes):
        replaced = {o.experiment.name for o in outcomes if data and o.experiment.data == data}
        group = [
            o
            for o in outcomes
            if o.experiment.data == data
            or (not o.experiment.data and o.experiment.name not in replaced)
        ]
        for outcome in judged_across(group, known):
            if outcome.experiment.data == data:
                found[f"{outcome.experiment.name}@{data}"] = outcome
    return [found[f"{o.experiment.name}@{o.experiment.data}"] for o in outcomes]


def scale_of(experiment: Experiment, scale: str | Scale) -> Scale:
    """Return the horizon and runs of an experiment at a scale."""
    if isinstance(scale, Scale):
        return scale
    for name, found in experiment.figure.scale.items():
        if name == scale:
            return found
    raise invalid("reproduce", "scale must be 'quick', 'decide' or 'paper'", scale)


def _run(
    plan: dict[str, dict[str, list[AnyCell]]], threads: int | None, progress: bool | None, say: Say
) -> None:
    names = sorted(plan, key=lambda name: _run_order(next(iter(plan[name].values()))[0].figure))
    missing = {name: _missing(plan[name], say) for name in names}
    total = sum(len(curves) for curves in missing.values())
    count = 0
    waiting = [work for curves in missing.values() for works in curves.values() for work in works]
    with compiling_in_background(pair(work.cell) for work in waiting) as compiled:
        for name, curves in missing.items():
            for curve, works in curves.items():
                count += 1
                if not works:
                    continue
                runs = sum(len(work.missing) for work in works)
                rounds = int(works[0].cell.checkpoints[-1])
                say(f"[{count}/{total}] {name} {curve}: {runs:,} runs of {rounds:,} rounds")
                if works[0].cell.figure.timed:
                    compiled.wait()
                for work in works:
                    run(work, threads, progress)
            worked = any(curves.values())
            say(f"{name}: done." if worked else f"{name}: done, nothing to simulate.")


def _run_order(figure: Figure) -> int:
    """Return the sort key of a figure: figures with the lowest number are run first.

    Policies that are stopped early are slow, also to compile, so figures without them come first.
    Computation times are measured last, when everything is compiled and nothing else is running.
    """
    return 2 * figure.timed + any(policy.share < 1 for policy in figure.policies)


def _missing(curves: dict[str, list[AnyCell]], say: Say) -> dict[str, list[CellRuns]]:
    """Return the missing work of each curve."""
    works = {curve: [missing_runs(cell, say) for cell in parts] for curve, parts in curves.items()}
    return {curve: [work for work in some if work.missing] for curve, some in works.items()}
