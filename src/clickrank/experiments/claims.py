"""Claims against results: one small pure function for each kind of claim.

A claim *holds* if a 99 % confidence interval lies wholly on its side, *fails* if it lies wholly
on the other, and is *undecided* otherwise: more runs may decide it. Policies met the same users in
runs of the same number, so two of them are compared by their differences run by run. Runs on the
models of a set count as draws from one population: for just these models the intervals are wider
than they need be. Several runs on one of many drawn models or queries count as one, their mean.
Models drawn from the same prior, 20 each in 004's Figure 1, count as unrelated: intervals by prior
would be up to a third wider.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from clickrank.clickmodels import ClickModel
from clickrank.experiments.intervals import Estimate, mean_interval, ratio_interval, share_interval
from clickrank.experiments.listing import DATA
from clickrank.experiments.sources import Sweep
from clickrank.experiments.statements import (
    AnyClaim,
    BelowBound,
    Best,
    BoundRatio,
    CatchUp,
    Comparable,
    Falls,
    Flattens,
    Growth,
    Loosens,
    NearBest,
    NearBound,
    Order,
    Parameters,
    Range,
    Ratio,
    Slope,
    Spread,
    Tail,
    TailOrder,
    TimeRatio,
    Value,
    curves_of,
)
from clickrank.simulate import Result
from clickrank.simulate.compare import regret_text
from clickrank.types import Floats

LEVEL = 0.99
LOG_OR_LINEAR = math.sqrt(10.0)
FLAT = math.sqrt(2.0) - 1.0


class Evidence(NamedTuple):
    """What a claim is judged on.

    The results by curve, the models, the constant C of the bound C·log t, which curves are those of
    the grid, the upper bound on each curve's regret at the horizon, and the axis of a sweep.
    """

    results: Mapping[str, Result]
    models: Mapping[str, ClickModel]
    bound: float = math.nan
    grid: frozenset[str] = frozenset()
    upper: Mapping[str, float] = {}
    sweep: Sweep | None = None

    def along(self, policy: str) -> list[str]:
        """Return the names of a policy's curves: one for each place of a sweep."""
        if self.sweep is None:
            return [policy]
        return [self.sweep.curve(policy, point.at) for point in self.sweep.points]

    def final(self, curve: str) -> Floats:
        """Return each run's regret at the horizon."""
        found: Floats = self.results[curve].regret[:, -1]
        return found


class Verdict(NamedTuple):
    """What came out, and the numbers it rests on."""

    outcome: Literal["holds", "fails", "undecided"]
    measured: str


def judge(claim: AnyClaim, evidence: Evidence) -> Verdict:
    """Decide a claim."""
    longest = max((r.horizon for r in evidence.results.values()), default=0)
    if longest < claim.rounds:
        text = f"it speaks of {claim.rounds:,} rounds, and {longest:,} were simulated"
        return Verdict("undecided", text)
    for curve in (c for policy in curves_of(claim) for c in evidence.along(policy)):
        result = evidence.results.get(curve)
        if result is None or result.runs < 2:
            return Verdict("undecided", f"{curve}: fewer than two runs are finished")
    return _judge(claim, evidence)


@functools.singledispatch
def _judge(claim: AnyClaim, evidence: Evidence) -> Verdict:
    raise TypeError(type(claim))  # unreachable: every kind is registered below


@_judge.register
def order(claim: Order, evidence: Evidence) -> Verdict:
    """Compare each policy with the next."""
    pairs = list(itertools.pairwise(claim.policies))
    return _all_less(pairs, evidence)


@_judge.register
def best(claim: Best, evidence: Evidence) -> Verdict:
    """Compare every policy of one set with every policy of the other."""
    return _all_less([(a, b) for a in claim.policies for b in claim.than], evidence)


def _all_less(pairs: Sequence[tuple[str, str]], evidence: Evidence) -> Verdict:
    """Test that in each pair the first loses less, at a level shared among the pairs."""
    level = _shared(len(pairs))
    outcomes, texts = [], []
    for less, more in pairs:
        a, b = paired(evidence.results[less], evidence.results[more])
        if a.size < 2:
            return Verdict("undecided", f"{less}, {more}: fewer than two runs in common")
        gap = mean_interval(b - a, level)
        outcomes.append("holds" if gap.low > 0 else "fails" if gap.high < 0 else "undecided")
        texts.append(
            f"{less} {_mean(a)}, {more} {_mean(b)}, difference {_range(gap)}, "
            f"{a.size:,} paired runs"
        )
    return Verdict(_worst(outcomes), "; ".join(texts))


