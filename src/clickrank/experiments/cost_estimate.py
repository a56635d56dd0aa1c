"""Cost estimate: the running time of experiments, measured on a sample of their models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.table import Table

from clickrank._core.arrays import Ints
from clickrank.clickmodels import ClickModel
from clickrank.errors import MissingData
from clickrank.experiments.figure_models import ModelInstance, drawing
from clickrank.experiments.figure_spec import Experiment, Scale
from clickrank.experiments.judged_queries import instance, load_test_queries
from clickrank.experiments.model_sources import Judged
from clickrank.experiments.reproduction import scale_of
from clickrank.experiments.simulation_plan import AnyCell, ManyCell, cells, many_cell
from clickrank.policies import Policy
from clickrank.simulation import simulate

#: Number of test queries in the first fold of MSLR-WEB30K, which kveton2022 uses, and their mean
#: number of documents.
MSLR_QUERIES = 6306
MSLR_DOCUMENTS = 120
#: Shares of the grades 0 to 4 in MSLR-WEB30K.
MSLR_GRADES = (0.515, 0.325, 0.134, 0.018, 0.008)
#: Maximum number of models that a policy is timed on.
SAMPLE = 6
#: Maximum number of rounds that a policy is timed for.
LONGEST = 20_000


class Cost(NamedTuple):
    """The estimated cost of one curve."""

    experiment: str
    curve: str
    rounds: int
    microseconds: float

    @property
    def hours(self) -> float:
        """Hours of one core."""
        return self.rounds * self.microseconds / 3.6e9


class CostEstimate(NamedTuple):
    """The costs of all curves, and notes on how they were measured."""

    costs: list[Cost]
    notes: list[str]

    @property
    def hours(self) -> float:
        """Hours of one core, in total."""
        return sum(cost.hours for cost in self.costs)

    def table(self) -> Table:
        """Return the costs as a rich table."""
        table = Table("experiment", "policy", "rounds", "µs per round", "on one core")
        for column in table.columns[2:]:
            column.justify = "right"
        for cost in self.costs:
            table.add_row(
                cost.experiment, cost.curve, f"{cost.rounds:,}", f"{cost.microseconds:.2f}",
                _duration(cost.hours),
            )  # fmt: skip
        rounds = sum(cost.rounds for cost in self.costs)
        mean = 3.6e9 * self.hours / rounds
        table.add_row("all", "", f"{rounds:,}", f"{mean:.2f}", _duration(self.hours), style="bold")
        return table


def _duration(hours: float) -> str:
    """Format a duration.

    >>> _duration(5.512), _duration(0.01), _duration(0.0001)
    ('5.5 hours', '0.6 minutes', '0.4 seconds')
    """
    if hours >= 1:
        return f"{hours:,.1f} hours"
    return f"{60 * hours:.1f} minutes" if hours >= 0.01 else f"{3600 * hours:.1f} seconds"


def estimate(experiments: Sequence[Experiment], scale: str | Scale, out: Path) -> CostEstimate:
    """Time every curve on a few of its models, with one run each on one thread, and extrapolate.

    For judged queries no ranker is trained: random scores similar to those of rankers are used, and
    without data also random queries similar to those of the paper.
    """
    costs, notes = [], []
    for experiment in experiments:
        size = scale_of(experiment, scale)
        figure = experiment.figure
        if figure.judged is not None:
            queries, count = _judged_sample(figure.judged, figure.seed)
            for spec in figure.curves(size):
                cell = many_cell(spec, queries, size, figure, out)
                costs.append(_cost(experiment, [cell], count))
            made_up = (
                f"the test queries of MSLR-WEB30K are replaced by random ones with "
                f"{MSLR_DOCUMENTS} documents and the same shares of grades; "
            )
            notes.append(
                f"{experiment.name}, {count:,} queries: {'' if figure.judged.path else made_up}"
                "the scores of the rankers are random, correct up to noise, and the time to train "
                "the rankers is not included."
            )
            continue
        try:
            planned = cells(experiment, size, out)
        except MissingData as error:
            if len(experiments) == 1:  # the user named this experiment
                raise
            notes.append(f"{experiment.name} is skipped: {error}")
            continue
        costs += [_cost(experiment, parts) for parts in planned.values()]
    return CostEstimate(costs, notes)


def _judged_sample(judged: Judged, seed: int) -> tuple[dict[str, ModelInstance], int]:
    """Return a few queries, and the number of all queries."""
    rng = drawing(seed, "made-up queries")
    if not judged.path:
        return like_mslr(judged, rng), MSLR_QUERIES
    test = load_test_queries(judged.path)
    some = list(test)[:: math.ceil(len(test) / SAMPLE)]
    return {str(qid): made_up_scores(judged, test[qid].grades, rng) for qid in some}, len(test)


def like_mslr(
    judged: Judged, rng: np.random.Generator, n: int = SAMPLE
) -> dict[str, ModelInstance]:
    """Return random queries that are similar to those of MSLR-WEB30K."""
    found = {}
    for i in range(n):
        grades = rng.choice(len(MSLR_GRADES), size=MSLR_DOCUMENTS, p=MSLR_GRADES)
        found[f"like MSLR {i}"] = made_up_scores(judged, grades, rng)
    return found


def made_up_scores(judged: Judged, grades: Ints, rng: np.random.Generator) -> ModelInstance:
    """Return a query with random scores that are correct up to noise."""
    # All rankers share an error on a document, and each adds a small one.
    error = rng.normal(0.0, 0.2, size=grades.size)
    single = rng.normal(0.0, 0.05, size=(judged.rankers, grades.size))
    scores = np.clip(np.array(judged.targets)[grades] + error + single, 0.01, 0.99)
    return instance(judged, grades, scores)


def _cost(experiment: Experiment, parts: Sequence[AnyCell], models: int | None = None) -> Cost:
    """Return the estimated cost of a curve on its cells, or on ``models`` models."""
    horizon = int(parts[0].checkpoints[-1])
    spent = min(horizon, LONGEST)
    runs = sum(len(cell.run_ids) for cell in parts)
    players: list[tuple[Policy, ClickModel]] = []
    for cell in parts:
        if isinstance(cell, ManyCell):
            players += [(cell.policies[key], cell.models[key]) for key in cell.models]
            runs = runs if models is None else cell.runs * models
        else:
            players.append((cell.policy, cell.model))
    sample = players[:: math.ceil(len(players) / SAMPLE)]
    results = [
        simulate(
            policy, model, spent, 1, experiment.figure.seed,
            threads=1, progress=False, allow_mismatch=True,
        )
        for policy, model in sample
    ]  # fmt: skip
    microseconds = float(np.mean([result.microseconds_per_round for result in results]))
    return Cost(experiment.name, parts[0].curve, runs * horizon, microseconds)
