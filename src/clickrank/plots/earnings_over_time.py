"""Earnings figure: reward per list over time, compared with today's order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from clickrank.errors import invalid
from clickrank.plots.figure_style import End, label_ends, look, new_axes, note
from clickrank.plots.regret_curves import Curve, Reference

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def earned_figure(
    curves: Sequence[Curve],
    references: Sequence[Reference] = (),
    *,
    title: str = "",
    unit: str = "clicks",
) -> Figure:
    """Draw the average reward per list up to each round, with references to compare with.

    Examples
    --------
    >>> x = np.array([1, 10, 100])
    >>> mean = np.array([0.2, 0.4, 0.6])
    >>> today = Reference("today's order", np.array([1.0, 100.0]), np.array([0.5, 0.5]))
    >>> figure = earned_figure([Curve("pb-mhb", x, mean, mean - 0.1, mean + 0.1)], [today])
    >>> figure.savefig("earned.pdf")  # doctest: +SKIP
    """
    if not curves:
        raise invalid("earned_figure", "curves must not be empty", list(curves))
    figure, axes = new_axes(title, "lists shown", f"average {unit} per list so far")
    axes.set_xscale("log")
    ends = []
    for i, reference in enumerate(references):
        dashes = (0, (4, 2)) if i == 0 else (0, (1.2, 1.6))
        axes.plot(
            reference.x, reference.y, color="black", linestyle=dashes, linewidth=1.3, zorder=2.5
        )
        ends.append(
            End(reference.label, float(reference.x[-1]), float(reference.y[-1]), "black", "")
        )
    for i, curve in enumerate(curves):
        style = look(i)
        axes.plot(
            curve.x, curve.mean, color=style.colour, linestyle=style.line, linewidth=1.9, zorder=3,
            marker=style.marker, markersize=4.5, markevery=max(1, curve.x.size // 8),
            markeredgecolor="white", markeredgewidth=0.6,
        )  # fmt: skip
        axes.fill_between(
            curve.x, curve.low, curve.high, color=style.colour, alpha=0.18, linewidth=0, zorder=2
        )
        end = End(
            curve.label, float(curve.x[-1]), float(curve.mean[-1]), style.colour, style.marker
        )
        ends.append(end)
    means = np.concatenate([*(c.mean for c in curves), *(r.y for r in references)])
    low, high = float(np.nanmin(means)), float(np.nanmax(means))
    margin = 0.05 * max(high - low, 1e-9)
    # The bands do not set the limits: those of the first rounds are wide and say little.
    axes.set_ylim(low - margin, high + margin)
    axes.margins(x=0.01)
    label_ends(axes, ends)
    note(figure, "Lines: means over queries and runs; bands: 95 % confidence intervals over runs.")
    return figure
