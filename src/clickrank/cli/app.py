"""The command line. Each command imports what it needs when it runs, so that help comes at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from clickrank.cli import (
    advice_commands,
    evaluate_commands,
    log_commands,
    service_commands,
    warm_command,
)
from clickrank.cli.terminal import INTERRUPTED, PICTURES, AsJson, print_json
from clickrank.cli.terminal import console as terminal
from clickrank.errors import ClickRankError, InvalidValue, invalid

if TYPE_CHECKING:
    from rich.console import Console

    from clickrank.clickmodels import ClickModel
    from clickrank.experiments.reproduction import Reproduction
    from clickrank.policies import Policy
    from clickrank.simulation import Comparison

FAILED = 2
PBM_EXAMPLE = {"attraction": [0.45, 0.35, 0.25, 0.15, 0.05], "examination": [0.9, 0.6, 0.3]}


class _Group(TyperGroup):
    """All commands, and the one place where their errors become a line and an exit code."""

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option --help, with False for its default.

        Without one, Typer asks Pydantic to convert None for each command: a third of the time that
        the help of a command takes.
        """
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except ClickRankError as error:
            typer.echo(f"clickrank: {error}", err=True)
            raise typer.Exit(FAILED) from error
        except OSError as error:  # a file or folder that cannot be read or written
            typer.echo(f"clickrank: {error}", err=True)
            raise typer.Exit(FAILED) from error
        except KeyboardInterrupt:
            typer.echo("clickrank: interrupted.", err=True)
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    cls=_Group, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)

Threads = Annotated[
    int | None, typer.Option(help="Runs to play at once.", show_default="one a core")
]


