"""Error messages of commands, in terms of the options that were typed."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clickrank._core.error_rewording import JSONWording, OptionWording
from clickrank.errors import ClickRankError, GivenName, InvalidValue, invalid

#: Parameters of the library whose options have other names: the first that a command has is meant.
ALIASES = {
    "columns": ("column",),
    "n_positions": ("n_positions", "positions"),
    "paths": ("log",),
    "queries": ("queries", "query"),
    "url": ("store",),
}

#: Rules for values of options, by the type of Pydantic's error.
RULES = {
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_parsing": "must be a number",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than_equal": "must be at most {le:g}",
}


def error_line(command: Any, error: Exception) -> str:
    """Return the message of an error that ended a command."""
    if isinstance(error, InvalidFile):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    names = option_names(command)
    owner = getattr(error, "owner", "")
    if isinstance(owner, GivenName):
        pass  # it may be called like a class
    elif owner in _classes("policies", "POLICIES"):  # no option sets the parameters of a policy
        names = {name: names[name] for name in ("allow_mismatch",) if name in names}
    elif model := _classes("clickmodels", "CLICK_MODELS").get(owner):
        names = {name: names[name] for name in inspect.signature(model).parameters if name in names}
    return OptionWording(registered_names, names).message(error)


def value_line(error: Any) -> str | None:
    """Return the message about a value that has the wrong type or is out of bounds.

    Typer lets Pydantic check values, whose messages do not show them. Return None for other errors.
    """
    found = getattr(error.__cause__, "errors", None)
    if found is None or error.param is None:
        return None
    first = found()[0]
    limits = first.get("ctx", {})
    rule = RULES.get(first["type"])
    if rule is None:
        return None
    name = _typed_name(error.param)
    return f"{name} {rule.format(**limits)}, got {first['input']}."


class InvalidFile(ClickRankError):
    """A file breaks a rule; the message is in the language of the file and is shown as it is."""


def file_error(path: Path, error: ClickRankError) -> InvalidFile:
    """Return an error about the contents of a JSON or TOML file."""
    message = JSONWording(registered_names).message(error).removeprefix(f"{path}: ")
    return InvalidFile(f"{path}: {message}")


def reason_of(error: InvalidValue) -> str:
    """Return why a policy is left out, without the hint that says how to run it anyway."""
    bare = invalid(error.owner, error.rule, error.value) if error.rule else error
    return OptionWording(registered_names).message(bare)


def option_names(command: Any) -> dict[str, str]:
    """Return how the parameters of a command are typed: options, or arguments in capitals."""
    found: dict[str, str] = {}
    for inner in getattr(command, "commands", {}).values():
        found |= option_names(inner)
    for param in getattr(command, "params", ()):
        found[param.name] = _typed_name(param)
    for name, others in ALIASES.items():
        meant = next((other for other in others if other in found), None)
        if meant is not None:
            found[name] = found[meant]
    return found


def _typed_name(param: Any) -> str:
    if param.param_type_name == "option":
        return str(max(param.opts, key=len))
    return str(param.metavar or param.name.upper()).strip("[].")


def _classes(module: str, registry: str) -> dict[str, type]:
    """Return the registered classes by their names in Python; none if they are not loaded."""
    classes = getattr(sys.modules.get(f"clickrank.{module}"), registry, {})
    return {cls.__name__: cls for cls in classes.values()}


def registered_names() -> Mapping[str, str]:
    """Return the names under which policies and click models are registered, by their classes.

    Rooms that are not loaded cannot be the owners of an error.
    """
    classes = _classes("policies", "POLICIES") | _classes("clickmodels", "CLICK_MODELS")
    return {name: getattr(cls, "name", name) for name, cls in classes.items()}
