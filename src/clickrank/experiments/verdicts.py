"""Verdicts on claims: comparisons with the limits of a claim, how they decide, and their texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from clickrank._core.arrays import Floats
from clickrank.experiments.claim_evidence import Evidence, paired
from clickrank.experiments.claim_kinds import Windowed
from clickrank.simulation.comparison import regret_text
from clickrank.stats.confidence_sequences import mean_sequence, ratio_sequence, standard_errors
from clickrank.stats.intervals import MeanInterval

Decision = Literal["holds", "fails", "undecided"]

#: The limits of a difference that must not be zero.
ABOVE_ZERO = (np.nextafter(0.0, 1.0).item(), math.inf)
#: No claim is said to need more passes than this: the prediction would be worthless.
MOST_PASSES = 1_000_000


class ClaimComparison(NamedTuple):
    """A number with its confidence sequence, compared with the limits that a claim allows.

    Parameters
    ----------
    curves
        The curves that the number was computed from: more runs of these may decide.
    found
        The number with its interval.
    limits
        The claim holds for numbers between these two.
    passes, spread, level
        The number of independent values, their standard deviation, and the confidence level.
    """

    curves: tuple[str, ...]
    found: MeanInterval[float]
    limits: tuple[float, float]
    passes: int
    spread: float
    level: float

    @property
    def decision(self) -> Decision:
        """Whether the interval lies inside the limits, outside, or across one of them."""
        return inside(self.found, *self.limits)

    @property
    def distance(self) -> float:
        """The distance of the number from the nearest limit."""
        finite = [abs(self.found.mean - x) for x in self.limits if math.isfinite(x)]
        return min(finite, default=math.inf)

    @property
    def margin(self) -> float:
        """The distance from the nearest limit, as a multiple of the width of the interval."""
        width = self.found.high - self.found.low
        return self.distance / width if width else math.inf

    @property
    def needed_passes(self) -> int:
        """The number of passes that would decide, if mean and spread stayed as they are.

        It is `MOST_PASSES` if the mean lies on a limit. Before the spread is known, it is the
        number of passes from which on the interval is finite.
        """
        n = max(self.passes + 1, 4)
        while n < MOST_PASSES:
            reach = standard_errors(n, self.level)
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
    values = evidence.by_pass(runs)
    level = shared_level(evidence, comparisons)
    if values.size < 2:
        mean = float(values.mean()) if values.size else math.nan
        return _unknown(curves, mean, limits, values.size, level)
    found = mean_sequence(values, level)
    spread = float(values.std(ddof=1))
    return ClaimComparison(tuple(curves), found, limits, values.size, spread, level)


def compare_ratio(
    evidence: Evidence,
    curves: Sequence[str],
    above: Floats,
    below: Floats,
    limits: tuple[float, float],
    comparisons: int = 1,
) -> ClaimComparison:
    """Compare the ratio of two means with limits, given paired values per run."""
    a, b = evidence.by_pass(above), evidence.by_pass(below)
    level = shared_level(evidence, comparisons)
    if a.size < 2 or b.mean() <= 0:
        ratio = float(a.mean() / b.mean()) if b.size and b.mean() > 0 else math.nan
        return _unknown(curves, ratio, limits, a.size, level)
    found = ratio_sequence(a, b, level)
    spread = float((a - found.mean * b).std(ddof=1) / b.mean())
    return ClaimComparison(tuple(curves), found, limits, a.size, spread, level)


def compare_curves(
    evidence: Evidence,
    curves: tuple[str, str],
    limits: tuple[float, float],
    comparisons: int = 1,
) -> ClaimComparison:
    """Compare the regret of one curve at the end, divided by that of another, with limits."""
    a, b = paired(evidence.results[curves[0]], evidence.results[curves[1]])
    return compare_ratio(evidence, curves, a, b, limits, comparisons)


def _unknown(
    curves: Sequence[str], mean: float, limits: tuple[float, float], passes: int, level: float
) -> ClaimComparison:
    """Return a comparison whose interval is not known, since there are no two values."""
    found = MeanInterval(mean, -math.inf, math.inf)
    return ClaimComparison(tuple(curves), found, limits, passes, math.nan, level)


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


def ratio_text(evidence: Evidence, ratio: ClaimComparison) -> str:
    """Describe the regrets of two curves at the end, and their ratio."""
    one, two = ratio.curves
    a, b = paired(evidence.results[one], evidence.results[two])
    return f"{one} / {two}: {mean_text(a)} / {mean_text(b)}, ratio {interval_text(ratio.found, 2)}"
