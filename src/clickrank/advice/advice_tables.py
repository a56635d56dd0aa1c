"""Tables of text of `diagnose` and `whatif`, for the terminal and for their pages."""

from __future__ import annotations

import math
from collections.abc import Sequence

from clickrank.advice.diagnosis import Diagnosis
from clickrank.advice.held_out_scores import Score
from clickrank.advice.whatif_analysis import GroupOutcome, WhatIf
from clickrank.reports.text_tables import TextTable, each_once


def score_table(found: Diagnosis) -> TextTable:
    """Return the log-likelihood of each model, best first, and how far it is behind the best."""
    row = found.held.row
    rows = []
    for s in (*found.ranking.scores, found.baseline):
        gap = found.ranking.behind.get(s.name)
        behind = "–" if gap is None else f"{gap.mean:.4f} ({gap.low:.4f} to {gap.high:.4f})"
        word = "not distinguishable" if s.name in found.ranking.equals else "behind"
        if s.name in found.ranking.ruled_out:
            word = "ruled out"
        elif s.name == found.winner:
            word = "chosen" if found.tells_positions else "simplest"
        elif s is found.baseline:
            word = ""
        rows.append(
            (
                s.name,
                f"{s.log_likelihood.mean:.4f}",
                behind,
                f"{s.overall_perplexity:.4f}",
                f"{100 * s.impossible:.2g} %" if s.impossible else "–",
                word,
            )
        )
    heads = (
        "model",
        f"log-likelihood per {row}",
        "behind the best",
        "perplexity",
        "impossible",
        "",
    )
    return TextTable(f"Scores on {found.held.n:,} held-out {row}s", heads, rows)


def perplexity_table(found: Diagnosis) -> TextTable:
    """Return the perplexity at each position."""
    scores: Sequence[Score] = (*found.ranking.scores, found.baseline)
    positions = range(found.counts.n_positions)
    rows = [(s.name, *(_number(float(s.perplexity[k])) for k in positions)) for s in scores]
    heads = ("model", *(str(k + 1) for k in positions))
    return TextTable("Perplexity by position (1 is perfect, 2 is a coin flip)", heads, rows)


def effect_table(found: Diagnosis) -> TextTable:
    """Return the position effects with their intervals."""
    rows: dict[tuple[str, str], dict[int, str]] = {}
    for effect in found.effects:
        text = "unknown" if math.isnan(effect.value) else f"{effect.value:.3f}"
        if effect.high > effect.low:
            text += f" ({effect.low:.3f} to {effect.high:.3f})"
        elif math.isnan(effect.low) and not math.isnan(effect.value):
            text += " (no interval)"
        rows.setdefault((effect.model, effect.parameter), {})[effect.position] = text
    # One row per position: the intervals of ten positions do not fit in one row.
    last = max((effect.position for effect in found.effects), default=0)
    heads = ("position", *(f"{model}: {name.replace('_', ' ')}" for model, name in rows))
    lines = [(str(k), *(each.get(k, "") for each in rows.values())) for k in range(1, last + 1)]
    return TextTable("Position effects, with 95 % intervals", heads, lines)


def earning_table(found: WhatIf, outcome: GroupOutcome) -> TextTable:
    """Return the reward of each policy, the best first."""
    group, unit, horizon = outcome.group, outcome.unit, found.plan.horizon
    headroom = group.headroom
    best = (outcome.amount(group.today + headroom.mean), *_gains(outcome, headroom, horizon))
    rows = [("best list of the fit", *best, "–", "–", "the fit")]
    for e in outcome.played.earnings:
        overtakes = "never" if e.overtakes is None else f"{e.overtakes:,}"
        if e.overtakes == 1:
            overtakes = "at once"
        name = e.name + (" *" if e.player.doubts else "")
        mine = (outcome.amount(group.today + e.gain.mean), *_gains(outcome, e.gain, horizon))
        given = ", ".join(e.player.given) or "–"
        rows.append((name, *mine, _count(e.cost), overtakes, given))
    rows.append(("today's order", outcome.amount(group.today), "0", "", "0", "–", "–", "–"))
    many = len(group.queries)
    caption = (
        f"{group.fit}, {many} {'query' if many == 1 else 'queries'}: {unit} per list over "
        f"{horizon:,} lists of each; counted in the log: {outcome.amount(group.clicks)} clicks"
    )
    heads = (
        "policy", f"{unit} per list", "above today", "%", "total per query", "cost of learning",
        "overtakes after", "given",
    )  # fmt: skip
    return TextTable(caption, heads, rows)


def _gains(
    outcome: GroupOutcome, gain: tuple[float, float, float], horizon: int
) -> tuple[str, ...]:
    mean, low, high = gain
    return (
        f"{outcome.amount(mean, '+')} ({outcome.amount(low, '+')} to {outcome.amount(high, '+')})",
        f"{outcome.percent(mean):+.1f}",
        f"{mean * horizon:+,.0f}",
    )


def query_table(found: WhatIf, outcome: GroupOutcome) -> TextTable:
    """Return the facts of each query, and the policy that earns most there."""
    rows = []
    for q in outcome.group.queries:
        by = {e.name: e.by_query[q.name] for e in outcome.played.earnings}
        best = max(by, key=lambda name: by[name]) if by else "–"
        rows.append(
            (
                q.name,
                f"{q.lists:,}",
                f"{q.model.n_items} × {q.model.n_positions}",
                outcome.amount(q.today.clicks),
                outcome.amount(q.today.value),
                outcome.amount(q.today.value + q.headroom),
                f"{q.seen} of {q.model.n_positions}",
                f"{q.optimism:.2g}",
                f"{q.error:.2g}",
                f"{best} {by[best]:+.3g}" if by else "–",
            )
        )
    heads = (
        "query", f"{found.diagnosis.held.row}s", "items × positions", "clicks counted",
        "today, fitted", "best list", "its items seen there", "lowered by", "error", "best policy",
    )  # fmt: skip
    return TextTable(f"Queries played on, with the click model {outcome.group.fit}", heads, rows)


def remarks(outcome: GroupOutcome) -> list[str]:
    """Return remarks on the tables: violated assumptions, and policies that were not played."""
    said = [f"* {e.name}: {e.player.doubts}." for e in outcome.played.earnings if e.player.doubts]
    if outcome.played.unfinished:
        names = ", ".join(outcome.played.unfinished)
        said.append(f"interrupted before {names}; run the same command again to play the rest.")
    return said + without(outcome.skipped)


def without(reasons: dict[str, str]) -> list[str]:
    """Return what was left out and why, each reason once.

    >>> without({"dcm": "fit_dcm: no lists", "dbn": "fit_dbn: no lists"})
    ['without dcm, dbn: no lists']
    """
    bare = {name: [reason.removeprefix(f"fit_{name}: ")] for name, reason in reasons.items()}
    return [f"without {sentence}" for sentence in each_once(bare)]


def _number(value: float, digits: int = 4) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def _count(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.2g}"
