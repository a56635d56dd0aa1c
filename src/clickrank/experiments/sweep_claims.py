"""Judging of claims about sweeps; `claims` registers them."""

from __future__ import annotations

import itertools
import math

from clickrank.experiments.claim_evidence import Evidence, paired
from clickrank.experiments.claim_kinds import BoundFollows, BoundRatio, Falls, Level
from clickrank.experiments.verdicts import (
    ClaimVerdict,
    allowed_text,
    inside,
    interval_text,
    shared_level,
    worst_of,
)
from clickrank.stats.intervals import MeanInterval, mean_interval, ratio_interval


def falls(claim: Falls, evidence: Evidence) -> ClaimVerdict:
    """Compare each point of a sweep with the next, by the ratio of their means."""
    outcomes, texts = [], []
    for policy in claim.policies:
        curves = evidence.along(policy)
        level = shared_level(len(claim.policies) * (len(curves) - 1))
        means = [evidence.final(curve).mean() for curve in curves]
        if min(means) <= 0:
            return ClaimVerdict(
                "undecided", f"{policy}: {min(means):g} is not a regret to compare with"
            )
        steps = [_step(evidence, a, b, level) for a, b in itertools.pairwise(curves)]
        outcomes += [inside(step, 0.0, 1.0) for step in steps]
        listed = ", ".join(f"{mean:,.2f}" for mean in means)
        largest = max(steps, key=lambda step: step.high)
        texts.append(
            f"{policy}: {listed}; the largest ratio of neighbours {interval_text(largest, 2)}"
        )
    return ClaimVerdict(worst_of(outcomes), "; ".join(texts))


def level(claim: Level, evidence: Evidence) -> ClaimVerdict:
    """Compare each point of a sweep with the first, by the ratio of their means."""
    outcomes, texts = [], []
    for policy in claim.policies:
        first, *others = evidence.along(policy)
        means = [evidence.final(curve).mean() for curve in (first, *others)]
        if min(means) <= 0:
            return ClaimVerdict(
                "undecided", f"{policy}: {min(means):g} is not a regret to compare with"
            )
        confidence = shared_level(len(claim.policies) * len(others))
        ratios = [_step(evidence, first, curve, confidence) for curve in others]
        outcomes += [inside(ratio, *claim.limits) for ratio in ratios]
        listed = ", ".join(f"{mean:,.0f}" for mean in means)
        compared = ", ".join(interval_text(ratio, 2) for ratio in ratios)
        texts.append(f"{policy}: {listed}; divided by the first {compared}")
    return ClaimVerdict(worst_of(outcomes), f"{'; '.join(texts)}; {allowed_text(claim)}")


def bound_ratio(claim: BoundRatio, evidence: Evidence) -> ClaimVerdict:
    """Compare the upper bound, divided by the mean regret, with the window at every point."""
    outcomes, texts = [], []
    for policy in claim.policies:
        curves = evidence.along(policy)
        level = shared_level(len(claim.policies) * len(curves))
        ratios = [_bound_ratio(evidence, curve, level) for curve in curves]
        outcomes += [inside(ratio, *claim.limits) for ratio in ratios]
        texts.append(f"{policy}: {', '.join(interval_text(ratio) for ratio in ratios)}")
    text = f"the bound divided by the regret: {'; '.join(texts)}"
    return ClaimVerdict(worst_of(outcomes), f"{text}; {allowed_text(claim)}")


def bound_follows(claim: BoundFollows, evidence: Evidence) -> ClaimVerdict:
    """Compare the upper bound, divided by the mean regret, at both ends of a sweep."""
    outcomes, texts = [], []
    for policy in claim.policies:
        curves = evidence.along(policy)
        first, last = curves[0], curves[-1]
        fallen = _step(evidence, last, first, shared_level(len(claim.policies)))
        by = evidence.upper[last] / evidence.upper[first]
        found = MeanInterval(*(by * x for x in fallen))
        outcomes.append(inside(found, *claim.limits))
        texts.append(
            f"{policy}: regret from {evidence.final(first).mean():,.2f} to "
            f"{evidence.final(last).mean():,.2f}, bound from {evidence.upper[first]:,.1f} to "
            f"{evidence.upper[last]:,.1f}, {interval_text(found, 2)} times as loose"
        )
    return ClaimVerdict(worst_of(outcomes), f"{'; '.join(texts)}; {allowed_text(claim)}")


def _step(evidence: Evidence, a: str, b: str, level: float) -> MeanInterval[float]:
    """Return the mean regret of the second curve, divided by that of the first."""
    before, after = paired(evidence.results[a], evidence.results[b])
    return ratio_interval(after, before, level)


def _bound_ratio(evidence: Evidence, curve: str, level: float) -> MeanInterval[float]:
    mean = mean_interval(evidence.final(curve), level)
    upper = evidence.upper[curve]
    return MeanInterval(
        upper / mean.mean if mean.mean > 0 else math.inf,
        upper / mean.high if mean.high > 0 else math.inf,
        upper / mean.low if mean.low > 0 else math.inf,
    )
