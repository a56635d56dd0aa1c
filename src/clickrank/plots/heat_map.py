"""Heat map: one number per pair of settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from clickrank._core.arrays import Bools, Floats
from clickrank.errors import invalid
from clickrank.plots.figure_style import INK, new_axes, note

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def grid_figure(
    x: Sequence[float],
    y: Sequence[float],
    values: Floats,
    *,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    what: str = "mean regret at the horizon",
    stopped: Bools | None = None,
) -> Figure:
    """Draw values of shape (y, x) as a heat map with a number in each cell, the smallest marked.

    Colours follow the logarithm if all values are above 0. Cells with NaN stay empty. Where runs
    were ``stopped`` early, the value is a lower bound, and the cell is not marked as the smallest.

    Examples
    --------
    >>> figure = grid_figure([0.1, 1.0], [1.0], np.array([[20.0, 300.0]]), xlabel="step")
    >>> figure.savefig("grid.pdf")  # doctest: +SKIP
    """
    if values.shape != (len(y), len(x)) or not np.isfinite(values).any():
        rule = f"values must have shape ({len(y)}, {len(x)}) and not be NaN everywhere"
        raise invalid("grid_figure", rule, values.shape)
    figure, axes = new_axes(title, xlabel, ylabel)
    _, bottom, _, height = axes.get_position().bounds
    axes.set_position((0.13, bottom, 0.84, height))
    axes.grid(False)
    shown = np.log10(values) if (values[np.isfinite(values)] > 0).all() else values
    low, high = float(np.nanmin(shown)), float(np.nanmax(shown))
    # Light where regret is small, in print and for the colour-blind too.
    axes.imshow(
        shown, cmap="cividis_r", aspect="auto", origin="lower", vmin=low, vmax=max(high, low + 1e-9)
    )
    bounds = np.zeros(values.shape, dtype=np.bool_) if stopped is None else stopped
    whole = np.where(bounds, np.inf, values) if not bounds.all() else values
    best = np.unravel_index(int(np.nanargmin(whole)), values.shape)
    for (j, i), value in np.ndenumerate(values):
        if not np.isfinite(value):
            continue
        dark = shown[j, i] > (low + high) / 2
        number = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
        if bounds[j, i]:
            number = f"≥ {number}"
        axes.text(
            i, j, number, ha="center", va="center", fontsize=8,
            color="white" if dark else INK,
            fontweight="bold" if (j, i) == best else "normal",
        )  # fmt: skip
    axes.plot(
        best[1], best[0], marker="s", markersize=26, markerfacecolor="none",
        markeredgecolor="#D55E00", markeredgewidth=1.8,
    )  # fmt: skip
    axes.set_xticks(range(len(x)), [f"{v:g}" for v in x])
    axes.set_yticks(range(len(y)), [f"{v:g}" for v in y])
    text = f"Numbers and colours: {what}; the square marks the smallest."
    if bounds.any():
        text += " Runs with ≥ were stopped early."
    note(figure, text)
    return figure
