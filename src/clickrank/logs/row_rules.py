"""Row rules: which rows of a log are refused or corrected, and the kind of problem each one has.

The rules use only operators that NumPy arrays and Ibis columns share. Rows of text files, which are
NumPy arrays in this process, and rows of Parquet files, which stay in the engine, are therefore
checked by the same rules.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from clickrank.logs.schema import COUNTS, IDS

#: The longest list. A larger position is an error in the file.
LARGEST_POSITION = 1000
PROPENSITIES = ("propensity", "prefix_propensity")

#: One entry per row: a NumPy array or an Ibis column, of values or of booleans.
Column = Any


class Verdict(NamedTuple):
    """The rows that break a rule, as boolean columns."""

    refused: dict[str, Column]  # by kind of problem; a row is counted under the first that applies
    corrected: dict[str, Column]  # by kind of problem; only rows that are not refused
    is_refused: Column


def check_rows(
    values: Mapping[str, Column],
    missing: Mapping[str, Column],
    *,
    first_position: int | None,
    largest_position: int = LARGEST_POSITION,
    unreadable_times: Column | None = None,
) -> Verdict:
    """Return which rows break which rule.

    Parameters
    ----------
    values
        The columns of the log by name: counts as whole numbers, probabilities as floats. ``depth``
        (the length of the page) and ``settled`` are checked if they are given.
    missing
        For ids, counts and probabilities, the rows that have no value.
    first_position
        The number of the first position, 0 or 1; None if it is not known yet.
    largest_position
        The length of the longest list that is possible.
    unreadable_times
        The rows whose time is not a time.
    """
    refused: dict[str, Column] = {}
    if "settled" in values:
        refused["not settled"] = ~values["settled"]
    counts = [missing[name] for name in (*COUNTS, "depth") if name in values]
    refused["number"] = _any(counts)
    refused["id"] = _any(missing[name] for name in IDS if name in missing and name != "user")
    position = values["position"]
    refused["position"] = position_is_outside(position, first_position, largest_position)
    if "depth" in values:
        depth = values["depth"]
        refused["depth"] = (position > depth) | (depth > largest_position)
    corrected: dict[str, Column] = {}
    if "shown" in values:
        refused["shown"] = values["shown"] < 1
        refused["click"] = values["clicked"] < 0
        corrected["clicks above displays"] = values["clicked"] > values["shown"]
    else:
        refused["click"] = values["click"] < 0
        corrected["several clicks"] = values["click"] > 1
    outside = [
        ~is_probability(values[name]) & ~missing[name] for name in PROPENSITIES if name in values
    ]
    if outside:
        corrected["propensity"] = _any(outside)
    if unreadable_times is not None:
        corrected["time"] = unreadable_times
    return _once_per_row(refused, corrected)


def position_is_outside(
    position: Column, first_position: int | None, largest_position: int = LARGEST_POSITION
) -> Column:
    """Return which positions are before the first or after the last possible one."""
    low = first_position or 0
    high = largest_position + (1 if first_position is None else first_position) - 1
    return (position < low) | (position > high)


def is_probability(values: Column) -> Column:
    """Return which values are above 0 and at most 1."""
    return (values > 0) & (values <= 1)


def _any(masks: Iterable[Column]) -> Column:
    return functools.reduce(operator.or_, masks)


def _once_per_row(refused: Mapping[str, Column], corrected: Mapping[str, Column]) -> Verdict:
    """Leave each refused row under the first kind of problem that it has."""
    first: dict[str, Column] = {}
    before: Column | None = None
    for kind, mask in refused.items():
        first[kind] = mask if before is None else mask & ~before
        before = mask if before is None else before | mask
    assert before is not None
    return Verdict(first, {kind: mask & ~before for kind, mask in corrected.items()}, before)
