"""The commands ``reproduce`` and ``verdicts``: the experiments of the papers, and their claims."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clickrank._core.extras import require
from clickrank.cli.shared_options import AsJson, Threads
from clickrank.cli.terminal import INTERRUPTED, print_json, print_table, print_text
from clickrank.cli.terminal import console as terminal
from clickrank.errors import invalid

if TYPE_CHECKING:
    from rich.console import Console

    from clickrank.experiments.figure_spec import Experiment
    from clickrank.experiments.reproduction import Reproduction


def reproduce(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[PAPER[/FIGURE]]",
            help="Experiments to run, as in lagree-2016/figure-1a; all by default.",
        ),
    ] = None,
    scale: Annotated[
        str,
        typer.Option(
            help="'quick' (seconds to minutes), 'decide' (the horizons of the papers, with runs "
            "added to those that are shipped until the claims are decided) or 'paper' (as "
            "published)."
        ),
    ] = "quick",
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Time that scale 'decide' may take, as in 2h, 30m or 90s; no limit by default.",
        ),
    ] = None,
    verify: Annotated[
        int | None,
        typer.Option(
            metavar="[N]",
            help="Play N of the shipped runs again, 5 if no number is given, and compare them bit "
            "for bit.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for results and report.")] = Path("report"),
    data: Annotated[
        Path | None,
        typer.Option(
            help="Data set for the experiments that need one: a folder with judged queries "
            "(train.txt and test.txt, as in a fold of MSLR-WEB30K), a folder with the file "
            "ratings.csv of MovieLens, or the log of KDD Cup 2012 (training.txt or its folder)."
        ),
    ] = None,
    list_only: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    only_estimate: Annotated[
        bool, typer.Option("--estimate", help="Estimate the running time from a sample.")
    ] = False,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Run the experiments of the papers and check the papers' claims.

    Results are saved as they finish. After an interruption, the same command runs what is missing.
    With --json the claims and their verdicts are printed, as in OUT/claims.json.
    """
    from clickrank._core.validate import check_choice
    from clickrank.experiments import list_experiments
    from clickrank.experiments import reproduce as run
    from clickrank.experiments.cost_estimate import estimate
    from clickrank.experiments.paper_files import select
    from clickrank.experiments.user_datasets import with_data

    console = terminal()
    chosen = select(target, list_experiments())
    if list_only:
        rows = []
        for e in chosen:
            each = "each model: " if e.figure.many else ""
            sizes = (e.figure.scale["quick"], e.figure.scale["paper"])
            scales = (f"{each}{s.runs:,} × {s.horizon:,}" for s in sizes)
            rows.append((e.name, e.figure.title, *scales, str(len(e.claims))))
        heads = [f"{name}: runs × rounds" for name in ("quick", "paper")]
        print_table(("experiment", "what it shows", *heads, "claims"), rows)
        return
    if verify is not None:
        _verify(chosen, verify, out)
        return
    check_choice("reproduce", "scale", scale, ("quick", "decide", "paper"))
    seconds = None if budget is None else seconds_of(budget)
    chosen = with_data(chosen, data)
    if only_estimate:
        found = estimate(chosen, scale, out)
        console.print(found.table())
        for note in found.notes:
            print_text(console, note, wrap=True)
        return
    say = functools.partial(print_text, terminal(stderr=True))
    require("reproduce needs", "plots")
    out.mkdir(parents=True, exist_ok=True)  # or fail now, not after the first curve
    done = run(target, scale=scale, out=out, threads=threads, say=say, data=data, budget=seconds)
    if as_json:
        print_json(done.claims())
    else:
        _print_reproduction(console, done)
    if done.interrupted:
        raise typer.Exit(INTERRUPTED)


def seconds_of(budget: str) -> float:
    """Return the seconds of a time such as 2h, 30m or 90s."""
    units = {"s": 1, "m": 60, "h": 3600}
    number, unit = budget[:-1], budget[-1:]
    try:
        found = float(number) * units[unit]
    except (ValueError, KeyError):
        found = 0.0
    if not 0.0 < found < float("inf"):
        raise invalid("reproduce", "budget must be a time such as 2h, 30m or 90s", budget)
    return found


def _verify(chosen: list[Experiment], count: int, out: Path) -> None:
    """Play shipped runs again; exit with 1 if one of them has other numbers."""
    import secrets

    from clickrank._core.validate import check_int
    from clickrank.experiments.decided_outcomes import verify_runs
    from clickrank.experiments.run_archive import SHIPPED, RunArchive

    number = check_int("reproduce", "verify", count, 1)
    archive = RunArchive(SHIPPED)
    found = verify_runs(archive, chosen, out / "results", number, secrets.randbelow(2**32))
    for one in found:
        where = f"{one.experiment} {one.curve}{' on ' if one.label else ''}{one.label}"
        print_text(terminal(), f"{where}, run {one.run}: {'the same' if one.same else 'DIFFERENT'}")
    different = sum(not one.same for one in found)
    print_text(
        terminal(), f"{len(found) - different} of {len(found)} runs are the same, bit for bit."
    )
    if different or not found:
        raise typer.Exit(1)


def verdicts(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[PAPER[/FIGURE]]",
            help="A paper or a figure, as in lagree-2016; all by default.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print each claim of the papers with its verdict, from the shipped results.

    Nothing is simulated. Verdicts that rest on results of older code are marked as stale.
    """
    from clickrank.experiments.shipped_verdicts import count_outcomes, load_verdicts

    found = load_verdicts(target)
    if as_json:
        print_json(found)
        return
    rows = [
        (v.experiment, v.words, v.scale, f"{v.text}\n{v.measured}" + f"\n{v.note}" * bool(v.note))
        for v in found
    ]
    print_table(("experiment", "verdict", "scale", "claim"), rows)
    counted = count_outcomes(found)
    judged = sum(counted)
    print_text(
        terminal(),
        f"{judged} claims: {counted.holds} hold, {counted.fails} fail, {counted.undecided} are "
        f"undecided ({counted.undecided / max(judged, 1):.0%}).",
    )


def _print_reproduction(console: Console, done: Reproduction) -> None:
    from clickrank.simulation import Comparison

    for outcome in done.outcomes:
        console.print(f"\n[bold]{outcome.experiment.name}[/]: {outcome.experiment.figure.title}")
        if outcome.results:
            console.print(Comparison(outcome.results).summary().table())
    console.print(done.claims_table())
    print_text(console, f"Report: {done.report}")
