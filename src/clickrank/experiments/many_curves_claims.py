"""Judging of claims about one of many curves, such as the best; `claims` registers them."""

from __future__ import annotations

from clickrank.experiments.claim_evidence import Evidence, paired
from clickrank.experiments.claim_kinds import AnyRatio, NearBest, PanelRatio, Rank, Spread
from clickrank.experiments.verdicts import (
    ClaimVerdict,
    allowed_text,
    any_of,
    inside,
    interval_text,
    mean_text,
    ratio_within,
    shared_level,
    worst_of,
)
from clickrank.stats.intervals import mean_interval, ratio_interval


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
    level = shared_level(len(pairs))
    found = [ratio_within(pair, claim, evidence, level) for pair in pairs]
    outcome = worst_of([verdict.outcome for verdict in found])
    decisive = [verdict.measured for verdict in found if verdict.outcome == outcome]
    if outcome == "holds":
        by_mean = sorted(curves, key=lambda curve: float(evidence.final(curve).mean()))
        closest = {(p, next(c for c in by_mean if c != p)) for p in claim.policies}
        decisive = [v.measured for v, p in zip(found, pairs, strict=True) if p in closest]
    return ClaimVerdict(outcome, f"{'; '.join(decisive)}; {len(pairs)} pairs were compared")


def rank(claim: Rank, evidence: Evidence) -> ClaimVerdict:
    """Count the curves that are significantly better and worse, at a level shared by all."""
    others = [curve for curve in claim.among if curve != claim.policy]
    level = shared_level(len(others))
    better, worse, texts = 0, 0, []
    for other in others:
        a, b = paired(evidence.results[claim.policy], evidence.results[other])
        if a.size < 2:
            text = f"{claim.policy}, {other}: fewer than two paired runs"
            return ClaimVerdict("undecided", text)
        gap = mean_interval(b - a, level)
        better += gap.high < 0
        worse += gap.low > 0
        texts.append(f"{other} {mean_text(b)}, difference {interval_text(gap)}")
    first, last = 1 + better, 1 + len(others) - worse
    places = f"place {first}" if first == last else f"place {first} to {last}"
    text = (
        f"{claim.policy} {mean_text(evidence.final(claim.policy))}: {'; '.join(texts)}; "
        f"{places} of {len(others) + 1}, required: {claim.first} to {claim.last}"
    )
    if claim.first <= first and last <= claim.last:
        return ClaimVerdict("holds", text)
    return ClaimVerdict("fails" if first > claim.last or last < claim.first else "undecided", text)


def any_ratio(claim: AnyRatio, evidence: Evidence) -> ClaimVerdict:
    """Compare several ratios with the window, which at least one of them must lie in."""
    level = shared_level(len(claim.policies))
    found = [ratio_within((p, claim.than), claim, evidence, level) for p in claim.policies]
    text = "; ".join(verdict.measured for verdict in found)
    return ClaimVerdict(any_of([verdict.outcome for verdict in found]), text)


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
    found = ratio_interval(a, b, shared_level(1))
    text = (
        f"{claim.policy}: {mean_text(a)}, in {claim.over} {mean_text(b)}, "
        f"ratio {interval_text(found, 2)}, {allowed_text(claim)}"
    )
    return ClaimVerdict(inside(found, *claim.limits), text)


def spread(claim: Spread, evidence: Evidence) -> ClaimVerdict:
    """Compare the best cell of a grid with the other cells of its row and of its column.

    All pairs of cells share the level, so the choice of the best cell does not matter.
    """
    grid = {c: place for c, place in evidence.grid.items() if c in evidence.results}
    if len(grid) < 2 or min(evidence.results[c].runs for c in grid) < 2:
        return ClaimVerdict("undecided", f"only {len(grid)} cells of the grid have two runs")
    level = shared_level(len(grid) * (len(grid) - 1) // 2)
    best = min(grid, key=lambda curve: float(evidence.final(curve).mean()))
    outcomes, texts = [], []
    for axis in (0, 1):
        line = [c for c in grid if c != best and grid[c][1 - axis] == grid[best][1 - axis]]
        if not line:
            return ClaimVerdict("undecided", f"{best}: only 1 cell along an axis")
        found = [ratio_within((cell, best), claim, evidence, level) for cell in line]
        outcomes.append(any_of([verdict.outcome for verdict in found]))
        worst = max(range(len(line)), key=lambda i: float(evidence.final(line[i]).mean()))
        texts.append(found[worst].measured)
    return ClaimVerdict(worst_of(outcomes), "; ".join(texts))
