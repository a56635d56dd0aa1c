"""Progress of a figure at scale `decide`: what its open claims wait for, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from clickrank._core.arrays import Floats
from clickrank.experiments.archived_evidence import evidence_in
from clickrank.experiments.claim_evidence import regret_at
from clickrank.experiments.claim_kinds import AnyClaim, NearBest, PanelRatio, Spread, curves_of
from clickrank.experiments.claims import BY_PAIRS
from clickrank.experiments.figure_runs import FigureRuns, Strand, plan_runs
from clickrank.experiments.figure_spec import Experiment
from clickrank.experiments.run_archive import RunArchive
from clickrank.experiments.runner import ExperimentOutcome, known_evidence
from clickrank.experiments.verdicts import ClaimComparison, ClaimVerdict
from clickrank.simulation import Result

#: Processor time per round that is assumed before any run was played.
SECONDS_PER_ROUND = 1e-6


class Unit(NamedTuple):
    """One run that is to be played, and the experiment whose file it belongs to."""

    experiment: str
    strand: Strand
    run: int


class FigureProgress:
    """A figure, its archived runs, and the verdicts on its claims so far."""

    def __init__(self, experiment: Experiment, archive: RunArchive, cache: Path) -> None:
        """Plan the runs; those that were made by other code are forgotten, and played again."""
        self.experiment = experiment
        self.runs: FigureRuns = plan_runs(experiment, cache)
        self.archive = archive
        self._known = known_evidence(experiment, self.runs.scale, cache)
        stale = {s.key for s in self._strands() if archive.is_stale(s.key)}
        for key in stale:
            archive.remove(key)
        self.stale = bool(stale)
        self.outcome: ExperimentOutcome = self.judge()

    def _strands(self) -> Iterator[Strand]:
        return (strand for strands in self.runs.curves.values() for strand in strands)

    def judge(self) -> ExperimentOutcome:
        """Judge all claims on the passes that are complete."""
        evidence = evidence_in(self._known.evidence, self.runs, self.archive)
        self.outcome = self._known.judged(evidence)
        return self.outcome

    def results(self, curve: str) -> dict[int, Result]:
        """Return the results of a curve by the round at which its runs stop."""
        evidence = self.outcome.evidence
        found = {result.horizon: result for result in evidence.stopped.get(curve, ())}
        whole = evidence.results.get(curve)
        if whole is not None:  # whole runs serve as shorter ones
            for rounds in self.runs.horizons:
                found.setdefault(rounds, whole)
        return found

    def passes(self, curve: str, rounds: int) -> int:
        """Return the number of complete passes of a curve up to a round."""
        result = self.results(curve).get(rounds)
        return 0 if result is None else result.runs // self.runs.pass_size

    def open_claims(self, others: Mapping[str, FigureProgress]) -> list[OpenClaim]:
        """Return the open claims that more runs may decide, with the predicted cost of each."""
        found = []
        for claim, verdict in self.outcome.verdicts:
            if verdict.outcome != "undecided":
                continue
            needs = [n for n in self._needs(claim, verdict, others) if n.passes < n.most_passes]
            if needs:
                cost = sum(max(need.wanted - need.passes, 1) * need.seconds for need in needs)
                hopeless = any(need.wanted > need.most_passes for need in needs)
                found.append(OpenClaim(hopeless, 0.0 if self.stale else cost, needs))
        return found

    def _needs(
        self, claim: AnyClaim, verdict: ClaimVerdict, others: Mapping[str, FigureProgress]
    ) -> list[Need]:
        """Return the curves of which more runs may decide a claim, and how long these are to be."""
        end = claim.rounds or self.runs.scale.horizon
        end = min(rounds for rounds in self.runs.horizons if rounds >= end)
        if isinstance(claim, PanelRatio):  # the same policy in two figures, run by run
            there = others.get(f"{self.experiment.paper_id}/{claim.over}", self)
            wanted = verdict.needed_passes
            pair = [Need(f, claim.policy, f.runs.scale.horizon, wanted) for f in (self, there)]
            fewest = min(need.passes for need in pair)
            return [need for need in pair if need.passes == fewest]
        if isinstance(claim, (*BY_PAIRS, Spread)) and self.runs.stops:
            return self._needs_of_pairs(claim, verdict, end)
        waiting = {c for comparison in verdict.open_comparisons for c in comparison.curves}
        if verdict.comparisons and not waiting:  # decided here; the claim counts several figures
            return []
        if not waiting:
            evidence = self.outcome.evidence
            waiting = {c for policy in curves_of(claim) for c in evidence.along(policy)}
        waiting = waiting or set(self.runs.curves)
        wanted = verdict.needed_passes
        return [Need(self, c, end, wanted) for c in self.runs.curves if c in waiting]

    def _needs_of_pairs(self, claim: AnyClaim, verdict: ClaimVerdict, end: int) -> list[Need]:
        """Return what decides a claim that compares curves two by two."""
        first = min(self.runs.horizons[0], end)
        curves = list(self.runs.curves)
        if not isinstance(claim, NearBest | Spread):
            curves = [curve for curve in curves if curve in curves_of(claim)]
        new = [Need(self, curve, first) for curve in curves if not self.passes(curve, first)]
        if new:
            return new
        horizons = [rounds for rounds in self.runs.horizons if rounds <= end]
        if not any(self.passes(curve, end) for curve in curves):
            return [self._best_of(curves, horizons, first)]
        whole = {curve for curve in curves if self.passes(curve, end)}
        waiting = verdict.open_comparisons
        needs: list[Need] = []
        for pair in waiting:
            if whole & set(pair.curves):
                needs += self._next_needs(pair, horizons)
        if waiting and not needs:  # the pairs that are left compare curves that were stopped
            left = [curve for pair in waiting for curve in pair.curves]
            needs = [self._best_of(left, horizons, first)]
        # Of two needs of the same curve, the longer run serves the shorter one.
        longest = {need.curve: need.rounds for need in sorted(needs, key=lambda n: n.rounds)}
        return [n for n in dict.fromkeys(needs) if n.rounds == longest[n.curve]]

    def _best_of(self, curves: list[str], horizons: list[int], first: int) -> Need:
        """Return the need of whole runs of the curve that has lost least in the first rounds."""
        best = min(curves, key=lambda c: float(self._by(c, first).mean()))
        return Need(self, best, horizons[-1])

    def _by(self, curve: str, rounds: int) -> Floats:
        return regret_at(self.results(curve)[rounds], rounds)

    def _next_needs(self, pair: ClaimComparison, horizons: list[int]) -> list[Need]:
        """Return what may decide an open comparison, one of whose curves has whole runs.

        The other curve is extended to the next horizon, unless its runs so far would decide if
        there were more of them.
        """
        end = horizons[-1]
        reached = {c: max(r for r in horizons if self.passes(c, r)) for c in pair.curves}
        short = [curve for curve, rounds in reached.items() if rounds < end]
        if short and (pair.stopped is None or pair.needed_passes > self.runs.passes):
            return [Need(self, c, horizons[horizons.index(reached[c]) + 1]) for c in short]
        fewest = min(self.passes(curve, rounds) for curve, rounds in reached.items())
        return [
            Need(self, curve, rounds, pair.needed_passes)
            for curve, rounds in reached.items()
            if self.passes(curve, rounds) == fewest
        ]

    def seconds(self, curve: str, rounds: int) -> float:
        """Return the processor time of one pass of a curve up to a round."""
        played = list(self.results(curve).values())
        if played:
            longest = max(played, key=lambda result: result.horizon)
            by_round = longest.seconds / longest.runs / longest.horizon
            return self.runs.pass_size * rounds * by_round
        whole = int(self.runs.curves[curve][0].plan.checkpoints[-1])
        return self.runs.pass_size * min(rounds, whole) * SECONDS_PER_ROUND

    def next_units(self, curve: str, rounds: int) -> list[Unit]:
        """Return the missing runs of the next pass of a curve up to a round."""
        found = []
        for place in self.runs.runs_of_pass(self.passes(curve, rounds)):
            strand = self.runs.curves[curve][place.strand].until(rounds)
            if self.archive.find(strand, place.run) is None:
                found.append(Unit(self.experiment.name, strand, place.run))
        return found


class Need(NamedTuple):
    """A curve of a figure of which another pass may decide a claim, and the round to play to."""

    figure: FigureProgress
    curve: str
    rounds: int
    #: The number of passes that would probably decide; 0 if it is not known.
    wanted: int = 0

    @property
    def passes(self) -> int:
        """The number of complete passes of the curve up to this round."""
        return self.figure.passes(self.curve, self.rounds)

    @property
    def most_passes(self) -> int:
        """The number of passes after which the figure is given up."""
        return self.figure.runs.passes

    @property
    def seconds(self) -> float:
        """The processor time of one pass of the curve."""
        return self.figure.seconds(self.curve, self.rounds)


class OpenClaim(NamedTuple):
    """A claim that is not decided, with what it needs next.

    Claims that would probably need more passes than the cap come last, and otherwise those that
    would probably cost least come first.
    """

    hopeless: bool
    cost: float
    needs: list[Need]
