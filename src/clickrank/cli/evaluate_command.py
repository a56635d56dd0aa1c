"""The command ``evaluate``, which estimates from a log how a policy would have done."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clickrank._core.defaults import DEFAULT_CLICK_MODEL
from clickrank._core.validate import check_choice, check_float, check_int
from clickrank.cli.log_commands import LogOptions, problems_shown, with_log_options
from clickrank.cli.shared_options import AsJson, comma_separated
from clickrank.cli.terminal import console as terminal
from clickrank.cli.terminal import print_json, print_text
from clickrank.errors import CannotEvaluate, invalid, unknown

if TYPE_CHECKING:
    from clickrank.evaluate import Evaluation, EvaluationSettings
    from clickrank.evaluate.evaluation import Wanted
    from clickrank.logs import Impressions, Log

#: Exit code if no estimator can answer.
CANNOT_TELL = 3
#: Number of queries to evaluate if none are named, as their lists are held in memory.
QUERIES = 10


@with_log_options
def evaluate(
    options: LogOptions,
    policy: Annotated[
        str | None,
        typer.Option(
            help="Name of a policy. It learns from the first part of the log, see --split."
        ),
    ] = None,
    ranking: Annotated[
        str | None, typer.Option(help="A fixed ranking instead: comma-separated items.")
    ] = None,
    estimator: Annotated[
        str,
        typer.Option(help="Comma-separated names of estimators, or 'all' (except document-ips)."),
    ] = "all",
    query: Annotated[
        list[str] | None,
        typer.Option(help="A query of the log; may be repeated.", show_default="see --top-queries"),
    ] = None,
    propensities: Annotated[
        str | None,
        typer.Option(
            help="Probabilities of the logged rankings: 'logged'; 'estimated' from their "
            "frequencies in the log; or 'uniform' if all were equally likely.",
            show_default="logged if the log has them, else estimated",
        ),
    ] = None,
    reward: Annotated[
        str, typer.Option(help="What to count: 'clicks', or 'any-click' per impression.")
    ] = "clicks",
    split: Annotated[
        float, typer.Option(help="Share of the log that the policy learns from.", min=0.0)
    ] = 0.5,
    clip: Annotated[
        float | None, typer.Option(help="Largest importance weight; larger ones are clipped.")
    ] = None,
    model: Annotated[
        str, typer.Option(help="Click model of the direct and doubly robust estimators.")
    ] = DEFAULT_CLICK_MODEL,
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    top_queries: Annotated[
        int | None,
        typer.Option(
            help="Number of most frequent queries to keep.",
            min=1,
            show_default=f"{QUERIES}, or those of --query",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate what a policy or a fixed ranking would have earned, from the log of another.

    The exit code is 3 if the log cannot answer; the output says why.
    """
    if (policy is None) == (ranking is None):
        raise invalid("evaluate", "either --policy or --ranking must be given, and not both")
    check_choice("evaluate", "reward", reward, ("clicks", "any-click"))
    if propensities is not None:
        sources = ("logged", "estimated", "uniform")
        check_choice("evaluate", "propensities", propensities, sources)
    from clickrank.evaluate import evaluate as run
    from clickrank.evaluate.evaluation import ALL, EvaluationSettings, check_estimator
    from clickrank.fit import FITS
    from clickrank.policies import POLICIES

    check_float("evaluate", "level", level, 0.5, 1.0 - 1e-9)
    check_float("evaluate", "split", split, 0.0, 1.0 - 1e-9)
    check_int("evaluate", "seed", seed, 0)
    if model not in FITS:
        raise unknown("click model", model, FITS)
    if policy is not None:
        POLICIES[policy]  # raises if there is no such policy
    names = ALL if estimator.strip() == "all" else tuple(comma_separated(estimator))
    for name in names:
        check_estimator(name)
    options.check("evaluate")
    with options.open() as opened:
        every = _lists(opened, query or None, {**options.filters(), "top_queries": top_queries})
    width = max(one.rankings.shape[1] for one in every)
    logs = [one for one in every if one.rankings.shape[1] == width]
    if len(logs) < len(every):
        typer.echo(
            f"clickrank: left out {len(every) - len(logs)} queries with fewer than {width} "
            "positions; use --positions to keep only the first positions of all queries.",
            err=True,
        )
    found = propensities or _propensities(logs)
    settings = EvaluationSettings(
        propensities=found,  # type: ignore[arg-type]
        reward="clicks" if reward == "clicks" else "any click",
        level=level,
        seed=seed,
        clip=clip,
        split=split,
        model=model,
    )
    try:
        targets = _targets(logs, policy, ranking, split)
        result = run(logs, targets, names, settings)
    except CannotEvaluate as reason:
        if as_json:
            print_json({"refused": str(reason)})
        else:
            typer.echo(f"The log cannot tell. {reason}")
        raise typer.Exit(CANNOT_TELL) from None
    about = f"{policy or ranking}, {len(logs)} {'query' if len(logs) == 1 else 'queries'}"
    if as_json:
        print_json({"target": policy or ranking, "propensities": found, **result.to_dict()})
    else:
        _show(about, result, settings)
    if not result.estimates:
        raise typer.Exit(CANNOT_TELL)


