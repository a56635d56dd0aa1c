"""Summaries of papers: each claim with its shipped verdict, what holds, and what was found out.

The front page of the report and the pages in ``docs/papers`` show them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from clickrank.experiments.claim_kinds import (
    AnyClaim,
    AnyRatio,
    BelowBound,
    BoundFollows,
    BoundRatio,
    CatchUp,
    Falls,
    Flattens,
    Growth,
    Level,
    NearBest,
    NearBound,
    PanelRatio,
    Rank,
    Ratio,
    Slope,
    Spread,
    Tail,
    TailOrder,
    Value,
    Windowed,
)
from clickrank.experiments.figure_spec import Experiment, Paper
from clickrank.experiments.paper_files import list_experiments
from clickrank.experiments.printed_numbers import load_printed
from clickrank.experiments.shipped_verdicts import (
    Counted,
    ShippedInterval,
    ShippedVerdict,
    count_outcomes,
)
from clickrank.experiments.verdicts import MOST_PASSES
from clickrank.simulation.comparison import regret_text

#: Below this, a limit only says that a number must be above 0.
_TINY = 1e-300
_RATIOS = (Ratio, AnyRatio, NearBest, Spread, Falls, Level, BoundFollows)


class ClaimSummary(NamedTuple):
    """A claim, its shipped verdict, and the number that decides it, in words."""

    experiment: Experiment
    claim: AnyClaim
    verdict: ShippedVerdict

    @property
    def place(self) -> str:
        """The figure and the name of the claim, as in ``figure-2/within-ten``."""
        return f"{self.experiment.figure_id}/{self.claim.id}"

    @property
    def why(self) -> str:
        """Why the claim fails, as far as it is known; empty if it does not fail."""
        return self.claim.why_in() if self.verdict.outcome == "fails" else ""

    @property
    def deciding_number(self) -> str:
        """The comparison that is closest to another verdict: a number and its interval."""
        found, measured = self.verdict.interval, self.verdict.measured
        if found is None:
            return measured
        if isinstance(self.claim, Rank):  # the place follows from several numbers
            return measured.rpartition("; ")[2]
        if self.claim.panels is not None:
            return "of " + measured.rpartition("; of ")[2]
        return f"{self._quantity(found)}: {interval_words(found.value, found.low, found.high)}"

    def _quantity(self, found: ShippedInterval) -> str:
        """Return what the number is."""
        claim, curves = self.claim, found.curves
        if isinstance(claim, Growth):
            return f"{curves[0]}, regret from T/10 to T over that from T/100 to T/10"
        if isinstance(claim, Flattens):
            return f"{curves[0]}, regret of the second half over the first"
        if isinstance(claim, NearBound | Slope):
            growth = "growth of the " * isinstance(claim, Slope)
            return f"{curves[0]}, {growth}regret over the lower bound"
        if isinstance(claim, PanelRatio):
            return f"{curves[0]}, regret over that in {claim.over}"
        if isinstance(claim, Tail):
            return f"{curves[0]}, share of runs"
        if isinstance(claim, TailOrder):
            return f"share of {curves[1]} among the runs in which only one loses linearly"
        if isinstance(claim, Value | BelowBound | BoundRatio) or len(curves) == 1:
            return f"{curves[0]}, regret"
        if isinstance(claim, _RATIOS) or not _is_sign(found):
            return f"{curves[0]} / {curves[1]}"
        first, second = curves if isinstance(claim, CatchUp) else reversed(curves)
        return f"{first} − {second}"

    @property
    def allowed(self) -> str:
        """Which values the claim allows, and where the limits come from."""
        found = self.verdict.interval
        if found is None or isinstance(self.claim, Rank) or self.claim.panels is not None:
            return ""
        low, high = found.lowest, found.highest
        if low is not None and 0.0 < low < _TINY:
            return "above 0"
        if low is not None and high is not None and low > 0.0:
            text = f"{_limit(low)} to {_limit(high)}"
        else:
            text = f"{_limit(low or 0.0)} or more" if high is None else f"{_limit(high)} or less"
        origin = self.claim.origin if isinstance(self.claim, Windowed) else ""
        return f"{text} ({origin})" if origin else text

    @property
    def words(self) -> str:
        """The verdict in words; for an open claim, also the passes that would decide it."""
        needed = self.verdict.needed_passes
        if self.verdict.outcome != "undecided" or not 0 < needed < MOST_PASSES:
            return self.verdict.words
        return f"{self.verdict.words}; about {needed:,} passes would decide"


class ShownFinding(NamedTuple):
    """What was found out about a paper, and the claims that it rests on."""

    text: str
    claims: list[ClaimSummary]


class ClaimGroup(NamedTuple):
    """A claim that is judged in several figures or panels, with those of one outcome."""

    text: str
    source: str
    claims: list[ClaimSummary]
    of: int

    @property
    def where(self) -> str:
        """In which figures and panels, and in how many of those that it is judged in."""
        places = ", ".join(claim.experiment.figure_id for claim in self.claims)
        return f"{places}: {len(self.claims)} of {self.of} panels" if self.of > 1 else places

    @property
    def reasons(self) -> list[str]:
        """Why the claims fail, each reason once, after the panel if they differ."""
        found = {claim.why: claim.experiment.figure_id for claim in reversed(self.claims)}
        if len(found) == 1:
            return list(found)
        return [f"{panel}: {why}" for why, panel in reversed(found.items())]


class PaperSummary(NamedTuple):
    """A paper and the verdicts on its claims, in the order of its experiments."""

    paper_id: str
    paper: Paper
    claims: list[ClaimSummary]
    findings: list[ShownFinding]

    @property
    def counts(self) -> Counted:
        """How many claims hold, fail and are undecided."""
        return count_outcomes([one.verdict for one in self.claims])

    @property
    def stated(self) -> Counted:
        """How many of the claims that the paper's text states hold, fail and are undecided."""
        stated = [c.verdict for c in self.claims if c.verdict.source == "stated in the text"]
        return count_outcomes(stated)

    @property
    def history(self) -> int:
        """How many claims are about the speed of the paper's programs, and are not judged."""
        return sum(one.verdict.outcome == "history" for one in self.claims)

    def groups(self, outcome: str) -> list[ClaimGroup]:
        """Return the claims with an outcome, each once, with the panels where they have it."""
        found: dict[tuple[str, str], list[ClaimSummary]] = {}
        for one in self.claims:
            found.setdefault((one.claim.id, one.claim.text), []).append(one)
        having = {
            k: [c for c in group if c.verdict.outcome == outcome] for k, group in found.items()
        }
        return [
            ClaimGroup(text, having[id_, text][0].claim.source, having[id_, text], len(group))
            for (id_, text), group in found.items()
            if having[id_, text]
        ]


