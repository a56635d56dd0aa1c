"""Figures of the report of `reproduce`: regret over time, along a sweep, on a grid, over runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clickrank.experiments.bound_lines import reference_lines
from clickrank.experiments.figure_spec import Grid
from clickrank.experiments.model_sources import Sweep
from clickrank.experiments.runner import ExperimentOutcome
from clickrank.plots import (
    Curve,
    Reference,
    Sample,
    grid_figure,
    regret_figure,
    survival_figure,
)
from clickrank.reports.html_pages import Drawing, drawing_of
from clickrank.simulation import Comparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn


class NamedFigure(NamedTuple):
    """A drawn figure, a name that no other figure of a page has, and what it shows in words."""

    figure: Drawn
    name: str
    label: str


def main_drawing(outcome: ExperimentOutcome) -> tuple[Drawing | None, list[str]]:
    """Return `main_figure` as a drawing for a page, and the notes."""
    found, notes = main_figure(outcome)
    return (None if found is None else drawing_of(*found)), notes


def main_figure(outcome: ExperimentOutcome) -> tuple[NamedFigure | None, list[str]]:
    """Return the figure of an experiment, and notes on bounds that are left out of it.

    There is none without results, and none of an experiment that measures computation time.
    """
    figure = outcome.experiment.figure
    if not outcome.played:
        return None, []
    if figure.grid is not None:
        return _grid(outcome, figure.grid), []
    if figure.sweep is not None:
        return _sweep(outcome, figure.sweep), []
    return (None, []) if figure.timed else _regret(outcome)


def spread_drawing(outcome: ExperimentOutcome) -> Drawing | None:
    """Return the drawing of how the regret at the horizon varies over runs, if it is wanted."""
    if not outcome.results or not outcome.experiment.figure.survival:
        return None
    samples = [Sample(name, r.regret[:, -1]) for name, r in outcome.results.items()]
    label = "Distribution of the regret at the horizon over runs"
    return drawing_of(survival_figure(samples), f"{outcome.experiment.place}/tail", label)


def _regret(outcome: ExperimentOutcome) -> tuple[NamedFigure, list[str]]:
    played = outcome.played
    curves = Comparison(played).curves()
    spec = outcome.experiment.figure
    x = curves[0].x.astype(np.float64)
    bounds: list[Reference] = []
    notes: list[str] = []
    if spec.counted_positions is None:
        bounds, notes = reference_lines(spec.references, outcome.evidence.models, x)
    elif spec.references:
        notes = [
            "No bound is drawn: bounds are for the regret of whole lists, and this is the regret "
            f"on the first {spec.counted_positions} positions."
        ]
    if np.isfinite(outcome.evidence.bound):
        bounds.append(Reference("lower bound", x, outcome.evidence.bound * np.log(x)))
    figure = regret_figure(curves, yscale=spec.yscale, bounds=bounds)
    label = f"Mean regret over time of {', '.join(played)}"
    return NamedFigure(figure, f"{outcome.experiment.place}/regret", label), notes


def _sweep(outcome: ExperimentOutcome, sweep: Sweep) -> NamedFigure | None:
    """Draw the regret at the horizon along the axis, with the upper bound."""
    curves: list[Curve] = []
    bounds: list[Reference] = []
    for spec in outcome.experiment.figure.policies:
        names = outcome.evidence.along(spec.curve)
        if not all(name in outcome.results for name in names):
            continue  # interrupted
        x = np.array([point.place for point in sweep.points])
        ends = np.array([[part[-1] for part in outcome.results[n].interval()] for n in names])
        curves.append(Curve(spec.curve, x, *ends.T))
        if not bounds and outcome.experiment.figure.bound == "bayes":
            upper = np.array([outcome.evidence.upper[name] for name in names])
            bounds.append(Reference("upper bound", x, upper))
    if not curves:
        return None
    figure = regret_figure(
        curves,
        xscale=sweep.xscale,
        yscale=outcome.experiment.figure.yscale,
        bounds=bounds,
        xlabel=sweep.label,
        ylabel=f"regret after {outcome.scale.horizon:,} rounds",
    )
    label = f"Mean regret of {', '.join(c.label for c in curves)} over {sweep.label}"
    return NamedFigure(figure, f"{outcome.experiment.place}/sweep", label)


def _grid(outcome: ExperimentOutcome, grid: Grid) -> NamedFigure | None:
    thin = outcome.scale.thin
    x, y = grid.x.values[::thin], grid.y.values[::thin]
    means = np.full((len(y), len(x)), np.nan)
    stopped = np.zeros(means.shape, dtype=np.bool_)
    played = outcome.played
    for j, i in np.ndindex(means.shape):
        name = grid.label(x[i], y[j])
        if name in played:
            means[j, i] = played[name].regret[:, -1].mean()
            stopped[j, i] = name not in outcome.results
    if not np.isfinite(means).any():
        return None
    labels = {"xlabel": grid.x.parameter, "ylabel": grid.y.parameter}
    figure = grid_figure(x, y, means, stopped=stopped, **labels)
    label = f"Mean regret of {grid.name} at the horizon"
    return NamedFigure(figure, f"{outcome.experiment.place}/grid", label)
