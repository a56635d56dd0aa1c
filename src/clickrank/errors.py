"""Errors that clickrank raises, and the functions that build their messages.

A message says who complains, which rule is broken and which value was given. It is written in
Python; `clickrank._core.error_rewording` rewrites it for people who typed options or sent JSON.
"""

from __future__ import annotations

import difflib
import enum
import pickle
from collections.abc import Iterable
from typing import Any, TypeVar


class _Nothing(enum.Enum):
    """The type of `NOTHING`."""

    NOTHING = "nothing"


#: Stands for a value in an error about something that was not given, so no value can be shown.
NOTHING = _Nothing.NOTHING


class GivenName(str):
    """A name that users gave or know, as the owner of an error: of a ranker, a file or a policy.

    Front ends show such an owner as it is, and leave out the names of Python classes and functions,
    which are ordinary strings. A ranker may have the name of a class.
    """

    __slots__ = ()


class ClickRankError(Exception):
    """Base class of every error that clickrank raises on purpose.

    It can always be pickled, since it may come from a process of a pool: an attribute that cannot
    be pickled is replaced by its repr.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how the error is made again, whatever its class needs to be constructed."""
        return _unpickled, (type(self), self.args, _picklable(vars(self)))


def _unpickled(kind: type[ClickRankError], args: tuple[Any, ...], parts: Any) -> ClickRankError:
    error = kind.__new__(kind, *args)
    super(ClickRankError, error).__init__(*args)  # that of Python's exception among its bases
    vars(error).update(parts)
    return error


def _picklable(parts: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for name, value in parts.items():
        try:
            pickle.loads(pickle.dumps(value))  # some objects fail only when they are loaded
        except Exception:  # objects define how they are pickled, and may raise anything
            value = repr(value)
        found[name] = value
    return found


class InvalidValue(ClickRankError, ValueError):
    """A value breaks a rule; the message names the object, the rule and the value.

    Attributes
    ----------
    owner
        The class or function that checked the value, or a `GivenName`; empty if the message was not
        built from parts.
    rule
        The rule that is broken. It begins with the name of the parameter where there is one.
    value
        The value that was given, or `NOTHING`.
    hint
        A sentence that says what to do; empty if the rule says enough.
    """

    owner: str = ""
    rule: str = ""
    value: object = NOTHING
    hint: str = ""

    @property
    def reason(self) -> str:
        """The message without its hint."""
        return str(self).removesuffix(f" {self.hint}") if self.hint else str(self)


class UnknownName(ClickRankError, KeyError):
    """A name is not registered; the message suggests the nearest one."""

    __str__ = Exception.__str__  # KeyError would show the repr of the message


class UnknownItem(InvalidValue, UnknownName):
    """An item is not in the catalogue of a ranker, or it is retired."""


class DoesNotApply(InvalidValue):
    """A policy's assumptions do not hold for a click model; the message says which."""


class CannotEvaluate(ClickRankError):
    """A log cannot say how well a policy would do; the message gives the reason."""


class MissingExtra(ClickRankError, ImportError):
    """An optional dependency is not installed; the message says how to install it."""


class MissingData(ClickRankError, FileNotFoundError):
    """A data set that is not part of clickrank was not found; the message says how to get it."""


E = TypeVar("E", bound=InvalidValue)


def invalid(owner: str, rule: str, value: object = NOTHING, hint: str = "") -> InvalidValue:
    """Build the error "owner: rule, got value. hint".

    >>> str(invalid("GRAB", "n_positions must be between 1 and n_items (10)", 12))
    'GRAB: n_positions must be between 1 and n_items (10), got 12.'
    >>> str(invalid("PBM", "examination must be given", hint="Pass examination=[1.0, 0.5]."))
    'PBM: examination must be given. Pass examination=[1.0, 0.5].'
    """
    return _built(InvalidValue, owner, rule, value, hint)


def does_not_apply(owner: str, rule: str, hint: str = "") -> DoesNotApply:
    """Build the error that a policy or a model cannot be used here.

    >>> str(does_not_apply("pbm-ucb", "it assumes clicks of pbm", "Pass allow_mismatch=True."))
    'pbm-ucb: it assumes clicks of pbm. Pass allow_mismatch=True.'
    """
    return _built(DoesNotApply, owner, rule, NOTHING, hint)


def _built(kind: type[E], owner: str, rule: str, value: object, hint: str) -> E:
    got = "" if value is NOTHING else f", got {value!r}"
    error = kind(f"{owner}: {rule}{got}.{hint and ' '}{hint}")
    error.owner, error.rule, error.value, error.hint = owner, rule, value, hint
    return error


def unknown(kind: str, name: str, known: Iterable[str]) -> UnknownName:
    """Build the error for a name that is not registered.

    >>> str(unknown("policy", "cascade-ucb", ["cascade-ucb1", "grab"]))
    "Unknown policy 'cascade-ucb'. Did you mean 'cascade-ucb1'?"
    >>> str(unknown("estimator", "ips", ["list-ips", "document-ips", "rips", "replay"]))
    "Unknown estimator 'ips'. Did you mean 'document-ips', 'list-ips' or 'rips'?"
    """
    names = sorted(known)
    exact = [one for one in names if one.lower() == name.lower()]
    hint = "" if exact else _family(name.lower(), names)
    hint = hint or did_you_mean(name, names) or f"Known: {', '.join(names)}."
    return UnknownName(f"Unknown {kind} {name!r}. {hint}")


def _family(name: str, known: list[str]) -> str:
    """Return a question that suggests all names that have this one as a part, if it is in several.

    The nearest of them would be a guess.
    """
    parts = set(name.split("-"))
    found = [one for one in known if name in one]
    found = found or [one for one in known if parts <= set(one.split("-"))]
    if len(name) < 2 or len(found) < 2:
        return ""
    *others, last = map(repr, found)
    return f"Did you mean {', '.join(others)} or {last}?"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question that suggests the nearest known name, or "" if none is near.

    >>> did_you_mean("casade", ["cascade", "pbm"])
    "Did you mean 'cascade'?"
    >>> did_you_mean("PBM", ["cascade", "pbm"])
    "Did you mean 'pbm'?"
    """
    names = list(known)
    near = [one for one in names if one.lower() == name.lower()]
    near = near or difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    near = near or difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    return f"Did you mean {near[0]!r}?" if near else ""
