"""The command ``compare``, which simulates policies on the same users."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clickrank._core.defaults import DEFAULT_CLICK_MODEL
from clickrank._core.extras import require
from clickrank.cli.error_lines import file_error, reason_of
from clickrank.cli.shared_options import AsJson, Threads, check_picture, comma_separated
from clickrank.cli.terminal import INTERRUPTED, print_json, print_text
from clickrank.cli.terminal import console as terminal
from clickrank.errors import InvalidValue, UnknownName, invalid

if TYPE_CHECKING:
    from clickrank.clickmodels import ClickModel
    from clickrank.policies import Policy

#: Parameters of the default click model, if none are given.
EXAMPLE = {"attraction": [0.45, 0.35, 0.25, 0.15, 0.05], "examination": [0.9, 0.6, 0.3]}


def compare(
    policies: Annotated[
        str, typer.Option(help="Comma-separated names of policies, or 'all' that apply.")
    ] = "all",
    model: Annotated[str, typer.Option(help="Name of the click model.")] = (DEFAULT_CLICK_MODEL),
    attraction: Annotated[
        str | None, typer.Option(help="Attraction of each item, as in 0.4,0.3,0.2.")
    ] = None,
    examination: Annotated[
        str | None, typer.Option(help="Probability that each position is examined (pbm).")
    ] = None,
    satisfaction: Annotated[
        str | None, typer.Option(help="Probability that a click at each position satisfies (dcm).")
    ] = None,
    position_bias: Annotated[
        str | None, typer.Option(help="Prominence of each position (mnl).")
    ] = None,
    item_satisfaction: Annotated[
        str | None, typer.Option(help="Probability that a click on each item satisfies (dbn).")
    ] = None,
    continuation: Annotated[
        float | None, typer.Option(help="Probability that an unsatisfied user continues (dbn).")
    ] = None,
    n_positions: Annotated[
        int | None, typer.Option(help="Number of positions (models without position effects).")
    ] = None,
    model_file: Annotated[
        Path | None, typer.Option(help="JSON or TOML file with 'model' and its parameters.")
    ] = None,
    horizon: Annotated[float, typer.Option(help="Number of rounds.")] = 1e4,
    runs: Annotated[float, typer.Option(help="Number of independent runs.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    delay: Annotated[int, typer.Option(help="Number of rounds until feedback arrives.")] = 0,
    batch: Annotated[
        int, typer.Option(help="Number of rounds whose feedback arrives together.")
    ] = 1,
    allow_mismatch: Annotated[
        bool, typer.Option(help="Also run policies whose assumptions the click model breaks.")
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the regret to this file (png, pdf, svg), and make its folder."),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Save all results to this .npz file, and make its folder.")
    ] = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Simulate policies on the same users and print the regret of each.

    Without options, every policy that applies is run on a small position-based example.
    """
    from clickrank._core.validate import check_int
    from clickrank.simulation import compare as run

    check_picture(plot)
    rounds = check_int("compare", "horizon", horizon, 1)
    count = check_int("compare", "runs", runs, 1)
    parameters = {
        "attraction": _numbers("attraction", attraction),
        "examination": _numbers("examination", examination),
        "satisfaction": _numbers("satisfaction", satisfaction),
        "position_bias": _numbers("position_bias", position_bias),
        "item_satisfaction": _numbers("item_satisfaction", item_satisfaction),
        "continuation": continuation,
        "n_positions": n_positions,
    }
    clicks = _model(model, model_file, parameters)
    chosen, skipped = _choose(policies, clicks, rounds, allow_mismatch)
    if plot is not None:
        require("compare needs", "plots")  # now, not after the simulation
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
        print_json(
            {
                "model": repr(clicks),
                "horizon": rounds,
                "runs": count,
                "seed": seed,
                "policies": [row._asdict() for row in found.summary()],
                "skipped": skipped,
                "interrupted": interrupted,
            }
        )
    else:
        console = terminal()
        about = f"{clicks!r}, {rounds:,} rounds, {count:,} runs, seed {seed}"
        console.print(about, highlight=False)
        console.print(found.summary().table())
        for name, reason in skipped.items():
            print_text(console, f"without {name}: {reason}")
    if interrupted:
        typer.echo("clickrank: interrupted; the table shows the finished runs.", err=True)
        raise typer.Exit(INTERRUPTED)


def _model(name: str, file: Path | None, parameters: dict[str, Any]) -> ClickModel:
    """Return the click model that the options describe; options that were not given are None."""
    from clickrank.experiments.figure_models import build_model, load_model, parameters_of

    given = {key: value for key, value in parameters.items() if value is not None}
    if file is not None:
        if given:
            raise invalid("compare", f"--model-file must not be combined with {_options(given)}")
        try:
            return load_model(file)
        except (InvalidValue, UnknownName) as error:
            raise file_error(file, error) from error
    known = parameters_of(name)
    strange = [key for key in given if key not in known]
    if strange:
        rule = f"{_options(strange)} must not be given for the click model '{name}', which has"
        raise invalid("compare", f"{rule} {_options(known)}")
    if name == DEFAULT_CLICK_MODEL and not given:
        given = EXAMPLE
    for key, required in known.items():
        if required and key not in parameters:
            hint = "Describe the model in a file and pass it with --model-file."
            raise invalid(name, f"{key} must be given, and has no option", hint=hint)
    return build_model(name, given)


def _options(names: Iterable[str]) -> str:
    """Return options in a list.

    >>> _options(["attraction", "n_positions"])
    '--attraction and --n-positions'
    """
    return " and ".join("--" + name.replace("_", "-") for name in names)


def _choose(
    text: str, model: ClickModel, horizon: int, allow_mismatch: bool
) -> tuple[dict[str, Policy], dict[str, str]]:
    """Return the chosen policies; with "all", also why each of the others does not apply."""
    from clickrank.policies import POLICIES, policy
    from clickrank.simulation.simulate_runs import check_applies

    everything = text.strip() == "all"
    names = list(POLICIES) if everything else comma_separated(text)
    if not names:
        raise invalid("compare", "--policies must name a policy, or be 'all'", text)
    chosen: dict[str, Policy] = {}
    skipped: dict[str, str] = {}
    for name in names:
        try:
            made = policy(name, model=model, horizon=horizon)
            check_applies(made, model, allow_mismatch=allow_mismatch)
        except InvalidValue as error:
            if not everything:
                raise
            skipped[name] = reason_of(error)
        else:
            chosen[name] = made
    if not chosen:
        raise invalid("compare", f"no policy applies to the click model '{model.name}'")
    return chosen, skipped


def _numbers(name: str, text: str | None) -> list[float] | None:
    """Read comma-separated numbers.

    >>> _numbers("attraction", "0.4, 0.2")
    [0.4, 0.2]
    """
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise invalid("compare", f"{name} must be comma-separated numbers", text) from None
