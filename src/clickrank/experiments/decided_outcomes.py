"""Outcomes of scale `decide`: judged from an archive, written as verdicts, and verified."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from clickrank._core.progress import Say
from clickrank.errors import MissingData, MissingExtra
from clickrank.experiments.archived_evidence import evidence_in
from clickrank.experiments.claims import rounds_of
from clickrank.experiments.cross_figure_claims import judged_across
from clickrank.experiments.deciding import play_unit
from clickrank.experiments.figure_progress import Unit
from clickrank.experiments.figure_runs import Strand, plan_runs
from clickrank.experiments.figure_spec import Experiment
from clickrank.experiments.run_archive import ArchivedStrand, RunArchive
from clickrank.experiments.runner import ExperimentOutcome, known_evidence
from clickrank.experiments.shipped_verdicts import (
    VERDICTS,
    ShippedFile,
    ShippedInterval,
    ShippedVerdict,
    sources_hash,
)
from clickrank.experiments.verdicts import ClaimComparison


def outcomes_in(
    experiments: list[Experiment],
    archive: RunArchive,
    cache: Path,
    known: list[Experiment],
    say: Say = lambda text: None,
) -> list[ExperimentOutcome]:
    """Judge the claims of experiments on the archived runs; ``known`` are all of their papers.

    Experiments that lack data or an extra are left out. Figures that measure computation time have
    no archived runs.
    """
    outcomes = []
    for experiment in experiments:
        try:
            runs = plan_runs(experiment, cache)
            facts = known_evidence(experiment, runs.scale, cache)
            outcomes.append(facts.judged(evidence_in(facts.evidence, runs, archive)))
        except (MissingExtra, MissingData) as error:
            say(f"{experiment.name} is left out: {error}")
    return judged_across(outcomes, known)


def write_verdicts(outcomes: Iterable[ExperimentOutcome], path: Path = VERDICTS) -> None:
    """Write the verdicts, which `load_verdicts` reads."""
    verdicts = [verdict for outcome in outcomes for verdict in shipped(outcome)]
    encoded = msgspec.json.encode(ShippedFile(sources_hash(), verdicts))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(encoded, indent=1) + b"\n")


def shipped(outcome: ExperimentOutcome) -> list[ShippedVerdict]:
    """Return the verdicts on the claims of an experiment, as they are shipped."""
    results = outcome.played.values()
    size = outcome.evidence.pass_size
    found = []
    for claim, verdict in outcome.verdicts:
        closest = verdict.closest
        found.append(
            ShippedVerdict(
                experiment=outcome.experiment.name,
                claim=claim.id,
                text=claim.text,
                source=claim.source,
                outcome=verdict.outcome,
                so_far=verdict.so_far,
                scale="decide",
                rounds=rounds_of(claim, outcome.evidence),
                runs=sum(result.runs for result in results),
                passes=min((result.runs // size for result in results), default=0)
                if closest is None
                else closest.passes,
                needed_passes=verdict.needed_passes,
                measured=verdict.measured,
                note=claim.note,
                interval=None if closest is None else _interval(closest),
            )
        )
    return found


def _interval(comparison: ClaimComparison) -> ShippedInterval:
    numbers = [_finite(x) for x in (*comparison.found, *comparison.limits)]
    return ShippedInterval(list(comparison.curves), *numbers)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


class ReplayedRun(NamedTuple):
    """A run that was played again, and whether its regret is the same, bit for bit."""

    experiment: str
    curve: str
    label: str
    run: int
    same: bool


def verify_runs(
    archive: RunArchive, experiments: list[Experiment], cache: Path, count: int, seed: int
) -> list[ReplayedRun]:
    """Play some archived runs again, chosen at random, and compare them bit for bit.

    The numbers may differ on another kind of processor, or with another version of the mathematical
    library, although the code is the same.
    """
    known = {experiment.name: experiment for experiment in experiments}
    pool: list[tuple[str, ArchivedStrand, int]] = [
        (name, strand, run)
        for name in known
        for strand in archive.strands_of(name)
        for run in strand.runs
    ]
    chosen = random.Random(seed).sample(pool, min(count, len(pool)))
    ordered = sorted(chosen, key=lambda entry: entry[0])
    return [_replayed(known[name], strand, run, cache) for name, strand, run in ordered]


def restamp_same_runs(
    archive: RunArchive, experiments: list[Experiment], cache: Path, runs: int, say: Say
) -> None:
    """Stamp archived runs with today's code, where it was changed without changing rankings.

    Of each policy on each click model whose code has changed, the runs that took the least time are
    played again. If they are the same, bit for bit, all runs of the pair get the stamp of today's
    code. Otherwise they stay stale. The recorded rankings of `tests` must be unchanged, too: a
    few runs do not reach every branch.
    """
    known = {experiment.name: experiment for experiment in experiments}
    stale: dict[tuple[str, str], list[tuple[float, str, ArchivedStrand, int]]] = {}
    for name in archive.experiments:
        for strand in archive.strands_of(name):
            if strand.facts.is_stale and name in known:
                pair = strand.facts.policy_name, strand.facts.model_name
                entries = [(run.seconds, name, strand, n) for n, run in strand.runs.items()]
                stale.setdefault(pair, []).extend(entries)
    for (policy, model), entries in stale.items():
        shortest = sorted(entries, key=lambda entry: entry[0])[:runs]
        found = [_replayed(known[name], strand, n, cache) for _, name, strand, n in shortest]
        same = all(one.same for one in found)
        say(f"{policy} on {model}: {'the same' if same else 'DIFFERENT'} in {len(found)} runs")
        if same:
            archive.restamp(policy, model)
    for name in archive.experiments:
        archive.save(name)


def _replayed(
    experiment: Experiment, archived: ArchivedStrand, run: int, cache: Path
) -> ReplayedRun:
    """Play an archived run again."""
    facts = archived.facts
    strand = _strand(experiment, facts.key, cache)
    same = False
    if strand is not None:
        strand = strand.until(int(archived.checkpoints[-1]))
        again = play_unit(Unit(experiment.name, strand, run), threading.Event())
        before = archived.at(strand.plan.checkpoints, run)
        same = (
            again is not None and before is not None and np.array_equal(again.regret, before.regret)
        )
    return ReplayedRun(experiment.name, facts.curve, facts.label, run, same)


def _strand(experiment: Experiment, key: str, cache: Path) -> Strand | None:
    """Return the strand of an experiment with this key; None if it has changed since."""
    strands = (s for curve in plan_runs(experiment, cache).curves.values() for s in curve)
    return next((strand for strand in strands if strand.key == key), None)
