"""Verdicts on claims: comparisons with the limits of a claim, how they decide, and their texts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from clickrank._core.arrays import Floats
from clickrank.experiments.claim_evidence import Evidence, paired, paired_at_ends
from clickrank.experiments.claim_kinds import Windowed
from clickrank.simulation.comparison import regret_text
from clickrank.stats.confidence_sequences import (
    equivalent_strata,
    mean_sequence,
    pass_variance,
    ratio_sequence,
    standard_errors,
)
from clickrank.stats.intervals import MeanInterval

Decision = Literal["holds", "fails", "undecided"]

#: The limits of a difference that must not be zero.
ABOVE_ZERO = (np.nextafter(0.0, 1.0).item(), math.inf)
#: No claim is said to need more passes than this: the prediction would be worthless.
MOST_PASSES = 1_000_000


class StoppedCurve(NamedTuple):
    """One of the curves of a comparison, whose runs were stopped early, and the round of the stop.

    Regret never falls, so that its regret by then is a lower bound of that at the horizon.
    """

    curve: str
    rounds: int


class ClaimComparison(NamedTuple):
    """A number with its confidence sequence, compared with the limits that a claim allows.

    Parameters
    ----------
    curves
        The curves that the number was computed from: more runs of these may decide.
    found
        The number with its interval. If one of two curves was stopped early, it has only one end.
    limits
        The claim holds for numbers between these two.
    passes, spread, strata, level
        The number of passes, the standard deviation of the mean of one of them, the equivalent
        number of strata, and the confidence level.
    regrets
        The mean regrets of the curves, where two are compared.
    stopped
        The curve that was stopped early.
    """

    curves: tuple[str, ...]
    found: MeanInterval[float]
    limits: tuple[float, float]
    passes: int
    spread: float
    level: float
    strata: float = 1.0
    regrets: tuple[float, ...] = ()
    stopped: StoppedCurve | None = None

    @property
    def decision(self) -> Decision:
        """Whether the interval lies inside the limits, outside, or across one of them."""
        return inside(self.found, *self.limits)

    @property
    def distance(self) -> float:
        """The distance of the number from the nearest limit that more runs could exclude.

        It is 0 if the number has only one end, and lies on the wrong side of all limits for it.
        """
        low, high = self.limits
        mean = self.found.mean
        distances = [abs(mean - x) for x in self.limits if math.isfinite(x)]
        if self.stopped is not None and self.found.high == math.inf:  # the number is a lower bound
            distances = [mean - high if high < math.inf else mean - low]
        elif self.stopped is not None:
            distances = [low - mean if low > 0.0 else high - mean]
        return max(min(distances, default=math.inf), 0.0)

    @property
    def margin(self) -> float:
        """The distance from the nearest limit, as a multiple of the width of the interval."""
        width = self.found.high - self.found.low
        if self.stopped is not None:
            end = self.found.low if self.found.high == math.inf else self.found.high
            width = 2.0 * abs(end - self.found.mean)
        return self.distance / width if width else math.inf

    @property
    def needed_passes(self) -> int:
        """The number of passes that would decide, if mean and spread stayed as they are.

        It is `MOST_PASSES` if the mean lies on a limit. Before the spread is known, it is the
        number of passes from which on the interval is finite.
        """
        n = max(self.passes + 1, 2)
        while n < MOST_PASSES:
            reach = standard_errors(n, self.level, self.strata)
            unknown = math.isnan(self.spread) and reach < math.inf
            if unknown or reach * self.spread / math.sqrt(n) < self.distance:
                return n
            n = math.ceil(1.1 * n)
        return MOST_PASSES


class ClaimVerdict(NamedTuple):
    """The outcome of a claim, the measured numbers, and whether fewer rounds were simulated.

    Claims with the outcome "history" are shown but not judged.
    """

    outcome: Literal["holds", "fails", "undecided", "history"]
    measured: str
    so_far: bool = False
    comparisons: tuple[ClaimComparison, ...] = ()

    @property
    def words(self) -> str:
        """The outcome in words, as in "holds so far"."""
        return f"{self.outcome} so far" if self.so_far else self.outcome

    @property
    def open_comparisons(self) -> list[ClaimComparison]:
        """The comparisons that would have to be decided for a verdict."""
        if self.outcome != "undecided":
            return []
        return [found for found in self.comparisons if found.decision == "undecided"]

    @property
    def closest(self) -> ClaimComparison | None:
        """The comparison that has come closest to another verdict, measured by its interval."""
        agreeing = [found for found in self.comparisons if found.decision == self.outcome]
        return min(agreeing, key=lambda found: found.margin, default=None)

    @property
    def needed_passes(self) -> int:
        """The number of passes that would decide the claim; 0 if that cannot be predicted."""
        return max((found.needed_passes for found in self.open_comparisons), default=0)


def compare_mean(
    evidence: Evidence,
    curves: Sequence[str],
    runs: Floats,
    limits: tuple[float, float],
    comparisons: int = 1,
) -> ClaimComparison:
    """Compare the mean of one value per run with limits, as one of several comparisons."""
    level = shared_level(evidence, comparisons)
    return _mean_comparison(evidence, curves, runs, limits, level)


def compare_ratio(
    evidence: Evidence,
    curves: Sequence[str],
    above: Floats,
    below: Floats,
    limits: tuple[float, float],
    comparisons: int = 1,
) -> ClaimComparison:
    """Compare the ratio of two means with limits, given paired values per run."""
    level = shared_level(evidence, comparisons)
    return _ratio_comparison(evidence, curves, above, below, limits, level)


def compare_curves(
    evidence: Evidence,
    curves: tuple[str, str],
    limits: tuple[float, float],
    comparisons: int = 1,
) -> ClaimComparison:
    """Compare the regret of one curve at the end, divided by that of another, with limits."""

    def compare(a: Floats, b: Floats, level: float) -> ClaimComparison:
        return _ratio_comparison(evidence, curves, a, b, limits, level)

    return _compared(evidence, curves, compare, +1, limits, shared_level(evidence, comparisons))


def compare_less(
    evidence: Evidence, curves: tuple[str, str], comparisons: int = 1
) -> ClaimComparison:
    """Compare the regret of one curve, subtracted from that of another, with 0."""

    def compare(a: Floats, b: Floats, level: float) -> ClaimComparison:
        return _mean_comparison(evidence, curves, b - a, ABOVE_ZERO, level)

    return _compared(evidence, curves, compare, -1, ABOVE_ZERO, shared_level(evidence, comparisons))


#: Of the chance of a wrong comparison, the share for curves that are stopped early: they may be
#: stopped at any of several rounds, and either of two curves may be.
EARLY_SHARE = 0.2


def _compared(
    evidence: Evidence,
    curves: tuple[str, str],
    compare: Callable[[Floats, Floats, float], ClaimComparison],
    sign: Literal[-1, 1],
    limits: tuple[float, float],
    level: float,
) -> ClaimComparison:
    """Compare two curves up to the horizon, or one of them with the other when it was stopped.

    Whether the number grows (``sign`` 1) or falls with the regret of the first curve tells which
    end of its interval the regret of a stopped curve leaves open.
    """
    chance = 1.0 - level
    if evidence.stops:
        level = 1.0 - (1.0 - EARLY_SHARE) * chance
    whole = [evidence.results.get(curve) for curve in curves]
    found = []
    if whole[0] is not None and whole[1] is not None:
        found.append(_with_regrets(compare, paired(whole[0], whole[1]), level))
    if evidence.stops and not (found and found[0].decision != "undecided"):
        early = 1.0 - EARLY_SHARE * chance / (2 * len(evidence.stops))
        for place in (0, 1):
            other = whole[1 - place]
            for result in evidence.stopped.get(curves[place], ()) if other is not None else ():
                assert other is not None
                pair = (result, other) if place == 0 else (other, result)
                one = _with_regrets(compare, paired_at_ends(*pair), early)
                mean, low, high = one.found
                smallest = 0.0 if sign > 0 else -math.inf  # a ratio of regrets is not negative
                ends = (low, math.inf) if (place == 0) == (sign > 0) else (smallest, high)
                stopped = StoppedCurve(curves[place], result.horizon)
                found.append(one._replace(found=MeanInterval(mean, *ends), stopped=stopped))
    if not found:
        return _unknown(evidence, curves, math.nan, limits, 0, level)
    decided = [one for one in found if one.decision != "undecided"]
    return decided[0] if decided else min(found, key=lambda one: one.needed_passes)


def _with_regrets(
    compare: Callable[[Floats, Floats, float], ClaimComparison],
    regrets: tuple[Floats, Floats],
    level: float,
) -> ClaimComparison:
    a, b = regrets
    means = tuple(float(x.mean()) if x.size else math.nan for x in (a, b))
    return compare(a, b, level)._replace(regrets=means)


def _mean_comparison(
    evidence: Evidence,
    curves: Sequence[str],
    runs: Floats,
    limits: tuple[float, float],
    level: float,
) -> ClaimComparison:
    values = evidence.by_pass(runs)
    if len(values) < 2:
        mean = float(values.mean()) if values.size else math.nan
        return _unknown(evidence, curves, mean, limits, len(values), level)
    found = mean_sequence(values, level)
    spread = math.sqrt(pass_variance(values))
    strata = equivalent_strata(values)
    return ClaimComparison(tuple(curves), found, limits, len(values), spread, level, strata)


def _ratio_comparison(
    evidence: Evidence,
    curves: Sequence[str],
    above: Floats,
    below: Floats,
    limits: tuple[float, float],
    level: float,
) -> ClaimComparison:
    a, b = evidence.by_pass(above), evidence.by_pass(below)
    if len(a) < 2 or b.mean() <= 0:
        ratio = float(a.mean() / b.mean()) if b.size and b.mean() > 0 else math.nan
        return _unknown(evidence, curves, ratio, limits, len(a), level)
    found = ratio_sequence(a, b, level)
    if 0.0 > found.low > -math.inf and a.min() >= 0:
        found = found._replace(low=0.0)
    rest = a - found.mean * b
    spread = math.sqrt(pass_variance(rest)) / float(b.mean())
    strata = min(equivalent_strata(x) for x in (a, b, rest))
    return ClaimComparison(tuple(curves), found, limits, len(a), spread, level, strata)


def _unknown(
    evidence: Evidence,
    curves: Sequence[str],
    mean: float,
    limits: tuple[float, float],
    passes: int,
    level: float,
) -> ClaimComparison:
    """Return a comparison whose interval is not known, since there are no two values."""
    found = MeanInterval(mean, -math.inf, math.inf)
    strata = float(evidence.pass_size) if evidence.stratified else 1.0  # they may be fewer
    return ClaimComparison(tuple(curves), found, limits, passes, math.nan, level, strata)


def shared_level(evidence: Evidence, comparisons: int) -> float:
    """Return the level of each of several comparisons that hold together at a claim's level."""
    return 1.0 - (1.0 - evidence.level) / max(comparisons, 1)


