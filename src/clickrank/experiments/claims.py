"""Claims against results: one small pure function for each kind of claim.

A claim *holds* if a 99 % confidence interval lies wholly on its side, *fails* if it lies wholly
on the other, and is *undecided* otherwise: more runs may decide it. Policies met the same users in
runs of the same number, so two of them are compared by their differences run by run.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import betaincinv, stdtrit

from clickrank.clickmodels import ClickModel
from clickrank.experiments.spec import (
    AnyClaim,
    BelowBound,
    Best,
    Comparable,
    NearBound,
    Order,
    Parameters,
    Slope,
    Tail,
    TailOrder,
    curves_of,
)
from clickrank.simulate import Result
from clickrank.types import Floats

LEVEL = 0.99


class Evidence(NamedTuple):
    """What a claim is judged on: the results by curve, and the constant C of the bound C·log t."""

    results: Mapping[str, Result]
    models: Mapping[str, ClickModel]
    bound: float = math.nan


class Verdict(NamedTuple):
    """What came out, and the numbers it rests on."""

    outcome: Literal["holds", "fails", "undecided"]
    measured: str


class Estimate(NamedTuple):
    """A mean with its confidence interval."""

    mean: float
    low: float
    high: float


def judge(claim: AnyClaim, evidence: Evidence) -> Verdict:
    """Decide a claim."""
    for curve in curves_of(claim):
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
    pairs = list(zip(claim.policies, claim.policies[1:], strict=False))
    return _all_less(pairs, evidence)


@_judge.register
def best(claim: Best, evidence: Evidence) -> Verdict:
    """Compare every policy of one set with every policy of the other."""
    return _all_less([(a, b) for a in claim.policies for b in claim.than], evidence)


def _all_less(pairs: Sequence[tuple[str, str]], evidence: Evidence) -> Verdict:
    """Test that in each pair the first loses less, at a level shared among the pairs."""
    level = 1.0 - (1.0 - LEVEL) / len(pairs)
    outcomes, texts = [], []
    for less, more in pairs:
        a, b = paired(evidence.results[less], evidence.results[more])
        if a.size < 2:
            return Verdict("undecided", f"{less}, {more}: fewer than two runs in common")
        gap = mean_interval(b - a, level)
        outcomes.append("holds" if gap.low > 0 else "fails" if gap.high < 0 else "undecided")
        texts.append(
            f"{less} {a.mean():,.1f}, {more} {b.mean():,.1f}, difference {_range(gap)}, "
            f"{a.size:,} paired runs"
        )
    return Verdict(_worst(outcomes), "; ".join(texts))


@_judge.register
def comparable(claim: Comparable, evidence: Evidence) -> Verdict:
    """Compare the ratio of two means with a factor and its inverse."""
    a, b = paired(*(evidence.results[curve] for curve in claim.policies))
    if a.size < 2 or min(a.mean(), b.mean()) <= 0:
        return Verdict("undecided", "the ratio needs two runs in common and regret above 0")
    # Delta method: log of a ratio of means varies as the mean of a/ā − b/b̄ does.
    centre = math.log(a.mean() / b.mean())
    spread = mean_interval(a / a.mean() - b / b.mean(), LEVEL)
    ratio = Estimate(*(math.exp(centre + x) for x in spread))
    names = " / ".join(claim.policies)
    text = (
        f"{names}: ratio {_range(ratio, 2)}, allowed {1 / claim.factor:.2f} to {claim.factor:.2f}"
    )
    return Verdict(_inside(ratio, 1 / claim.factor, claim.factor), text)


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
        f"where the bound is {limit:,.1f}"
    )
    return Verdict(_inside(mean, -math.inf, limit), text)


@_judge.register
def near_bound(claim: NearBound, evidence: Evidence) -> Verdict:
    """Compare the mean at the horizon, divided by C·log T, with two numbers."""
    result = evidence.results[claim.policy]
    limit = evidence.bound * math.log(result.horizon)
    ratio = mean_interval(result.regret[:, -1] / limit, LEVEL)
    text = (
        f"{claim.policy}: regret is {_range(ratio, 2)} times the bound of {limit:,.1f} at round "
        f"{result.horizon:,}, allowed {claim.low:g} to {claim.high:g}"
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


def paired(a: Result, b: Result) -> tuple[Floats, Floats]:
    """Return the regrets at the horizon of the runs that both have."""
    _, in_a, in_b = np.intersect1d(a.run_ids, b.run_ids, return_indices=True)
    return a.regret[in_a, -1], b.regret[in_b, -1]


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


def mean_interval(values: Floats, level: float) -> Estimate:
    """Return a mean with Student's confidence interval.

    >>> mean_interval(np.array([1.0, 2.0, 3.0]), 0.95)
    Estimate(mean=2.0, low=-0.48..., high=4.48...)
    """
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    half = float(stdtrit(values.size - 1, 0.5 + level / 2)) * error
    return Estimate(mean, mean - half, mean + half)


def share_interval(count: int, n: int, level: float) -> Estimate:
    """Return a share with Clopper and Pearson's confidence interval, exact for binomial counts.

    >>> share_interval(0, 100, 0.95)
    Estimate(mean=0.0, low=0.0, high=0.036...)
    """
    if n == 0:
        return Estimate(math.nan, 0.0, 1.0)
    rest = (1.0 - level) / 2
    low = float(betaincinv(count, n - count + 1, rest)) if count > 0 else 0.0
    high = float(betaincinv(count + 1, n - count, 1.0 - rest)) if count < n else 1.0
    return Estimate(count / n, low, high)


def _inside(x: Estimate, low: float, high: float) -> Literal["holds", "fails", "undecided"]:
    if low <= x.low and x.high <= high:
        return "holds"
    return "fails" if x.high < low or x.low > high else "undecided"


def _worst(outcomes: Sequence[str]) -> Literal["holds", "fails", "undecided"]:
    if "fails" in outcomes:
        return "fails"
    return "undecided" if "undecided" in outcomes else "holds"


def _range(x: Estimate, decimals: int = 1) -> str:
    mean, low, high = (f"{v:,.{decimals}f}" for v in x)
    return f"{mean} [{low}, {high}]"


def _rows(rows: Sequence[tuple[float, ...]]) -> str:
    return ", ".join(f"{n:g} items from {low:g} to {high:g}" for n, low, high in rows) or "nothing"
