"""Validation of single values from callers, including NumPy numbers, without importing NumPy."""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Sequence
from typing import TypeGuard

from clickrank.errors import invalid

#: The largest value of counters and horizons.
LARGEST = 2**53

#: A lower limit for numbers that must be above 0.
SMALLEST = 1e-300


def check_float(owner: str, name: str, value: object, low: float, high: float = math.inf) -> float:
    """Return a finite number in [low, high] as a float, or raise.

    >>> check_float("PBMUCB", "epsilon", -1, 0.0)
    Traceback (most recent call last):
    clickrank.errors.InvalidValue: PBMUCB: epsilon must be a number of at least 0, got -1.
    """
    found = math.nan
    if _is_float(value) or _is_int(value):
        found = float(value)
    if not math.isfinite(found) or not low <= found <= high:
        if 0.0 < low <= SMALLEST:
            limit = "above 0" if high == math.inf else f"above 0 and at most {high:g}"
        else:
            limit = f"of at least {low:g}" if high == math.inf else f"between {low:g} and {high:g}"
        raise invalid(owner, f"{name} must be a number {limit}", value)
    return found


def check_int(owner: str, name: str, value: object, low: int, high: int | None = None) -> int:
    """Return a whole number of at least low (and at most high), or raise.

    >>> check_int("simulate", "runs", 0, 1)
    Traceback (most recent call last):
    clickrank.errors.InvalidValue: simulate: runs must be a whole number of at least 1, got 0.
    """
    found = low - 1
    if _is_int(value) or (_is_float(value) and float(value).is_integer()):
        found = int(value)  # a float is accepted, because people write horizons as 1e5
    if not low <= found <= (LARGEST if high is None else high):
        limit = f"of at least {low}" if high is None else f"between {low} and {high}"
        raise invalid(owner, f"{name} must be a whole number {limit}", value)
    return found


def check_bool(owner: str, name: str, value: object) -> bool:
    """Return a setting that is True or False, or raise.

    >>> check_bool("PMED", "hinge", 1)
    Traceback (most recent call last):
    clickrank.errors.InvalidValue: PMED: hinge must be True or False, got 1.
    """
    numpy = sys.modules.get("numpy")  # if it is not loaded, no value is a NumPy boolean
    if not (isinstance(value, bool) or (numpy is not None and isinstance(value, numpy.bool_))):
        raise invalid(owner, f"{name} must be True or False", value)
    return bool(value)


def check_choice(owner: str, name: str, value: object, choices: Sequence[str]) -> None:
    """Raise an error unless a setting is one of several words.

    >>> check_choice("RecurRank", "variant", "authors", ("paper", "program"))
    Traceback (most recent call last):
    clickrank.errors.InvalidValue: RecurRank: variant must be 'paper' or 'program', got 'authors'.
    """
    if value not in choices:
        *others, last = map(repr, choices)
        raise invalid(owner, f"{name} must be {', '.join(others)} or {last}", value)


def check_shape(owner: str, n_items: object, n_positions: object) -> tuple[int, int]:
    """Return the numbers of items and positions, or raise unless 1 ≤ n_positions ≤ n_items."""
    items = check_int(owner, "n_items", n_items, 1)
    positions = check_int(owner, "n_positions", n_positions, 1)
    if positions > items:
        raise invalid(owner, f"n_positions must be between 1 and n_items ({items})", positions)
    return items, positions


def _is_int(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer of Python or NumPy, but not a boolean."""
    return isinstance(value, (int, numbers.Integral)) and not isinstance(value, bool)


def _is_float(value: object) -> TypeGuard[float]:
    """Return whether a value is a float of Python or NumPy. Fractions are not."""
    if isinstance(value, float):
        return True
    return isinstance(value, numbers.Real) and not isinstance(value, numbers.Rational)
