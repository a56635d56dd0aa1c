"""The report: one HTML page that needs nothing else, the same for the same results."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from string import Template

import msgspec
import numpy as np

from clickrank.experiments.bound_lines import reference_lines
from clickrank.experiments.claim_kinds import AnyClaim, Windowed
from clickrank.experiments.claims import rounds_of
from clickrank.experiments.figure_spec import Grid, KnownPrior, PolicySpec
from clickrank.experiments.markup import (
    badge,
    definitions,
    drawing,
    escaped,
    listed,
    numbers_table,
    style,
    versions,
    words_table,
)
from clickrank.experiments.model_sources import Sweep
from clickrank.experiments.runner import Outcome
from clickrank.experiments.tolerance_windows import WINDOWS
from clickrank.experiments.verdicts import Verdict
from clickrank.plots import (
    Curve,
    Reference,
    Sample,
    grid_figure,
    regret_figure,
    survival_figure,
    svg,
)
from clickrank.simulation import Comparison
from clickrank.simulation.comparison import regret_text

HERE = Path(__file__).parent


def write_report(out: Path, outcomes: list[Outcome], scale: str) -> Path:
    """Write ``index.html`` and ``claims.json`` into a folder; return the page's path."""
    path = out / "index.html"
    out.mkdir(parents=True, exist_ok=True)
    path.write_text(page(outcomes, scale, out), encoding="utf-8")
    facts = msgspec.json.format(msgspec.json.encode(claim_facts(outcomes)), indent=2)
    (out / "claims.json").write_bytes(facts + b"\n")
    return path


def claim_facts(outcomes: Iterable[Outcome]) -> list[dict[str, object]]:
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
        }
        for outcome in outcomes
        for claim, verdict in outcome.verdicts
    ]


def page(outcomes: list[Outcome], scale: str, out: Path) -> str:
    """Return the whole page."""
    frame = Template((HERE / "report.html").read_text(encoding="utf-8"))
    return frame.substitute(
        style=style(),
        scale=escaped(scale),
        windows=_windows(),
        overview="\n".join(_overview(o) for o in outcomes),
        sections="\n".join(_section(o, scale, out) for o in outcomes),
        versions=definitions(versions()),
    )


def _windows() -> str:
    rows = [
        (escaped(name), (w.words, f"{w.low:.3g}", f"{w.high:.4g}", w.reason))
        for name, w in WINDOWS.items()
    ]
    caption = "A window allows multiples of the paper's number, or a share of the runs."
    heads = ["window", "words of the papers", "from", "to", "why"]
    return words_table(caption, heads, rows)


def _overview(outcome: Outcome) -> str:
    experiment = outcome.experiment
    badges = " ".join(count_badges([verdict for _, verdict in outcome.verdicts]))
    name = experiment.name + (f" on {Path(experiment.data).name}" if experiment.data else "")
    link = f'<a href="#{_anchor(outcome)}">{escaped(name)}</a>'
    return f"<tr><td>{link}</td><td>{escaped(experiment.figure.title)}</td><td>{badges}</td></tr>"


def count_badges(verdicts: list[Verdict]) -> list[str]:
    """Return how many claims hold, fail, are undecided or history; those so far by themselves."""
    counts = Counter((v.outcome, v.so_far, v.words) for v in verdicts)
    order = {kind: i for i, kind in enumerate(("holds", "fails", "undecided", "history"))}
    found = sorted(counts, key=lambda key: (key[1], order[key[0]]))
    return [badge(_kind(*key[:2]), f"{counts[key]} {key[2]}") for key in found]


def _kind(outcome: str, so_far: bool) -> str:
    """Return the style of a verdict."""
    return f"{outcome} so-far" if so_far else outcome


