"""Figures: mean curves with confidence bands, readable in print and by the colour-blind."""

from clickrank.plots.distribution import Sample, survival_figure
from clickrank.plots.earned import earned_figure
from clickrank.plots.grid import grid_figure
from clickrank.plots.positions import position_figure
from clickrank.plots.regret import Curve, Reference, regret_figure
from clickrank.plots.style import require_matplotlib, svg

__all__ = [
    "Curve",
    "Reference",
    "Sample",
    "earned_figure",
    "grid_figure",
    "position_figure",
    "regret_figure",
    "require_matplotlib",
    "survival_figure",
    "svg",
]
