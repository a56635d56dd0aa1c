"""Rewrites error messages, which are written for Python, for JSON or for a command line."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Callable, Mapping

from clickrank.errors import NOTHING, GivenName, InvalidValue, MissingData

#: Pieces of Python in a message: ``name=value``, ``'text'``, ``True``, and names of parameters,
#: which are those with an underscore, and the first word of a rule.
_PYTHON = re.compile(
    r"""(?P<name>\b[a-z]\w*)=(?P<setting>True\b|False\b|None\b|'[^']*'|\{[^{}]*\}|[\d.]*\d)
    |(?P<literal>(?<!\w)'(?:[^'\\]|\\.)*'(?!\w)|\b(?:True|False|None)\b)
    |^(?P<subject>[a-z]\w*)(?P<index>\[\d+\])?(?=\ (?:must|and|or)\b)
    |\b(?P<inner>[A-Z]\w*)(?=:\ )
    |(?<![\w./-])(?P<snake>[a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?![\w(/.-]\w)""",
    re.VERBOSE,
)
_OWNER = re.compile(r"([A-Za-z_]\w*): (.*)", re.DOTALL)
_CALL = re.compile(r"\w\(")


class Wording:
    """How a front end spells owners, parameters and values.

    Parameters
    ----------
    owners
        The names that users know for classes, as in ``{"PBMUCB": "pbm-ucb"}``. Owners that are not
        among them, and that are Python names, are left out of messages. A `GivenName` is shown.
    names
        The names that users know for parameters.
    """

    def __init__(
        self,
        owners: Callable[[], Mapping[str, str]] = dict,
        names: Mapping[str, str] | None = None,
    ) -> None:
        self._owners = owners
        self._names = names or {}

    def owner(self, owner: str) -> str:
        """Return the name of the class or function that complains; "" leaves it out."""
        if isinstance(owner, GivenName):
            return owner
        return self._owners().get(owner, "" if owner.isidentifier() else owner)

    def name(self, name: str) -> str:
        """Return the name of a parameter."""
        return self._names.get(name, name)

    def entry(self, name: str, index: int) -> str:
        """Return the name of one entry of a list."""
        return f"{self.name(name)}[{index}]"

    def value(self, value: object) -> str:
        """Return a value; "" leaves it out of the message."""
        raise NotImplementedError

    def setting(self, name: str, value: object) -> str:
        """Return a parameter with its value."""
        raise NotImplementedError

    def text(self, text: str) -> str:
        """Rewrite the Python in a rule or a sentence."""
        return _PYTHON.sub(self._piece, text)

    def _piece(self, found: re.Match[str]) -> str:
        if found["name"]:
            return self.setting(found["name"], _literal(found["setting"]))
        if found["literal"]:
            return self.value(_literal(found["literal"])) or "nothing"
        if found["inner"]:
            return self._owners().get(found["inner"], found["inner"])
        if found["index"]:
            return self.entry(found["subject"], int(found["index"][1:-1]))
        return self.name(found["subject"] or found["snake"])

    def message(self, error: Exception) -> str:
        """Return the message of an error in the words of this front end."""
        if isinstance(error, InvalidValue) and error.rule:
            owner, rule = error.owner, self.text(error.rule)
            value = "" if error.value is NOTHING else self.value(error.value)
            rule += f", got {value}." if value else "."
            if error.hint and not _CALL.search(error.hint):  # a call helps in Python alone
                rule += f" {self.text(error.hint)}"
        else:
            # An error about missing data begins with a path, which may look like a name of Python.
            split = None if isinstance(error, MissingData) else _OWNER.fullmatch(str(error))
            owner, rule = (split[1], split[2]) if split else ("", str(error))
            rule = self.text(rule)
        known = self.owner(owner) if owner else ""
        return f"{known}: {rule}" if known else rule


class JSONWording(Wording):
    """Messages for people who sent JSON.

    >>> from clickrank.errors import invalid
    >>> JSONWording().message(invalid("PMED", "hinge must be True or False", None))
    'hinge must be true or false, got null.'
    >>> JSONWording().message(invalid("Ranker", "start must be 'cold'", ["a", True]))
    'start must be "cold", got ["a", true].'
    """

    def value(self, value: object) -> str:
        """Return JSON."""
        return json.dumps(_plain(value), ensure_ascii=False, default=str)

    def setting(self, name: str, value: object) -> str:
        """Return a member of an object."""
        return f"{self.value(self.name(name))}: {self.value(value)}"


class OptionWording(Wording):
    """Messages for people who typed a command; ``names`` are the options of the command.

    >>> from clickrank.errors import invalid
    >>> names = {"n_positions": "--positions", "allow_mismatch": "--allow-mismatch"}
    >>> wording = OptionWording(names=names)
    >>> wording.message(invalid("simulate", "n_positions must be at least 1", 0.0))
    '--positions must be at least 1, got 0.'
    >>> wording.text("Pass allow_mismatch=True to run it anyway.")
    'Pass --allow-mismatch to run it anyway.'
    """

    def name(self, name: str) -> str:
        """Return the option, or the parameter if the command has no such option."""
        return self._names.get(name, re.sub("^n_", "the number of ", name))

    def entry(self, name: str, index: int) -> str:
        """Return the name of one entry of a list; people count from 1."""
        return f"number {index + 1} of {self.name(name)}"

    def value(self, value: object) -> str:
        """Return a value as it is typed: numbers plain, lists with commas, text in quotes."""
        value = _plain(value)
        if value is None or isinstance(value, dict):
            return ""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, int | float):
            return f"{value:g}" if float(f"{value:g}") == value else repr(value)
        if isinstance(value, list):
            return ",".join(self.value(one).strip("'") for one in value) or "nothing"
        return f"'{value}'"

    def setting(self, name: str, value: object) -> str:
        """Return an option with its value, or a switch."""
        option = self.name(name)
        if isinstance(value, bool):
            return option if value else option.replace("--", "--no-", 1)
        if isinstance(value, dict):
            return " ".join(f"{option} {key}={one}" for key, one in value.items())
        return f"{option} {self.value(value)}".rstrip()


def _literal(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):  # in quotes, but no Python
        return text.strip("'")


def _plain(value: object) -> object:
    """Return arrays as lists, paths as text, and objects by the names they are registered under."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if hasattr(value, "tolist"):  # of NumPy, which this module does not import
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, list | tuple | set | frozenset | range):
        return [_plain(one) for one in value]
    name = getattr(value, "name", None)
    return name if isinstance(name, str) else str(value)
