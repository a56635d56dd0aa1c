"""Figures of `diagnose` and `whatif`: rewards over time, perplexity and position effects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clickrank.advice.diagnosis import Diagnosis
from clickrank.advice.play import Earning
from clickrank.advice.whatif_analysis import GroupOutcome
from clickrank.plots import Curve, Reference, earned_figure, position_figure
from clickrank.policies import POLICIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: How many policies a figure shows at most, besides uniform lists.
MOST_CURVES = 8


def drawn(outcome: GroupOutcome) -> tuple[Earning, ...]:
    """Return the policies to draw: the best ones, and uniform lists for comparison."""
    earnings = outcome.played.earnings
    rest = tuple(e for e in earnings[MOST_CURVES:] if POLICIES[e.name].is_uniform)
    return earnings[:MOST_CURVES] + rest


def whatif_figure(outcome: GroupOutcome, horizon: int) -> Figure:
    """Draw the mean reward per list of each policy up to each round."""
    today = outcome.group.today
    curves = []
    for e in drawn(outcome):
        parts = [today + part / e.checkpoints for part in (e.curve, e.low, e.high)]
        curves.append(Curve(e.name, e.checkpoints, *parts))
    ends = np.array([1.0, float(horizon)])
    best = today + outcome.group.headroom.mean
    references = [
        Reference("today's order", ends, np.full(2, today)),
        Reference("best list", ends, np.full(2, best)),
    ]
    return earned_figure(curves, references, unit=outcome.unit)


def perplexity_figure(found: Diagnosis) -> Figure:
    """Draw by how much each model's perplexity is below that of positions alone, at each position.

    Perplexity itself falls with the click rate, which would hide the differences between models.
    """
    x = np.arange(1, found.counts.n_positions + 1)
    nan = np.full(x.size, np.nan)
    alone = found.baseline.perplexity
    return position_figure(
        [Curve(s.name, x, alone - s.perplexity, nan, nan) for s in found.ranking.scores],
        ylabel="perplexity below that of positions alone",
    )


def effect_figure(found: Diagnosis) -> Figure:
    """Draw the position effects of each model."""
    kinds = dict.fromkeys((e.model, e.parameter) for e in found.effects)
    curves = []
    for model, parameter in kinds:
        mine = [e for e in found.effects if (e.model, e.parameter) == (model, parameter)]
        columns = np.array([(e.position, e.value, e.low, e.high) for e in mine], dtype=np.float64)
        label = f"{model}: {parameter.replace('_', ' ')}"
        curves.append(Curve(label, *columns.T))
    return position_figure(curves, ylabel="probability", from_zero=True)
