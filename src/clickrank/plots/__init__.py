"""Figures: regret, earnings, position effects, heat maps and distributions over runs."""

from clickrank.plots.by_position import position_figure
from clickrank.plots.earnings_over_time import earned_figure
from clickrank.plots.figure_style import require_matplotlib, svg, svg_file
from clickrank.plots.heat_map import grid_figure
from clickrank.plots.regret_curves import Curve, Reference, regret_figure
from clickrank.plots.survival import Sample, survival_figure

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
    "svg_file",
]
