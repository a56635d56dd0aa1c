"""Report of `reproduce`: the page ``index.html``, and the verdicts as ``claims.json``.

The same results give the same page.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from clickrank.experiments.claim_kinds import AnyClaim, Windowed
from clickrank.experiments.claims import rounds_of
from clickrank.experiments.figure_spec import KnownPrior, PolicySpec
from clickrank.experiments.paper_summaries import PaperSummary, summarise
from clickrank.experiments.reproduction_figures import main_drawing, spread_drawing
from clickrank.experiments.runner import ExperimentOutcome
from clickrank.experiments.shipped_verdicts import (
    VERDICTS,
    load_verdicts,
)
from clickrank.experiments.tolerance_windows import WINDOWS
from clickrank.experiments.verdicts import ClaimVerdict
from clickrank.reports.html_pages import Drawing, render_page, versions, write_page
from clickrank.reports.text_tables import TextTable
from clickrank.simulation import Comparison
from clickrank.simulation.comparison import regret_text

_OUTCOMES = ("holds", "fails", "undecided", "history")


class ReportSection(NamedTuple):
    """One experiment as the page shows it."""

    anchor: str
    experiment: str
    name: str
    title: str
    sources: list[str]
    complete: bool
    drawing: Drawing | None
    drawing_notes: list[str]
    results: TextTable | None
    spread: Drawing | None
    verdicts: list[tuple[AnyClaim, ClaimVerdict]]
    differences: Sequence[str]
    facts: dict[str, str]

    def counts(self) -> list[tuple[ClaimVerdict, int]]:
        """Return how often each verdict was reached; those "so far" are counted separately."""
        return count_verdicts([verdict for _, verdict in self.verdicts])


def write_report(out: Path, outcomes: list[ExperimentOutcome], scale: str) -> Path:
    """Write ``index.html`` and ``claims.json`` into a folder; return the page's path."""
    path = write_page(out / "index.html", report_page(outcomes, scale, out))
    facts = msgspec.json.format(msgspec.json.encode(claim_facts(outcomes)), indent=2)
    (out / "claims.json").write_bytes(facts + b"\n")
    return path


def claim_facts(outcomes: Iterable[ExperimentOutcome]) -> list[dict[str, object]]:
    """Return each claim with its verdict, for programs: to compare two reports, for example."""
    return [
        {
            "experiment": outcome.experiment.name,
            "data": outcome.experiment.data,
            "claim": claim.id,
            "kind": claim.__struct_config__.tag,
            "text": claim.text,
            "source": claim.source,
            "verdict": verdict.words,
            "outcome": verdict.outcome,
            "so_far": verdict.so_far,
            "rounds": rounds_of(claim, outcome.evidence),
            "simulated_rounds": outcome.evidence.longest,
            "measured": verdict.measured,
            "window": claim.origin if isinstance(claim, Windowed) else None,
            "note": claim.note,
            "why": claim.why_in() if verdict.outcome == "fails" else "",
        }
        for outcome in outcomes
        for claim, verdict in outcome.verdicts
    ]


def report_page(outcomes: list[ExperimentOutcome], scale: str, out: Path) -> str:
    """Return the page."""
    shipped = load_verdicts() if VERDICTS.exists() else []
    summaries = summarise(shipped) if shipped else []
    return render_page(
        "reproduction.html",
        scale=scale,
        papers=_by_paper(summaries),
        summaries=summaries,
        shipped={(v.experiment, v.claim): v for v in shipped if scale != "decide"},
        windows=_windows(),
        sections=[_section(outcome, scale, out) for outcome in outcomes],
        versions=versions(),
    )


def _by_paper(summaries: list[PaperSummary]) -> TextTable:
    """Return how many claims of each paper hold, fail and are undecided in the shipped results."""
    rows = [
        (one.paper_id, *(str(count) for count in one.counts), str(sum(one.counts)))
        for one in summaries
    ]
    caption = (
        "Claims of the papers in the results that are shipped with clickrank, at the horizons of "
        "the papers; a claim about several panels counts once for each."
    )
    return TextTable(caption, ("paper", "hold", "fail", "undecided", "claims"), rows)


def _windows() -> TextTable:
    return TextTable(
        "A window gives the allowed multiples of the paper's number, or the allowed share of runs.",
        ("window", "words of the papers", "from", "to", "why"),
        [(n, w.words, f"{w.low:.3g}", f"{w.high:.4g}", w.reason) for n, w in WINDOWS.items()],
    )


def count_verdicts(verdicts: Iterable[ClaimVerdict]) -> list[tuple[ClaimVerdict, int]]:
    """Return how often each verdict was reached, those "so far" last.

    >>> count_verdicts(
    ...     [ClaimVerdict("fails", "1"), ClaimVerdict("holds", "2"), ClaimVerdict("fails", "3")]
    ... )
    [(ClaimVerdict(outcome='holds', ...), 1), (ClaimVerdict(outcome='fails', ...), 2)]
    """
    counts = Counter(verdict._replace(measured="", comparisons=()) for verdict in verdicts)
    return sorted(counts.items(), key=lambda it: (it[0].so_far, _OUTCOMES.index(it[0].outcome)))


