"""`reproduce`: run the experiments of the papers, judge their claims, write the report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rich.table import Table

from clickrank._core.extras import require
from clickrank.errors import MissingData, MissingExtra, invalid
from clickrank.experiments.cross_figure_claims import judged_across
from clickrank.experiments.figure_spec import Experiment, Figure, Scale
from clickrank.experiments.paper_files import list_experiments, select
from clickrank.experiments.reproduction_report import claim_facts, write_report
from clickrank.experiments.runner import Outcome, Work, collect, run, work_left
from clickrank.experiments.simulation_plan import AnyCell, Say, cells, folder_of, pair
from clickrank.experiments.user_datasets import remember, remembered, with_data
from clickrank.simulation.background_compilation import compiling_in_background

BADGES = {"holds": "green", "fails": "red", "undecided": "yellow", "history": "blue"}


class Reproduction(NamedTuple):
    """What `reproduce` did: an outcome for each experiment asked for, and where the report is."""

    outcomes: list[Outcome]
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
        """Return the claims with their verdicts, as they are in ``claims.json``."""
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
) -> Reproduction:
    """Run what is missing of the experiments, and write ``OUT/index.html`` and ``OUT/claims.json``.

    Results are saved under ``OUT/results`` as they finish. A call that was interrupted, even by
    Ctrl-C, is completed by the same call; a complete one only rebuilds the report. The report
    shows all that the folder has results of, on each data set.

    Parameters
    ----------
    target
        A paper, as in ``lagree-2016``, or a figure, as in ``lagree-2016/figure-1a``; by default
        everything.
    scale
        "quick", "paper", or a `Scale` of one's own.
    out
        The folder of results and report.
    threads, progress
        As for `clickrank.simulate`.
    say
        Is called with a line of text whenever there is something to tell.
    experiments
        The experiments to choose from; by default those that come with clickrank.
    data
        A folder or a file for the experiments that take data: a folder with judged queries, as
        those of MSLR-WEB30K, or with MovieLens's ratings; or the log of KDD Cup 2012, or its
        folder. Experiments that take other data, or none, are run without it.
    """
    require("reproduce needs", "plots")  # now, not after the simulations
    out = Path(out)
    known = list_experiments() if experiments is None else experiments
    chosen = with_data(select(target, known), data)
    plan = {}
    missing: Exception | None = None
    for e in chosen:
        try:
            plan[e.name] = cells(e, scale_of(e, scale), out)
        except (MissingExtra, MissingData) as error:
            say(f"{e.name} is left out: {error}")
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
        say("Interrupted. What is finished is saved; the same command does the rest.")
    outcomes = []
    for e in _in_report(known, chosen, out):
        try:
            outcomes.append(collect(e, scale_of(e, scale), out, say))
        except (MissingExtra, MissingData) as error:  # of an earlier call, when it was there
            say(f"{e.name} is left out of the report: {error}")
    outcomes = _judged_by_data(outcomes, known)
    shown = [o for o in outcomes if o.experiment in chosen or o.results]
    report = write_report(out, shown, scale if isinstance(scale, str) else "custom")
    return Reproduction([o for o in shown if o.experiment in chosen], report, interrupted)


def _in_report(
    known: list[Experiment], chosen: list[Experiment], out: Path
) -> Iterator[Experiment]:
    """Give what was asked for, and what earlier calls left, on each data set that they had."""
    for e in known:
        for one in (e, *remembered(e, folder_of(e, out))):
            if one in chosen or folder_of(one, out).exists():
                yield one


def _judged_by_data(outcomes: list[Outcome], known: list[Experiment]) -> list[Outcome]:
    """Judge claims across figures, those on one data set with each other and with the rest."""
    found: dict[str, Outcome] = {}
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
    raise invalid("reproduce", "scale must be 'quick' or 'paper'", scale)


def _run(
    plan: dict[str, dict[str, list[AnyCell]]], threads: int | None, progress: bool | None, say: Say
) -> None:
    names = sorted(plan, key=lambda name: _turn(next(iter(plan[name].values()))[0].figure))
    left = {name: _left(plan[name], say) for name in names}
    total = sum(len(curves) for curves in left.values())
    count = 0
    waiting = [work for curves in left.values() for works in curves.values() for work in works]
    with compiling_in_background(pair(work.cell) for work in waiting) as compiled:
        for name, curves in left.items():
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
            say(f"{name}: done." if worked else f"{name}: done, nothing left to simulate.")


def _turn(figure: Figure) -> int:
    """Say when a figure's turn comes: its lowest number first.

    Policies that are stopped early are slow, to compile too: what they keep waiting comes before.
    Times are measured last: by then all is compiled, and nothing else is going on.
    """
    return 2 * figure.timed + any(policy.share < 1 for policy in figure.policies)


def _left(curves: dict[str, list[AnyCell]], say: Say) -> dict[str, list[Work]]:
    """Return what is left to do of each curve."""
    works = {curve: [work_left(cell, say) for cell in parts] for curve, parts in curves.items()}
    return {curve: [work for work in some if work.missing] for curve, some in works.items()}
