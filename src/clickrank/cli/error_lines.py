"""Error messages of commands, in terms of the options that were typed."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from clickrank._core.wording import OptionWording
from clickrank.errors import InvalidValue, invalid

#: Parameters of the library whose options have other names: the first that a command has is meant.
ALIASES = {
    "columns": ("column",),
    "n_positions": ("n_positions", "positions"),
    "paths": ("log",),
}


def error_line(command: Any, error: Exception) -> str:
    """Return the message of an error that ended a command."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}."
    names = option_names(command)
    for name in _settings_of_policy(getattr(error, "owner", "")):
        names.pop(name, None)  # no option sets the parameters of a policy
    return OptionWording(registered_names, names).message(error)


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
        if param.param_type_name == "option":
            found[param.name] = max(param.opts, key=len)
        else:
            found[param.name] = (param.metavar or param.name.upper()).strip("[].")
    for name, others in ALIASES.items():
        meant = next((other for other in others if other in found), None)
        if meant is not None:
            found[name] = found[meant]
    return found


def _settings_of_policy(owner: str) -> Iterable[str]:
    """Return the parameters of a policy, given the name of its class."""
    classes = getattr(sys.modules.get("clickrank.policies"), "POLICIES", {}).values()
    found = next((cls for cls in classes if cls.__name__ == owner), None)
    return () if found is None else [field.name for field in dataclasses.fields(found)]


def registered_names() -> Mapping[str, str]:
    """Return the names under which policies and click models are registered, by their classes.

    Rooms that are not loaded cannot be the owners of an error.
    """
    found: dict[str, str] = {}
    for module, registry in (("policies", "POLICIES"), ("clickmodels", "CLICK_MODELS")):
        classes = getattr(sys.modules.get(f"clickrank.{module}"), registry, {})
        found |= {cls.__name__: name for name, cls in classes.items()}
    return found