def all_decided(comparisons: Sequence[ClaimComparison], text: str) -> ClaimVerdict:
    """Return the verdict on a claim that requires every comparison to hold."""
    outcome = worst_of([comparison.decision for comparison in comparisons])
    return ClaimVerdict(outcome, text, comparisons=tuple(comparisons))


def inside(x: MeanInterval[float], low: float, high: float) -> Decision:
    """Return whether an interval lies inside the limits, outside, or across one of them."""
    if low <= x.low and x.high <= high:
        return "holds"
    return "fails" if x.high < low or x.low > high else "undecided"


def worst_of(outcomes: Sequence[str]) -> Decision:
    """Return the decision on a claim that requires all of several outcomes to hold."""
    if "fails" in outcomes:
        return "fails"
    return "undecided" if "undecided" in outcomes else "holds"


def any_of(outcomes: Sequence[str]) -> Decision:
    """Return the decision on a claim that requires at least one of several outcomes to hold."""
    if "holds" in outcomes:
        return "holds"
    return "fails" if set(outcomes) == {"fails"} else "undecided"


def mean_text(regrets: Floats) -> str:
    """Format the mean of the regrets."""
    return regret_text(float(regrets.mean())) if regrets.size else "unknown"


def interval_text(x: MeanInterval[float], decimals: int | None = None) -> str:
    """Format an estimate with its interval."""
    mean, low, high = (_number(v, decimals) for v in x)
    return f"{mean} [{low}, {high}]"


