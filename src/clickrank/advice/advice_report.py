"""The reports of `diagnose` and `whatif`: one HTML page each that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import numpy as np

from clickrank.advice.advice_tables import (
    Grid,
    earning_grid,
    effect_grid,
    perplexity_grid,
    query_grid,
    remarks,
    score_grid,
    without,
)
from clickrank.advice.diagnosis import Diagnosis
from clickrank.advice.play import Earning
from clickrank.advice.whatif_analysis import Outcome, WhatIf
from clickrank.experiments.markup import (
    definitions,
    drawing,
    escaped,
    listed,
    numbers_table,
    style,
    versions,
)
from clickrank.plots import Curve, Reference, earned_figure, position_figure, svg
from clickrank.policies import POLICIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE = Path(__file__).parent
#: How many policies a figure shows at most, besides uniform lists.
MOST_CURVES = 8


def write_page(path: Path, text: str) -> Path:
    """Write a page, into a folder that is made if it is not there; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def diagnosis_page(found: Diagnosis, log: str, command: str) -> str:
    """Return the page of `diagnose`."""
    parts = [
        _section("What the log says", [_said(found.verdict())]),
        _diagnosis_section(found),
        _section("What the log cannot tell", [listed(found.cannot_tell or ["Nothing found."])]),
    ]
    return _page("How people click", _size(found, log), parts, command)


def whatif_page(found: WhatIf, log: str, command: str) -> str:
    """Return the page of `whatif`, the recommendation first."""
    parts = [_section("What to do", [_said(found.recommendation())])]
    if found.interrupted:
        note = '<p class="warning">Incomplete: it was interrupted. Run the command again.</p>'
        parts.insert(0, note)
    parts += [_outcome_section(found, outcome, i) for i, outcome in enumerate(found.outcomes)]
    parts.append(_section("What this assumes", [listed(found.assumptions())]))
    cannot = [*found.diagnosis.cannot_tell, *_left_out(found.left_out)]
    parts.append(_section("What the log cannot tell", [listed(cannot or ["Nothing found."])]))
    parts.append(_diagnosis_section(found.diagnosis))
    return _page("What would have been earned", _size(found.diagnosis, log), parts, command)


def _page(title: str, source: str, sections: Iterable[str], command: str) -> str:
    frame = Template((HERE / "report.html").read_text(encoding="utf-8"))
    return frame.substitute(
        title=escaped(title),
        style=style(),
        source=escaped(source),
        sections="\n".join(sections),
        facts=definitions({"command": command, **versions()}),
    )


def _size(found: Diagnosis, log: str) -> str:
    counts = found.counts
    return (
        f"{log}: {counts.n_impressions:,} {found.held.row}s, {counts.queries.size:,} queries, "
        f"{counts.n_pairs:,} pairs of query and item, {counts.n_positions} positions."
    )


def _left_out(reasons: dict[str, str]) -> list[str]:
    return [f"Query {name!r} was not played on: {reason}" for name, reason in reasons.items()]


def _section(title: str, parts: Iterable[str]) -> str:
    return f"<section><h2>{escaped(title)}</h2>{''.join(parts)}</section>"


def _said(sentences: list[str]) -> str:
    """Return what matters most, set apart."""
    inner = "".join(f"<p>{escaped(sentence)}</p>" for sentence in sentences)
    return f'<article class="claim holds">{inner}</article>'


def _table(grid: Grid) -> str:
    return numbers_table(grid.caption, grid.heads, [(escaped(r[0]), r[1:]) for r in grid.rows])


def _outcome_section(found: WhatIf, outcome: Outcome, number: int) -> str:
    parts = []
    if outcome.played.earnings:
        names = ", ".join(e.name for e in drawn(outcome))
        label = f"{outcome.unit} a list over time: {names} against today's order"
        figure = whatif_figure(outcome, found.plan.horizon)
        parts.append(drawing(svg(figure, f"whatif/{number}"), label))
    parts += [_table(earning_grid(found, outcome)), _table(query_grid(found, outcome))]
    parts.append(listed(remarks(outcome)))
    return _section(f"Earned where people click as {outcome.group.fit} says", parts)


def _diagnosis_section(found: Diagnosis) -> str:
    parts = [_said(found.verdict()), _table(score_grid(found))]
    label = "Perplexity by position, below that of positions alone: more is better"
    parts.append(drawing(svg(perplexity_figure(found), "perplexity"), label))
    parts.append(_table(perplexity_grid(found)))
    if found.effects:
        figure = effect_figure(found)
        parts.append(drawing(svg(figure, "effects"), "What positions do"))
        parts.append(_table(effect_grid(found)))
    if found.left_out:
        parts.append(listed(without(found.left_out)))
    return _section("Which click model fits", parts)


def drawn(outcome: Outcome) -> tuple[Earning, ...]:
    """Return the policies worth drawing: the best, and uniform lists to compare with."""
    earnings = outcome.played.earnings
    rest = tuple(e for e in earnings[MOST_CURVES:] if POLICIES[e.name].is_uniform)
    return earnings[:MOST_CURVES] + rest


def whatif_figure(outcome: Outcome, horizon: int) -> Figure:
    """Draw what policies have earned a list until each round."""
    today = outcome.group.today
    curves = []
    for e in drawn(outcome):
        parts = [today + part / e.checkpoints for part in (e.curve, e.low, e.high)]
        curves.append(Curve(e.name, e.checkpoints, *parts))
    ends = np.array([1.0, float(horizon)])
    best = today + outcome.group.headroom.mean
    references = [
        Reference("today's order", ends, np.full(2, today)),
        Reference("best list", ends, np.full(2, best)),
    ]
    return earned_figure(curves, references, unit=outcome.unit)


def perplexity_figure(found: Diagnosis) -> Figure:
    """Draw by how much each model's perplexity is below that of positions alone, at each position.

    Perplexities themselves fall with the click rate, which would be all that is seen.
    """
    x = np.arange(1, found.counts.n_positions + 1)
    nan = np.full(x.size, np.nan)
    alone = found.baseline.perplexity
    return position_figure(
        [Curve(s.name, x, alone - s.perplexity, nan, nan) for s in found.ranking.scores],
        ylabel="perplexity below that of positions alone",
    )


def effect_figure(found: Diagnosis) -> Figure:
    """Draw what positions do by each model."""
    kinds = dict.fromkeys((e.model, e.parameter) for e in found.effects)
    curves = []
    for model, parameter in kinds:
        mine = [e for e in found.effects if (e.model, e.parameter) == (model, parameter)]
        columns = np.array([(e.position, e.value, e.low, e.high) for e in mine], dtype=np.float64)
        label = f"{model}: {parameter.replace('_', ' ')}"
        curves.append(Curve(label, *columns.T))
    return position_figure(curves, ylabel="probability", from_zero=True)
