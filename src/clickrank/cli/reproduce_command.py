"""The command ``reproduce``, which runs the experiments of the papers."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clickrank._core.extras import require
from clickrank.cli.shared_options import AsJson, Threads
from clickrank.cli.terminal import INTERRUPTED, print_json, print_table, print_text
from clickrank.cli.terminal import console as terminal

if TYPE_CHECKING:
    from rich.console import Console

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
        str, typer.Option(help="'quick' (seconds to minutes) or 'paper' (as published).")
    ] = "quick",
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
            scales = (f"{each}{s.runs:,} × {s.horizon:,}" for s in e.figure.scale.values())
            rows.append((e.name, e.figure.title, *scales, str(len(e.claims))))
        heads = [f"{name}: runs × rounds" for name in ("quick", "paper")]
        print_table(("experiment", "what it shows", *heads, "claims"), rows)
        return
    check_choice("reproduce", "scale", scale, ("quick", "paper"))
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
    done = run(target, scale=scale, out=out, threads=threads, say=say, data=data)
    if as_json:
        print_json(done.claims())
    else:
        _print_reproduction(console, done)
    if done.interrupted:
        raise typer.Exit(INTERRUPTED)


def _print_reproduction(console: Console, done: Reproduction) -> None:
    from clickrank.simulation import Comparison

    for outcome in done.outcomes:
        console.print(f"\n[bold]{outcome.experiment.name}[/]: {outcome.experiment.figure.title}")
        if outcome.results:
            console.print(Comparison(outcome.results).summary().table())
    console.print(done.claims_table())
    print_text(console, f"Report: {done.report}")