@_judge.register
def comparable(claim: Comparable, evidence: Evidence) -> Verdict:
    """Compare the ratio of two means with a factor and its inverse."""
    return _ratio_within(claim.policies, 1 / claim.factor, claim.factor, evidence)


@_judge.register
def ratio(claim: Ratio, evidence: Evidence) -> Verdict:
    """Compare the ratio of two means with two numbers."""
    return _ratio_within(claim.policies, claim.low, claim.high, evidence)


@_judge.register
def near_best(claim: NearBest, evidence: Evidence) -> Verdict:
    """Compare the mean with the smallest of the figure."""
    means = _means(evidence)
    best = min(means, key=lambda curve: means[curve])
    if best == claim.policy:
        return Verdict("holds", f"{best} has the smallest mean regret, {regret_text(means[best])}")
    return _ratio_within((claim.policy, best), 0.0, claim.factor, evidence)


@_judge.register
def spread(claim: Spread, evidence: Evidence) -> Verdict:
    """Compare the largest mean of a grid with the smallest."""
    grid = {curve: mean for curve, mean in _means(evidence).items() if curve in evidence.grid}
    if len(grid) < 2:
        return Verdict("undecided", f"only {len(grid)} cells of the grid are there")
    pair = (max(grid, key=lambda c: grid[c]), min(grid, key=lambda c: grid[c]))
    return _ratio_within(pair, claim.factor, math.inf, evidence)


def _means(evidence: Evidence) -> dict[str, float]:
    return {curve: float(r.regret[:, -1].mean()) for curve, r in evidence.results.items()}


def _ratio_within(
    policies: tuple[str, str], low: float, high: float, evidence: Evidence
) -> Verdict:
    a, b = paired(evidence.results[policies[0]], evidence.results[policies[1]])
    if a.size < 2 or min(a.mean(), b.mean()) <= 0:
        return Verdict("undecided", "the ratio needs two runs in common and regret above 0")
    found = ratio_interval(a, b, LEVEL)
    text = (
        f"{' / '.join(policies)}: {_mean(a)} / {_mean(b)}, "
        f"ratio {_range(found, 2)}, allowed {_limits(low, high)}"
    )
    return Verdict(_inside(found, low, high), text)


@_judge.register
def value(claim: Value, evidence: Evidence) -> Verdict:
    """Compare the mean at the horizon with two numbers."""
    result = evidence.results[claim.policy]
    mean = mean_interval(result.regret[:, -1], LEVEL)
    text = (
        f"{claim.policy}: regret {_range(mean)} at round {result.horizon:,}, "
        f"allowed {_limits(claim.low, claim.high)}"
    )
    return Verdict(_inside(mean, claim.low, claim.high), text)


