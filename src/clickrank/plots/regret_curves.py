"""Regret figure: cumulative regret over time, one curve per policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from clickrank._core.arrays import Floats, Ints
from clickrank._core.validate import check_choice
from clickrank.errors import invalid
from clickrank.plots.figure_style import End, label_ends, look, new_axes, note

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AxisScale = Literal["log", "linear"]


class Curve(NamedTuple):
    """A mean over time with its confidence band, NaN where the band is not known."""

    label: str
    x: Floats | Ints
    mean: Floats
    low: Floats
    high: Floats


class Reference(NamedTuple):
    """A line to compare with, such as a lower bound."""

    label: str
    x: Floats
    y: Floats


def regret_figure(
    curves: Sequence[Curve],
    *,
    title: str = "",
    xscale: AxisScale = "log",
    yscale: AxisScale = "log",
    bounds: Sequence[Reference] = (),
    bands: bool = True,
    xlabel: str = "round",
    ylabel: str = "cumulative regret",
) -> Figure:
    """Draw mean regret over time, each curve with its confidence band and its name at the end.

    The colour and line style of a curve depend on its place in the list. An axis on which nothing
    is above 0 is linear even if "log" is given.

    Examples
    --------
    >>> x = np.array([1, 10, 100])
    >>> mean = np.array([1.0, 2.0, 3.0])
    >>> figure = regret_figure([Curve("pbm-ucb", x, mean, mean - 0.5, mean + 0.5)])
    >>> figure.savefig("regret.pdf")  # doctest: +SKIP
    """
    if not curves:
        raise invalid("regret_figure", "curves must not be empty", list(curves))
    figure, axes = new_axes(title, xlabel, ylabel)
    axes.set_xscale(_possible(xscale, [c.x for c in curves]))
    yscale = _possible(yscale, [c.mean for c in curves])
    axes.set_yscale(yscale)
    ends = []
    for reference in bounds:
        x, y = _drawable(reference.x, reference.y, yscale)
        if not x.size:
            continue
        axes.plot(x, y, color="black", linestyle=(0, (4, 2)), linewidth=1.3, zorder=2.5)
        ends.append(End(reference.label, *_last(x, y), "black", ""))
    for i, curve in enumerate(curves):
        style = look(i)
        x, y = _drawable(curve.x, curve.mean, yscale)
        axes.plot(
            x, y, color=style.colour, linestyle=style.line, linewidth=1.9, zorder=3,
            marker=style.marker, markersize=4.5, markevery=_marked(x, i, len(curves)),
            markeredgecolor="white", markeredgewidth=0.6,
        )  # fmt: skip
        if bands:
            _band(axes, curve, yscale, style.colour)
        # On a log axis, a policy without regret, such as the oracle, has no line to label.
        if x.size:
            ends.append(End(curve.label, *_last(x, y), style.colour, style.marker))
    if yscale == "linear":
        axes.set_ylim(bottom=min(0.0, *(float(c.mean.min()) for c in curves)))
    axes.margins(x=0.01)
    label_ends(axes, ends)
    lossless = [c.label for c in curves if not (c.mean > 0).any()] if yscale == "log" else []
    without = f" Not shown, as they have no regret: {', '.join(lossless)}." if lossless else ""
    note(figure, _band_note(curves, bands) + without)
    return figure


def _possible(scale: AxisScale, values: Sequence[Floats | Ints]) -> AxisScale:
    check_choice("regret_figure", "scale", scale, ("log", "linear"))
    return scale if any((v > 0).any() for v in values) else "linear"


def _drawable(x: Floats | Ints, y: Floats, yscale: str) -> tuple[Floats | Ints, Floats]:
    """Return the points that the axis can show: on a log axis those above 0."""
    keep = np.isfinite(y) & ((y > 0) if yscale == "log" else np.full(y.shape, True))
    return x[keep], y[keep]


def _last(x: Floats | Ints, y: Floats) -> tuple[float, float]:
    return float(x[-1]), float(y[-1])


def _marked(x: Floats | Ints, i: int, of: int) -> list[int]:
    """Return about eight points, different ones for each curve, so that markers do not overlap."""
    if x.size < 8:
        return list(range(x.size))
    every = x.size / 8
    return sorted({int(every * (k + i / of)) for k in range(8)})


def _band(axes: Axes, curve: Curve, yscale: str, colour: str) -> None:
    known = np.isfinite(curve.low) & np.isfinite(curve.high)
    low = curve.low
    if yscale == "log":
        known &= curve.mean > 0
        # An interval may reach below 0 while few runs have any regret; a log axis cannot.
        low = np.maximum(low, np.where(known, curve.mean, 1.0) * 0.05)
    axes.fill_between(
        curve.x, low, curve.high, where=known, color=colour, alpha=0.18, linewidth=0, zorder=2
    )


def _band_note(curves: Sequence[Curve], bands: bool) -> str:
    known = bands and any(np.isfinite(c.low).any() for c in curves)
    return "Lines: means over runs; bands: 95 % confidence intervals." if known else ""
