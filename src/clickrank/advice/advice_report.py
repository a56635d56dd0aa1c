"""Pages of `diagnose` and `whatif`: one HTML page each, which needs no other file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from clickrank.advice.advice_figures import drawn, effect_figure, perplexity_figure, whatif_figure
from clickrank.advice.advice_tables import (
    earning_table,
    effect_table,
    perplexity_table,
    query_table,
    remarks,
    score_table,
    without,
)
from clickrank.advice.diagnosis import Diagnosis
from clickrank.advice.whatif_analysis import GroupOutcome, WhatIf
from clickrank.reports.html_pages import Drawing, drawing_of, render_page, versions
from clickrank.reports.text_tables import TextTable


class AdviceSection(NamedTuple):
    """A part of a page: an answer set apart, tables with their drawings, a list of sentences."""

    title: str
    answer: Sequence[str] = ()
    findings: Sequence[tuple[Drawing | None, TextTable]] = ()
    sentences: Sequence[str] | None = None


def diagnosis_page(found: Diagnosis, log: str, command: str) -> str:
    """Return the page of `diagnose`."""
    sections = [
        AdviceSection("What the log shows", found.verdict()),
        _diagnosis_section(found),
        _unknown_section(found.cannot_tell),
    ]
    return _page("How people click", _size(found, log), sections, command)


def whatif_page(found: WhatIf, log: str, command: str) -> str:
    """Return the page of `whatif`, the recommendation first."""
    left_out = (f"Query {q!r} was not played on: {why}" for q, why in found.left_out.items())
    sections = [
        AdviceSection("What to do", found.recommendation()),
        *(_outcome_section(found, outcome, i) for i, outcome in enumerate(found.outcomes)),
        AdviceSection("What this assumes", sentences=found.assumptions()),
        _unknown_section([*found.diagnosis.cannot_tell, *left_out]),
        _diagnosis_section(found.diagnosis),
    ]
    title, size = "What each policy would have earned", _size(found.diagnosis, log)
    return _page(title, size, sections, command, found.interrupted)


def _page(
    title: str,
    source: str,
    sections: list[AdviceSection],
    command: str,
    interrupted: bool = False,
) -> str:
    return render_page(
        "advice.html",
        title=title,
        source=source,
        sections=sections,
        interrupted=interrupted,
        facts={"command": command, **versions()},
    )


def _size(found: Diagnosis, log: str) -> str:
    counts = found.counts
    return (
        f"{log}: {counts.n_impressions:,} {found.held.row}s, {counts.queries.size:,} queries, "
        f"{counts.n_pairs:,} pairs of query and item, {counts.n_positions} positions."
    )


def _unknown_section(sentences: Sequence[str]) -> AdviceSection:
    return AdviceSection("What the log cannot show", sentences=sentences or ["Nothing found."])


def _outcome_section(found: WhatIf, outcome: GroupOutcome, number: int) -> AdviceSection:
    drawing = None
    if outcome.played.earnings:
        names = ", ".join(e.name for e in drawn(outcome))
        label = f"{outcome.unit} per list over time: {names} against today's order"
        figure = whatif_figure(outcome, found.plan.horizon)
        drawing = drawing_of(figure, f"whatif/{number}", label)
    return AdviceSection(
        f"Rewards on queries with the click model {outcome.group.fit}",
        findings=[
            (drawing, earning_table(found, outcome)),
            (None, query_table(found, outcome)),
        ],
        sentences=remarks(outcome),
    )


def _diagnosis_section(found: Diagnosis) -> AdviceSection:
    label = "Perplexity by position, below that of positions alone: more is better"
    findings = [
        (None, score_table(found)),
        (drawing_of(perplexity_figure(found), "perplexity", label), perplexity_table(found)),
    ]
    if found.effects:
        drawing = drawing_of(effect_figure(found), "effects", "Position effects")
        findings.append((drawing, effect_table(found)))
    left_out = without(found.left_out) if found.left_out else None
    return AdviceSection("Which click model fits", found.verdict(), findings, left_out)
