"""Wider intervals for logs with few clicks, where the bootstrap is overconfident."""

from __future__ import annotations

from clickrank.stats.intervals import Interval, share_interval

#: With fewer impressions that have a click that counts, no verdict is given.
FEW_CLICKS = 10


def widened_if_few(
    interval: Interval, value: float, clicks: int, size: float, most: float, level: float
) -> Interval:
    """Return an interval, widened if there are few clicks or if it has no width.

    From a log without a click, the bootstrap draws logs without a click, and its interval has no
    width. The interval returned is then at least that of a share, as if each of ``size`` lists had
    earned ``most`` or nothing. Where ``size`` is an effective sample size it holds approximately.

    **Source**: clopper1934.

    Examples
    --------
    >>> low, high = widened_if_few(Interval(0.0, 0.0), 0.0, 0, 40, 1.0, 0.95)
    >>> low, round(high, 3)
    (0.0, 0.088)
    """
    if clicks >= FEW_CLICKS and interval.low < interval.high:
        return interval
    share = min(max(value / most, 0.0), 1.0)
    _, low, high = share_interval(share * size, size, level)
    return Interval(min(interval.low, low * most), max(interval.high, high * most))


def few_clicks_notes(with_clicks: int) -> list[str]:
    """Return a note if there are too few clicks for a verdict."""
    if with_clicks >= FEW_CLICKS:
        return []
    return [
        f"Only {with_clicks} impressions have a click that counts: the interval is widened "
        "accordingly, and is too uncertain for a verdict."
    ]
