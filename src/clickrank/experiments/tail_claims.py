"""Judging of claims about the few runs that lose linearly; `claims` registers them."""

from __future__ import annotations

import math

import numpy as np

from clickrank.experiments.claim_evidence import Evidence, last_half_rates
from clickrank.experiments.claim_kinds import Tail, TailOrder
from clickrank.experiments.verdicts import (
    ClaimComparison,
    ClaimVerdict,
    all_decided,
    allowed_text,
    interval_text,
    shared_level,
)
from clickrank.stats.confidence_sequences import share_sequence


def tail(claim: Tail, evidence: Evidence) -> ClaimVerdict:
    """Compare the share of runs that settled on a wrong list, with its exact sequence."""
    rates = last_half_rates(evidence.results[claim.policy])
    border = claim.settled.border
    count = int((rates >= border).sum())
    share = _share(evidence, (claim.policy,), count, rates.size, claim.limits)
    text = (
        f"{claim.policy}: {count:,} of {rates.size:,} runs lose at least {border:g} per round "
        f"over the last half, a share of {interval_text(share.found, 4)}, {allowed_text(claim)}"
    )
    return all_decided([share], text)


def tail_order(claim: TailOrder, evidence: Evidence) -> ClaimVerdict:
    """Compare the runs in which only one of two policies has linear regret (McNemar's test)."""
    lighter, heavier = claim.policies
    border = claim.settled.border
    one, two = (evidence.results[policy] for policy in claim.policies)
    shared, in_one, in_two = np.intersect1d(one.run_ids, two.run_ids, return_indices=True)
    light = last_half_rates(one)[in_one] >= border
    heavy = last_half_rates(two)[in_two] >= border
    only_heavier = int((heavy & ~light).sum())
    only_lighter = int((light & ~heavy).sum())
    unequal = only_heavier + only_lighter
    share = _share(evidence, claim.policies, only_heavier, unequal, (0.5, math.inf))
    text = (
        f"of {shared.size:,} paired runs, {only_heavier:,} lose at least {border:g} per round "
        f"over the last half with {heavier} alone, {only_lighter:,} with {lighter} alone; "
        f"{heavier}'s share of these {interval_text(share.found, 2)}, required: above 0.5"
    )
    return all_decided([share], text)


def _share(
    evidence: Evidence,
    curves: tuple[str, ...],
    count: int,
    n: int,
    limits: tuple[float, float],
) -> ClaimComparison:
    """Compare a share of n runs with limits; the passes that it would need are estimated."""
    level = shared_level(evidence, 1)
    found = share_sequence(count, n, level)
    passes = min(evidence.passes(curve) for curve in curves)
    by_pass = max(n / max(passes, 1), 1e-9)
    deviation = math.sqrt((count + 0.5) * (n - count + 0.5)) / (n + 1)
    return ClaimComparison(curves, found, limits, passes, deviation / math.sqrt(by_pass), level)
