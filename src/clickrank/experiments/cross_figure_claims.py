"""Claims about several figures of a paper: judged when the results of all figures exist."""

from __future__ import annotations

from collections import Counter

from clickrank.experiments.claim_kinds import AnyClaim, PanelRatio, Panels
from clickrank.experiments.claims import judge
from clickrank.experiments.figure_spec import Experiment
from clickrank.experiments.runner import ExperimentOutcome
from clickrank.experiments.verdicts import ClaimVerdict, Decision


def judged_across(
    outcomes: list[ExperimentOutcome], known: list[Experiment]
) -> list[ExperimentOutcome]:
    """Return the outcomes with the verdicts that depend on other figures of the same paper.

    A claim on the number of panels in which something holds counts the verdicts on the panels,
    each of which is judged separately at the usual confidence level.
    """
    judged = [_with_elsewhere(outcome, outcomes) for outcome in outcomes]
    found = []
    for outcome in judged:
        verdicts = [
            (c, v if c.panels is None else _counted(c, c.panels, v, outcome, judged, known))
            for c, v in outcome.verdicts
        ]
        found.append(outcome._replace(verdicts=verdicts))
    return found


def _with_elsewhere(
    outcome: ExperimentOutcome, outcomes: list[ExperimentOutcome]
) -> ExperimentOutcome:
    if not any(isinstance(claim, PanelRatio) for claim, _ in outcome.verdicts):
        return outcome
    paper = outcome.experiment.paper_id
    others = {o.experiment.figure_id: o.results for o in outcomes if o.experiment.paper_id == paper}
    evidence = outcome.evidence._replace(elsewhere=others)
    verdicts = [
        (c, judge(c, evidence) if isinstance(c, PanelRatio) else v) for c, v in outcome.verdicts
    ]
    return outcome._replace(evidence=evidence, verdicts=verdicts)


def _counted(
    claim: AnyClaim,
    panels: Panels,
    here: ClaimVerdict,
    outcome: ExperimentOutcome,
    outcomes: list[ExperimentOutcome],
    known: list[Experiment],
) -> ClaimVerdict:
    """Return the verdict on the number of panels in which a claim holds."""
    paper = outcome.experiment.paper_id
    count = sum(
        c.id == claim.id and c.panels is not None
        for e in known
        if e.paper_id == paper
        for c in e.claims
    )
    verdicts = [
        v
        for o in outcomes
        if o.experiment.paper_id == paper
        for c, v in o.verdicts
        if c.id == claim.id and c.panels is not None
    ]
    totals = Counter(verdict.outcome for verdict in verdicts)
    open_ones = count - totals["holds"] - totals["fails"]
    most = totals["holds"] + open_ones
    decision: Decision = "undecided"
    if panels.least <= totals["holds"] and most <= panels.most:
        decision = "holds"
    elif most < panels.least or totals["holds"] > panels.most:
        decision = "fails"
    asked = f"{panels.least} or more"
    if panels.most < count:
        asked = f"{panels.least} to {panels.most}"
    text = (
        f"here: {here.outcome}, {here.measured}; of {count} panels it holds in {totals['holds']} "
        f"and is undecided in {open_ones}; required: {asked}"
    )
    so_far = any(v.so_far for v in verdicts) or len(verdicts) < count
    return ClaimVerdict(decision, text, so_far, here.comparisons)
