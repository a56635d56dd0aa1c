"""Pages of the papers, ``docs/papers``: made from the shipped verdicts and measured curves.

`page_texts` makes the Markdown from what is shipped, and `write_paper_pages` draws the figures too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from clickrank.experiments.figure_spec import Experiment
from clickrank.experiments.measured_curves import (
    MEASURED,
    MeasuredCurve,
    MeasuredFigure,
    load_measured,
    measured_figure,
    write_measured,
)
from clickrank.experiments.paper_files import list_experiments
from clickrank.experiments.paper_summaries import (
    ClaimSummary,
    PaperSummary,
    interval_words,
    summarise,
)
from clickrank.experiments.printed_numbers import HeadlineTable, Printed, TablePart, load_printed
from clickrank.experiments.reproduction_figures import main_figure
from clickrank.experiments.runner import ExperimentOutcome
from clickrank.experiments.shipped_verdicts import ShippedVerdict, load_verdicts
from clickrank.plots import svg_file
from clickrank.reports.html_pages import write_page
from clickrank.reports.markdown_pages import render_markdown
from clickrank.reports.text_tables import TextTable
from clickrank.simulation.comparison import regret_text

FRONT = "README.md"
MISSING = "not given in the text"
NOT_YET = "not played yet"


class PageSection(NamedTuple):
    """One experiment as its paper's page shows it; ``picture`` is a link, or empty."""

    name: str
    title: str
    picture: str
    label: str
    timed: bool
    curves: TextTable | None
    stopped: bool
    claims: TextTable | None
    reasons: list[tuple[str, str]]
    notes: list[tuple[str, str]]
    differences: list[str]


def write_paper_pages(folder: Path, outcomes: Iterable[ExperimentOutcome]) -> None:
    """Draw the figures of judged experiments, and write all pages and the measured curves.

    Experiments that were not judged, since data for them is missing, keep what was written before.
    """
    measured = load_measured() if MEASURED.exists() else {}
    for outcome in outcomes:
        found, _ = main_figure(outcome)
        name = outcome.experiment.name
        measured[name] = measured_figure(outcome, "" if found is None else found.label)
        if found is not None:
            write_page(folder / f"{name}.svg", svg_file(found.figure, found.name))
    write_measured(measured.values())
    for page, text in page_texts(load_verdicts(), measured).items():
        write_page(folder / page, text)


def page_texts(
    verdicts: Iterable[ShippedVerdict], measured: Mapping[str, MeasuredFigure]
) -> dict[str, str]:
    """Return the text of each page by its file name: one per paper, and the front page."""
    experiments = list_experiments()
    # Whether results are stale depends on the code at hand, and not on what is shipped.
    shipped = [msgspec.structs.replace(verdict, stale=False) for verdict in verdicts]
    summaries = summarise(shipped, experiments)
    printed = {summary.paper_id: load_printed(summary.paper_id) for summary in summaries}
    pages = {FRONT: _front_page(summaries, printed)}
    for summary in summaries:
        own = [e for e in experiments if e.paper_id == summary.paper_id]
        figures = {e.figure_id: measured.get(e.name) for e in own}
        tables = printed[summary.paper_id].tables
        pages[f"{summary.paper_id}.md"] = render_markdown(
            "paper.md",
            summary=summary,
            printed=printed[summary.paper_id],
            tables=[(table, headline_rows(table, own, figures)) for table in tables],
            sections=[_section(e, figures[e.figure_id], summary) for e in own],
            links=lambda claims: _links(claims, ""),
        )
    return pages


def _front_page(summaries: list[PaperSummary], printed: Mapping[str, Printed]) -> str:
    rows = []
    for summary in summaries:
        paper, counts = summary.paper, summary.counts
        link = f"[{paper.authors} ({paper.year})]({summary.paper_id}.md)"
        stated = f"{summary.stated.holds} of {sum(summary.stated)}"
        rows.append((link, paper.title, *(str(n) for n in counts), str(sum(counts)), stated))
    totals = [sum(summary.counts[i] for summary in summaries) for i in range(3)]
    stated = f"{sum(s.stated.holds for s in summaries)} of {sum(sum(s.stated) for s in summaries)}"
    rows.append(("all", "", *(str(n) for n in totals), str(sum(totals)), stated))
    heads = ("paper", "title", "hold", "fail", "undecided", "claims", "hold, of those in the text")
    return render_markdown(
        "papers.md",
        summaries=summaries,
        counts=TextTable("", heads, rows),
        headlines=[
            (s, "; ".join(table.title for table in printed[s.paper_id].tables) + ".")
            for s in summaries
        ],
        links=lambda summary, claims: _links(claims, f"{summary.paper_id}.md"),
    )


def _links(claims: Iterable[ClaimSummary], page: str) -> str:
    """Return links to the figures of claims."""
    names = dict.fromkeys(claim.experiment.figure_id for claim in claims)
    return ", ".join(f"[{name}]({page}#{name})" for name in names)


