"""Judging of claims on results: one small pure function per kind of claim.

A claim *holds* if its confidence interval lies entirely on its side, *fails* if the interval lies
entirely on the other side, and is *undecided* otherwise: more runs may decide it. The intervals are
confidence sequences (`clickrank.stats.confidence_sequences`), so that runs may be added until a
claim is decided. All claims of a figure share the level `FIGURE_LEVEL`. A claim is about the
horizon of the paper's figure unless it gives its own `rounds`. On a shorter run it holds, fails or
is undecided *so far*. Tolerances are those of `tolerance_windows`.

Policies meet the same users in runs with the same number, so two policies are compared by their
differences run by run. One of two policies may be stopped early if it has lost too much already:
see `verdicts.compare_curves`. The values that the intervals are computed from come from *passes*.
On a set of queries a pass has one run on each query, so that claims are about the average over
these queries, and each query is a stratum. Otherwise a pass has several runs, whose mean is closer
to a normal distribution than a single run. Models drawn from the same prior (20 for each in Figure
1 of kveton2022) count as independent; intervals by prior would be up to a third wider.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
from collections.abc import Sequence

import numpy as np

from clickrank.experiments.claim_evidence import (
    Evidence,
    gained,
    last_decade_slopes,
    paired,
    regret_at,
)
from clickrank.experiments.claim_kinds import (
    AnyClaim,
    AnyRatio,
    BelowBound,
    BestOf,
    CatchUp,
    Flattens,
    Growth,
    NearBest,
    NearBound,
    Order,
    Parameters,
    Range,
    Rank,
    Ratio,
    Slope,
    TimeRatio,
    Value,
    curves_of,
)
from clickrank.experiments.many_curves_claims import (
    any_ratio,
    near_best,
    panel_ratio,
    rank,
    spread,
)
from clickrank.experiments.paper_files import DATA
from clickrank.experiments.sweep_claims import bound_follows, bound_ratio, falls, level
from clickrank.experiments.tail_claims import tail, tail_order
from clickrank.experiments.tolerance_windows import HALF_WAY_TO_TEN
from clickrank.experiments.verdicts import (
    ABOVE_ZERO,
    ClaimVerdict,
    all_decided,
    allowed_text,
    compare_curves,
    compare_less,
    compare_mean,
    compare_ratio,
    gap_text,
    interval_text,
    mean_text,
    ratio_text,
    worst_of,
)
from clickrank.simulation.comparison import regret_text

LOG_OR_LINEAR = HALF_WAY_TO_TEN
SHAPES = {
    "stopped": (-math.inf, 1 / LOG_OR_LINEAR),
    "logarithmic": (-math.inf, LOG_OR_LINEAR),
    "linear": (LOG_OR_LINEAR, math.inf),
}
FLAT = math.sqrt(2.0) - 1.0


def judge(claim: AnyClaim, evidence: Evidence) -> ClaimVerdict:
    """Return the verdict on a claim, "so far" if fewer rounds were simulated than it is about."""
    rounds = rounds_of(claim, evidence)
    if rounds is None:
        return _judge(claim, evidence)
    so_far = evidence.longest < rounds
    evidence = evidence.in_whole_passes()
    if claim.rounds is not None:
        evidence = evidence.until(claim.rounds)
    verdict = _with_all_curves(claim, evidence)
    if so_far and verdict.outcome == "fails":
        reason = _may_still_hold(claim, evidence)
        verdict = ClaimVerdict("undecided", f"{verdict.measured}; {reason}") if reason else verdict
    return verdict._replace(so_far=so_far)


def _may_still_hold(claim: AnyClaim, evidence: Evidence) -> str:
    """Return why a claim that fails on a shorter run may still hold; an empty text if it cannot."""
    if isinstance(claim, Value) and evidence.final(claim.policy).mean() < claim.limits[0]:
        return "the regret can still grow"
    if isinstance(claim, Growth) and claim.shape == "stopped":
        return "the regret may stop growing later"
    return ""


def rounds_of(claim: AnyClaim, evidence: Evidence) -> int | None:
    """Return how many rounds a claim is about; None for claims on parameters and times."""
    if isinstance(claim, Parameters | Range | TimeRatio):
        return None
    return claim.rounds or evidence.paper_rounds


#: Claims that compare curves two by two, some of which may be stopped early.
BY_PAIRS = (AnyRatio, BestOf, NearBest, Order, Rank, Ratio)


def _with_all_curves(claim: AnyClaim, evidence: Evidence) -> ClaimVerdict:
    """Return the verdict on a claim; undecided if one of its curves has no complete pass."""
    for curve in (c for policy in curves_of(claim) for c in evidence.along(policy)):
        begun = evidence.has_begun(curve) if isinstance(claim, BY_PAIRS) else False
        if not begun and evidence.passes(curve) < 1:
            return ClaimVerdict("undecided", f"{curve}: no pass has finished")
    return _judge(claim, evidence)


@functools.singledispatch
def _judge(claim: AnyClaim, evidence: Evidence) -> ClaimVerdict:
    raise TypeError(type(claim))  # unreachable: every kind is registered below


_judge.register(tail)
_judge.register(tail_order)
_judge.register(near_best)
_judge.register(rank)
_judge.register(any_ratio)
_judge.register(spread)
_judge.register(panel_ratio)
_judge.register(falls)
_judge.register(level)
_judge.register(bound_ratio)
_judge.register(bound_follows)


@_judge.register
def order(claim: Order, evidence: Evidence) -> ClaimVerdict:
    """Compare each policy with the next."""
    pairs = list(itertools.pairwise(claim.policies))
    return _all_less(pairs, evidence)


@_judge.register
def best(claim: BestOf, evidence: Evidence) -> ClaimVerdict:
    """Compare each policy of one set with each policy of the other."""
    return _all_less([(a, b) for a in claim.policies for b in claim.than], evidence)


def _all_less(pairs: Sequence[tuple[str, str]], evidence: Evidence) -> ClaimVerdict:
    """Test that the first policy of each pair has less regret, at a level shared by all pairs."""
    found = [compare_less(evidence, pair, len(pairs)) for pair in pairs]
    texts = [f"{gap_text(gap)}, {gap.passes * evidence.pass_size:,} paired runs" for gap in found]
    return all_decided(found, "; ".join(texts))


@_judge.register
def ratio(claim: Ratio, evidence: Evidence) -> ClaimVerdict:
    """Compare the ratio of two means with the window."""
    found = compare_curves(evidence, claim.policies, claim.limits)
    return all_decided([found], f"{ratio_text(found)}, {allowed_text(claim)}")


@_judge.register
def value(claim: Value, evidence: Evidence) -> ClaimVerdict:
    """Compare the mean regret at the horizon with the window."""
    result = evidence.results[claim.policy]
    mean = compare_mean(evidence, (claim.policy,), result.regret[:, -1], claim.limits)
    text = (
        f"{claim.policy}: regret {interval_text(mean.found)} at round {result.horizon:,}, "
        f"{allowed_text(claim)}"
    )
    return all_decided([mean], text)


@_judge.register
def growth(claim: Growth, evidence: Evidence) -> ClaimVerdict:
    """Compare the regret from T/10 to T with the regret from T/100 to T/10."""
    result = evidence.results[claim.policy]
    end = result.horizon
    last, before = (gained(result, end // d, 10 * end // d) for d in (10, 100))
    if end < 100 or before.mean() <= 0:
        text = f"{claim.policy}: there is no regret up to round {end // 10:,} to compare with"
        return ClaimVerdict("undecided", text)
    ratio = compare_ratio(evidence, (claim.policy,), last, before, SHAPES[claim.shape])
    text = (
        f"{claim.policy}: from round {end // 10:,} to {end:,} regret grows by {mean_text(last)}, "
        f"from {end // 100:,} to {end // 10:,} by {mean_text(before)}, "
        f"ratio {interval_text(ratio.found, 2)}; 1 is logarithmic growth, 10 is linear, the limit "
        f"is {LOG_OR_LINEAR:.2f}, and {1 / LOG_OR_LINEAR:.2f} for regret that has stopped"
    )
    return all_decided([ratio], text)


@_judge.register
def flattens(claim: Flattens, evidence: Evidence) -> ClaimVerdict:
    """Compare the regret of the second half of the rounds with that of the first half."""
    result = evidence.results[claim.policy]
    half = result.horizon // 2
    first, last = regret_at(result, half), gained(result, half, result.horizon)
    ratio = compare_ratio(evidence, (claim.policy,), last, first, (-math.inf, FLAT))
    text = (
        f"{claim.policy}: the first {half:,} rounds add {mean_text(first)}, the last "
        f"{mean_text(last)}, ratio {interval_text(ratio.found, 2)}, required: below {FLAT:.2f}, "
        "which is the ratio of √t"
    )
    return all_decided([ratio], text)


@_judge.register
def catch_up(claim: CatchUp, evidence: Evidence) -> ClaimVerdict:
    """Compare two policies at a share of the claim's rounds, and at the end.

    A shorter run may show that the first policy does not have more regret early on, or that it has
    caught up already, but not that it never will.
    """
    late, early = (evidence.results[curve] for curve in claim.policies)
    end = min(late.horizon, early.horizon)
    rounds = rounds_of(claim, evidence) or end
    at = min(end, int(claim.share * rounds))
    a, b = paired(late, early, at)
    before = compare_mean(evidence, claim.policies, a - b, ABOVE_ZERO, 2)
    text = (
        f"at round {at:,} {claim.policies[0]} {mean_text(a)}, {claim.policies[1]} "
        f"{mean_text(b)}, difference {interval_text(before.found)}, required: above 0"
    )
    after = compare_curves(evidence, claim.policies, claim.limits, 2)
    ended = f"{ratio_text(after)}, {allowed_text(claim)}"
    if end >= rounds:
        return all_decided([before, after], f"{text}; at the end {ended}")
    if end <= claim.share * rounds:
        if before.decision == "fails":
            return ClaimVerdict("fails", text)
        return ClaimVerdict("undecided", f"{text}, up to round {claim.share * rounds:,.0f}")
    caught_up = "holds" if after.decision == "holds" else "undecided"
    outcome = worst_of([before.decision, caught_up])
    text = f"{text}; at round {end:,} {ended}"
    return ClaimVerdict(outcome, text, comparisons=(before, after))


@_judge.register
def time_ratio(claim: TimeRatio, evidence: Evidence) -> ClaimVerdict:
    """Return the times per round of two policies, in the paper and here; they are not judged."""
    then = [evidence.paper_milliseconds[curve] for curve in claim.policies]
    text = f"in the paper {then[0]:g} ms / {then[1]:g} ms, {_times(then[0] / then[1])}"
    if all(curve in evidence.results for curve in claim.policies):
        now = [evidence.results[curve].microseconds_per_round for curve in claim.policies]
        text += f"; here {now[0]:.2f} µs / {now[1]:.2f} µs, {_times(now[0] / now[1])}"
    return ClaimVerdict("history", f"{' / '.join(claim.policies)}: {text}")


def _times(ratio: float) -> str:
    """Format a ratio of times, a small one with two significant digits."""
    return f"{ratio:.1f} times" if ratio >= 1.0 else f"{ratio:.2g} times"


@_judge.register
def slope(claim: Slope, evidence: Evidence) -> ClaimVerdict:
    """Fit regret = a + b·log t to the last decade of each run, and compare b with C."""
    result = evidence.results[claim.policy]
    slopes = last_decade_slopes(result) / evidence.bound
    ratio = compare_mean(evidence, (claim.policy,), slopes, claim.limits)
    text = (
        f"{claim.policy}: from round {result.horizon // 10:,} to {result.horizon:,} regret grows "
        f"{interval_text(ratio.found, 2)} times as fast as {evidence.bound:.2f}·log t, "
        f"{allowed_text(claim)}"
    )
    return all_decided([ratio], text)


@_judge.register
def below_bound(claim: BelowBound, evidence: Evidence) -> ClaimVerdict:
    """Compare the mean regret at the horizon with C·log T."""
    result = evidence.results[claim.policy]
    limit = evidence.bound * math.log(result.horizon)
    mean = compare_mean(evidence, (claim.policy,), result.regret[:, -1], (-math.inf, limit))
    text = (
        f"{claim.policy}: regret {interval_text(mean.found)} at round {result.horizon:,}, "
        f"where the bound is {regret_text(limit)}"
    )
    return all_decided([mean], text)


@_judge.register
def near_bound(claim: NearBound, evidence: Evidence) -> ClaimVerdict:
    """Compare the mean regret at the horizon, divided by C·log T, with the window."""
    result = evidence.results[claim.policy]
    limit = evidence.bound * math.log(result.horizon)
    ratio = compare_mean(evidence, (claim.policy,), result.regret[:, -1] / limit, claim.limits)
    text = (
        f"{claim.policy}: regret is {interval_text(ratio.found, 2)} times the bound of "
        f"{regret_text(limit)} at round {result.horizon:,}, {allowed_text(claim)}"
    )
    return all_decided([ratio], text)


@_judge.register
def value_range(claim: Range, evidence: Evidence) -> ClaimVerdict:
    """Compare the range of a parameter over all models with the paper's; nothing is random."""
    tables = json.loads((DATA / claim.file).read_text(encoding="utf-8"))
    values = np.concatenate([table[claim.parameter] for table in tables.values()])
    low, high = (round(float(x), claim.decimals) for x in (values.min(), values.max()))
    text = (
        f"{claim.parameter} ranges from {low:g} to {high:g}; in the paper from {claim.lowest:g} to "
    )
    agree = (low, high) == (claim.lowest, claim.highest)
    return ClaimVerdict("holds" if agree else "fails", f"{text}{claim.highest:g}")


@_judge.register
def parameters(claim: Parameters, evidence: Evidence) -> ClaimVerdict:
    """Match each row of the paper's table with one model; nothing is random."""
    found = []
    for model in evidence.models.values():
        attraction = np.asarray(model.params.attraction)
        edges = (round(float(x), claim.decimals) for x in (attraction.min(), attraction.max()))
        found.append((model.n_items, *edges))
    missing = []
    for row in claim.rows:
        wanted = (row.n_items, row.lowest, row.highest)
        if wanted in found:
            found.remove(wanted)
        else:
            missing.append(wanted)
    agree = len(claim.rows) - len(missing)
    text = f"{agree} of {len(claim.rows)} rows agree to {claim.decimals} decimals"
    if missing:
        text += f"; the table has {_rows(missing)}, the data {_rows(found)}"
    return ClaimVerdict("fails" if missing or found else "holds", text)


def _rows(rows: Sequence[tuple[float, ...]]) -> str:
    return ", ".join(f"{n:g} items from {low:g} to {high:g}" for n, low, high in rows) or "nothing"