def _section(outcome: ExperimentOutcome, scale: str, out: Path) -> ReportSection:
    experiment, figure = outcome.experiment, outcome.experiment.figure
    drawing, notes = main_drawing(outcome)
    return ReportSection(
        anchor=experiment.place.replace("/", "-"),
        experiment="" if experiment.data else experiment.name,
        name=experiment.name + (f" on {Path(experiment.data).name}" if experiment.data else ""),
        title=figure.title,
        sources=_sources(outcome),
        complete=outcome.complete,
        drawing=drawing,
        drawing_notes=notes,
        results=_results(outcome) if outcome.results else None,
        spread=spread_drawing(outcome),
        verdicts=outcome.verdicts,
        differences=figure.differences,
        facts=_facts(outcome, scale, out),
    )


def _sources(outcome: ExperimentOutcome) -> list[str]:
    """Return where the experiment comes from, and what it was played on if that is data."""
    experiment, figure, paper = (
        outcome.experiment,
        outcome.experiment.figure,
        outcome.experiment.paper,
    )
    spoken = experiment.figure_id.replace("-", " ").capitalize()
    found = [f"{paper.authors} ({paper.year}), {paper.title}. {spoken}."]
    if figure.judged is not None:
        place = figure.judged.path or "LightGBM’s example"
        found.append(f"Played on the {len(outcome.evidence.models):,} test queries of {place}.")
    elif experiment.data:
        found.append(f"Played on {experiment.data}.")
    return [*found, *outcome.notes]


def _facts(outcome: ExperimentOutcome, scale: str, out: Path) -> dict[str, str]:
    """Return how the results were made."""
    experiment, figure = outcome.experiment, outcome.experiment.figure
    command = ["clickrank", "reproduce", experiment.name, "--scale", scale, "--out", str(out)]
    if experiment.data:
        command += ["--data", experiment.data]
    policies = (f"{spec.curve}: {spec.name} {_given(spec)}".strip() for spec in figure.policies)
    return {
        "command": shlex.join(command),
        "scale": f"{scale}: {_amount(outcome, scale)}",
        "seed": str(figure.seed),
        "models": ", ".join(_described(outcome)),
        "policies": ", ".join(policies),
    }


def _given(spec: PolicySpec) -> str:
    """Return what a policy is given, in words."""
    given = [str(spec.settings)] if spec.settings else []
    if isinstance(spec.knows, KnownPrior):
        given.append(f"prior Beta({spec.knows.alpha:g}, {spec.knows.beta:g})")
    elif spec.knows != "nothing":
        given.append("the tempered prior" if spec.knows == "tempered" else f"the {spec.knows}")
    return " and ".join(given)


def _amount(outcome: ExperimentOutcome, name: str) -> str:
    scale, figure = outcome.scale, outcome.experiment.figure
    if name == "decide":
        size = outcome.evidence.pass_size
        return f"at most {scale.runs:,} passes of {size:,} runs, of {scale.horizon:,} rounds each"
    runs = f"{scale.runs:,} runs of {scale.horizon:,} rounds"
    if scale.runs == 1:
        runs = f"one run of {scale.horizon:,} rounds"
    every = figure.model_set is not None and figure.model_set.runs == "each"
    if every or figure.many:
        runs += f" on each of {len(outcome.evidence.models)} models"
    if figure.counted_positions is not None:
        runs += f", regret on the first {figure.counted_positions} positions"
    return runs


def _described(outcome: ExperimentOutcome) -> Iterable[str]:
    figure = outcome.experiment.figure
    if figure.many:
        places = (figure.drawn, figure.linear, figure.judged, figure.movielens)
        yield f"{len(outcome.evidence.models)} models: {next(p for p in places if p is not None)}"
        return
    for label, model in outcome.evidence.models.items():
        parameters = model.params._asdict() if not label else {}
        listed = ", ".join(f"{k} {v.tolist()}" for k, v in parameters.items())
        yield " ".join(part for part in (label, repr(model), listed) if part)


def _results(outcome: ExperimentOutcome) -> TextTable:
    known = {p.curve: p for p in outcome.experiment.figure.curves()}
    timed = any(policy.milliseconds is not None for policy in known.values())
    heads = ["policy", "mean", "95 % interval", "median", "5 %", "95 %", "runs", "µs per round"]
    heads += ["paper: ms per round"] * timed
    upper = outcome.evidence.upper
    heads += ["upper bound"] * bool(upper)
    longest = max(result.horizon for result in outcome.results.values())
    rows: list[tuple[str, ...]] = []
    remarks: dict[str, list[str]] = {}
    for row in Comparison(outcome.results).summary():
        remarks[row.policy] = ["not in the paper’s figure"] * known[row.policy].beyond
        horizon = outcome.results[row.policy].horizon
        remarks[row.policy] += [f"stopped at round {horizon:,}"] * (horizon < longest)
        paper = known[row.policy].milliseconds
        rows.append(
            (
                row.policy,
                regret_text(row.mean),
                f"{regret_text(row.low)} – {regret_text(row.high)}",
                *(regret_text(x) for x in (row.median, row.q05, row.q95)),
                f"{row.runs:,}",
                f"{row.microseconds:.2f}",
                *(["–" if paper is None else f"{paper:g}"] if timed else []),
                *([f"{upper[row.policy]:,.1f}"] if upper else []),
            )
        )
    caption = "Regret at the horizon over runs; 5 % and 95 % are quantiles."
    return TextTable(caption, heads, rows, remarks)