def headline_rows(
    table: HeadlineTable,
    experiments: list[Experiment],
    figures: Mapping[str, MeasuredFigure | None],
) -> TextTable:
    """Return the numbers that the paper prints next to those measured here."""
    by_id = {experiment.figure_id: experiment for experiment in experiments}
    rows: list[tuple[str, ...]] = []
    for part in table.parts:
        found = figures[part.figure]
        curves = {} if found is None else {curve.curve: curve for curve in found.curves}
        rows += [
            (
                part.label,
                name,
                part.printed.get(name, part.printed_for_all or MISSING),
                *_measured(table.quantity, curves.get(name)),
            )
            for name in _curves_of(part, by_id[part.figure])
        ]
    heads = ("", "policy", "paper", "here", "runs", "rounds")
    return TextTable(table.title, heads, rows)


def _curves_of(part: TablePart, experiment: Experiment) -> list[str]:
    """Return the curves of a part of a table: those given, or all that the paper's figure has."""
    known = experiment.figure.curves()
    return part.curves or [spec.curve for spec in known if not spec.beyond]


def _measured(quantity: str, found: MeasuredCurve | None) -> tuple[str, str, str]:
    """Return a measured number with its interval, its runs and its rounds."""
    if found is None:
        return NOT_YET, "–", "–"
    if quantity == "milliseconds per round":
        number = f"{1e3 * found.seconds / found.rounds:.3g}"
    elif quantity == "seconds per run":
        number = f"{found.seconds:.3g}"
    elif quantity == "bound over regret":
        number = _looseness(found)
    else:
        number = interval_words(found.mean, found.low, found.high)
    return number, f"{found.runs:,}", f"{found.rounds:,}"


def _looseness(found: MeasuredCurve) -> str:
    """Return the upper bound divided by the regret."""
    if found.bound is None:
        return "no bound"
    ends = [None if x is None or x <= 0 else found.bound / x for x in (found.high, found.low)]
    return interval_words(found.bound / found.mean, *ends)


def _section(
    experiment: Experiment, measured: MeasuredFigure | None, summary: PaperSummary
) -> PageSection:
    claims = [claim for claim in summary.claims if claim.experiment.name == experiment.name]
    reasons: dict[str, list[str]] = {}
    notes: dict[str, list[str]] = {}
    for claim in claims:
        if claim.why:
            reasons.setdefault(claim.why, []).append(f"`{claim.claim.id}`")
        if claim.claim.note:
            notes.setdefault(claim.claim.note, []).append(f"`{claim.claim.id}`")
    drawn = measured is not None and bool(measured.drawing)
    return PageSection(
        name=experiment.figure_id,
        title=experiment.figure.title,
        picture=f"{experiment.name}.svg" if drawn else "",
        label=measured.drawing if measured is not None else "",
        timed=experiment.figure.timed,
        curves=_curves(measured) if measured is not None and measured.curves else None,
        stopped=measured is not None and len({curve.rounds for curve in measured.curves}) > 1,
        claims=_claims(claims, measured) if claims else None,
        reasons=[(text, " and ".join(names)) for text, names in reasons.items()],
        notes=[(text, " and ".join(names)) for text, names in notes.items()],
        differences=experiment.figure.differences,
    )


def _curves(measured: MeasuredFigure) -> TextTable:
    """Return the regret of each curve, the smallest first."""
    bounded = any(curve.bound is not None for curve in measured.curves)
    rows = [
        (
            curve.curve,
            interval_words(curve.mean, curve.low, curve.high),
            regret_text(curve.median),
            f"{curve.runs:,}",
            f"{curve.rounds:,}",
            *(["–" if curve.bound is None else regret_text(curve.bound)] * bounded),
        )
        for curve in sorted(measured.curves, key=lambda one: one.mean)
    ]
    heads = ["policy", "mean regret", "median", "runs", "rounds", *["upper bound"] * bounded]
    return TextTable("Regret at the end", heads, rows)


def _amount(one: ClaimSummary, measured: MeasuredFigure | None) -> str:
    """Return the runs and rounds of the curves that decide a claim; the fewest if they differ."""
    verdict = one.verdict
    if verdict.rounds is None or not verdict.runs:
        return "–"
    deciding = verdict.interval.curves if verdict.interval is not None else []
    curves = [] if measured is None else [c for c in measured.curves if c.curve in deciding]
    passes = min((curve.passes for curve in curves), default=verdict.passes)
    words = f"{passes:,} pass{'es' * (passes != 1)}, {verdict.rounds:,} rounds"
    return f"{min(c.runs for c in curves):,} runs, {words}" if curves else words


def _claims(claims: list[ClaimSummary], measured: MeasuredFigure | None) -> TextTable:
    rows = [
        (
            one.words,
            f"{one.claim.text} (`{one.claim.id}`)",
            one.verdict.source,
            one.deciding_number,
            one.allowed or "–",
            _amount(one, measured),
        )
        for one in claims
    ]
    heads = ("verdict", "claim", "source", "deciding number", "allowed", "runs")
    return TextTable("Claims", heads, rows)