@_judge.register
def growth(claim: Growth, evidence: Evidence) -> Verdict:
    """Compare what the last tenfold of rounds adds with what the tenfold before added."""
    result = evidence.results[claim.policy]
    end = result.horizon
    last, before = (gained(result, end // d, 10 * end // d) for d in (10, 100))
    if end < 100 or before.mean() <= 0:
        text = f"{claim.policy}: no regret to compare with up to round {end // 10:,}"
        return Verdict("undecided", text)
    # Regret that has stopped grows by 0: the ratio's logarithm would not do.
    stopped = last.mean() <= 0
    found = Estimate(0.0, 0.0, 0.0) if stopped else ratio_interval(last, before, LEVEL)
    text = (
        f"{claim.policy}: from round {end // 10:,} to {end:,} regret grows by {_mean(last)}, "
        f"from {end // 100:,} to {end // 10:,} by {_mean(before)}, ratio {_range(found, 2)}; "
        f"1 is logarithmic, 10 linear, the limit {LOG_OR_LINEAR:.2f}"
    )
    limits = (-math.inf, LOG_OR_LINEAR)
    if claim.shape == "linear":
        limits = (LOG_OR_LINEAR, math.inf)
    return Verdict(_inside(found, *limits), text)


@_judge.register
def flattens(claim: Flattens, evidence: Evidence) -> Verdict:
    """Compare what the two halves of the rounds add."""
    result = evidence.results[claim.policy]
    half = result.horizon // 2
    first, last = regret_at(result, half), gained(result, half, result.horizon)
    if min(first.mean(), last.mean()) <= 0:
        text = f"{claim.policy}: the first {half:,} rounds add {_mean(first)}, the last "
        return Verdict("undecided", f"{text}{_mean(last)}: no ratio")
    found = ratio_interval(last, first, LEVEL)
    text = (
        f"{claim.policy}: the first {half:,} rounds add {_mean(first)}, the last "
        f"{_mean(last)}, ratio {_range(found, 2)}, asked: below {FLAT:.2f}, as of √t"
    )
    return Verdict(_inside(found, 0.0, FLAT), text)


@_judge.register
def catch_up(claim: CatchUp, evidence: Evidence) -> Verdict:
    """Compare two policies at a share of the horizon, and at its end."""
    late, early = (evidence.results[curve] for curve in claim.policies)
    at = int(claim.share * min(late.horizon, early.horizon))
    a, b = paired(late, early, at)
    if a.size < 2:
        return Verdict("undecided", "fewer than two runs in common")
    gap = mean_interval(a - b, LEVEL)
    end = _ratio_within(claim.policies, 0.0, claim.factor, evidence)
    before = _inside(gap, 0.0, math.inf)
    text = (
        f"at round {at:,} {claim.policies[0]} {_mean(a)}, {claim.policies[1]} "
        f"{_mean(b)}, difference {_range(gap)}, asked: above 0; at the end {end.measured}"
    )
    return Verdict(_worst([before, end.outcome]), text)


@_judge.register
def time_ratio(claim: TimeRatio, evidence: Evidence) -> Verdict:
    """Compare the time of a round; it was measured once, and may be off by a tenth."""
    a, b = (evidence.results[curve].microseconds_per_round for curve in claim.policies)
    found = Estimate(a / b, 0.9 * a / b, 1.1 * a / b)
    text = (
        f"{' / '.join(claim.policies)}: {a:.2f} µs / {b:.2f} µs, ratio {found.mean:.2f}, "
        f"allowed {_limits(claim.low, claim.high)}"
    )
    return Verdict(_inside(found, claim.low, claim.high), text)


@_judge.register
def slope(claim: Slope, evidence: Evidence) -> Verdict:
    """Fit regret = a + b·log t to the last decade of each run, and compare b with C."""
    result = evidence.results[claim.policy]
    ratio = mean_interval(last_decade_slopes(result) / evidence.bound, LEVEL)
    text = (
        f"{claim.policy}: from round {result.horizon // 10:,} to {result.horizon:,} regret grows "
        f"{_range(ratio, 2)} times as fast as {evidence.bound:.2f}·log t, allowed {claim.low:g} to "
        f"{claim.high:g}"
    )
    return Verdict(_inside(ratio, claim.low, claim.high), text)


@_judge.register
def below_bound(claim: BelowBound, evidence: Evidence) -> Verdict:
    """Compare the mean at the horizon with C·log T."""
    result = evidence.results[claim.policy]
    mean = mean_interval(result.regret[:, -1], LEVEL)
    limit = evidence.bound * math.log(result.horizon)
    text = (
        f"{claim.policy}: regret {_range(mean)} at round {result.horizon:,}, "
        f"where the bound is {regret_text(limit)}"
    )
    return Verdict(_inside(mean, -math.inf, limit), text)


@_judge.register
def near_bound(claim: NearBound, evidence: Evidence) -> Verdict:
    """Compare the mean at the horizon, divided by C·log T, with two numbers."""
    result = evidence.results[claim.policy]
    limit = evidence.bound * math.log(result.horizon)
    ratio = mean_interval(result.regret[:, -1] / limit, LEVEL)
    text = (
        f"{claim.policy}: regret is {_range(ratio, 2)} times the bound of {regret_text(limit)} "
        f"at round {result.horizon:,}, allowed {claim.low:g} to {claim.high:g}"
    )
    return Verdict(_inside(ratio, claim.low, claim.high), text)


@_judge.register
def tail(claim: Tail, evidence: Evidence) -> Verdict:
    """Count the runs that lose linearly; the interval of their share is exact."""
    result = evidence.results[claim.policy]
    rates = last_half_rates(result)
    count = int((rates >= claim.rate).sum())
    share = share_interval(count, rates.size, LEVEL)
    text = (
        f"{claim.policy}: {count:,} of {rates.size:,} runs lose at least {claim.rate:g} a round "
        f"over the last half, a share of {_range(share, 4)}, asked: {claim.side} {claim.share:g}"
    )
    limits = (claim.share, math.inf) if claim.side == "above" else (-math.inf, claim.share)
    return Verdict(_inside(share, *limits), text)


@_judge.register
def tail_order(claim: TailOrder, evidence: Evidence) -> Verdict:
    """Compare the runs in which just one of two policies loses linearly (McNemar, exact)."""
    lighter, heavier = claim.policies
    one, two = (evidence.results[policy] for policy in claim.policies)
    shared, in_one, in_two = np.intersect1d(one.run_ids, two.run_ids, return_indices=True)
    light = last_half_rates(one)[in_one] >= claim.rate
    heavy = last_half_rates(two)[in_two] >= claim.rate
    only_heavier = int((heavy & ~light).sum())
    only_lighter = int((light & ~heavy).sum())
    share = share_interval(only_heavier, only_heavier + only_lighter, LEVEL)
    text = (
        f"of {shared.size:,} paired runs, {only_heavier:,} lose at least {claim.rate:g} a round "
        f"over the last half with {heavier} alone, {only_lighter:,} with {lighter} alone; "
        f"{heavier}'s share of these {_range(share, 2)}, asked: above 0.5"
    )
    return Verdict(_inside(share, 0.5, math.inf), text)


@_judge.register
def falls(claim: Falls, evidence: Evidence) -> Verdict:
    """Compare each place of a sweep with the next, by the ratio of their means."""
    outcomes, texts = [], []
    for policy in claim.policies:
        curves = evidence.along(policy)
        level = _shared(len(claim.policies) * (len(curves) - 1))
        means = [evidence.final(curve).mean() for curve in curves]
        if min(means) <= 0:
            return Verdict("undecided", f"{policy}: {min(means):g} is no regret to compare with")
        steps = [_step(evidence, a, b, level) for a, b in itertools.pairwise(curves)]
        outcomes += [_inside(step, 0.0, 1.0) for step in steps]
        listed = ", ".join(f"{mean:,.2f}" for mean in means)
        largest = max(steps, key=lambda step: step.high)
        texts.append(f"{policy}: {listed}; the ratio that falls least {_range(largest, 2)}")
    return Verdict(_worst(outcomes), "; ".join(texts))


@_judge.register
def bound_ratio(claim: BoundRatio, evidence: Evidence) -> Verdict:
    """Compare the upper bound, divided by the mean regret, with two numbers at every place."""
    outcomes, texts = [], []
    for policy in claim.policies:
        curves = evidence.along(policy)
        level = _shared(len(claim.policies) * len(curves))
        ratios = [_bound_ratio(evidence, curve, level) for curve in curves]
        outcomes += [_inside(ratio, claim.low, claim.high) for ratio in ratios]
        texts.append(f"{policy}: {', '.join(_range(ratio) for ratio in ratios)}")
    text = f"the bound is so many times the regret: {'; '.join(texts)}"
    return Verdict(_worst(outcomes), f"{text}; allowed {_limits(claim.low, claim.high)}")


@_judge.register
def loosens(claim: Loosens, evidence: Evidence) -> Verdict:
    """Compare the upper bound, divided by the mean regret, at both ends of a sweep."""
    outcomes, texts = [], []
    for policy in claim.policies:
        curves = evidence.along(policy)
        first, last = curves[0], curves[-1]
        fallen = _step(evidence, last, first, _shared(len(claim.policies)))
        by = evidence.upper[last] / evidence.upper[first]
        found = Estimate(*(by * x for x in fallen))
        outcomes.append(_inside(found, 1.0, math.inf))
        texts.append(f"{policy}: {_range(found, 2)} times as loose, asked: above 1")
    return Verdict(_worst(outcomes), "; ".join(texts))


def _shared(count: int) -> float:
    """Return the level of each of several intervals that together have the usual one."""
    return 1.0 - (1.0 - LEVEL) / count


def _step(evidence: Evidence, a: str, b: str, level: float) -> Estimate:
    """Return the ratio of the mean regrets of the second curve and the first."""
    before, after = paired(evidence.results[a], evidence.results[b])
    return ratio_interval(after, before, level)


def _bound_ratio(evidence: Evidence, curve: str, level: float) -> Estimate:
    mean = mean_interval(evidence.final(curve), level)
    upper = evidence.upper[curve]
    return Estimate(
        upper / mean.mean if mean.mean > 0 else math.inf,
        upper / mean.high if mean.high > 0 else math.inf,
        upper / mean.low if mean.low > 0 else math.inf,
    )


@_judge.register
def value_range(claim: Range, evidence: Evidence) -> Verdict:
    """Compare the extremes of a parameter over all models; nothing is random here."""
    tables = json.loads((DATA / claim.file).read_text(encoding="utf-8"))
    values = np.concatenate([table[claim.parameter] for table in tables.values()])
    low, high = (round(float(x), claim.decimals) for x in (values.min(), values.max()))
    text = f"{claim.parameter} runs from {low:g} to {high:g}, the paper has {claim.lowest:g} to "
    agree = (low, high) == (claim.lowest, claim.highest)
    return Verdict("holds" if agree else "fails", f"{text}{claim.highest:g}")


@_judge.register
def parameters(claim: Parameters, evidence: Evidence) -> Verdict:
    """Match each row of a table with a model of its own; nothing is random here."""
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
    return Verdict("fails" if missing or found else "holds", text)


def paired(a: Result, b: Result, at: int | None = None) -> tuple[Floats, Floats]:
    """Return the regrets of the runs that both have, at a round or where the first stops."""
    end = min(a.horizon, b.horizon) if at is None else at
    _, in_a, in_b = np.intersect1d(a.run_ids, b.run_ids, return_indices=True)
    return regret_at(a, end)[in_a], regret_at(b, end)[in_b]


def regret_at(result: Result, t: int) -> Floats:
    """Return each run's regret at the last checkpoint up to round t."""
    last = max(0, int(np.searchsorted(result.checkpoints, t, side="right")) - 1)
    found: Floats = result.regret[:, last]
    return found


def gained(result: Result, begin: int, end: int) -> Floats:
    """Return each run's regret from round ``begin`` to round ``end``."""
    gain: Floats = regret_at(result, end) - regret_at(result, begin)
    return gain


def last_decade_slopes(result: Result) -> Floats:
    """Return each run's least-squares slope of regret against log t, for t from T/10 to T."""
    late = result.checkpoints >= result.horizon / 10
    x = np.log(result.checkpoints[late])
    x -= x.mean()
    y = result.regret[:, late]
    slopes: Floats = (y - y.mean(axis=1, keepdims=True)) @ x / (x @ x)
    return slopes


def last_half_rates(result: Result) -> Floats:
    """Return each run's regret a round from the last checkpoint up to T/2 on."""
    half = int(np.searchsorted(result.checkpoints, result.horizon / 2, side="right")) - 1
    if half < 0:  # no checkpoint so early: the whole run
        whole: Floats = result.regret[:, -1] / result.horizon
        return whole
    rounds = result.horizon - int(result.checkpoints[half])
    rates: Floats = (result.regret[:, -1] - result.regret[:, half]) / max(rounds, 1)
    return rates


def _inside(x: Estimate, low: float, high: float) -> Literal["holds", "fails", "undecided"]:
    if low <= x.low and x.high <= high:
        return "holds"
    return "fails" if x.high < low or x.low > high else "undecided"


def _worst(outcomes: Sequence[str]) -> Literal["holds", "fails", "undecided"]:
    if "fails" in outcomes:
        return "fails"
    return "undecided" if "undecided" in outcomes else "holds"


def _mean(regrets: Floats) -> str:
    return regret_text(float(regrets.mean()))


def _range(x: Estimate, decimals: int | None = None) -> str:
    mean, low, high = (regret_text(v) if decimals is None else f"{v:,.{decimals}f}" for v in x)
    return f"{mean} [{low}, {high}]"


def _limits(low: float, high: float) -> str:
    if high == math.inf:
        return f"{low:,.4g} or more"
    return f"{high:,.4g} or less" if low <= 0 else f"{low:,.4g} to {high:,.4g}"


def _rows(rows: Sequence[tuple[float, ...]]) -> str:
    return ", ".join(f"{n:g} items from {low:g} to {high:g}" for n, low, high in rows) or "nothing"
