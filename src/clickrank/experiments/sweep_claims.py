"""Judging of claims about sweeps; `claims` registers them."""

from __future__ import annotations

import itertools
import math

from clickrank.experiments.claim_evidence import Evidence
from clickrank.experiments.claim_kinds import BoundFollows, BoundRatio, Falls, Level
from clickrank.experiments.verdicts import (
    ClaimComparison,
    ClaimVerdict,
    all_decided,
    allowed_text,
    compare_curves,
    compare_mean,
    interval_text,
)
from clickrank.stats.intervals import MeanInterval


def falls(claim: Falls, evidence: Evidence) -> ClaimVerdict:
    """Compare each point of a sweep with the next, by the ratio of their means."""
    found, texts = [], []
    for policy in claim.policies:
        curves = evidence.along(policy)
        count = len(claim.policies) * (len(curves) - 1)
        means = [evidence.final(curve).mean() for curve in curves]
        if min(means) <= 0:
            return ClaimVerdict(
                "undecided", f"{policy}: {min(means):g} is not a regret to compare with"
            )
        steps = [
            compare_curves(evidence, (after, before), (0.0, 1.0), count)
            for before, after in itertools.pairwise(curves)
        ]
        found += steps
        listed = ", ".join(f"{mean:,.2f}" for mean in means)
        largest = max((step.found for step in steps), key=lambda ratio: ratio.high)
        texts.append(
            f"{policy}: {listed}; the largest ratio of neighbours {interval_text(largest, 2)}"
        )
    return all_decided(found, "; ".join(texts))


def level(claim: Level, evidence: Evidence) -> ClaimVerdict:
    """Compare each point of a sweep with the first, by the ratio of their means."""
    found, texts = [], []
    for policy in claim.policies:
        first, *others = evidence.along(policy)
        means = [evidence.final(curve).mean() for curve in (first, *others)]
        if min(means) <= 0:
            return ClaimVerdict(
                "undecided", f"{policy}: {min(means):g} is not a regret to compare with"
            )
        count = len(claim.policies) * len(others)
        ratios = [compare_curves(evidence, (c, first), claim.limits, count) for c in others]
        found += ratios
        listed = ", ".join(f"{mean:,.0f}" for mean in means)
        compared = ", ".join(interval_text(ratio.found, 2) for ratio in ratios)
        texts.append(f"{policy}: {listed}; divided by the first {compared}")
    return all_decided(found, f"{'; '.join(texts)}; {allowed_text(claim)}")


def bound_ratio(claim: BoundRatio, evidence: Evidence) -> ClaimVerdict:
    """Compare the upper bound, divided by the mean regret, with the window at every point."""
    found, texts = [], []
    low, high = claim.limits
    for policy in claim.policies:
        curves = evidence.along(policy)
        count = len(claim.policies) * len(curves)
        ratios = []
        for curve in curves:
            upper = evidence.upper[curve]
            # The regret has an interval, and the bound is a constant.
            limits = (upper / high, upper / low if low > 0 else math.inf)
            regret = compare_mean(evidence, (curve,), evidence.final(curve), limits, count)
            found.append(regret)
            ratios.append(_bound_over(upper, regret))
        texts.append(f"{policy}: {', '.join(interval_text(ratio) for ratio in ratios)}")
    text = f"the bound divided by the regret: {'; '.join(texts)}"
    return all_decided(found, f"{text}; {allowed_text(claim)}")


def bound_follows(claim: BoundFollows, evidence: Evidence) -> ClaimVerdict:
    """Compare the upper bound, divided by the mean regret, at both ends of a sweep."""
    found, texts = [], []
    low, high = claim.limits
    for policy in claim.policies:
        curves = evidence.along(policy)
        first, last = curves[0], curves[-1]
        by = evidence.upper[last] / evidence.upper[first]
        fallen = compare_curves(evidence, (first, last), (low / by, high / by), len(claim.policies))
        found.append(fallen)
        looser = MeanInterval(*(by * x for x in fallen.found))
        texts.append(
            f"{policy}: regret from {evidence.final(first).mean():,.2f} to "
            f"{evidence.final(last).mean():,.2f}, bound from {evidence.upper[first]:,.1f} to "
            f"{evidence.upper[last]:,.1f}, {interval_text(looser, 2)} times as loose"
        )
    return all_decided(found, f"{'; '.join(texts)}; {allowed_text(claim)}")


def _bound_over(upper: float, regret: ClaimComparison) -> MeanInterval[float]:
    """Return a constant divided by a regret, with its interval."""
    mean, low, high = regret.found
    return MeanInterval(*(upper / x if x > 0 else math.inf for x in (mean, high, low)))
