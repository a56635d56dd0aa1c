"""Survival figure: the share of runs above each value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clickrank._core.arrays import Floats
from clickrank.errors import invalid
from clickrank.plots.figure_style import INK, look, new_axes, note

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Sample(NamedTuple):
    """One number per run."""

    label: str
    values: Floats


def survival_figure(
    samples: Sequence[Sample], *, title: str = "", xlabel: str = "regret at the horizon"
) -> Figure:
    """Draw the share of runs that lose at least x, on log axes, which show rare large losses.

    The i-th sample has the colour and line style of the i-th curve of `regret_figure`.

    Examples
    --------
    >>> values = np.array([1.0, 2.0, 3.0, 100.0])
    >>> figure = survival_figure([Sample("bc-mp-ts", values)])
    >>> figure.savefig("tail.pdf")  # doctest: +SKIP
    """
    if not samples or not all(sample.values.size for sample in samples):
        raise invalid("survival_figure", "every sample must have values", len(samples))
    figure, axes = new_axes(title, xlabel, "share of runs that lose at least this")
    if all((sample.values > 0).all() for sample in samples):
        axes.set_xscale("log")
    axes.set_yscale("log")
    for i, sample in enumerate(samples):
        style = look(i)
        x = np.sort(sample.values)
        share = 1.0 - np.arange(x.size) / x.size  # of the runs that lose at least x
        axes.step(
            x, share, where="pre", label=sample.label, color=style.colour, linestyle=style.line,
            linewidth=1.9, marker=style.marker, markevery=[x.size - 1], markersize=5.5,
            markeredgecolor="white", markeredgewidth=0.6,
        )  # fmt: skip
    axes.legend(loc="upper right", frameon=False, fontsize=9, labelcolor=INK, handlelength=4)
    note(figure, "Each line ends at the run with the largest loss.")
    return figure
