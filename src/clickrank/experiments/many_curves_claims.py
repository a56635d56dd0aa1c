"""Judging of claims about one of many curves, such as the best; `claims` registers them."""

from __future__ import annotations

from clickrank.experiments.claim_evidence import Evidence, paired
from clickrank.experiments.claim_kinds import AnyRatio, NearBest, PanelRatio, Rank, Spread
from clickrank.experiments.verdicts import (
    ClaimComparison,
    ClaimVerdict,
    Decision,
    all_decided,
    allowed_text,
    any_of,
    compare_curves,
    compare_less,
    compare_ratio,
    gap_text,
    interval_text,
    mean_text,
    ratio_text,
    worst_of,
)


def near_best(claim: NearBest, evidence: Evidence) -> ClaimVerdict:
    """Compare the means with those of every other curve, at a level shared by all pairs.

    The best curve is not known in advance, and the smallest of many means is partly due to chance.
    """
    curves = [c for c in evidence.curves or evidence.results if evidence.has_begun(c)]
    pairs = [(policy, other) for policy in claim.policies for other in curves if other != policy]
    if not pairs:
        return ClaimVerdict(
            "undecided", f"{claim.policies[0]}: it is the only curve, and 2 are needed"
        )
    missing = max(len(evidence.curves) - len(curves), 0)
    count = len(pairs) + len(claim.policies) * missing
    found = [compare_curves(evidence, pair, claim.limits, count) for pair in pairs]
    outcome = worst_of([comparison.decision for comparison in found])
    if missing and outcome == "holds":
        outcome = "undecided"
    decisive = [comparison for comparison in found if comparison.decision == outcome]
    if outcome == "holds":
        decisive = sorted(found, key=lambda comparison: comparison.margin)[: len(claim.policies)]
    listed = "; ".join(ratio_text(comparison) for comparison in decisive)
    text = f"{listed}; {allowed_text(claim)}; {len(pairs)} pairs were compared"
    if missing:
        text = f"{text}; curves without a complete pass: {missing}"
    return ClaimVerdict(outcome, text, comparisons=tuple(found))


def rank(claim: Rank, evidence: Evidence) -> ClaimVerdict:
    """Count the curves that are significantly better and worse, at a level shared by all."""
    others = [curve for curve in claim.among if curve != claim.policy]
    found, texts = [], []
    for other in others:
        gap = compare_less(evidence, (claim.policy, other), len(others))
        found.append(gap)
        texts.append(gap_text(gap))
    decisions = [gap.decision for gap in found]
    first = 1 + decisions.count("fails")
    last = 1 + len(others) - decisions.count("holds")
    places = f"place {first}" if first == last else f"place {first} to {last}"
    required = f"required: {claim.first} to {claim.last}"
    text = f"{'; '.join(texts)}; {places} of {len(others) + 1}, {required}"
    outcome: Decision = "undecided"
    if claim.first <= first and last <= claim.last:
        outcome = "holds"
    elif first > claim.last or last < claim.first:
        outcome = "fails"
    return ClaimVerdict(outcome, text, comparisons=tuple(found))


def any_ratio(claim: AnyRatio, evidence: Evidence) -> ClaimVerdict:
    """Compare several ratios with the window, which at least one of them must lie in."""
    count = len(claim.policies)
    found = [compare_curves(evidence, (p, claim.than), claim.limits, count) for p in claim.policies]
    text = "; ".join(ratio_text(comparison) for comparison in found)
    outcome = any_of([comparison.decision for comparison in found])
    return ClaimVerdict(outcome, f"{text}; {allowed_text(claim)}", comparisons=tuple(found))


def panel_ratio(claim: PanelRatio, evidence: Evidence) -> ClaimVerdict:
    """Compare the mean with that of the same policy in another figure, run by run."""
    other = evidence.elsewhere.get(claim.over, {}).get(claim.policy)
    here = evidence.results[claim.policy]
    if other is None:
        return ClaimVerdict("undecided", f"{claim.over}: there are 0 runs of {claim.policy}")
    a, b = paired(here, other)
    if a.size < 2 or here.horizon != other.horizon or min(a.mean(), b.mean()) <= 0:
        return ClaimVerdict(
            "undecided", f"{claim.over}: a ratio needs two paired runs of equal length"
        )
    found = compare_ratio(evidence, (claim.policy,), a, b, claim.limits)
    text = (
        f"{claim.policy}: {mean_text(a)}, in {claim.over} {mean_text(b)}, "
        f"ratio {interval_text(found.found, 2)}, {allowed_text(claim)}"
    )
    return all_decided([found], text)


def spread(claim: Spread, evidence: Evidence) -> ClaimVerdict:
    """Compare the best cell of a grid with the other cells of its row and of its column.

    All pairs of cells share the level, so the choice of the best cell does not matter.
    """
    grid = {c: place for c, place in evidence.grid.items() if evidence.has_begun(c)}
    whole = [curve for curve in grid if evidence.passes(curve)]
    if len(grid) < 2 or not whole or (evidence.curves and len(grid) < len(evidence.grid)):
        text = f"only {len(grid)} of {len(evidence.grid)} cells of the grid have a complete pass"
        return ClaimVerdict("undecided", text)
    pairs = len(grid) * (len(grid) - 1) // 2
    best = min(whole, key=lambda curve: float(evidence.final(curve).mean()))
    rivals = [
        comparison
        for cell in grid
        if not evidence.passes(cell)
        and (comparison := compare_curves(evidence, (best, cell), (0.0, 1.0), pairs)).found.mean > 1
    ]
    if rivals:
        text = f"{len(rivals)} cells may be better than {best}, the best that was not stopped"
        return ClaimVerdict("undecided", text, comparisons=tuple(rivals))
    outcomes, texts = [], []
    waiting: list[ClaimComparison] = []
    for axis in (0, 1):
        line = [c for c in grid if c != best and grid[c][1 - axis] == grid[best][1 - axis]]
        if not line:
            return ClaimVerdict("undecided", f"{best}: only 1 cell along an axis")
        found = [compare_curves(evidence, (cell, best), claim.limits, pairs) for cell in line]
        outcomes.append(any_of([comparison.decision for comparison in found]))
        texts.append(ratio_text(max(found, key=lambda comparison: comparison.found.mean)))
        if outcomes[-1] == "undecided":
            waiting += found
    text = f"{'; '.join(texts)}; {allowed_text(claim)}"
    return ClaimVerdict(worst_of(outcomes), text, comparisons=tuple(waiting))