def summarise(
    verdicts: Iterable[ShippedVerdict], experiments: list[Experiment] | None = None
) -> list[PaperSummary]:
    """Return the papers with their claims, by name; claims without a verdict are left out."""
    known = list_experiments() if experiments is None else experiments
    found = {(verdict.experiment, verdict.claim): verdict for verdict in verdicts}
    summaries = []
    for paper_id in dict.fromkeys(experiment.paper_id for experiment in known):
        own = [experiment for experiment in known if experiment.paper_id == paper_id]
        claims = [
            ClaimSummary(experiment, claim, found[experiment.name, claim.id])
            for experiment in own
            for claim in experiment.claims
            if (experiment.name, claim.id) in found
        ]
        findings = _findings(paper_id, claims)
        summaries.append(PaperSummary(paper_id, own[0].paper, claims, findings))
    return summaries


def _findings(paper_id: str, claims: list[ClaimSummary]) -> list[ShownFinding]:
    """Return the findings whose claims still have the outcome that they rest on."""
    by_place = {claim.place: claim for claim in claims}
    found = []
    for finding in load_printed(paper_id).findings:
        rests_on = [by_place[place] for place in finding.claims if place in by_place]
        outcomes = {claim.verdict.outcome for claim in rests_on}
        if len(rests_on) == len(finding.claims) and outcomes == {finding.outcome}:
            found.append(ShownFinding(finding.text, rests_on))
    return found


def interval_words(value: float | None, low: float | None, high: float | None) -> str:
    """Return a number with its interval, whose ends may not be known yet."""
    if value is None:
        return "unknown"
    if low is None and high is None:
        return f"{regret_text(value)} [interval not known yet]"
    ends = ("−∞" if low is None else regret_text(low), "∞" if high is None else regret_text(high))
    return f"{regret_text(value)} [{ends[0]}, {ends[1]}]"


def _is_sign(found: ShippedInterval) -> bool:
    """Return whether the number only has to be above 0."""
    return found.lowest is not None and 0.0 < found.lowest < _TINY


def _limit(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
