"""Verdicts on claims: how a confidence interval decides, and how both are written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from clickrank._core.arrays import Floats
from clickrank.experiments.claim_evidence import Evidence, paired
from clickrank.experiments.claim_kinds import Windowed
from clickrank.simulation.comparison import regret_text
from clickrank.stats.intervals import MeanInterval, ratio_interval

LEVEL = 0.99
Decision = Literal["holds", "fails", "undecided"]


class ClaimVerdict(NamedTuple):
    """The outcome of a claim, the measured numbers, and whether fewer rounds were simulated.

    Claims with the outcome "history" are shown but not judged.
    """

    outcome: Literal["holds", "fails", "undecided", "history"]
    measured: str
    so_far: bool = False

    @property
    def words(self) -> str:
        """The outcome in words, as in "holds so far"."""
        return f"{self.outcome} so far" if self.so_far else self.outcome


def shared_level(count: int) -> float:
    """Return the level of each of several intervals that hold simultaneously at the usual level."""
    return 1.0 - (1.0 - LEVEL) / count


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
    return regret_text(float(regrets.mean()))


def interval_text(x: MeanInterval[float], decimals: int | None = None) -> str:
    """Format an estimate with its interval."""
    mean, low, high = (regret_text(v) if decimals is None else f"{v:,.{decimals}f}" for v in x)
    return f"{mean} [{low}, {high}]"


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


def ratio_within(
    policies: tuple[str, str], claim: Windowed, evidence: Evidence, level: float = LEVEL
) -> ClaimVerdict:
    """Compare the ratio of two mean regrets with the claim's window."""
    a, b = paired(evidence.results[policies[0]], evidence.results[policies[1]])
    if a.size < 2 or min(a.mean(), b.mean()) <= 0:
        names = " and ".join(policies)
        return ClaimVerdict(
            "undecided", f"{names}: a ratio needs two paired runs and regret above 0"
        )
    found = ratio_interval(a, b, level)
    text = (
        f"{' / '.join(policies)}: {mean_text(a)} / {mean_text(b)}, "
        f"ratio {interval_text(found, 2)}, {allowed_text(claim)}"
    )
    return ClaimVerdict(inside(found, *claim.limits), text)
