"""The errors clickrank raises, and their one template: who, which rule, what was given."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ClickRankError(Exception):
    """Base of every error that clickrank raises on purpose."""


class InvalidValue(ClickRankError, ValueError):
    """A value breaks a rule; the message names the object, the rule and the value."""


class UnknownName(ClickRankError, KeyError):
    """A name is not registered; the message suggests the nearest one."""

    __str__ = Exception.__str__  # a KeyError's is the repr of its message


class DoesNotApply(InvalidValue):
    """A policy's assumptions do not hold for a click model; the message says which."""


class CannotEvaluate(ClickRankError):
    """A log cannot tell what a policy would earn; the message says why."""


class MissingExtra(ClickRankError, ImportError):
    """An optional dependency is not installed; the message says how to get it."""


class MissingData(ClickRankError, FileNotFoundError):
    """Data that cannot come with clickrank are not there; the message says how to get them."""


def invalid(owner: str, rule: str, value: object) -> InvalidValue:
    """Build the error "owner: rule, got value.".

    >>> str(invalid("GRAB", "n_positions must be between 1 and n_items (10)", 12))
    'GRAB: n_positions must be between 1 and n_items (10), got 12.'
    """
    return InvalidValue(f"{owner}: {rule}, got {value!r}.")


def unknown(kind: str, name: str, known: Iterable[str]) -> UnknownName:
    """Build the error for a name that is not registered.

    >>> str(unknown("policy", "cascade-ucb", ["cascade-ucb1", "grab"]))
    "Unknown policy 'cascade-ucb'. Did you mean 'cascade-ucb1'?"
    """
    names = sorted(known)
    hint = did_you_mean(name, names) or f"Known: {', '.join(names)}."
    return UnknownName(f"Unknown {kind} {name!r}. {hint}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Ask for the known name that is nearest; empty if none is near.

    >>> did_you_mean("casade", ["cascade", "pbm"])
    "Did you mean 'cascade'?"
    """
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"Did you mean {near[0]!r}?" if near else ""
