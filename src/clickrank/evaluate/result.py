"""What an estimator found."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from clickrank.stats.intervals import Interval


@dataclasses.dataclass(frozen=True)
class Estimate:
    """What a target would have earned a list, by the log.

    Parameters
    ----------
    estimator
        The name of the estimator.
    value
        Expected reward of a list: how many clicks, or whether there is any.
    interval
        By the bootstrap; None where the estimator has none.
    gain, gain_interval
        The value beside what the log's own lists earned, and its interval by the same draws.
    bernstein
        Empirical Bernstein's interval, which is wider and holds for any number of impressions; None
        where no bound of the terms is known, or where they are not independent.
    level
        How often the intervals are to hold the true value.
    n
        How many impressions were used.
    effective_size
        How many of the target's own impressions would tell as much.
    largest_weight
        The most that one impression counts for, beside one of the target's own.
    with_clicks
        How many impressions have a click that counts. With fewer than 10 the intervals are as wide
        as that allows, and no verdict is made of them.
    assumes
        What must hold for the value to be right.
    notes
        What else to know about this log.
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
        """Return it as JSON has it."""
        found = dataclasses.asdict(self)
        for name, value in found.items():
            if isinstance(value, float) and math.isnan(value):  # which JSON has not
                found[name] = None
        for name in ("interval", "gain_interval", "bernstein"):
            if found[name] is not None:
                found[name] = list(found[name])
        found["notes"] = list(self.notes)
        return found
