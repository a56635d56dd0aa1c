"""Measured curves: the regret of each curve of the shipped runs, in the file ``measured.json``.

The file is written together with the pages of the papers, which can then be made again without
reading all runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

import msgspec
import numpy as np

from clickrank.errors import MissingData
from clickrank.experiments.runner import ExperimentOutcome
from clickrank.experiments.shipped_verdicts import RESULTS
from clickrank.stats.confidence_sequences import mean_sequence

MEASURED = RESULTS / "measured.json"
#: The level of each interval; they are confidence sequences, valid although runs are added.
LEVEL = 0.95


class MeasuredCurve(msgspec.Struct, frozen=True, kw_only=True):
    """The regret of one curve at its last round, over runs.

    Parameters
    ----------
    curve
        The name of the curve.
    rounds, runs, passes
        The rounds of each run, the number of runs, and the number of independent means of runs.
    mean, low, high
        The mean regret and its interval; the ends are None while there are too few passes.
    median
        The median of the runs.
    seconds
        Mean processor time of a run.
    bound
        The upper bound of the paper on the regret, if the figure has one.
    """

    curve: str
    rounds: int
    runs: int
    passes: int
    mean: float
    low: float | None
    high: float | None
    median: float
    seconds: float
    bound: float | None = None


class MeasuredFigure(msgspec.Struct, frozen=True):
    """The curves of an experiment, and what its drawing shows; there may be no drawing."""

    experiment: str
    drawing: str
    curves: list[MeasuredCurve]


class MeasuredFile(msgspec.Struct, frozen=True):
    """The contents of ``measured.json``."""

    figures: list[MeasuredFigure]


def load_measured(path: Path = MEASURED) -> dict[str, MeasuredFigure]:
    """Return the measured curves of each experiment that was played."""
    if not path.exists():
        raise MissingData(f"measured curves: {path} must exist. benchmarks/decide.py writes it.")
    file = msgspec.json.decode(path.read_bytes(), type=MeasuredFile)
    return {figure.experiment: figure for figure in file.figures}


def write_measured(figures: Iterable[MeasuredFigure], path: Path = MEASURED) -> None:
    """Write what `load_measured` reads."""
    encoded = msgspec.json.encode(MeasuredFile(sorted(figures, key=lambda f: f.experiment)))
    path.write_bytes(msgspec.json.format(encoded, indent=1) + b"\n")


def measured_figure(outcome: ExperimentOutcome, drawing: str) -> MeasuredFigure:
    """Return the curves of an experiment, without the cells of a grid.

    Curves that were stopped early have their regret by then.
    """
    evidence = outcome.evidence.in_whole_passes()
    cells = set(evidence.grid) - {spec.curve for spec in outcome.experiment.figure.policies}
    found = []
    for curve, result in evidence.played.items():
        if curve in cells:
            continue
        regrets = result.regret[:, -1]
        interval = mean_sequence(evidence.by_pass(regrets), LEVEL)
        bound = evidence.upper.get(curve)
        found.append(
            MeasuredCurve(
                curve=curve,
                rounds=result.horizon,
                runs=result.runs,
                passes=result.runs // evidence.pass_size,
                mean=float(regrets.mean()),
                low=_finite(interval.low),
                high=_finite(interval.high),
                median=float(np.median(regrets)),
                seconds=result.seconds / result.runs,
                bound=None if bound is None else _finite(bound),
            )
        )
    return MeasuredFigure(outcome.experiment.name, drawing, found)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