def _section(outcome: Outcome, scale: str, out: Path) -> str:
    experiment, figure = outcome.experiment, outcome.experiment.figure
    paper = experiment.paper
    source = f"{paper.authors} ({paper.year}), {paper.title}. {_spoken(experiment.figure_id)}."
    parts = [
        f'<section id="{_anchor(outcome)}">',
        f"<h2>{escaped(figure.title)}</h2>",
        f'<p class="source">{escaped(source)}</p>',
    ]
    if figure.judged is not None:
        place = figure.judged.path or "LightGBM’s example"
        text = f"Played on the {len(outcome.evidence.models):,} test queries of {place}."
        parts.append(f'<p class="source">{escaped(text)}</p>')
    elif experiment.data:
        parts.append(f'<p class="source">Played on {escaped(experiment.data)}.</p>')
    parts += [f'<p class="source">{escaped(note)}</p>' for note in outcome.notes]
    if not outcome.complete:
        parts.append('<p class="warning">Incomplete: runs are missing. Run the command again.</p>')
    if outcome.results:
        if figure.grid is not None:
            parts.append(_grid(outcome, figure.grid))
        elif figure.sweep is not None:
            parts.append(_sweep(outcome, figure.sweep))
        elif not figure.timed:
            parts.append(_regret(outcome))
        parts.append(_results(outcome))
        if figure.survival:
            parts.append(_survival(outcome))
    judged = [(c, v) for c, v in outcome.verdicts if v.outcome != "history"]
    past = [(c, v) for c, v in outcome.verdicts if v.outcome == "history"]
    parts += ["<h3>Claims</h3>"] * bool(judged) + [_claim(c, v) for c, v in judged]
    if past:
        parts.append(
            "<h3>Times of the paper’s programs</h3><p>How fast other programs were when the paper "
            "was written is a fact of history: nothing here can confirm or refute it.</p>"
        )
        parts += [_claim(c, v) for c, v in past]
    if figure.differences:
        parts.append(f"<h3>Differences from the paper</h3>{listed(figure.differences)}")
    command = ["clickrank", "reproduce", experiment.name, "--scale", scale, "--out", str(out)]
    if experiment.data:
        command += ["--data", experiment.data]
    facts = {
        "command": shlex.join(command),
        "scale": f"{scale}: {_amount(outcome)}",
        "seed": str(figure.seed),
        "models": ", ".join(_described(outcome)),
        "policies": ", ".join(
            f"{spec.curve}: {spec.name} {_told(spec)}".strip() for spec in figure.policies
        ),
    }
    parts += ["<h3>How it was made</h3>", definitions(facts), "</section>"]
    return "\n".join(parts)


def _told(spec: PolicySpec) -> str:
    """Return what a policy is told, in words."""
    told = [str(spec.settings)] if spec.settings else []
    if isinstance(spec.knows, KnownPrior):
        told.append(f"prior Beta({spec.knows.alpha:g}, {spec.knows.beta:g})")
    elif spec.knows != "nothing":
        told.append("the tempered prior" if spec.knows == "tempered" else f"the {spec.knows}")
    return " and ".join(told)


def _amount(outcome: Outcome) -> str:
    scale, figure = outcome.scale, outcome.experiment.figure
    runs = f"{scale.runs:,} runs of {scale.horizon:,} rounds"
    if scale.runs == 1:
        runs = f"a run of {scale.horizon:,} rounds"
    every = figure.model_set is not None and figure.model_set.runs == "each"
    if every or figure.many:
        runs += f" on each of {len(outcome.evidence.models)} models"
    if figure.counted_positions is not None:
        runs += f", regret on the first {figure.counted_positions} positions"
    return runs


def _described(outcome: Outcome) -> Iterable[str]:
    figure = outcome.experiment.figure
    if figure.many:
        places = (figure.drawn, figure.linear, figure.judged, figure.movielens)
        yield f"{len(outcome.evidence.models)} models: {next(p for p in places if p is not None)}"
        return
    for label, model in outcome.evidence.models.items():
        parameters = model.params._asdict() if not label else {}
        listed = ", ".join(f"{k} {v.tolist()}" for k, v in parameters.items())
        yield " ".join(part for part in (label, repr(model), listed) if part)


def _regret(outcome: Outcome) -> str:
    curves = Comparison(outcome.results).curves()
    spec = outcome.experiment.figure
    x = curves[0].x.astype(np.float64)
    bounds: list[Reference] = []
    reasons: list[str] = []
    if spec.counted_positions is None:
        bounds, reasons = reference_lines(spec.references, outcome.evidence.models, x)
    elif spec.references:
        reasons = [
            "No bound is drawn: bounds are for the regret of whole lists, and this is the regret "
            f"on the first {spec.counted_positions} positions."
        ]
    if np.isfinite(outcome.evidence.bound):
        bounds.append(Reference("lower bound", x, outcome.evidence.bound * np.log(x)))
    figure = regret_figure(curves, yscale=spec.yscale, bounds=bounds)
    label = f"Mean regret over time of {', '.join(outcome.results)}"
    notes = "".join(f"<p>{escaped(reason)}</p>" for reason in reasons)
    return drawing(svg(figure, f"{outcome.experiment.place}/regret"), label) + notes


