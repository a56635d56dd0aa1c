"""Evidence that claims are judged on: results by curve, and the numbers taken from them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Floats
from clickrank.clickmodels import ClickModel
from clickrank.experiments.model_sources import Sweep
from clickrank.simulation import Result

#: All verdicts on the claims of one figure are right together with this probability.
FIGURE_LEVEL = 0.99


class Evidence(NamedTuple):
    """What a claim is judged on.

    Parameters
    ----------
    results
        The results, by curve.
    models
        The click models, by label.
    bound
        The constant C of the lower bound C·log t.
    grid
        The two parameters of each curve of a grid.
    upper
        The upper bound on each curve's regret at the horizon.
    sweep
        The axis of a sweep.
    paper_rounds
        The number of rounds in the paper's figure.
    paper_milliseconds
        The milliseconds per round that the paper reports, by curve.
    elsewhere
        The results of the paper's other figures, by figure.
    pass_size
        The number of runs in a pass: consecutive runs, one per click model of a set, whose mean
        counts as one independent value.
    level
        The confidence level of a single claim, if all claims of the figure share `FIGURE_LEVEL`.
    """

    results: Mapping[str, Result]
    models: Mapping[str, ClickModel]
    bound: float = math.nan
    grid: Mapping[str, tuple[float, float]] = {}
    upper: Mapping[str, float] = {}
    sweep: Sweep | None = None
    paper_rounds: int = 0
    paper_milliseconds: Mapping[str, float] = {}
    elsewhere: Mapping[str, Mapping[str, Result]] = {}
    pass_size: int = 1
    level: float = FIGURE_LEVEL

    @property
    def longest(self) -> int:
        """The number of rounds of the longest curve."""
        return max((result.horizon for result in self.results.values()), default=0)

    def along(self, policy: str) -> list[str]:
        """Return the names of a policy's curves: one per point of a sweep."""
        if self.sweep is None:
            return [policy]
        return [self.sweep.curve(policy, point.place) for point in self.sweep.points]

    def final(self, curve: str) -> Floats:
        """Return each run's regret at the horizon."""
        found: Floats = self.results[curve].regret[:, -1]
        return found

    def passes(self, curve: str) -> int:
        """Return the number of complete passes of a curve."""
        return self.results[curve].runs // self.pass_size

    def by_pass(self, values: Floats) -> Floats:
        """Return the mean of each pass, given one value per run; an incomplete pass is left out."""
        whole = values.size // self.pass_size
        found: Floats = values[: whole * self.pass_size].reshape(whole, self.pass_size).mean(axis=1)
        return found

    def in_whole_passes(self) -> Evidence:
        """Return the evidence of complete passes; an interrupted simulation leaves gaps."""
        found = {}
        for curve, result in self.results.items():
            passes, counts = np.unique(result.run_ids // self.pass_size, return_counts=True)
            whole = passes[counts == self.pass_size]
            kept = np.isin(result.run_ids // self.pass_size, whole)
            if kept.all():
                found[curve] = result
            elif kept.any():
                found[curve] = dataclasses.replace(
                    result, regret=result.regret[kept], run_ids=result.run_ids[kept]
                )
        return self._replace(results=found)

    def until(self, rounds: int) -> Evidence:
        """Return the evidence of the first rounds only."""
        elsewhere = {f: _cut(results, rounds) for f, results in self.elsewhere.items()}
        return self._replace(results=_cut(self.results, rounds), elsewhere=elsewhere)


def _cut(results: Mapping[str, Result], rounds: int) -> dict[str, Result]:
    """Return the results of the first rounds only."""
    found = {}
    for curve, result in results.items():
        count = max(1, int(np.searchsorted(result.checkpoints, rounds, side="right")))
        found[curve] = dataclasses.replace(
            result, checkpoints=result.checkpoints[:count], regret=result.regret[:, :count]
        )
    return found


def paired(a: Result, b: Result, at: int | None = None) -> tuple[Floats, Floats]:
    """Return the regrets of paired runs, at a round or at the end of the shorter result."""
    end = min(a.horizon, b.horizon) if at is None else at
    _, in_a, in_b = np.intersect1d(a.run_ids, b.run_ids, return_indices=True)
    return regret_at(a, end)[in_a], regret_at(b, end)[in_b]


def regret_at(result: Result, t: int) -> Floats:
    """Return each run's regret at the last checkpoint up to round t."""
    last = max(0, int(np.searchsorted(result.checkpoints, t, side="right")) - 1)
    found: Floats = result.regret[:, last]
    return found


def gained(result: Result, begin: int, end: int) -> Floats:
    """Return each run's regret from round ``begin`` to round ``end``."""
    gain: Floats = regret_at(result, end) - regret_at(result, begin)
    return gain


def last_decade_slopes(result: Result) -> Floats:
    """Return each run's least-squares slope of regret against log t, for t from T/10 to T."""
    late = result.checkpoints >= result.horizon / 10
    x = np.log(result.checkpoints[late])
    x -= x.mean()
    y = result.regret[:, late]
    slopes: Floats = (y - y.mean(axis=1, keepdims=True)) @ x / (x @ x)
    return slopes


def last_half_rates(result: Result) -> Floats:
    """Return each run's regret per round over the last half of the rounds."""
    half = int(np.searchsorted(result.checkpoints, result.horizon / 2, side="right")) - 1
    if half < 0:  # no checkpoint before T/2: the whole run
        whole: Floats = result.regret[:, -1] / result.horizon
        return whole
    rounds = result.horizon - int(result.checkpoints[half])
    rates: Floats = (result.regret[:, -1] - result.regret[:, half]) / max(rounds, 1)
    return rates