def _number(value: float, decimals: int | None) -> str:
    if not np.isfinite(value):
        return {math.inf: "∞", -math.inf: "-∞"}.get(value, "unknown")
    return regret_text(value) if decimals is None else f"{value:,.{decimals}f}"


def allowed_text(claim: Windowed) -> str:
    """Return which values the claim allows, and where the limits come from."""
    low, high = claim.limits
    if high == math.inf:
        text = f"{_limit(low)} or more"
    else:
        text = f"{_limit(high)} or less" if low <= 0 else f"{_limit(low)} to {_limit(high)}"
    return f"allowed {text} ({claim.origin})"


def _limit(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def ratio_text(comparison: ClaimComparison) -> str:
    """Describe the regrets of two curves, and their ratio."""
    one, two = comparison.curves
    means = _regret_texts(comparison)
    ratio = interval_text(comparison.found, 2)
    return f"{one} / {two}: {means[0]} / {means[1]}, ratio {ratio}{stop_text(comparison)}"


def gap_text(comparison: ClaimComparison) -> str:
    """Describe the regrets of two curves, and their difference."""
    less, more = comparison.curves
    means = _regret_texts(comparison)
    gap = interval_text(comparison.found)
    return f"{less} {means[0]}, {more} {means[1]}, difference {gap}{stop_text(comparison)}"


def stop_text(comparison: ClaimComparison) -> str:
    """Say which curve of a comparison was stopped early, if any was."""
    if comparison.stopped is None:
        return ""
    return f" ({comparison.stopped.curve} stopped at round {comparison.stopped.rounds:,})"


def _regret_texts(comparison: ClaimComparison) -> list[str]:
    known = comparison.regrets or (math.nan, math.nan)
    return [regret_text(mean) if math.isfinite(mean) else "unknown" for mean in known]
