"""Commands that give advice on a click log: `diagnose` and `whatif`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clickrank.cli.log_commands import LogOptions, with_log_options
from clickrank.cli.shared_options import AsJson, Threads, check_picture, comma_separated
from clickrank.cli.terminal import INTERRUPTED, print_json, print_text
from clickrank.cli.terminal import console as terminal
from clickrank.errors import InvalidValue, invalid

if TYPE_CHECKING:
    from rich.console import Console

    from clickrank.logs import Counts
    from clickrank.reports.text_tables import TextTable

PATIENCE = 60.0  # seconds for each policy that was not named

Models = Annotated[
    str | None,
    typer.Option(
        help="Click models to choose from, comma-separated.", show_default="all that can be fitted"
    ),
]
TestShare = Annotated[
    float, typer.Option(help="Share of the lists held out for scoring models.", min=0.01, max=0.99)
]
Seed = Annotated[int, typer.Option(help="Seed of all random numbers.", min=0)]


@with_log_options
def diagnose(
    options: LogOptions,
    models: Models = None,
    test_share: TestShare = 0.25,
    seed: Seed = 0,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw perplexity by position into this file (png, pdf, svg), and make its folder."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write a report into this HTML file, and make its folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show how people click in a log: the best click model, position effects, and what is unknown.

    Models are fitted to one part of the lists and scored on the rest.
    """
    _check_files("diagnose", plot, out)
    names = _model_names("diagnose", models)
    pictures = ["plots"] if plot is not None or out is not None else []
    options.check("diagnose", *pictures)
    from clickrank.advice.advice_figures import perplexity_figure
    from clickrank.advice.advice_report import diagnosis_page
    from clickrank.advice.advice_tables import effect_table, perplexity_table, score_table, without
    from clickrank.advice.diagnosis import diagnose as run
    from clickrank.reports.html_pages import write_page

    counts = read_counts(options)
    found = run(counts, models=names, test_share=test_share, seed=seed, say=_say)
    if plot is not None:
        perplexity_figure(found).savefig(plot)
    if out is not None:
        write_page(out, diagnosis_page(found, ", ".join(options.log), _command()))
    if as_json:
        print_json(found.facts())
        return
    console = terminal(width=150)
    reliable = found.tells_positions and found.tells_items
    if not reliable:
        _print_all(console, "", found.verdict()[:1])
    for table in (score_table(found), perplexity_table(found), effect_table(found)):
        _print_table(console, table)
    if reliable:
        _print_all(console, "Best click model", found.verdict())
    else:
        _print_all(console, "How well models predict clicks", found.verdict()[1:])
    _print_all(console, "What the log cannot show", found.cannot_tell)
    _print_all(console, "", without(found.left_out))
    if out is not None:
        _print_all(console, "", [f"Report: {out}"])


