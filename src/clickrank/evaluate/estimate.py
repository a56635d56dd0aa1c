"""The result of an estimator: the estimated value of a policy, with intervals and notes."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from clickrank.stats.intervals import Interval


@dataclasses.dataclass(frozen=True)
class Estimate:
    """The estimated reward per list of a target policy.

    Parameters
    ----------
    estimator
        The name of the estimator.
    value
        Expected reward per list: the number of clicks, or the probability of any click.
    interval
        Confidence interval by the bootstrap; None if the estimator has none.
    gain, gain_interval
        The value minus the reward of the log's lists, and its interval from the same draws.
    bernstein
        The empirical Bernstein interval, which is wider and holds for any number of impressions.
        None if the terms have no known bound or are not independent.
    level
        Probability with which each interval is to contain the true value.
    n
        Number of impressions used.
    effective_size
        Effective sample size: the number of the target's lists that would be as informative.
    largest_weight
        The largest importance weight of an impression.
    with_clicks
        Number of impressions with a click that counts. With fewer than 10, the intervals are
        widened and no verdict is given.
    assumes
        What must hold for the value to be right.
    notes
        Further sentences about this log.
    """

    estimator: str
    value: float
    interval: Interval | None
    gain: float
    gain_interval: Interval | None
    bernstein: Interval | None
    level: float
    n: int
    effective_size: float
    largest_weight: float
    with_clicks: int
    assumes: str
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values: NaN becomes None, and intervals become lists."""
        found = dataclasses.asdict(self)
        for name, value in found.items():
            if isinstance(value, float) and math.isnan(value):
                found[name] = None
        for name in ("interval", "gain_interval", "bernstein"):
            if found[name] is not None:
                found[name] = list(found[name])
        found["notes"] = list(self.notes)
        return found