def _lists(opened: Log, query: list[str] | None, filters: dict[str, Any]) -> list[Impressions]:
    """Return the lists of each query, and report on the error stream what is left out."""
    if query is None and filters["top_queries"] is None:
        total = opened.n_queries(**filters)
        if total > QUERIES:
            filters = {**filters, "top_queries": QUERIES}
            typer.echo(
                f"clickrank: evaluating the {QUERIES} most frequent of {total:,} queries; use "
                "--top-queries or --query to choose others.",
                err=True,
            )
    found = [one for _, one in opened.impressions_by_query(query, **filters) if len(one)]
    if not found:
        with problems_shown():
            opened.counts(**filters)  # raises if no row or no list can be used
        raise invalid("evaluate", "the log must have a list without gaps or repeated items")
    problems = opened.report_of(**filters).problems.values()
    if problems:
        kinds = ", ".join(f"{problem.kind} ({problem.times})" for problem in problems)
        typer.echo(
            f"clickrank: rows left out or corrected: {kinds}; see examples with clickrank read.",
            err=True,
        )
    return found


def _propensities(logs: list[Impressions]) -> str:
    known = any(o.propensity is not None or o.prefix_propensity is not None for o in logs)
    return "logged" if known else "estimated"


def _targets(
    logs: list[Impressions], policy: str | None, ranking: str | None, split: float
) -> list[Wanted]:
    """Return the fixed ranking or the policy to evaluate on each query."""
    from clickrank.evaluate import fixed_list
    from clickrank.evaluate.evaluation import fitted_policy

    if ranking is not None:
        names = comma_separated(ranking)
        for one in logs:
            _check_list(names, one, len(logs))
        return [fixed_list(names, one.items) for one in logs]
    assert policy is not None
    return [fitted_policy(policy, one, split) for one in logs]


def _check_list(names: list[str], log: Impressions, n_queries: int) -> None:
    """Raise an error if a fixed ranking does not fit the log of a query."""
    width = log.rankings.shape[1]
    if len(names) != width:
        rule = f"--ranking must name {width} items, the length of the lists in the log"
        hint = f"Or pass --positions {len(names)}." if len(names) < width else ""
        raise invalid("evaluate", rule, len(names), hint)
    if len(set(names)) < len(names):
        raise invalid("evaluate", "--ranking must name each item once", ",".join(names))
    known = {str(name) for name in log.items.tolist()}
    strange = next((name for name in names if name not in known), None)
    if strange is not None and n_queries > 1:
        rule = f"--ranking must name items that were shown for each of the {n_queries} queries"
        raise invalid("evaluate", rule, strange, "Or choose a query with --query.")


def _show(about: str, result: Evaluation, settings: EvaluationSettings) -> None:
    from clickrank.reports.text_tables import TextTable, each_once

    console = terminal()
    what = "clicks per list" if settings.reward == "clicks" else "lists with a click"
    learned = f", after learning from {result.learned_from:,}" if result.learned_from else ""
    caption = (
        f"{about}: {what} over {result.n:,} impressions{learned}; propensities "
        f"{settings.propensities}"
    )
    interval = f"{100 * settings.level:g} % interval"
    heads = ("estimator", "value", interval, "interval at any n", "effective n")
    logged = f"{result.logged:.4g}", _text(result.logged_interval)
    rows = [("the log itself", *logged, "", str(result.n))]
    for name, found in result.estimates.items():
        size = "" if math.isnan(found.effective_size) else f"{found.effective_size:,.0f}"
        value = f"{found.value:.4g}", _text(found.interval)
        rows.append((name, *value, _text(found.bernstein), size))
    print_text(console, caption)
    console.print(TextTable(caption, heads, rows).rich())
    notes = {name: found.notes for name, found in result.estimates.items()}
    reasons = {name: [reason] for name, reason in result.refused.items()}
    said = (*result.verdict, *each_once(notes), *(f"without {s}" for s in each_once(reasons)))
    for sentence in said:
        print_text(console, sentence)


def _text(interval: Any) -> str:
    return "" if interval is None else f"{interval.low:.4g} to {interval.high:.4g}"