@with_log_options
def whatif(
    options: LogOptions,
    policies: Annotated[
        str,
        typer.Option(
            help="Comma-separated names of policies, or 'all' that apply and take at most a minute."
        ),
    ] = "all",
    models: Models = None,
    queries: Annotated[
        int, typer.Option(help="Number of queries to play on, the most frequent first.", min=1)
    ] = 10,
    top_items: Annotated[
        int, typer.Option(help="Number of items per query, the most attractive first.", min=2)
    ] = 10,
    positions: Annotated[int, typer.Option(help="Number of positions, from the top.", min=1)] = 5,
    min_shown: Annotated[
        int,
        typer.Option(help="Leave out items shown fewer times than this for their query.", min=1),
    ] = 100,
    horizon: Annotated[float, typer.Option(help="Number of lists per query to learn from.")] = 1e5,
    runs: Annotated[float, typer.Option(help="Number of runs of each policy on each query.")] = 10,
    resamples: Annotated[
        int,
        typer.Option(help="Number of bootstrap samples of the log, for the error of fits.", min=2),
    ] = 20,
    test_share: TestShare = 0.25,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder for the results and the report.")] = Path(
        "whatif"
    ),
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw the rewards over time into this file (png, pdf, svg), and make its folder."
        ),
    ] = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Show what each policy would have earned, compared with today's order, and which one to use.

    Results are saved as they finish. After an interruption, the same command continues.
    """
    _check_files("whatif", plot, None)
    from clickrank._core.validate import check_int
    from clickrank.advice.advice_figures import whatif_figure
    from clickrank.advice.advice_report import whatif_page
    from clickrank.advice.advice_tables import earning_table, query_table, remarks
    from clickrank.advice.play import Plan, check_policies
    from clickrank.advice.played_queries import Protocol
    from clickrank.advice.whatif_analysis import whatif as run
    from clickrank.reports.html_pages import write_page

    names = _model_names("whatif", models)
    chosen = None if policies.strip() == "all" else comma_separated(policies)
    if chosen is not None:
        check_policies(chosen)
    plan = Plan(
        horizon=check_int("whatif", "horizon", horizon, 2),
        runs=check_int("whatif", "runs", runs, 2),
        seed=seed,
        threads=threads,
        folder=out / "results",
        patience=PATIENCE if chosen is None else None,
    )
    options.check("whatif", "plots")  # before the simulations, which take long
    if out.is_file():
        raise InvalidValue(f"whatif: --out must be a folder, and {out} is a file.")
    out.mkdir(parents=True, exist_ok=True)
    protocol = Protocol(queries, top_items, positions, min_shown, resamples)
    counts = read_counts(options)
    found = run(
        counts, policies=chosen, models=names, protocol=protocol, plan=plan,
        test_share=test_share, say=_say,
    )  # fmt: skip
    path = write_page(out / "index.html", whatif_page(found, ", ".join(options.log), _command()))
    if plot is not None and found.outcomes[0].played.earnings:
        whatif_figure(found.outcomes[0], plan.horizon).savefig(plot)
    if as_json:
        print_json({**found.facts(), "report": str(path)})
    else:
        console = terminal(width=150)
        for outcome in found.outcomes:
            _print_table(console, earning_table(found, outcome))
            _print_table(console, query_table(found, outcome))
            _print_all(console, "", remarks(outcome))
        left_out = [f"query {name!r} left out: {why}" for name, why in found.left_out.items()]
        _print_all(console, "", left_out)
        _print_all(console, "Recommendation", found.recommendation())
        _print_all(console, "Assumptions", found.assumptions())
        _print_all(console, "What the log cannot show", found.diagnosis.cannot_tell)
        _print_all(console, "", [f"Report: {path}"])
    if found.interrupted:
        typer.echo("clickrank: interrupted; the tables show what is finished.", err=True)
        raise typer.Exit(INTERRUPTED)


def read_counts(options: LogOptions) -> Counts:
    """Count the log that the options name; report malformed lines on the error stream."""
    with options.open() as opened:
        counts = opened.counts(**options.filters())
        problems = opened.report_of(**options.filters()).problems
    if problems:
        _say("Some lines are malformed or unusual; 'clickrank read' shows them.")
    return counts


def _model_names(command: str, models: str | None) -> list[str] | None:
    """Return the click models that are named, or None for all that can be fitted."""
    from clickrank.advice.diagnosis import known_models

    return None if models is None else known_models(command, comma_separated(models))


def _check_files(owner: str, plot: Path | None, out: Path | None) -> None:
    """Raise an error for a wrong file name before any computation starts."""
    check_picture(plot)
    if out is not None and out.suffix != ".html":
        raise invalid(owner, "--out must end in .html", str(out))


def _say(text: str) -> None:
    print_text(terminal(stderr=True, width=150), text)


def _print_table(console: Console, table: TextTable) -> None:
    if table.rows:
        print_text(console, table.caption, style="bold")
        console.print(table.rich())


def _print_all(console: Console, title: str, sentences: Sequence[str]) -> None:
    if title and sentences:
        console.print(title, style="bold")
    for sentence in sentences:
        print_text(console, f"  {sentence}" if title else sentence, wrap=True)


def _command() -> str:
    return shlex.join(["clickrank", *sys.argv[1:]])
