"""Judging of claims about one of many curves, such as the best; `claims` registers them."""

from __future__ import annotations

from clickrank.experiments.claim_evidence import Evidence, paired
from clickrank.experiments.claim_kinds import AnyRatio, NearBest, PanelRatio, Rank, Spread
from clickrank.experiments.verdicts import (
    ABOVE_ZERO,
    ClaimComparison,
    ClaimVerdict,
    Decision,
    all_decided,
    allowed_text,
    any_of,
    compare_curves,
    compare_mean,
    compare_ratio,
    interval_text,
    mean_text,
    ratio_text,
    worst_of,
)


def near_best(claim: NearBest, evidence: Evidence) -> ClaimVerdict:
    """Compare the means with those of every other curve, at a level shared by all pairs.

    The best curve is not known in advance, and the smallest of many means is partly due to chance.
    """
    curves = list(evidence.results)
    pairs = [(policy, other) for policy in claim.policies for other in curves if other != policy]
    if not pairs:
        return ClaimVerdict(
            "undecided", f"{claim.policies[0]}: it is the only curve, and 2 are needed"
        )
    found = [compare_curves(evidence, pair, claim.limits, len(pairs)) for pair in pairs]
    outcome = worst_of([comparison.decision for comparison in found])
    decisive = [comparison for comparison in found if comparison.decision == outcome]
    if outcome == "holds":
        by_mean = sorted(curves, key=lambda curve: float(evidence.final(curve).mean()))
        closest = {(p, next(c for c in by_mean if c != p)) for p in claim.policies}
        decisive = [comparison for comparison in found if comparison.curves in closest]
    listed = "; ".join(ratio_text(evidence, comparison) for comparison in decisive)
    return all_decided(found, f"{listed}; {allowed_text(claim)}; {len(pairs)} pairs were compared")


def rank(claim: Rank, evidence: Evidence) -> ClaimVerdict:
    """Count the curves that are significantly better and worse, at a level shared by all."""
    others = [curve for curve in claim.among if curve != claim.policy]
    found, texts = [], []
    for other in others:
        a, b = paired(evidence.results[claim.policy], evidence.results[other])
        curves = (claim.policy, other)
        gap = compare_mean(evidence, curves, b - a, ABOVE_ZERO, len(others))
        found.append(gap)
        texts.append(f"{other} {mean_text(b)}, difference {interval_text(gap.found)}")
    decisions = [gap.decision for gap in found]
    first = 1 + decisions.count("fails")
    last = 1 + len(others) - decisions.count("holds")
    places = f"place {first}" if first == last else f"place {first} to {last}"
    text = (
        f"{claim.policy} {mean_text(evidence.final(claim.policy))}: {'; '.join(texts)}; "
        f"{places} of {len(others) + 1}, required: {claim.first} to {claim.last}"
    )
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
    text = "; ".join(ratio_text(evidence, comparison) for comparison in found)
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
    grid = {c: place for c, place in evidence.grid.items() if c in evidence.results}
    if len(grid) < 2 or min(evidence.passes(c) for c in grid) < 1:
        return ClaimVerdict("undecided", f"only {len(grid)} cells of the grid have a whole pass")
    pairs = len(grid) * (len(grid) - 1) // 2
    best = min(grid, key=lambda curve: float(evidence.final(curve).mean()))
    outcomes, texts = [], []
    waiting: list[ClaimComparison] = []
    for axis in (0, 1):
        line = [c for c in grid if c != best and grid[c][1 - axis] == grid[best][1 - axis]]
        if not line:
            return ClaimVerdict("undecided", f"{best}: only 1 cell along an axis")
        found = [compare_curves(evidence, (cell, best), claim.limits, pairs) for cell in line]
        outcomes.append(any_of([comparison.decision for comparison in found]))
        worst = max(range(len(line)), key=lambda i: float(evidence.final(line[i]).mean()))
        texts.append(ratio_text(evidence, found[worst]))
        if outcomes[-1] == "undecided":
            waiting += found
    text = f"{'; '.join(texts)}; {allowed_text(claim)}"
    return ClaimVerdict(worst_of(outcomes), text, comparisons=tuple(waiting))
