"""Tolerance windows: how much deviation the words of a paper allow, the same for all papers.

Papers write "similar", "about half" or "an order of magnitude less" without giving a tolerance. All
factors here follow one rule: the limit between two statements lies half way between them on a log
axis. It is √2 between "as much" and "twice as much", and √10 between "as much" and "ten times as
much". A claim names its window and the paper's number. Limits are never written into a claim unless
the paper itself gives them ("as stated").
"""

from __future__ import annotations

import math
from typing import NamedTuple

HALF_WAY_TO_TWICE = math.sqrt(2.0)
HALF_WAY_TO_TEN = math.sqrt(10.0)


class Window(NamedTuple):
    """The smallest and the largest allowed multiple of the paper's number, and the reason."""

    low: float
    high: float
    words: str
    reason: str


WINDOWS = {
    "similar": Window(
        1 / HALF_WAY_TO_TWICE,
        HALF_WAY_TO_TWICE,
        "similar, alike, comparable, no impact, as fast as, meets the bound",
        "half way to twice as much, and to half as much",
    ),
    "about": Window(
        1 / HALF_WAY_TO_TWICE,
        HALF_WAY_TO_TWICE,
        "about half, three times, ten times",
        "half way to twice the number, and to half the number",
    ),
    "not much more": Window(
        0.0, HALF_WAY_TO_TWICE, "close to the best, not much worse", "half way to twice as much"
    ),
    "less": Window(0.0, 1.0, "less than, below", "no tolerance is needed"),
    "more": Window(1.0, math.inf, "more than, at least, above", "no tolerance is needed"),
    "much less": Window(
        0.0, 1 / HALF_WAY_TO_TEN, "an order of magnitude less", "half way to a tenth"
    ),
    "much more": Window(
        HALF_WAY_TO_TEN,
        math.inf,
        "an order of magnitude more; very high, drastic, very poor",
        "half way to ten times; strong words without a number are read this way",
    ),
    "order of magnitude": Window(
        1 / HALF_WAY_TO_TEN,
        HALF_WAY_TO_TEN,
        "a power of ten; a number from random data, given without its spread",
        "half way to ten times the number, and to a tenth",
    ),
    "few": Window(0.0, 0.1, "few runs, hardly any", "an order of magnitude fewer than all"),
    "some": Window(
        0.001, math.inf, "some runs", "fewer than one in a thousand are not visible in a figure"
    ),
}  # fmt: skip

ROUNDS_TO = "rounds to"
AS_STATED = "as stated"
NAMES = (*WINDOWS, ROUNDS_TO, AS_STATED)


def limits_of(
    window: str, value: float, digits: int, low: float | None, high: float | None
) -> tuple[float, float]:
    """Return the smallest and the largest value that a claim allows.

    >>> limits_of("about", 3.0, 0, None, None)
    (2.12..., 4.24...)
    >>> limits_of("rounds to", 2000.0, 1, None, None)
    (1500.0, 2500.0)
    """
    if window not in NAMES:
        raise ValueError(f"window must be one of {', '.join(NAMES)}, got {window!r}")
    if (window == AS_STATED) != (low is not None or high is not None):
        raise ValueError("low and high are for the window 'as stated', which needs one of them")
    if (window == ROUNDS_TO) != (digits > 0):
        raise ValueError("digits are for the window 'rounds to', which needs them")
    if not value > 0.0:
        raise ValueError(f"value must be above 0, got {value:g}")
    if window == AS_STATED:
        return (0.0 if low is None else low), (math.inf if high is None else high)
    if window == ROUNDS_TO:
        return printed(value, digits)
    return value * WINDOWS[window].low, value * WINDOWS[window].high


def printed(value: float, digits: int) -> tuple[float, float]:
    """Return the range of numbers that round to ``value`` with this many significant digits.

    Just below a power of ten, rounded numbers are closer together.

    >>> printed(10_000.0, 1)
    (9500.0, 15000.0)
    """
    power = math.floor(math.log10(value) + 1e-9)
    step = 10.0 ** (power - digits + 1)
    below = step / 10.0 if math.isclose(value, 10.0**power) else step
    return value - below / 2, value + step / 2
