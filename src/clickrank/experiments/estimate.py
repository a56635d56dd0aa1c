"""What an experiment would cost here, measured on a sample of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.table import Table

from clickrank._rng import generator
from clickrank.clickmodels import ClickModel
from clickrank.experiments.cells import AnyCell, ManyCell, cells, many_cell
from clickrank.experiments.judged import instance
from clickrank.experiments.models import Instance
from clickrank.experiments.reproduce import scale_of
from clickrank.experiments.sources import Judged
from clickrank.experiments.spec import Experiment, Scale
from clickrank.policies import Policy
from clickrank.simulate import simulate

#: The queries of MSLR-WEB30K's first fold that 004 tests on, and their mean number of documents.
MSLR_QUERIES = 6306
MSLR_DOCUMENTS = 120
#: Shares of its grades 0 to 4.
MSLR_GRADES = (0.515, 0.325, 0.134, 0.018, 0.008)
#: How many models a policy is timed on, at most.
SAMPLE = 6
#: And for how many rounds.
LONGEST = 20_000


class Cost(NamedTuple):
    """What a curve would cost."""

    experiment: str
    curve: str
    rounds: int
    microseconds: float

    @property
    def hours(self) -> float:
        """Hours of one core."""
        return self.rounds * self.microseconds / 3.6e9


class Estimate(NamedTuple):
    """The costs of all curves, and what they were measured on."""

    costs: list[Cost]
    notes: list[str]

    @property
    def hours(self) -> float:
        """Hours of one core, all together."""
        return sum(cost.hours for cost in self.costs)

    def table(self) -> Table:
        """Return the costs as a rich table."""
        table = Table("experiment", "policy", "rounds", "µs a round", "core-hours")
        for column in table.columns[2:]:
            column.justify = "right"
        for cost in self.costs:
            table.add_row(
                cost.experiment, cost.curve, f"{cost.rounds:,}", f"{cost.microseconds:.2f}",
                f"{cost.hours:,.3g}",
            )  # fmt: skip
        rounds = sum(cost.rounds for cost in self.costs)
        mean = 3.6e9 * self.hours / rounds
        table.add_row("all", "", f"{rounds:,}", f"{mean:.2f}", f"{self.hours:,.3g}", style="bold")
        return table


def estimate(experiments: Iterable[Experiment], scale: str | Scale, out: Path) -> Estimate:
    """Time every curve on a few of its models, one run each on one thread, and multiply.

    An experiment on judged queries whose data are not there is measured on queries made up to be
    like the paper's.
    """
    costs, notes = [], []
    for experiment in experiments:
        size = scale_of(experiment, scale)
        judged = experiment.figure.judged
        if judged is not None and not judged.path:
            queries = like_mslr(judged, experiment.figure.seed)
            for spec in experiment.figure.curves(size):
                cell = many_cell(spec, queries, size, experiment.figure, out)
                costs.append(_cost(experiment, [cell], MSLR_QUERIES))
            notes.append(
                f"{experiment.name}: the {MSLR_QUERIES:,} test queries of MSLR-WEB30K are stood in "
                f"for by made-up ones of {MSLR_DOCUMENTS} documents, with its shares of grades and "
                "scores that are right up to noise; training the rankers is not counted. With "
                "--data the queries are real."
            )
            continue
        costs += [_cost(experiment, parts) for parts in cells(experiment, size, out).values()]
    return Estimate(costs, notes)


def like_mslr(judged: Judged, seed: int, count: int = SAMPLE) -> dict[str, Instance]:
    """Make up queries that are to policies as those of MSLR-WEB30K."""
    rng = generator(seed, 2)
    found = {}
    for i in range(count):
        grades = rng.choice(len(MSLR_GRADES), size=MSLR_DOCUMENTS, p=MSLR_GRADES)
        # Rankers err alike on a document, and each a little by itself.
        error = rng.normal(0.0, 0.2, size=MSLR_DOCUMENTS)
        own = rng.normal(0.0, 0.05, size=(judged.rankers, MSLR_DOCUMENTS))
        scores = np.clip(np.array(judged.targets)[grades] + error + own, 0.01, 0.99)
        found[f"like MSLR {i}"] = instance(judged, grades, scores)
    return found


def _cost(experiment: Experiment, parts: Sequence[AnyCell], models: int | None = None) -> Cost:
    """Return what a curve would cost; on so many models, if not on those of its cells."""
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