def _sweep(outcome: Outcome, sweep: Sweep) -> str:
    """Draw the regret at the horizon along the axis, with the upper bound."""
    curves: list[Curve] = []
    bounds: list[Reference] = []
    for spec in outcome.experiment.figure.policies:
        names = outcome.evidence.along(spec.curve)
        if not all(name in outcome.results for name in names):
            continue  # interrupted
        x = np.array([point.at for point in sweep.points])
        ends = np.array([[part[-1] for part in outcome.results[n].interval()] for n in names])
        curves.append(Curve(spec.curve, x, *ends.T))
        if not bounds and outcome.experiment.figure.bound == "bayes":
            upper = np.array([outcome.evidence.upper[name] for name in names])
            bounds.append(Reference("upper bound", x, upper))
    if not curves:
        return ""
    figure = regret_figure(
        curves,
        xscale=sweep.xscale,
        yscale=outcome.experiment.figure.yscale,
        bounds=bounds,
        xlabel=sweep.label,
        ylabel=f"regret after {outcome.scale.horizon:,} rounds",
    )
    label = f"Mean regret of {', '.join(c.label for c in curves)} over {sweep.label}"
    return drawing(svg(figure, f"{outcome.experiment.place}/sweep"), label)


def _grid(outcome: Outcome, grid: Grid) -> str:
    thin = outcome.scale.thin
    x, y = grid.x.values[::thin], grid.y.values[::thin]
    means = np.full((len(y), len(x)), np.nan)
    for j, i in np.ndindex(means.shape):
        result = outcome.results.get(grid.label(x[i], y[j]))
        if result is not None:
            means[j, i] = result.regret[:, -1].mean()
    label = f"Mean regret of {grid.name} at the horizon"
    if not np.isfinite(means).any():
        return ""
    figure = grid_figure(x, y, means, xlabel=grid.x.parameter, ylabel=grid.y.parameter)
    return drawing(svg(figure, f"{outcome.experiment.place}/grid"), label)


def _survival(outcome: Outcome) -> str:
    samples = [Sample(name, r.regret[:, -1]) for name, r in outcome.results.items()]
    figure = survival_figure(samples)
    label = "How the regret at the horizon is spread over runs"
    return f"<h3>{label}</h3>" + drawing(svg(figure, f"{outcome.experiment.place}/tail"), label)


def _results(outcome: Outcome) -> str:
    known = {p.curve: p for p in outcome.experiment.figure.curves()}
    timed = any(policy.milliseconds is not None for policy in known.values())
    heads = ["policy", "mean", "95 % interval", "median", "5 %", "95 %", "runs", "µs a round"]
    heads += ["paper: ms a round"] * timed
    upper = outcome.evidence.upper
    heads += ["upper bound"] * bool(upper)
    longest = max(result.horizon for result in outcome.results.values())
    rows = []
    for row in Comparison(outcome.results).summary():
        name = escaped(row.policy)
        if known[row.policy].beyond:
            name += ' <span class="beyond">not in the paper’s figure</span>'
        horizon = outcome.results[row.policy].horizon
        if horizon < longest:
            name += f' <span class="beyond">stopped at round {horizon:,}</span>'
        paper = known[row.policy].milliseconds
        numbers = (
            regret_text(row.mean),
            f"{regret_text(row.low)} – {regret_text(row.high)}",
            *(regret_text(x) for x in (row.median, row.q05, row.q95)),
            f"{row.runs:,}",
            f"{row.microseconds:.2f}",
            *(["–" if paper is None else f"{paper:g}"] if timed else []),
            *([f"{upper[row.policy]:,.1f}"] if upper else []),
        )
        rows.append((name, numbers))
    caption = "Regret at the horizon over runs; 5 % and 95 % are quantiles."
    return numbers_table(caption, heads, rows)


def _claim(claim: AnyClaim, verdict: Verdict) -> str:
    kind = _kind(verdict.outcome, verdict.so_far)
    note = f'<p class="note">{escaped(claim.note)}</p>' if claim.note else ""
    return (
        f'<article class="claim {kind}"><p>{badge(kind, verdict.words)} {escaped(claim.text)} '
        f'<span class="from">{escaped(claim.source)}</span></p>'
        f'<p class="measured">{escaped(verdict.measured)}.</p>{note}</article>'
    )


def _anchor(outcome: Outcome) -> str:
    return outcome.experiment.place.replace("/", "-")


def _spoken(figure_id: str) -> str:
    """Return an id as people write it: ``figure-1a`` is Figure 1a."""
    return figure_id.replace("-", " ").capitalize()
