"""Position figure: numbers by position, such as perplexity or examination."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from clickrank.errors import invalid
from clickrank.plots.figure_style import End, label_ends, look, new_axes, note
from clickrank.plots.regret_curves import Curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def position_figure(
    curves: Sequence[Curve], *, title: str = "", ylabel: str, from_zero: bool = False
) -> Figure:
    """Draw one line per model over positions 1, 2, 3 …, with whiskers where an interval is known.

    Examples
    --------
    >>> x, mean = np.array([1, 2]), np.array([1.0, 0.6])
    >>> figure = position_figure([Curve("pbm", x, mean, mean, mean)], ylabel="examination")
    >>> figure.savefig("positions.pdf")  # doctest: +SKIP
    """
    if not curves:
        raise invalid("position_figure", "curves must not be empty", list(curves))
    figure, axes = new_axes(title, "position", ylabel)
    ends = []
    intervals = False
    for i, curve in enumerate(curves):
        style = look(i)
        axes.plot(
            curve.x, curve.mean, color=style.colour, linestyle=style.line, linewidth=1.7, zorder=3,
            marker=style.marker, markersize=5, markeredgecolor="white", markeredgewidth=0.6,
        )  # fmt: skip
        known = np.isfinite(curve.low) & np.isfinite(curve.high) & (curve.high > curve.low)
        if known.any():
            intervals = True
            axes.vlines(
                curve.x[known], curve.low[known], curve.high[known], color=style.colour,
                linewidth=1.4, zorder=2.8,
            )  # fmt: skip
        drawn = np.flatnonzero(np.isfinite(curve.mean))
        if drawn.size:
            x, y = float(curve.x[drawn[-1]]), float(curve.mean[drawn[-1]])
            ends.append(End(curve.label, x, y, style.colour, style.marker))
    axes.set_xticks(sorted({int(x) for curve in curves for x in curve.x}))
    if from_zero:
        axes.set_ylim(bottom=0.0)
    label_ends(axes, ends)
    note(figure, "Whiskers: 95 % confidence intervals." if intervals else "")
    return figure
