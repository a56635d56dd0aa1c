"""The runs of a figure in the order in which scale `decide` plays them: pass by pass.

A *strand* is one policy on one click model; its runs have numbers. A *pass* has the same number of
runs for every policy, spread evenly over the click models. The runs of a figure are numbered in the
order of passes, so that any number of complete passes is a balanced sample.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Ints
from clickrank._core.digests import add_to_digest
from clickrank.clickmodels import ClickModel
from clickrank.experiments.figure_models import ModelInstance, models_of
from clickrank.experiments.figure_spec import (
    LONG_RUN,
    RUNS_PER_PASS,
    Experiment,
    Figure,
    PolicySpec,
    Scale,
)
from clickrank.experiments.simulation_plan import (
    last_round,
    make_policy,
    played_on,
    runs_by_model,
)
from clickrank.experiments.user_datasets import data_instances, kind_of
from clickrank.policies import Policy
from clickrank.simulation.simulate_runs import RunPlan, check_applies, recording_rounds

#: From this round on regret is recorded ten times per decade, before it five times.
DENSE_FROM = 10_000
#: By default a figure is given up after this many passes.
MOST_PASSES = 40
#: The same for figures of at most `LONG_RUN` rounds, whose runs take less than a second.
MOST_SHORT_PASSES = 400


class Strand(NamedTuple):
    """One policy on one click model, and the settings of its runs."""

    curve: str
    label: str
    policy: Policy
    model: ClickModel
    plan: RunPlan
    #: Precedes the number of the run in the path of its random streams.
    instance: tuple[int, ...]
    #: A hash of everything that decides the numbers of a run, except its number and its length.
    #: Figures that show the same policy on the same click model share its runs.
    key: str

    def until(self, rounds: int) -> Strand:
        """Return the strand with runs that stop at a round, if they do not stop before."""
        checkpoints = self.plan.checkpoints
        if rounds >= checkpoints[-1]:
            return self
        cut = checkpoints[: int(np.searchsorted(checkpoints, rounds, side="right"))]
        return self._replace(plan=self.plan._replace(checkpoints=cut))


class PassRun(NamedTuple):
    """The place of a run: which strand of its curve, and which run of that strand."""

    strand: int
    run: int


class FigureRuns(NamedTuple):
    """The strands of each curve of a figure, and the order of their runs."""

    experiment: Experiment
    scale: Scale
    curves: dict[str, list[Strand]]
    #: The runs in the order of passes, the same for every curve.
    order: list[PassRun]
    pass_size: int
    #: The rounds, before the horizon, at which runs of a curve may be stopped.
    stops: tuple[int, ...]

    @property
    def horizons(self) -> tuple[int, ...]:
        """The lengths that runs may have, from the shortest to the horizon of the figure."""
        return (*self.stops, self.scale.horizon)

    @property
    def passes(self) -> int:
        """The number of passes after which the figure is given up."""
        return len(self.order) // self.pass_size

    def runs_of_pass(self, number: int) -> list[PassRun]:
        """Return the runs of one pass."""
        return self.order[number * self.pass_size : (number + 1) * self.pass_size]


def decide_scale(figure: Figure) -> Scale:
    """Return the scale `decide`: the paper's horizon, and the largest number of passes.

    Where passes have half as many runs as usual, twice as many are allowed.
    """
    found = figure.scale.get("decide")
    if found is not None:
        return found
    horizon = figure.scale["paper"].horizon
    most = MOST_SHORT_PASSES if horizon <= LONG_RUN else MOST_PASSES
    halved = figure.pass_size(RUNS_PER_PASS) == RUNS_PER_PASS // 2
    return Scale(horizon=horizon, runs=most * (1 + halved))


def plan_runs(experiment: Experiment, cache: Path) -> FigureRuns:
    """Return the runs of an experiment at scale `decide`.

    The folder ``cache`` is for what is computed from data once.
    """
    figure = experiment.figure
    scale = decide_scale(figure)
    if figure.many:
        curves = {
            spec.curve: [
                _strand(spec, label, instance, (number,), scale, experiment)
                for number, (label, instance) in enumerate(instances.items())
            ]
            for spec, instances in played_on(experiment, scale, cache)
        }
    else:
        models = models_of(figure)
        if kind_of(figure) is not None:
            models = {k: one.model for k, one in data_instances(figure, cache).items()}
        curves = {
            spec.curve: [
                _strand(spec, label, ModelInstance(model), (), scale, experiment)
                for label, model in models.items()
            ]
            for spec in figure.curves(scale)
        }
    strands = next(iter(curves.values()))
    order = _order(figure, [strand.label for strand in strands], scale)
    # Of long runs, those that lose too much are stopped after a hundredth or a tenth.
    early = not figure.many and scale.horizon >= LONG_RUN
    stops = (scale.horizon // 100, scale.horizon // 10) if early else ()
    return FigureRuns(experiment, scale, curves, order, figure.pass_size(len(strands)), stops)


def _order(figure: Figure, labels: list[str], scale: Scale) -> list[PassRun]:
    """Return the runs of every curve in the order of passes."""
    n = len(labels)
    if figure.judged is not None:
        return [PassRun(i, run) for run in range(scale.runs) for i in range(n)]
    if figure.drawn is not None:  # the first draw from each prior, then the second
        draws = figure.drawn.draws
        return [PassRun(i, 0) for i in sorted(range(n), key=lambda i: (i % draws, i // draws))]
    if figure.many:
        return [PassRun(i, 0) for i in range(n)]
    if figure.model_set is None:
        return [PassRun(0, run) for run in range(scale.runs * figure.pass_size(1))]
    if figure.model_set.runs == "each":
        return [PassRun(i, n * k + i) for k in range(scale.runs) for i in range(n)]
    # Each run is on a query drawn at random, as at scale `paper`.
    runs = runs_by_model(figure, labels, figure.scale["paper"].runs)
    place = {run: i for i, label in enumerate(labels) for run in runs[label]}
    return [PassRun(place[run], run) for run in sorted(place)]


def _strand(
    spec: PolicySpec,
    label: str,
    instance: ModelInstance,
    path: tuple[int, ...],
    scale: Scale,
    experiment: Experiment,
) -> Strand:
    figure = experiment.figure
    made = make_policy(spec, instance, scale)
    check_applies(made, instance.model, allow_mismatch=spec.mismatch)
    plan = RunPlan(figure.seed, 0, 1, checkpoints_of(spec, scale, figure), figure.counted_positions)
    key = _key(made, instance.model, plan, path)
    return Strand(spec.curve, label, made, instance.model, plan, path, key)


def _key(policy: Policy, model: ClickModel, plan: RunPlan, path: tuple[int, ...]) -> str:
    digest = hashlib.sha256()
    facts = [policy.name, policy, model.name, *model.params]
    add_to_digest(digest, [*facts, plan.seed, plan.counted_positions, path])
    return digest.hexdigest()[:16]


def checkpoints_of(spec: PolicySpec, scale: Scale, figure: Figure) -> Ints:
    """Return the rounds at which the regret of a policy is kept.

    They include what claims are about: halves and tenths of the horizon, and the rounds at which
    policies are stopped.
    """
    stops = last_round(spec, scale)
    grid = recording_rounds(scale.horizon, None)
    sparse = recording_rounds(min(DENSE_FROM, scale.horizon), None)[::2]
    rounds = [max(1, stops // part) for part in (1, 2, 10, 100)]
    rounds += [last_round(other, scale) for other in figure.policies]
    found = np.unique(np.concatenate([sparse, grid[grid >= DENSE_FROM], rounds]))
    return found[found <= stops]