def _version(show: bool) -> None:
    if show:
        import clickrank

        typer.echo(f"clickrank {clickrank.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Learn from clicks which items to show and in which order."""


@app.command()
def policies(as_json: AsJson = False) -> None:
    """List the policies, what they assume and their parameters."""
    from clickrank.reports.descriptions import policy_entries

    entries = policy_entries()
    if as_json:
        print_json(entries)
        return
    rows = [(e.name, e.summary, e.assumes.text(), e.parameters_text()) for e in entries]
    _print_table(("policy", "what it does", "assumes", "parameters"), rows)
    concerned: dict[str, list[str]] = {}
    for entry in entries:
        for caution in entry.cautions:
            concerned.setdefault(caution, []).append(entry.name)
    for caution, names in concerned.items():
        text = f"{', '.join(names)}: {caution}"
        terminal().print(text, highlight=False, markup=False)


@app.command()
def models(as_json: AsJson = False) -> None:
    """List the click models and their parameters."""
    from clickrank.reports.descriptions import model_entries

    entries = model_entries()
    if as_json:
        print_json(entries)
        return
    rows = [(e.name, e.summary, e.reward, e.parameters_text()) for e in entries]
    _print_table(("model", "how people click", "reward", "parameters"), rows)


@app.command()
def compare(
    policies: Annotated[
        str, typer.Option(help="Policies by name, parted by commas; or all that apply.")
    ] = "all",
    model: Annotated[str, typer.Option(help="Click model by name.")] = "pbm",
    attraction: Annotated[
        str | None, typer.Option(help="Attraction of each item, as in 0.4,0.3,0.2.")
    ] = None,
    examination: Annotated[
        str | None, typer.Option(help="Probability that each position is looked at (pbm).")
    ] = None,
    satisfaction: Annotated[
        str | None, typer.Option(help="Probability that a click satisfies, by position (dcm).")
    ] = None,
    position_bias: Annotated[
        str | None, typer.Option(help="Prominence of each position (mnl).")
    ] = None,
    item_satisfaction: Annotated[
        str | None, typer.Option(help="Probability that a click satisfies, by item (dbn).")
    ] = None,
    continuation: Annotated[
        float | None, typer.Option(help="Probability to go on unsatisfied (dbn).")
    ] = None,
    n_positions: Annotated[
        int | None, typer.Option(help="Number of positions (models without position effects).")
    ] = None,
    model_file: Annotated[
        Path | None, typer.Option(help="JSON or TOML file with 'model' and its parameters.")
    ] = None,
    horizon: Annotated[float, typer.Option(help="Number of rounds.")] = 1e4,
    runs: Annotated[float, typer.Option(help="Number of independent runs.")] = 20,
    seed: Annotated[int, typer.Option(help="Decides all that is random.")] = 0,
    delay: Annotated[int, typer.Option(help="Rounds until feedback arrives.")] = 0,
    batch: Annotated[int, typer.Option(help="Rounds between deliveries of feedback.")] = 1,
    allow_mismatch: Annotated[
        bool, typer.Option(help="Run policies on clicks that they do not assume, too.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the regret into this file (png, pdf, svg).")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Save all results to this .npz file.")] = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Simulate policies on the same users, and print what each loses.

    Without options: every policy that applies, on a small position-based example.
    """
    from clickrank._core.validate import check_int
    from clickrank.experiments.models import build_model, load_model
    from clickrank.plots import require_matplotlib
    from clickrank.simulation import compare as run

    if plot is not None:
        require_matplotlib()  # now, not after the simulation
        if plot.suffix not in PICTURES:
            raise invalid("compare", f"--plot must end in {' or '.join(PICTURES)}", str(plot))
        if not plot.parent.is_dir():
            raise invalid("compare", "the folder of --plot must exist", str(plot.parent))
    given = {
        "attraction": _numbers("attraction", attraction),
        "examination": _numbers("examination", examination),
        "satisfaction": _numbers("satisfaction", satisfaction),
        "position_bias": _numbers("position-bias", position_bias),
        "item_satisfaction": _numbers("item-satisfaction", item_satisfaction),
        "continuation": continuation,
        "n_positions": n_positions,
    }
    parameters = {key: value for key, value in given.items() if value is not None}
    if model_file is not None:
        if parameters:
            raise InvalidValue("compare: --model-file must not be mixed with model parameters.")
        clicks = load_model(model_file)
    else:
        example = PBM_EXAMPLE if model == "pbm" and not parameters else {}
        clicks = build_model(model, {**example, **parameters})
    rounds = check_int("compare", "horizon", horizon, 1)
    chosen, skipped = _choose(policies, clicks, rounds, allow_mismatch)
    count = check_int("compare", "runs", runs, 1)
    found = run(
        chosen, clicks, rounds, count, seed,
        delay=delay, batch=batch, threads=threads, allow_mismatch=allow_mismatch,
    )  # fmt: skip
    interrupted = len(found) < len(chosen) or any(r.interrupted for r in found.values())
    if save is not None:
        found.save(save)
    if plot is not None:
        found.plot(plot)
    if as_json:
        facts = {"model": repr(clicks), "horizon": rounds, "runs": count, "seed": seed}
        print_json({**facts, **_comparison_facts(found, skipped), "interrupted": interrupted})
    else:
        console = terminal()
        console.print(
            f"{clicks!r}, {rounds:,} rounds, {count:,} runs, seed {seed}", highlight=False
        )
        console.print(found.summary().table())
        for name, reason in skipped.items():
            console.print(
                f"without {name}: {reason}", highlight=False, markup=False, soft_wrap=True
            )
    if interrupted:
        typer.echo("clickrank: interrupted; the table shows the finished runs.", err=True)
        raise typer.Exit(INTERRUPTED)


@app.command()
def reproduce(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[PAPER[/FIGURE]]",
            help="What to run, as in lagree-2016/figure-1a; all if left out.",
        ),
    ] = None,
    scale: Annotated[
        str, typer.Option(help="'quick' (seconds to minutes) or 'paper' (as published).")
    ] = "quick",
    out: Annotated[Path, typer.Option(help="Folder for results and report.")] = Path("report"),
    data: Annotated[
        Path | None,
        typer.Option(
            help="A folder or a file for experiments on data: a folder with judged queries "
            "(train.txt, test.txt), as a fold of MSLR-WEB30K, or with MovieLens's ratings.csv; or "
            "the log of KDD Cup 2012, training.txt, or its folder."
        ),
    ] = None,
    list_only: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    only_estimate: Annotated[
        bool, typer.Option("--estimate", help="Say what it would cost, measured on a sample.")
    ] = False,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Run the papers' experiments again, and check what the papers claim.

    Results are saved as they finish: after an interruption the same command does the rest. With
    --json the claims and verdicts are printed, as they are in OUT/claims.json.
    """
    from clickrank.experiments import list_experiments
    from clickrank.experiments import reproduce as run
    from clickrank.experiments.cost import estimate
    from clickrank.experiments.datasets import with_data
    from clickrank.experiments.listing import select

    console = terminal()
    if list_only:
        rows = []
        for e in select(target, list_experiments()):
            each = "each model: " if e.figure.many else ""
            scales = (f"{each}{s.runs:,} × {s.horizon:,}" for s in e.figure.scale.values())
            rows.append((e.name, e.figure.title, *scales, str(len(e.claims))))
        heads = [f"{name}: runs × rounds" for name in ("quick", "paper")]
        _print_table(("experiment", "what it shows", *heads, "claims"), rows)
        return
    if only_estimate:
        found = estimate(with_data(select(target, list_experiments()), data), scale, out)
        console.print(found.table())
        for note in found.notes:
            console.print(note, highlight=False, markup=False)
        return
    errors = terminal(stderr=True)

    def say(text: str) -> None:
        errors.print(text, highlight=False, markup=False, soft_wrap=True)

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
    console.print(f"Report: {done.report}", highlight=False, markup=False, soft_wrap=True)


log_commands.add_commands(app)
advice_commands.add_commands(app)
evaluate_commands.add_commands(app)
warm_command.add_commands(app)
service_commands.add_commands(app)


def _choose(
    text: str, model: ClickModel, horizon: int, allow_mismatch: bool
) -> tuple[dict[str, Policy], dict[str, str]]:
    """Return the policies named, and with "all" why each of the others does not apply."""
    from clickrank.policies import POLICIES, policy
    from clickrank.simulation.run import check_applies

    everything = text.strip() == "all"
    names = list(POLICIES) if everything else [n.strip() for n in text.split(",") if n.strip()]
    if not names:
        raise InvalidValue("compare: --policies must name a policy, or be 'all'.")
    chosen: dict[str, Policy] = {}
    skipped: dict[str, str] = {}
    for name in names:
        try:
            made = policy(name, model=model, horizon=horizon)
            check_applies(made, model, allow_mismatch=allow_mismatch)
        except InvalidValue as error:
            if not everything:
                raise
            skipped[name] = str(error).split(" Pass allow_mismatch")[0]
        else:
            chosen[name] = made
    if not chosen:
        raise InvalidValue(f"compare: no policy applies to {model!r}.")
    return chosen, skipped


def _comparison_facts(found: Comparison, skipped: dict[str, str]) -> dict[str, Any]:
    rows = [row._asdict() for row in found.summary()]
    return {"policies": rows, "skipped": skipped}


def _numbers(option: str, text: str | None) -> list[float] | None:
    """Read numbers parted by commas.

    >>> _numbers("attraction", "0.4, 0.2")
    [0.4, 0.2]
    """
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        rule = f"compare: --{option} must be numbers parted by commas, got {text!r}."
        raise InvalidValue(rule) from None


def _print_table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(*heads)
    table.columns[0].no_wrap = True  # names are there to be copied
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    terminal().print(table)
