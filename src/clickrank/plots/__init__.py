"""Figures: mean curves with confidence bands, readable in print and by the colour-blind."""

from clickrank.plots.distribution import Sample, survival_figure
from clickrank.plots.grid import grid_figure
from clickrank.plots.regret import Curve, Reference, regret_figure
from clickrank.plots.style import require_matplotlib, svg

__all__ = [
    "Curve",
    "Reference",
    "Sample",
    "grid_figure",
    "regret_figure",
    "require_matplotlib",
    "survival_figure",
    "svg",
]
