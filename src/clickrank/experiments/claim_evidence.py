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
        The number of runs in a pass: consecutive runs, whose mean counts as one independent value.
    stratified
        Whether a pass has one run on each click model of a set: then each model is a stratum.
    level
        The confidence level of a single claim, if all claims of the figure share `FIGURE_LEVEL`.
    curves
        The names of all curves of the figure, also of those without results.
    stops
        The rounds, before the horizon, at which runs of a curve may be stopped once they are known
        to lose too much. They have a part of the level; see `early_levels`.
    stopped
        The results of curves that have more runs up to one of the stops than up to the horizon.
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
    stratified: bool = False
    level: float = FIGURE_LEVEL
    curves: tuple[str, ...] = ()
    stops: tuple[int, ...] = ()
    stopped: Mapping[str, tuple[Result, ...]] = {}

    @property
    def longest(self) -> int:
        """The number of rounds of the longest curve."""
        early = (result for results in self.stopped.values() for result in results)
        return max((result.horizon for result in (*self.results.values(), *early)), default=0)

    def along(self, policy: str) -> list[str]:
        """Return the names of a policy's curves: one per point of a sweep."""
        if self.sweep is None:
            return [policy]
        return [self.sweep.curve(policy, point.place) for point in self.sweep.points]

    @property
    def played(self) -> dict[str, Result]:
        """The whole runs of each curve, or those that were stopped last if there are none."""
        early = {curve: results[-1] for curve, results in self.stopped.items()}
        found = {**early, **self.results}
        return {curve: found[curve] for curve in self.curves or self.results if curve in found}

    def final(self, curve: str) -> Floats:
        """Return each run's regret at the horizon."""
        found: Floats = self.results[curve].regret[:, -1]
        return found

    def passes(self, curve: str) -> int:
        """Return the number of complete passes of a curve up to the horizon."""
        result = self.results.get(curve)
        return 0 if result is None else result.runs // self.pass_size

    def has_begun(self, curve: str) -> bool:
        """Return whether a curve has a complete pass, up to the horizon or to one of the stops."""
        return self.passes(curve) > 0 or curve in self.stopped

    def by_pass(self, values: Floats) -> Floats:
        """Return one row per pass, given one value per run; an incomplete pass is left out.

        A row has one value per click model if these are strata, and otherwise the mean.
        """
        whole = values.size // self.pass_size
        table: Floats = values[: whole * self.pass_size].reshape(whole, self.pass_size)
        return table if self.stratified else table.mean(axis=1, keepdims=True)

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
        """Return the evidence of the first rounds only.

        Runs that were stopped later than that are as good as complete ones.
        """
        elsewhere = {f: _cut(results, rounds) for f, results in self.elsewhere.items()}
        results = dict(self.results)
        for curve, early in self.stopped.items():
            longer = [r for r in (*early, self.results.get(curve)) if r and r.horizon >= rounds]
            if longer:
                results[curve] = max(longer, key=lambda result: result.runs)
        stopped = {
            curve: tuple(r for r in early if r.horizon < rounds)
            for curve, early in self.stopped.items()
        }
        return self._replace(
            results=_cut(results, rounds),
            elsewhere=elsewhere,
            stops=tuple(stop for stop in self.stops if stop < rounds),
            stopped={curve: early for curve, early in stopped.items() if early},
        )


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


def paired_at_ends(a: Result, b: Result) -> tuple[Floats, Floats]:
    """Return the regrets of paired runs, each at its own last round."""
    _, in_a, in_b = np.intersect1d(a.run_ids, b.run_ids, return_indices=True)
    return a.regret[in_a, -1], b.regret[in_b, -1]


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
